#include "text/grammar.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define WET UINT64_C(1)
#define DRY UINT64_C(2)
#define HOT UINT64_C(4)
#define COLD UINT64_C(8)

static const uint64_t groups[] = {WET | DRY, HOT | COLD};

static enum status make(struct grammar *g, const struct grammar_row *rows, size_t n, struct error *err)
{
    const struct grammar_source source = {rows, n, groups, 2};
    return grammar_make(g, &source, err);
}

/* Expects a refusal whose message has `words` in it. */
static void refused(const struct grammar_row *rows, size_t n, const char *words)
{
    struct grammar g;
    struct error err;
    cr_assert_eq(make(&g, rows, n, &err), STATUS_FORMAT, "accepted, expected: %s", words);
    cr_expect(strstr(err.message, words), "\"%s\" lacks \"%s\"", err.message, words);
}

#define ROWS(...)                                                                                                      \
    (const struct grammar_row[]){__VA_ARGS__},                                                                         \
        sizeof(const struct grammar_row[]){__VA_ARGS__} / sizeof(struct grammar_row)

Test(grammar, compiles_rows_into_rules_alternatives_and_symbols)
{
    struct grammar g;
    struct error err;
    cr_assert_eq(make(&g, ROWS({"a", 1, 0, 0, "x{b}y|"}, {"a", 2, WET, DRY, "{b}"}, {"b", 7, 0, HOT, "|zz|"}), &err),
                 STATUS_OK, "%s", err.message);
    cr_expect_eq(g.n_rules, 2);
    cr_expect_eq(g.n_alternatives, 6);
    cr_expect_eq(g.n_symbols, 6);
    cr_expect_eq(g.rule[0].end - g.rule[0].begin, 3);
    cr_expect_eq(g.rule[1].end - g.rule[1].begin, 3);
    const uint16_t expected[] = {'x', GRAMMAR_RULE + 1, 'y', GRAMMAR_RULE + 1, 'z', 'z'};
    cr_expect_arr_eq(g.symbol, expected, sizeof expected);
    const size_t lengths[] = {3, 0, 1, 0, 2, 0};
    for (size_t a = 0; a < 6; a++)
        cr_expect_eq(g.alternative[a].end - g.alternative[a].begin, lengths[a], "alternative %zu", a);
    cr_expect_eq(g.alternative[2].weight, 2);
    cr_expect_eq(g.alternative[2].when, WET);
    cr_expect_eq(g.alternative[2].set, DRY);
    cr_expect_eq(g.rule[0].touches, WET | DRY | HOT | COLD, "a rule touches what the rules below it touch");
    cr_expect_eq(g.rule[1].touches, HOT | COLD);
    grammar_free(&g);
}

Test(grammar, a_condition_asks_for_one_feature_of_each_group_it_mentions)
{
    struct grammar g;
    struct error err;
    cr_assert_eq(
        make(&g, ROWS({"a", 1, WET | HOT | COLD, 0, "x"}, {"a", 10, DRY, 0, "y"}, {"a", 100, 0, 0, "z"}), &err),
        STATUS_OK, "%s", err.message);
    cr_expect_not(grammar_applies(&g, 0, 0));
    cr_expect_not(grammar_applies(&g, 0, WET));
    cr_expect_not(grammar_applies(&g, 0, DRY | HOT));
    cr_expect(grammar_applies(&g, 0, WET | HOT));
    cr_expect(grammar_applies(&g, 0, WET | COLD));
    cr_expect_eq(grammar_total(&g, 0, 0), 100);
    cr_expect_eq(grammar_total(&g, 0, WET | COLD), 101);
    cr_expect_eq(grammar_total(&g, 0, DRY | COLD), 110);
    grammar_free(&g);
}

Test(grammar, setting_a_feature_clears_the_rest_of_its_group_only)
{
    struct grammar g;
    struct error err;
    cr_assert_eq(make(&g, ROWS({"a", 1, 0, DRY, "x"}, {"a", 1, 0, 0, "y"}), &err), STATUS_OK, "%s", err.message);
    cr_expect_eq(grammar_after(&g, 0, WET | HOT), DRY | HOT);
    cr_expect_eq(grammar_after(&g, 0, 0), DRY);
    cr_expect_eq(grammar_after(&g, 1, WET | HOT), WET | HOT);
    grammar_free(&g);
}

Test(grammar, refuses_a_source_that_means_nothing)
{
    refused(NULL, 0, "no rows");
    refused(ROWS({"a", 0, 0, 0, "x"}), "rule a: weight 0");
    refused(ROWS({"a", 1, 0, 0, "x{b}"}), "{b}");
    refused(ROWS({"a", 1, 0, 0, "{bb}"}, {"b", 1, 0, 0, "x"}), "{bb}");
    refused(ROWS({"a", 1, 0, 0, "{b"}, {"b", 1, 0, 0, "x"}), "'{' without '}'");
    refused(ROWS({"a", 1, 0, 0, "{b|x}"}, {"b", 1, 0, 0, "x"}), "'{' without '}'");
    refused(ROWS({"a", 1, 0, 0, "caf\xC3\xA9"}), "outside ASCII");
    refused(ROWS({"a", 1, UINT64_C(64), 0, "x"}), "belongs to no group");
    refused(ROWS({"a", 1, 0, UINT64_C(64), "x"}), "belongs to no group");
    refused(ROWS({"a", 1, 0, HOT | COLD, "x"}), "exclude each other");
    refused(ROWS({"a", 1, 0, 0, "{b}"}, {"b", 1, 0, 0, "x"}, {"a", 1, 0, 0, "y"}), "rule a: its rows are not together");
    refused(ROWS({"a", 1, 0, 0, "x"}, {"b", 1, 0, 0, "x"}), "rule b: nothing refers to it");
    refused(ROWS({"a", 1, 0, 0, "x|{a}"}), "rule a: leads back to itself");
    refused(ROWS({"a", 1, 0, 0, "{b}"}, {"b", 1, 0, 0, "{c}|x"}, {"c", 1, 0, 0, "{b}"}), "leads back to itself");
    refused(ROWS({"a", UINT32_MAX, 0, 0, "x|y"}), "more than 2^32");
}

Test(grammar, nests_to_its_stated_depth_and_no_deeper)
{
    struct grammar_row rows[GRAMMAR_DEPTH + 1];
    char names[GRAMMAR_DEPTH + 1][4], texts[GRAMMAR_DEPTH + 1][6];
    for (int i = 0; i <= GRAMMAR_DEPTH; i++) {
        snprintf(names[i], sizeof names[i], "%d", i);
        snprintf(texts[i], sizeof texts[i], "{%d}", i + 1);
        rows[i] = (struct grammar_row){names[i], 1, 0, 0, texts[i]};
    }
    rows[GRAMMAR_DEPTH].text = "x";
    refused(rows, GRAMMAR_DEPTH + 1, "nests deeper");
    rows[GRAMMAR_DEPTH - 1].text = "x";
    struct grammar g;
    struct error err;
    cr_assert_eq(make(&g, rows, GRAMMAR_DEPTH, &err), STATUS_OK, "%s", err.message);
    grammar_free(&g);
}
