#include "cli/output_file.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/scratch.h"

TestSuite(output_file, .init = scratch_make, .fini = scratch_remove);

Test(output_file, a_place_is_refused_before_the_work_is_done)
{
    struct error err;
    cr_assert_eq(output_file_check(NULL, "trap", &err), STATUS_OK);
    cr_assert_eq(output_file_check(scratch_path("new.svg"), "trap", &err), STATUS_OK);
    cr_assert_not(scratch_exists(scratch_path("new.svg")), "asked, not made");
    cr_assert_eq(output_file_check(scratch_folder(), "trap", &err), STATUS_WRITE);
    cr_assert(strstr(err.message, "trap: ") && strstr(err.message, "is a folder"), "%s", err.message);
    cr_assert_eq(output_file_check("", "trap", &err), STATUS_USAGE);
    cr_assert(strstr(err.message, "trap: ") && strstr(err.message, "found nothing"), "%s", err.message);
    cr_assert_eq(output_file_check(scratch_path("none/new.svg"), "lab", &err), STATUS_WRITE);
    cr_assert(strstr(err.message, "lab: ") && strstr(err.message, "No such file"), "%s", err.message);
}

Test(output_file, what_is_not_whole_replaces_nothing)
{
    struct error err;
    struct buffer b = {0};
    const char *path = scratch_path("page");
    buffer_text(&b, "first");
    cr_assert_eq(output_file_write(path, &b, &err), STATUS_OK, "%s", err.message);
    cr_assert(!b.bytes && b.count == 0);
    buffer_text(&b, "second");
    b.failed = true;
    cr_assert_eq(output_file_write(path, &b, &err), STATUS_MEMORY);
    cr_assert_null(b.bytes);
    char *kept = scratch_read(path, NULL);
    cr_assert_str_eq(kept, "first");
    free(kept);
}
