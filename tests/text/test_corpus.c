#include "text/corpus.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text/grammar_entropy.h"

#define WET UINT64_C(1)
#define DRY UINT64_C(2)

static const uint64_t groups[] = {WET | DRY};

#define SOURCE(rows)                                                                                                   \
    (const struct grammar_source)                                                                                      \
    {                                                                                                                  \
        rows, sizeof rows / sizeof *rows, groups, 1                                                                    \
    }

/* Which feature was chosen shows only later, alternatives begin alike, and one may be empty: what a
 * character tells is then no single choice's probability. */
static const struct grammar_row toy_rows[] = {
    {"story", 1, 0, 0, "{sky}{more}{end}\n\n"},
    {"sky", 2, 0, WET, "day"},
    {"sky", 1, 0, DRY, "day|dark"},
    {"more", 3, 0, 0, ""},
    {"more", 1, 0, 0, "ab|abba"},
    {"end", 1, WET, 0, "rain|ride"},
    {"end", 3, DRY, 0, "sun"},
    {"end", 1, DRY, 0, "rust"},
};

/* Two derivations of "xy": as one, and as two. */
static const struct grammar_row ambiguous_rows[] = {
    {"story", 1, 0, 0, "{pair}{last}\n\n"},
    {"pair", 1, 0, 0, "x|xy"},
    {"last", 1, 0, 0, "y|"},
};

static struct grammar compiled(struct grammar_source source)
{
    struct grammar g;
    struct error err;
    cr_assert_eq(grammar_make(&g, &source, &err), STATUS_OK, "%s", err.message);
    return g;
}

/* Every text of the toy grammar with its probability, by hand. */
static const struct {
    const char *text;
    double p;
} toy_text[] = {
    {"dayrain\n\n", 0.5 * 0.6 * 0.5},       {"dayride\n\n", 0.5 * 0.6 * 0.5},
    {"dayabrain\n\n", 0.5 * 0.2 * 0.5},     {"dayabride\n\n", 0.5 * 0.2 * 0.5},
    {"dayabbarain\n\n", 0.5 * 0.2 * 0.5},   {"dayabbaride\n\n", 0.5 * 0.2 * 0.5},
    {"daysun\n\n", 0.25 * 0.6 * 0.75},      {"dayrust\n\n", 0.25 * 0.6 * 0.25},
    {"dayabsun\n\n", 0.25 * 0.2 * 0.75},    {"dayabrust\n\n", 0.25 * 0.2 * 0.25},
    {"dayabbasun\n\n", 0.25 * 0.2 * 0.75},  {"dayabbarust\n\n", 0.25 * 0.2 * 0.25},
    {"darksun\n\n", 0.25 * 0.6 * 0.75},     {"darkrust\n\n", 0.25 * 0.6 * 0.25},
    {"darkabsun\n\n", 0.25 * 0.2 * 0.75},   {"darkabrust\n\n", 0.25 * 0.2 * 0.25},
    {"darkabbasun\n\n", 0.25 * 0.2 * 0.75}, {"darkabbarust\n\n", 0.25 * 0.2 * 0.25},
};
enum { TOYS = sizeof toy_text / sizeof *toy_text };

static double mass_of_prefix(const char *prefix, size_t n)
{
    double p = 0;
    for (size_t i = 0; i < TOYS; i++)
        if (strncmp(toy_text[i].text, prefix, n) == 0)
            p += toy_text[i].p;
    return p;
}

Test(corpus, information_is_the_conditional_probability_over_all_texts)
{
    cr_assert_float_eq(mass_of_prefix("", 0), 1, 1e-15);
    struct grammar g = compiled(SOURCE(toy_rows));
    struct error err;
    for (size_t i = 0; i < TOYS; i++)
        for (size_t j = 0; j < TOYS; j++) {
            char text[64];
            double nats[64];
            const size_t first = strlen(toy_text[i].text), n = first + strlen(toy_text[j].text);
            snprintf(text, sizeof text, "%s%s", toy_text[i].text, toy_text[j].text);
            cr_assert_eq(corpus_information(nats, &g, text, n, &err), STATUS_OK, "%s", err.message);
            for (size_t t = 0; t < n; t++) {
                const char *story = t < first ? text : text + first;
                const size_t at = t < first ? t : t - first;
                const double expected = log(mass_of_prefix(story, at) / mass_of_prefix(story, at + 1));
                cr_expect_float_eq(nats[t], expected, 1e-14, "%s at %zu: %g, expected %g", text, t, nats[t], expected);
                cr_expect(nats[t] >= 0);
            }
        }
    grammar_free(&g);
}

Test(corpus, information_adds_up_to_the_derivation_where_it_is_the_only_one)
{
    struct grammar g = compiled(SOURCE(toy_rows));
    struct corpus c;
    struct error err;
    cr_assert_eq(corpus_make(&c, &g, 3, 20000, &err), STATUS_OK, "%s", err.message);
    double sum = 0;
    for (size_t t = 0; t < c.count; t++)
        sum += c.nats[t];
    cr_expect_float_eq(sum, c.derivation, 1e-9 * sum);
    corpus_free(&c);
    grammar_free(&g);

    g = compiled(SOURCE(ambiguous_rows));
    cr_assert_eq(corpus_make(&c, &g, 3, 20000, &err), STATUS_OK, "%s", err.message);
    sum = 0;
    for (size_t t = 0; t < c.count; t++)
        sum += c.nats[t];
    cr_expect_lt(sum, 0.9 * c.derivation, "two derivations of one text must show: %g and %g", sum, c.derivation);
    corpus_free(&c);
    grammar_free(&g);
}

Test(corpus, depends_on_the_seed_and_grows_without_changing_its_beginning)
{
    struct grammar g = compiled(SOURCE(toy_rows));
    struct corpus a, b, other;
    struct error err;
    cr_assert_eq(corpus_make(&a, &g, 7, 3000, &err), STATUS_OK);
    cr_assert_eq(corpus_make(&b, &g, 7, 9000, &err), STATUS_OK);
    cr_assert_eq(corpus_make(&other, &g, 8, 3000, &err), STATUS_OK);
    cr_assert(a.count >= 3000 && a.count < 3000 + 16);
    cr_expect_arr_eq(a.text, b.text, a.count);
    cr_expect(memcmp(a.text, other.text, 1000) != 0);
    cr_expect_arr_eq(a.text + a.count - 2, "\n\n", 2, "ends with a whole story");
    corpus_free(&a);
    corpus_free(&b);
    corpus_free(&other);
    grammar_free(&g);
}

/* The generator's draws are those that the weights promise: chi-square over the 18 texts. */
Test(corpus, writes_each_text_as_often_as_its_probability_says)
{
    struct grammar g = compiled(SOURCE(toy_rows));
    struct corpus c;
    struct error err;
    cr_assert_eq(corpus_make(&c, &g, 1, 200000, &err), STATUS_OK);
    double seen[TOYS] = {0}, chi = 0;
    for (size_t at = 0; at < c.count;) {
        size_t i = 0;
        while (i < TOYS && strncmp(c.text + at, toy_text[i].text, strlen(toy_text[i].text)) != 0)
            i++;
        cr_assert_lt(i, (size_t)TOYS);
        seen[i]++;
        at += strlen(toy_text[i].text);
    }
    for (size_t i = 0; i < TOYS; i++) {
        const double expected = toy_text[i].p * (double)c.stories;
        chi += (seen[i] - expected) * (seen[i] - expected) / expected;
    }
    cr_expect_lt(chi, 48, "chi-square %g over 17 degrees of freedom", chi); /* p = 1e-4 */
    corpus_free(&c);
    grammar_free(&g);
}

Test(corpus, information_reads_a_text_that_stops_anywhere)
{
    struct grammar g = compiled(SOURCE(toy_rows));
    const char *text = "dayabrust\n\ndarksun\n\n";
    double whole[32], part[32];
    struct error err;
    cr_assert_eq(corpus_information(whole, &g, text, strlen(text), &err), STATUS_OK);
    for (size_t n = 0; n < strlen(text); n++) {
        cr_assert_eq(corpus_information(part, &g, text, n, &err), STATUS_OK);
        for (size_t t = 0; t < n; t++)
            cr_expect_eq(part[t], whole[t]);
    }
    grammar_free(&g);
}

Test(corpus, information_names_the_place_where_a_text_is_not_of_the_grammar)
{
    struct grammar g = compiled(SOURCE(toy_rows));
    double nats[64];
    struct error err;
    const char *text = "daysun\n\ndarkrain\n\n";
    cr_assert_eq(corpus_information(nats, &g, text, strlen(text), &err), STATUS_FORMAT);
    cr_expect(strstr(err.message, "line 3, byte 13"), "%s", err.message);
    cr_assert_eq(corpus_information(nats, &g, "\xC3\xA9", 2, &err), STATUS_FORMAT);
    cr_expect(strstr(err.message, "line 1, byte 0"), "%s", err.message);
    grammar_free(&g);
}

Test(corpus, refuses_sizes_and_grammars_that_cannot_be)
{
    static const struct grammar_row stuck[] = {{"s", 1, 0, 0, "x{t}"}, {"t", 1, WET, 0, "y"}};
    static const struct grammar_row empty[] = {{"s", 1, 0, 0, "x\n\n|{t}"}, {"t", 1, 0, 0, ""}};
    struct grammar g = compiled(SOURCE(toy_rows));
    struct corpus c;
    struct error err;
    cr_expect_eq(corpus_make(&c, &g, 1, 0, &err), STATUS_RANGE);
    cr_expect_eq(corpus_make(&c, &g, 1, SIZE_MAX, &err), STATUS_RANGE);
    cr_expect_null(c.text);
    grammar_free(&g);
    g = compiled(SOURCE(stuck));
    cr_expect_eq(corpus_make(&c, &g, 1, 10, &err), STATUS_FORMAT);
    cr_expect(strstr(err.message, "rule t"), "%s", err.message);
    grammar_free(&g);
    g = compiled(SOURCE(empty));
    cr_expect_eq(corpus_make(&c, &g, 1, 10, &err), STATUS_FORMAT);
    cr_expect(strstr(err.message, "empty"), "%s", err.message);
    grammar_free(&g);
}

Test(corpus, measures_a_mean_and_the_error_of_its_story_sums)
{
    char text[] = "ab\n\ncd\n\nef\n\n";
    double nats[] = {1, 0, 1, 0, 2, 0, 0, 0, 4, 0, 0, 1};
    struct corpus c = {.text = text, .count = 12, .nats = nats, .stories = 3};
    struct corpus_part all = {0, 12, 0, 0};
    corpus_measure(&all, &c);
    /* mean 9/12; sums 2, 2, 5 less 3 each; sqrt((1 + 1 + 4) * 3/2) / 12 */
    cr_expect_float_eq(all.entropy, 0.75, 1e-15);
    cr_expect_float_eq(all.standard_error, 0.25, 1e-15);

    /* From within the first story: pieces "b..", "cd..", "e" with sums 1, 2, 4, lengths 3, 4, 1, mean 7/8. */
    struct corpus_part part = {1, 9, 0, 0};
    corpus_measure(&part, &c);
    const double m = 7.0 / 8, r[] = {1 - 3 * m, 2 - 4 * m, 4 - m};
    cr_expect_float_eq(part.entropy, m, 1e-15);
    cr_expect_float_eq(part.standard_error, sqrt((r[0] * r[0] + r[1] * r[1] + r[2] * r[2]) * 1.5) / 8, 1e-15);

    struct corpus_part one = {4, 8, 0, 0};
    corpus_measure(&one, &c);
    cr_expect(isnan(one.standard_error), "one story says nothing about the spread between stories");
}

/* The mean over many texts differs from the exact rate by about its own standard error: neither more nor less. */
Test(corpus, standard_error_is_the_spread_around_the_expected_rate)
{
    enum { TEXTS = 200 };
    struct grammar g = compiled(SOURCE(toy_rows));
    struct grammar_entropy e;
    struct error err;
    cr_assert_eq(grammar_entropy_expect(&e, &g, &err), STATUS_OK);
    double by_hand = 0, length = 0;
    for (size_t i = 0; i < TOYS; i++) {
        by_hand -= toy_text[i].p * log(toy_text[i].p);
        length += toy_text[i].p * (double)strlen(toy_text[i].text);
    }
    cr_assert_float_eq(e.nats, by_hand, 1e-13);
    cr_assert_float_eq(e.characters, length, 1e-13);
    double squares = 0;
    for (uint64_t seed = 0; seed < TEXTS; seed++) {
        struct corpus c;
        cr_assert_eq(corpus_make(&c, &g, seed, 4000, &err), STATUS_OK);
        struct corpus_part all = {0, c.count, 0, 0};
        corpus_measure(&all, &c);
        const double z = (all.entropy - e.nats / e.characters) / all.standard_error;
        squares += z * z / TEXTS;
        corpus_free(&c);
    }
    cr_expect(squares > 0.6 && squares < 1.5, "mean square of the deviation, in standard errors: %g", squares);
    grammar_free(&g);
}

Test(corpus, description_splits_as_the_dataset_does)
{
    struct grammar g = compiled(SOURCE(toy_rows));
    struct corpus c;
    struct error err;
    cr_assert_eq(corpus_make(&c, &g, 5, 1000, &err), STATUS_OK);
    json_t *json = NULL;
    cr_assert_eq(corpus_json(&json, &c, &g, 5, 0.1, &err), STATUS_OK, "%s", err.message);
    const size_t held_out = c.count / 10;
    const json_t *train = json_object_get(json, "train"), *val = json_object_get(json, "validation");
    cr_expect_eq(json_integer_value(json_object_get(json, "seed")), 5);
    cr_expect_eq(json_integer_value(json_object_get(json, "characters")), (json_int_t)c.count);
    cr_expect_eq(json_integer_value(json_object_get(json, "stories")), (json_int_t)c.stories);
    cr_expect_eq(json_integer_value(json_object_get(train, "characters")), (json_int_t)(c.count - held_out));
    cr_expect_eq(json_integer_value(json_object_get(val, "characters")), (json_int_t)held_out);
    struct corpus_part part = {c.count - held_out, c.count, 0, 0};
    corpus_measure(&part, &c);
    cr_expect_float_eq(json_real_value(json_object_get(val, "entropy")), part.entropy, 1e-6);
    cr_expect_float_eq(json_real_value(json_object_get(val, "standard_error")), part.standard_error, 1e-6);
    part = (struct corpus_part){0, c.count - held_out, 0, 0};
    corpus_measure(&part, &c);
    cr_expect_float_eq(json_real_value(json_object_get(train, "entropy")), part.entropy, 1e-6);
    json_decref(json);

    const double bad[] = {0, 1, -0.1, 1e-9, NAN};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_eq(corpus_json(&json, &c, &g, 5, bad[i], &err), STATUS_RANGE, "val_split %g", bad[i]);
    cr_expect_eq(corpus_json(&json, &c, &g, UINT64_MAX, 0.1, &err), STATUS_RANGE);
    corpus_free(&c);
    grammar_free(&g);
}
