#include "cli/explain_file.h"

#include <criterion/criterion.h>
#include <string.h>

#include "support/scratch.h"

TestSuite(explain_file, .init = scratch_make, .fini = scratch_remove);

static struct error err;

static const char *written(const char *text)
{
    const char *path = scratch_path("words.json");
    scratch_write(path, text, strlen(text));
    return path;
}

static void refused(const char *text, const char *says)
{
    struct explain_file f;
    cr_assert_neq(explain_file_read(&f, written(text), NULL, &err), STATUS_OK, "%s", text);
    cr_assert(strstr(err.message, says), "\"%s\" lacks \"%s\"", err.message, says);
    cr_assert_null(f.numbers);
}

Test(explain_file, the_example_is_the_one_of_three_words)
{
    struct explain_file f;
    cr_assert_eq(explain_file_read(&f, NULL, NULL, &err), STATUS_OK, "%s", err.message);
    cr_assert(f.in.T == 3 && f.in.C == 2 && f.in.d_k == 2 && f.in.d_v == 2 && f.in.query == 1);
    cr_assert_str_eq(f.word[1], "bank");
    cr_assert(f.in.x[4] == 2 && f.in.wq[3] == 3 && f.in.wk[2] == 2 && f.in.wv[3] == 2);
    explain_file_free(&f);
    cr_assert_eq(explain_file_read(&f, written(explain_file_example), "river", &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(f.in.query, 2u);
    explain_file_free(&f);
}

Test(explain_file, other_sizes_are_read_and_the_last_word_is_looked_at)
{
    struct explain_file f;
    cr_assert_eq(explain_file_read(&f,
                                   written("{\"words\":[\"a\",\"b\"],\"x\":[[1,2,3],[4,5,6]],\"W_Q\":[[1],[2],[3]],"
                                           "\"W_K\":[[1],[0],[0]],\"W_V\":[[1,0],[0,1],[0.5,-2]]}"),
                                   NULL, &err),
                 STATUS_OK, "%s", err.message);
    cr_assert(f.in.T == 2 && f.in.C == 3 && f.in.d_k == 1 && f.in.d_v == 2 && f.in.query == 1);
    cr_assert(f.in.x[5] == 6 && f.in.wv[4] == (real)0.5 && f.in.wv[5] == -2);
    explain_file_free(&f);
}

#define REST ",\"x\":[[1],[2]],\"W_Q\":[[1]],\"W_K\":[[1]],\"W_V\":[[1]]}"

Test(explain_file, what_is_wrong_is_named)
{
    refused("[]", "no JSON object");
    refused("", "words.json");
    refused("{\"words\":[]" REST, "\"words\" is a list of 0");
    refused("{\"words\":[\"a\",7]" REST, "word 2 is not");
    refused("{\"words\":[\"a\",\"\\u001b[2J\"]" REST, "word 2 is not");
    refused("{\"words\":[\"a\",\"\\u009b2J\"]" REST, "word 2 is not"); /* the same to some terminals */
    refused("{\"words\":[\"\\u202ea\",\"b\"]" REST, "word 1 is not");  /* turns the line */
    refused("{\"words\":[\"a\",\"b\"],\"look_at\":\"c\"" REST, "\"c\", is none of its words");
    refused("{\"words\":[\"a\",\"b\"],\"look_at\":3" REST, "\"look_at\" is no word");
    refused("{\"words\":[\"a\"]" REST, "\"x\" has 2 rows, a list of 1 expected");
    refused("{\"words\":[\"a\"],\"x\":[[1,2]],\"W_Q\":[[1]]}", "\"W_Q\" has 1 rows, a list of 2 expected");
    refused("{\"words\":[\"a\"],\"x\":[[]],\"W_Q\":[[1]]}", "row 1 of \"x\" has 0 numbers, 1 to 16 expected");
    refused("{\"words\":[\"a\"],\"x\":[[1]],\"W_Q\":[[1,2]],\"W_K\":[[1]],\"W_V\":[[1]]}", "make them equal");
    refused("{\"words\":[\"a\",\"b\"],\"x\":[[1],[1,2]]}", "as many as in the first row");
    refused("{\"words\":[\"a\"],\"x\":[[\"1\"]]}", "a number from -1e6 to 1e6");
    refused("{\"words\":[\"a\"],\"x\":[[1e7]]}", "a number from -1e6 to 1e6");
    struct explain_file f;
    cr_assert_eq(explain_file_read(&f, NULL, "money", &err), STATUS_FORMAT);
    cr_assert(strstr(err.message, "\"money\", is none"), "%s", err.message);
}
