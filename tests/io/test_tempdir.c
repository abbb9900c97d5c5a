#include "io/tempdir.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/scratch.h"

TestSuite(tempdir, .init = scratch_make, .fini = scratch_remove);

static struct error err;

Test(tempdir, each_is_new_and_its_owners_alone)
{
    char *a, *b;
    cr_assert_eq(tempdir_make(&a, scratch_folder(), &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(tempdir_make(&b, scratch_folder(), &err), STATUS_OK, "%s", err.message);
    cr_assert_str_neq(a, b);
    struct stat st;
    cr_assert_eq(stat(a, &st), 0);
    cr_assert(S_ISDIR(st.st_mode) && (st.st_mode & 077) == 0);
    tempdir_remove(a);
    tempdir_remove(b);
    cr_assert_eq(scratch_count(scratch_folder()), 0u);
    free(a);
    free(b);
}

Test(tempdir, a_parent_that_is_not_there_is_named)
{
    char *path;
    cr_assert_eq(tempdir_make(&path, scratch_path("nowhere"), &err), STATUS_WRITE);
    cr_assert_null(path);
    cr_assert(strstr(err.message, "nowhere: no folder for temporary files"), "%s", err.message);
}

Test(tempdir, removing_takes_all_that_is_in_it_and_nothing_that_links_lead_to)
{
    char *path, inner[512], link[512], file[512];
    const char *outside = scratch_path("outside");
    cr_assert_eq(mkdir(outside, 0777), 0);
    scratch_write(scratch_path("outside/kept"), "x", 1);
    cr_assert_eq(tempdir_make(&path, scratch_folder(), &err), STATUS_OK);
    snprintf(inner, sizeof inner, "%s/a", path);
    cr_assert_eq(mkdir(inner, 0777), 0);
    snprintf(file, sizeof file, "%s/a/file", path);
    scratch_write(file, "x", 1);
    snprintf(link, sizeof link, "%s/a/link", path);
    cr_assert_eq(symlink(outside, link), 0);
    tempdir_remove(path);
    cr_assert_not(scratch_exists(path));
    cr_assert(scratch_exists(scratch_path("outside/kept")));
    tempdir_remove(NULL);
    free(path);
}
