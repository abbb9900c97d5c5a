#include "io/file.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/scratch.h"

TestSuite(file, .init = scratch_make, .fini = scratch_remove);

Test(file, gives_any_of_its_bytes)
{
    struct error err;
    struct file f;
    char got[3] = "";
    scratch_write(scratch_path("f"), "a\0bcd", 5);
    cr_assert_eq(file_open(&f, scratch_path("f"), &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(f.size, 5);
    cr_assert_eq(file_read(&f, got, 3, 1, &err), STATUS_OK);
    cr_assert_eq(memcmp(got, "\0bc", 3), 0);
    cr_assert_eq(file_read(&f, got, 1, 4, &err), STATUS_OK);
    cr_assert_eq(got[0], 'd');
    cr_assert_eq(file_read(&f, got, 0, 5, &err), STATUS_OK);
    file_close(&f);
    cr_assert_null(f.path);
    file_close(&f);
}

Test(file, closing_what_was_never_opened_leaves_standard_input_open)
{
    struct stat st;
    struct file f = {0};
    const bool open_before = fstat(STDIN_FILENO, &st) == 0;
    file_close(&f);
    cr_assert_eq(fstat(STDIN_FILENO, &st) == 0, open_before);
}

Test(file, what_is_no_file_is_refused_without_waiting, .timeout = 10)
{
    struct error err;
    struct file f;
    cr_assert_eq(mkfifo(scratch_path("pipe"), 0666), 0);
    cr_assert_eq(file_open(&f, scratch_path("pipe"), &err), STATUS_OPEN);
    cr_assert_not_null(strstr(err.message, "pipe or device"), "%s", err.message);
    cr_assert_eq(file_open(&f, scratch_folder(), &err), STATUS_OPEN);
    cr_assert_not_null(strstr(err.message, "is a folder"), "%s", err.message);
    cr_assert_eq(file_open(&f, "/dev/zero", &err), STATUS_OPEN);
    cr_assert_eq(file_open(&f, scratch_path("missing"), &err), STATUS_OPEN);
    cr_assert_not_null(strstr(err.message, "missing"), "%s", err.message);
    cr_assert_null(f.path);
}

Test(file, cut_off_after_opening_is_an_error_that_says_where_it_ends)
{
    struct error err;
    struct file f;
    char got[100];
    memset(got, 'x', sizeof got);
    scratch_write(scratch_path("f"), got, sizeof got);
    cr_assert_eq(file_open(&f, scratch_path("f"), &err), STATUS_OK);
    cr_assert_eq(truncate(scratch_path("f"), 70), 0);
    cr_assert_eq(file_read(&f, got, 70, 0, &err), STATUS_OK, "what is there is there");
    cr_assert_eq(file_read(&f, got, 40, 40, &err), STATUS_READ);
    cr_assert_not_null(strstr(err.message, "100 bytes long when it was opened, but it ends at byte 70"), "%s",
                       err.message);
    cr_assert_eq(file_read(&f, got, 10, 90, &err), STATUS_READ);
    file_close(&f);
}

Test(file, is_loaded_whole_or_refused_by_its_size_before_memory_is_taken)
{
    struct error err;
    uint8_t *bytes;
    size_t n;
    scratch_write(scratch_path("f"), "12345", 5);
    cr_assert_eq(file_load(&bytes, &n, scratch_path("f"), 5, &err), STATUS_OK, "%s", err.message);
    cr_assert(n == 5 && memcmp(bytes, "12345", 5) == 0);
    free(bytes);
    cr_assert_eq(file_load(&bytes, &n, scratch_path("f"), 4, &err), STATUS_FORMAT);
    cr_assert_not_null(strstr(err.message, "5 bytes long, at most 4 expected"), "%s", err.message);
    cr_assert(!bytes && n == 0);
    /* A hole: a file of 2^40 bytes that takes no room. */
    if (truncate(scratch_path("f"), (off_t)1 << 40) == 0)
        cr_assert_eq(file_load(&bytes, &n, scratch_path("f"), 1000, &err), STATUS_FORMAT);
    scratch_write(scratch_path("f"), "", 0);
    cr_assert_eq(file_load(&bytes, &n, scratch_path("f"), 0, &err), STATUS_OK, "%s", err.message);
    cr_assert(!bytes && n == 0);
}

Test(file, its_hash_is_that_of_its_bytes_at_any_size)
{
    struct error err;
    const size_t sizes[] = {0, 1, 65535, 65536, 65537, 200003};
    uint8_t *bytes = malloc(200003);
    for (size_t i = 0; i < 200003; i++)
        bytes[i] = (uint8_t)(i * 7 % 251);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char expected[HASH_TEXT_SIZE], found[HASH_TEXT_SIZE];
        scratch_write(scratch_path("f"), bytes, sizes[i]);
        hash_bytes(expected, bytes, sizes[i]);
        cr_assert_eq(file_hash(found, scratch_path("f"), &err), STATUS_OK, "%s", err.message);
        cr_assert_str_eq(found, expected);
    }
    cr_assert_eq(file_hash((char[HASH_TEXT_SIZE]){0}, scratch_path("missing"), &err), STATUS_OPEN);
    free(bytes);
}
