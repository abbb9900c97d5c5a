#include "io/mapped.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/stat.h>

#include "support/scratch.h"

TestSuite(mapped, .init = scratch_make, .fini = scratch_remove);

Test(mapped, gives_the_bytes_of_a_file)
{
    struct error err;
    struct mapped m;
    scratch_write(scratch_path("f"), "a\0b", 3);
    cr_assert_eq(mapped_open(&m, scratch_path("f"), &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(m.size, 3);
    cr_assert_eq(memcmp(m.bytes, "a\0b", 3), 0);
    mapped_close(&m);
    cr_assert_null(m.bytes);
    mapped_close(&m);
}

Test(mapped, empty_file_is_no_error)
{
    struct error err;
    struct mapped m;
    scratch_write(scratch_path("f"), "", 0);
    cr_assert_eq(mapped_open(&m, scratch_path("f"), &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(m.size, 0);
    mapped_close(&m);
}

Test(mapped, what_is_no_file_is_refused_without_waiting, .timeout = 10)
{
    struct error err;
    struct mapped m;
    cr_assert_eq(mkfifo(scratch_path("pipe"), 0666), 0);
    cr_assert_eq(mapped_open(&m, scratch_path("pipe"), &err), STATUS_OPEN);
    cr_assert_not_null(strstr(err.message, "pipe or device"), "%s", err.message);
    cr_assert_eq(mapped_open(&m, scratch_folder(), &err), STATUS_OPEN);
    cr_assert_not_null(strstr(err.message, "is a folder"), "%s", err.message);
    cr_assert_eq(mapped_open(&m, "/dev/zero", &err), STATUS_OPEN);
    cr_assert_eq(mapped_open(&m, scratch_path("missing"), &err), STATUS_OPEN);
    cr_assert_not_null(strstr(err.message, "missing"), "%s", err.message);
}
