#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "support/program.h"
#include "support/scratch.h"

TestSuite(cmd_corpus, .init = scratch_make, .fini = scratch_remove);

Test(cmd_corpus, writes_the_text_that_comes_with_nopeek_and_its_entropy)
{
    struct program p;
    const char *names[] = {"bank.txt", "bank.json"};
    PROGRAM(&p, "corpus", "-o", scratch_path("bank.txt"));
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert_eq(p.out_size, 0);
    cr_assert(strstr(p.err, "True entropy"), "%s", p.err);
    cr_assert(strstr(p.err, "\nnext: nopeek train '/") && strstr(p.err, "/bank.txt'\n"), "%s", p.err);
    program_free(&p);
    for (size_t i = 0; i < 2; i++) {
        char shipped[2048];
        snprintf(shipped, sizeof shipped, "%s/data/%s", NOPEEK_SOURCE, names[i]);
        size_t n, m;
        char *a = scratch_read(scratch_path("%s", names[i]), &n), *b = scratch_read(shipped, &m);
        cr_assert(n == m && memcmp(a, b, n) == 0, "%s", names[i]);
        free(a);
        free(b);
    }
}

Test(cmd_corpus, without_a_file_the_text_goes_to_stdout_and_depends_on_the_seed)
{
    struct program a, b, c;
    PROGRAM(&a, "corpus", "--size", "2000");
    PROGRAM(&b, "corpus", "--size", "1000");
    PROGRAM(&c, "corpus", "--size", "2000", "--seed", "2");
    cr_assert(a.status == 0 && b.status == 0 && c.status == 0);
    cr_assert(a.out_size >= 2000 && b.out_size >= 1000);
    cr_assert_eq(strncmp(a.out, b.out, b.out_size), 0, "a longer text begins with the shorter one");
    cr_assert_str_neq(a.out, c.out);
    cr_assert_str_eq(a.out + a.out_size - 2, "\n\n", "the last story is whole");
    program_free(&a);
    program_free(&b);
    program_free(&c);
}

Test(cmd_corpus, json_repeats_the_description_on_one_line)
{
    struct program p;
    PROGRAM(&p, "corpus", "-o", scratch_path("a"), "--size", "5000", "--json", "--val-split", "0.5");
    cr_assert_eq(p.status, 0, "%s", p.err);
    json_t *printed = json_loads(p.out, 0, NULL);
    json_t *written = json_load_file(scratch_path("a.json"), 0, NULL);
    cr_assert(printed && json_equal(printed, written), "%s", p.out);
    cr_assert_eq(json_number_value(json_object_get(printed, "val_split")), 0.5);
    json_decref(printed);
    json_decref(written);
    program_free(&p);
}

Test(cmd_corpus, existing_files_are_kept_unless_forced)
{
    struct program p;
    const char *const names[] = {"mine.txt", "mine.json"};
    for (size_t i = 0; i < 2; i++) {
        scratch_write(scratch_path("%s", names[i]), "precious", 8);
        PROGRAM(&p, "corpus", "-o", scratch_path("mine.txt"), "--size", "100");
        cr_assert_eq(p.status, 2);
        cr_assert(strstr(p.err, names[i]) && strstr(p.err, "--force"), "%s", p.err);
        program_free(&p);
        char *kept = scratch_read(scratch_path("%s", names[i]), NULL);
        cr_assert_str_eq(kept, "precious");
        free(kept);
        cr_assert_eq(scratch_count(scratch_path(".")), 1);
        remove(scratch_path("%s", names[i]));
    }
    scratch_write(scratch_path("mine.txt"), "old", 3);
    PROGRAM(&p, "corpus", "-o", scratch_path("mine.txt"), "--size", "100", "--force");
    cr_assert_eq(p.status, 0, "%s", p.err);
    program_free(&p);
    PROGRAM(&p, "corpus", "-o", scratch_path("none/x.txt"), "--size", "100");
    cr_assert_eq(p.status, 1);
    cr_assert(strstr(p.err, "No such file"), "%s", p.err);
    program_free(&p);
    PROGRAM(&p, "corpus", "--json");
    cr_assert_eq(p.status, 2);
    program_free(&p);
}
