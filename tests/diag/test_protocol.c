#include "diag/protocol.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define V 3

static enum status hello(size_t *vocabulary, size_t *context, const char *line, struct error *err)
{
    bool one_length;
    return protocol_read_hello(vocabulary, context, &one_length, line, strlen(line), err);
}

Test(protocol, greeting_gives_the_sizes)
{
    size_t v, t;
    struct error err;
    cr_assert_eq(hello(&v, &t, " {\"context\": 64, \"vocab_size\": 65, \"name\": \"x\"} ", &err), STATUS_OK);
    cr_assert(v == 65 && t == 64);
    for (int said = 0; said < 2; said++) {
        const char *const line = said ? "{\"context\":4,\"vocab_size\":5,\"one_length\":true}"
                                      : "{\"context\":4,\"vocab_size\":5,\"one_length\":false}";
        bool one_length;
        cr_assert_eq(protocol_read_hello(&v, &t, &one_length, line, strlen(line), &err), STATUS_OK);
        cr_assert_eq(one_length, said);
    }
}

Test(protocol, greetings_that_make_no_sense_say_why)
{
    const struct {
        const char *line, *words;
    } cases[] = {{"", "empty line"},
                 {"loading...", "no JSON object, \"loading...\""},
                 {"[1]", "no JSON object"},
                 {"{\"context\":4}", "there is no \"vocab_size\""},
                 {"{\"vocab_size\":4}", "there is no \"context\""},
                 {"{\"vocab_size\":0,\"context\":4}", "\"vocab_size\" is out of range"},
                 {"{\"vocab_size\":4,\"context\":99999999999}", "\"context\" is out of range"},
                 {"{\"vocab_size\":4.5,\"context\":4}", "\"vocab_size\" is no whole number"},
                 {"{\"vocab_size\":true,\"context\":4}", "\"vocab_size\" is no whole number"},
                 {"{\"error\":\"no weights\"}", "the program says: no weights"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t v, t;
        struct error err;
        cr_assert_eq(hello(&v, &t, cases[i].line, &err), STATUS_FORMAT, "%s", cases[i].line);
        cr_assert(strstr(err.message, cases[i].words), "%s: %s", cases[i].line, err.message);
    }
}

Test(protocol, questions_are_one_line_of_json)
{
    const uint32_t tokens[] = {7, 0, 4294967295u};
    const size_t rows[] = {0, 2};
    size_t n;
    char *line = protocol_question(&n, tokens, 3, NULL, 3);
    cr_assert_str_eq(line, "{\"tokens\":[7,0,4294967295]}\n");
    cr_assert_eq(n, strlen(line));
    free(line);
    line = protocol_question(&n, tokens, 3, rows, 2);
    cr_assert_str_eq(line, "{\"tokens\":[7,0,4294967295],\"rows\":[0,2]}\n");
    cr_assert_eq(n, strlen(line));
    free(line);
}

static enum status logits(double *out, const char *line, size_t n, const size_t *rows, size_t n_rows, struct error *err)
{
    return protocol_read_logits(out, line, strlen(line), n, rows, n_rows, V, err);
}

Test(protocol, logits_come_whole_or_by_rows)
{
    double x[2 * V];
    struct error err;
    const size_t last = 1;
    const char *two =
        "{\"time\":{\"ms\":[1,\"]}\"]}, \"logits\" : [[0, -1.5e-3,2],\n [3,NaN, -Infinity] ] , \"n\":2}\r";
    cr_assert_eq(logits(x, two, 2, NULL, 2, &err), STATUS_OK, "%s", err.message);
    cr_assert(x[0] == 0 && x[1] == -1.5e-3 && x[2] == 2 && x[3] == 3 && isnan(x[4]) && x[5] == -INFINITY);
    memset(x, 0, sizeof x);
    cr_assert_eq(logits(x, two, 2, &last, 1, &err), STATUS_OK, "all rows will do");
    cr_assert(x[0] == 3 && isnan(x[1]) && x[2] == -INFINITY && x[3] == 0);
    cr_assert_eq(logits(x, "{\"logits\":[[null,Infinity,-7]]}", 2, &last, 1, &err), STATUS_OK, "%s", err.message);
    cr_assert(isnan(x[0]) && x[1] == INFINITY && x[2] == -7);
}

Test(protocol, answers_of_another_form_say_what_was_found_and_expected)
{
    const struct {
        const char *line, *words;
    } cases[] = {
        {"", "empty line"},
        {"Traceback (most recent call last):", "\"Traceback (most"},
        {"{\"logits\":[[1,2,3],[1,2,3]]", "no JSON object"},
        {"{\"logits\":[[1,2,3],[1,2,3]]} {}", "no JSON object"},
        {"{\"logits\":[[1,2,3],[1,2,3]],}", "no JSON object"},
        {"{\"logits\":[[1,2,3],[1,2", "no JSON object"},
        {"{\"error\":\"CUDA \\u0041 lost\"}", "the program says: CUDA A lost"},
        {"{\"error\":{\"code\":3}}", "the program says: {\"code\":3}"},
        {"{\"logit\":[[1,2,3],[1,2,3]]}", "there is no \"logits\""},
        {"{\"logits\":7}", "\"logits\" is 7"},
        {"{\"logits\":[]}", "has 0 rows, expected 2: one for each token"},
        {"{\"logits\":[[1,2,3]]}", "has 1 rows, expected 2"},
        {"{\"logits\":[[1,2,3],[1,2,3],[1,2,3]]}", "has 3 rows, expected 2"},
        {"{\"logits\":[[1,2,3],[1,2]]}", "row 1 of \"logits\" has 2 numbers, expected 3"},
        {"{\"logits\":[[1,2,3,4],[1,2,3]]}", "row 0 of \"logits\" has 4 numbers, expected 3"},
        {"{\"logits\":[[1,2,3],[1,\"2\",3]]}", "in row 1 of \"logits\""},
        {"{\"logits\":[[1,2,3],[1,0x2,3]]}", "in row 1 of \"logits\""},
        {"{\"logits\":[[1,2,3],[1,nan,3]]}", "in row 1 of \"logits\""},
        {"{\"logits\":[[1,2,3],[1,2,3,]]}", "in row 1 of \"logits\""},
        {"{\"logits\":[[1,2,3] [1,2,3]]}", "in row 0 of \"logits\""},
        {"{\"logits\":[[[1,2,3]]]}", "in row 0 of \"logits\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double x[2 * V];
        struct error err = {{0}};
        cr_assert_eq(logits(x, cases[i].line, 2, NULL, 2, &err), STATUS_FORMAT, "%s", cases[i].line);
        cr_assert(strstr(err.message, cases[i].words), "%s: %s", cases[i].line, err.message);
    }
    const size_t rows[] = {0, 2};
    double x[2 * V];
    struct error err = {{0}};
    cr_assert_eq(logits(x, "{\"logits\":[[1,2,3]]}", 5, rows, 2, &err), STATUS_FORMAT);
    cr_assert(strstr(err.message, "has 1 rows, expected the 2 asked for, or one for each of the 5 tokens"), "%s",
              err.message);
}
