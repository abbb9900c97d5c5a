#include "cli/whole_text.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "support/scratch.h"

TestSuite(whole_text, .init = scratch_make, .fini = scratch_remove);

#define READ(t, words, path, err) whole_text_read((t), (words), "--text", (path), "--file", (err))

Test(whole_text, comes_from_the_command_line_or_a_file_byte_for_byte)
{
    struct whole_text t;
    struct error err;
    cr_assert_eq(READ(&t, "abc", NULL, &err), STATUS_OK);
    cr_assert(t.size == 3 && memcmp(t.bytes, "abc", 3) == 0 && strcmp(t.name, "--text") == 0);
    whole_text_free(&t);
    cr_assert_eq(READ(&t, NULL, NULL, &err), STATUS_OK);
    cr_assert_eq(t.size, 0, "neither is nothing");
    whole_text_free(&t);

    const size_t n = 10000; /* more than one piece */
    char *bytes = malloc(n);
    cr_assert_not_null(bytes);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(i * 7);
    const char *path = scratch_path("text");
    scratch_write(path, bytes, n);
    cr_assert_eq(READ(&t, NULL, path, &err), STATUS_OK, "%s", err.message);
    cr_assert(t.size == n && memcmp(t.bytes, bytes, n) == 0 && strcmp(t.name, path) == 0);
    whole_text_free(&t);
    free(bytes);
}

Test(whole_text, both_or_a_file_that_is_not_there_are_refused)
{
    struct whole_text t;
    struct error err;
    cr_assert_eq(READ(&t, "a", "b", &err), STATUS_USAGE);
    cr_assert_str_eq(err.message, "--text and --file exclude one another: give one");
    whole_text_free(&t);
    cr_assert_eq(READ(&t, NULL, "/nonexistent/file", &err), STATUS_OPEN);
    cr_assert_str_eq(err.message, "--file: /nonexistent/file: No such file or directory");
    whole_text_free(&t);
    cr_assert_eq(READ(&t, NULL, scratch_folder(), &err), STATUS_READ);
    cr_assert(strstr(err.message, "Is a directory"), "%s", err.message);
    whole_text_free(&t);
}
