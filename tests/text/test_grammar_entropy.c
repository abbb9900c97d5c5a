#include "text/grammar_entropy.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define WET UINT64_C(1)
#define DRY UINT64_C(2)
#define HOT UINT64_C(4)
#define COLD UINT64_C(8)

static const uint64_t groups[] = {WET | DRY, HOT | COLD};

static enum status expect(struct grammar_entropy *e, const struct grammar_row *rows, size_t n, struct error *err)
{
    const struct grammar_source source = {rows, n, groups, 2};
    struct grammar g;
    cr_assert_eq(grammar_make(&g, &source, err), STATUS_OK, "%s", err->message);
    const enum status s = grammar_entropy_expect(e, &g, err);
    grammar_free(&g);
    return s;
}

#define ROWS(...)                                                                                                      \
    (const struct grammar_row[]){__VA_ARGS__},                                                                         \
        sizeof(const struct grammar_row[]){__VA_ARGS__} / sizeof(struct grammar_row)

static double h(double p)
{
    return -p * log(p) - (1 - p) * log(1 - p);
}

Test(grammar_entropy, of_independent_choices_adds_up)
{
    struct grammar_entropy e;
    struct error err;
    cr_assert_eq(
        expect(&e,
               ROWS({"a", 1, 0, 0, "{b}-{b}.{c}"}, {"b", 1, 0, 0, "xx|yyyy"}, {"c", 1, 0, 0, ""}, {"c", 3, 0, 0, "!"}),
               &err),
        STATUS_OK, "%s", err.message);
    cr_expect_float_eq(e.nats, 2 * log(2) + h(0.25), 1e-14);
    cr_expect_float_eq(e.characters, 2 * 3 + 2 + 0.75, 1e-14);
}

/* By hand. P(wet) = 2/3. Where it is wet, "rain" or (weight 3) "sleet", which is cold; where it is dry, no choice. Then
 * "brr" is open to the cold alone, with even odds. */
Test(grammar_entropy, of_choices_that_depend_on_what_was_said_follows_the_state)
{
    struct grammar_entropy e;
    struct error err;
    cr_assert_eq(expect(&e,
                        ROWS({"a", 1, 0, 0, "{day}{sky}{end}"}, {"day", 2, 0, WET, "wet:"}, {"day", 1, 0, DRY, "dry:"},
                             {"sky", 1, WET, 0, "rain"}, {"sky", 3, WET, COLD, "sleet"}, {"sky", 9, DRY, HOT, "sun"},
                             {"end", 5, 0, 0, "."}, {"end", 5, COLD, 0, "brr"}),
                        &err),
                 STATUS_OK, "%s", err.message);
    const double wet = 2.0 / 3, cold = wet * 0.75;
    cr_expect_float_eq(e.nats, h(wet) + wet * h(0.25) + cold * log(2), 1e-14);
    cr_expect_float_eq(e.characters, 4 + wet * (4 + 0.75) + (1 - wet) * 3 + 1 + cold * 0.5 * 2, 1e-14);
}

Test(grammar_entropy, names_a_rule_that_can_get_stuck)
{
    struct grammar_entropy e;
    struct error err;
    cr_assert_eq(expect(&e,
                        ROWS({"a", 1, 0, 0, "{day}{sky}"}, {"day", 1, 0, WET, "w"}, {"day", 1, 0, 0, "d"},
                             {"sky", 1, WET, 0, "rain"}),
                        &err),
                 STATUS_FORMAT);
    cr_expect(strstr(err.message, "rule sky"), "%s", err.message);
}

/* More states than the first table holds: 2^14 of them, each with an answer of its own. */
Test(grammar_entropy, grows_with_the_number_of_states)
{
    enum { BITS = 14 };
    uint64_t group[BITS];
    struct grammar_row rows[1 + 3 * BITS];
    char text[BITS * 8 + 1] = "", name[BITS][4], again[BITS][4];
    size_t n = 1;
    for (int i = 0; i < BITS; i++) {
        const uint64_t on = UINT64_C(1) << (2 * i), off = on << 1;
        group[i] = on | off;
        snprintf(name[i], sizeof name[i], "s%d", i);
        snprintf(again[i], sizeof again[i], "t%d", i);
        snprintf(text + strlen(text), 8, "{s%d}", i);
        rows[n++] = (struct grammar_row){name[i], 1, 0, on, "+"};
        rows[n++] = (struct grammar_row){name[i], 1, 0, off, "-"};
    }
    snprintf(text + strlen(text), 8, "{all}");
    rows[0] = (struct grammar_row){"root", 1, 0, 0, text};
    uint64_t every_on = 0, touch = 0;
    for (int i = 0; i < BITS; i++)
        every_on |= UINT64_C(1) << (2 * i), touch |= group[i];
    rows[n++] = (struct grammar_row){"all", 1, every_on, 0, "yes"};
    rows[n++] = (struct grammar_row){"all", 1, 0, 0, "no!"};
    cr_assert_eq(touch, (UINT64_C(1) << (2 * BITS)) - 1);
    const struct grammar_source source = {rows, n, group, BITS};
    struct grammar g;
    struct error err;
    struct grammar_entropy e;
    cr_assert_eq(grammar_make(&g, &source, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(grammar_entropy_expect(&e, &g, &err), STATUS_OK, "%s", err.message);
    cr_expect_float_eq(e.nats, BITS * log(2) + ldexp(log(2), -BITS), 1e-10);
    cr_expect_float_eq(e.characters, BITS + 3, 1e-9);
    grammar_free(&g);
}
