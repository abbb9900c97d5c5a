#include "diag/blackbox_session.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "support/puppet.h"

Test(blackbox_session, places_come_once_each_and_the_telling_ones_first)
{
    struct puppet p;
    struct session s;
    puppet_make(&p, 4, 200, puppet_causal);
    puppet_open(&s, &p);
    for (size_t first = 0; first < 2; first++)
        for (size_t last = first; last < 200; last++) {
            unsigned char seen[200] = {0};
            const size_t n = session_spread(&s, first, last);
            cr_assert_eq(n, last - first + 1);
            for (size_t k = 0; k < n; k++) {
                cr_assert(s.places[k] >= first && s.places[k] <= last && !seen[s.places[k]], "%zu..%zu", first, last);
                seen[s.places[k]] = 1;
            }
        }
    const size_t n = session_spread(&s, 1, 199);
    const size_t telling[] = {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 198, 199};
    for (size_t i = 0; i < sizeof telling / sizeof *telling; i++) {
        size_t at = 0;
        while (at < n && s.places[at] != telling[i])
            at++;
        cr_assert_lt(at, 50, "%zu comes at %zu", telling[i], at);
    }
    /* however few of the rest are tried, they are far apart: no gap of 100 after the first 56 */
    unsigned char tried[201] = {1};
    for (size_t k = 0; k < 56; k++)
        tried[s.places[k]] = 1;
    for (size_t t = 0, gap = 0; t < 200; t++) {
        gap = tried[t] ? 0 : gap + 1;
        cr_assert_lt(gap, 40);
    }
    puppet_close(&s);
    puppet_free(&p);
}

Test(blackbox_session, changes_are_changes_and_use_no_barred_symbol)
{
    struct puppet p;
    struct session s;
    puppet_make(&p, 3, 50, puppet_causal);
    p.bars_last = true;
    puppet_open(&s, &p);
    session_random(&s, s.tokens, 50);
    session_change(&s, 50, 20, false);
    for (size_t i = 0; i < 50; i++) {
        cr_assert(s.tokens[i] < 2 && s.changed[i] < 2);
        cr_assert_eq(s.tokens[i] != s.changed[i], i >= 20);
    }
    session_change(&s, 50, 20, true);
    for (size_t i = 0; i < 50; i++)
        cr_assert_eq(s.tokens[i] != s.changed[i], i == 20);
    uint32_t other[50];
    session_random(&s, other, 50);
    cr_assert(memcmp(other, s.tokens, sizeof other) != 0, "fresh every time");
    puppet_close(&s);
    puppet_free(&p);
}

Test(blackbox_session, asks_for_everything_or_for_a_few_rows_of_a_large_vocabulary)
{
    const struct {
        size_t V, T, rows;
        bool whole;
    } cases[] = {{64, 1024, 1024, true}, {65, 1024, 64, false}, {50257, 1024, 4, false}, {200000, 2, 2, false}};
    for (size_t i = 0; i < 4; i++) {
        struct puppet p;
        struct session s;
        struct error err;
        puppet_make(&p, cases[i].V, cases[i].T, puppet_causal);
        s = (struct session){.b = &p.box};
        cr_assert_eq(session_open(&s, &err), STATUS_OK);
        cr_assert_eq(s.whole, cases[i].whole, "%zu", i);
        cr_assert_eq(s.rows_max, cases[i].rows, "%zu: %zu", i, s.rows_max);
        session_close(&s);
        puppet_free(&p);
    }
}

/* Slow answers are few; they are smaller only where it is their numbers that take the time. */
Test(blackbox_session, what_an_answer_costs_sets_the_pace)
{
    const struct {
        double seconds, all_rows, one_row;
        size_t rows;
        bool slow;
    } cases[] = {{60, 0.1, 0.01, 64, false}, {60, 5, 4.9, 64, true}, {60, 5, 0.1, 8, true}, {1, 0.1, 0.01, 8, true}};
    for (size_t i = 0; i < 4; i++) {
        struct puppet p;
        struct error err;
        puppet_make(&p, 9, 64, puppet_causal);
        struct session s = {.b = &p.box, .seconds = cases[i].seconds};
        cr_assert_eq(session_open(&s, &err), STATUS_OK);
        cr_assert_eq(session_pace(&s, cases[i].all_rows, cases[i].one_row), cases[i].rows < 64, "%zu", i);
        cr_assert_eq(s.rows_max, cases[i].rows, "%zu: %zu", i, s.rows_max);
        cr_assert_eq(s.slow, cases[i].slow, "%zu", i);
        s.end = 0; /* late */
        cr_assert_eq(session_enough(&s, 2, 3, 2), s.slow);
        cr_assert(session_enough(&s, 3, 3, 2) && !session_enough(&s, 1, 3, 2));
        session_close(&s);
        puppet_free(&p);
    }
}

Test(blackbox_session, rows_are_sorted_without_doubles_and_differences_pass_over_the_barred)
{
    struct puppet p;
    struct session s;
    puppet_make(&p, 3, 6, puppet_causal);
    p.bars_last = true;
    puppet_open(&s, &p);
    const size_t rows[] = {4, 0, 4, 2, 0};
    memcpy(s.rows, rows, sizeof rows);
    cr_assert_eq(session_sort_rows(&s, 5), 3);
    cr_assert(s.rows[0] == 0 && s.rows[1] == 2 && s.rows[2] == 4);
    const double a[] = {1, 2, -INFINITY}, b[] = {1.5, 1.75, -INFINITY};
    cr_assert_eq(session_difference(&s, a, b), 0.5);
    cr_assert_eq(session_tolerance(&s), BLACKBOX_WORTHLESS);
    s.noise = 1e-5;
    cr_assert_eq(session_tolerance(&s), 10 * 1e-5);
    puppet_close(&s);
    puppet_free(&p);
}
