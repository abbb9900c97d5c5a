#include "diag/blackbox_check.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/puppet.h"

static enum status check(struct verdict *v, struct puppet *p, struct error *err)
{
    const struct blackbox_options o = {.seconds = 20, .seed = 3, .quick = true};
    return blackbox_check(v, &p->box, &o, err);
}

static const struct verdict_line *line(const struct verdict *v, const char *detector)
{
    for (size_t k = 0; k < v->lines; k++)
        if (strcmp(v->line[k].detector, detector) == 0)
            return &v->line[k];
    cr_assert(false, "no line of %s", detector);
    return NULL;
}

static struct verdict *verdict(void)
{
    struct verdict *v = calloc(1, sizeof *v);
    cr_assert(v);
    return v;
}

Test(blackbox_check, finds_nothing_in_a_causal_model_of_any_size)
{
    const size_t sizes[][2] = {{2, 2}, {7, 3}, {5, 17}, {65, 64}, {2, 130}, {3000, 33}, {70000, 3}};
    struct verdict *v = verdict();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int barred = 0; barred < 2; barred++) {
            struct puppet p;
            struct error err;
            puppet_make(&p, sizes[i][0] + (size_t)barred, sizes[i][1], puppet_causal);
            p.bars_last = barred;
            cr_assert_eq(check(v, &p, &err), STATUS_OK, "%s", err.message);
            cr_assert_eq(v->findings, 0, "V %zu T %zu: %s", sizes[i][0], sizes[i][1], v->finding[0].what);
            for (size_t k = 0; k < v->lines; k++)
                cr_assert_eq(v->line[k].outcome, VERDICT_CLEAN, "%s: %s", v->line[k].detector, v->line[k].evidence);
            cr_assert_eq(v->lines, 8);
            cr_assert_leq(p.most_numbers, 4 * 70001 > 65536 ? (size_t)4 * 70001 : 65536);
            puppet_free(&p);
        }
    free(v);
}

Test(blackbox_check, finds_what_each_position_sees)
{
    const struct {
        puppet_weight *weight;
        enum chart_pattern pattern;
        const char *words;
    } cases[] = {{puppet_blind, CHART_ALL_FUTURE, "all later positions; a later token moves the answer"},
                 {puppet_next, CHART_ONE_AHEAD, "the next position only (+1)"},
                 {puppet_block_16, CHART_WITHIN_BLOCK, "later positions in the same block of 16"}};
    struct verdict *v = verdict();
    for (size_t i = 0; i < 3; i++) {
        struct puppet p;
        struct error err;
        puppet_make(&p, 9, 48, cases[i].weight);
        cr_assert_eq(check(v, &p, &err), STATUS_OK, "%s", err.message);
        cr_assert_eq(line(v, "suffix")->outcome, VERDICT_FOUND);
        cr_assert_eq(line(v, "chart")->outcome, VERDICT_FOUND);
        cr_assert_geq(v->findings, 2);
        cr_assert_eq(v->finding[0].shape.pattern, cases[i].pattern);
        cr_assert(strstr(v->finding[0].what, cases[i].words), "%s", v->finding[0].what);
        cr_assert(isfinite(v->nats));
        puppet_free(&p);
    }
    free(v);
}

static double one_head(size_t i, size_t j, size_t n)
{
    return (3 * puppet_causal(i, j, n) + puppet_blind(i, j, n)) / 4;
}

Test(blackbox_check, says_when_a_leak_is_partial)
{
    struct verdict *v = verdict();
    struct puppet p;
    struct error err;
    puppet_make(&p, 9, 48, one_head);
    cr_assert_eq(check(v, &p, &err), STATUS_OK, "%s", err.message);
    cr_assert(strstr(v->finding[0].what, "all later positions; partial: "), "%s", v->finding[0].what);
    puppet_free(&p);
    free(v);
}

static double nearly_causal(size_t i, size_t j, size_t n)
{
    return j <= i ? puppet_causal(i, j, n) : 1e-9;
}

Test(blackbox_check, calls_what_is_worth_nothing_numerical_dependence)
{
    struct verdict *v = verdict();
    struct puppet p;
    struct error err;
    puppet_make(&p, 9, 48, nearly_causal);
    cr_assert_eq(check(v, &p, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(v->findings, 0);
    cr_assert_eq(line(v, "suffix")->outcome, VERDICT_NOTED);
    cr_assert_eq(line(v, "chart")->outcome, VERDICT_NOTED);
    cr_assert(strstr(line(v, "suffix")->evidence, "numerical dependence"), "%s", line(v, "suffix")->evidence);
    puppet_free(&p);
    free(v);
}

Test(blackbox_check, allows_for_noise_and_still_finds_a_leak)
{
    struct verdict *v = verdict();
    for (int leaks = 0; leaks < 2; leaks++) {
        struct puppet p;
        struct error err;
        puppet_make(&p, 9, 48, leaks ? puppet_blind : puppet_causal);
        p.noise = 1e-6;
        cr_assert_eq(check(v, &p, &err), STATUS_OK, "%s", err.message);
        cr_assert_eq(line(v, "repeat")->outcome, VERDICT_NOTED);
        cr_assert_eq(v->findings > 0, leaks, "%s", v->finding[0].what);
        puppet_free(&p);
    }
    free(v);
}

/* What spoils every test is an error that says what it is, and no leak. */
Test(blackbox_check, tells_broken_models_from_leaks)
{
    const struct {
        const char *words;
        enum status status;
        double noise, poison;
        bool remembers;
        size_t refuses_below;
        bool confuses_rows;
    } cases[] = {
        {"answers differ between identical questions", STATUS_FORMAT, .noise = 0.1},
        {"depends on earlier questions", STATUS_FORMAT, .remembers = true},
        {"not finite: row 1 has NaN", STATUS_NONFINITE, .poison = NAN},
        {"not finite: row 1 has Infinity", STATUS_NONFINITE, .poison = INFINITY},
        {"a shorter one was not", STATUS_FORMAT, .refuses_below = 48},
        {"a shorter one was not", STATUS_FORMAT, .refuses_below = 2},
        {"asked for rows only", STATUS_FORMAT, .confuses_rows = true},
    };
    struct verdict *v = verdict();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct puppet p;
        struct error err = {{0}};
        puppet_make(&p, 9, 48, puppet_causal);
        p.noise = cases[i].noise;
        p.poison = cases[i].poison;
        p.remembers = cases[i].remembers;
        p.refuses_below = cases[i].refuses_below;
        p.confuses_rows = cases[i].confuses_rows;
        cr_assert_eq(check(v, &p, &err), cases[i].status, "%s: %s", cases[i].words, err.message);
        cr_assert(strstr(err.message, cases[i].words), "%s", err.message);
        puppet_free(&p);
    }
    free(v);
}

Test(blackbox_check, skips_what_has_no_future)
{
    const size_t sizes[][2] = {{1, 5}, {5, 1}, {1, 1}};
    struct verdict *v = verdict();
    for (size_t i = 0; i < 3; i++) {
        struct puppet p;
        struct error err;
        puppet_make(&p, sizes[i][0], sizes[i][1], puppet_blind);
        cr_assert_eq(check(v, &p, &err), STATUS_OK, "%s", err.message);
        cr_assert_eq(v->findings, 0);
        cr_assert_eq(line(v, "suffix")->outcome, VERDICT_SKIPPED);
        puppet_free(&p);
    }
    free(v);
}

/* With no time at all a few questions of each kind are asked, enough for these, and the evidence says how few. */
Test(blackbox_check, out_of_time_it_still_tells_the_common_leaks)
{
    const struct {
        puppet_weight *weight;
        enum chart_pattern pattern;
    } cases[] = {{puppet_causal, CHART_CAUSAL}, {puppet_blind, CHART_ALL_FUTURE}, {puppet_next, CHART_ONE_AHEAD}};
    const size_t sizes[][2] = {{9, 200}, {9, 5}, {3000, 64}};
    struct verdict *v = verdict();
    for (size_t i = 0; i < 9; i++) {
        struct puppet p;
        struct error err;
        const struct blackbox_options o = {.seconds = 0};
        puppet_make(&p, sizes[i / 3][0], sizes[i / 3][1], cases[i % 3].weight);
        cr_assert_eq(blackbox_check(v, &p.box, &o, &err), STATUS_OK, "%s", err.message);
        const bool leaks = i % 3 > 0;
        cr_assert_eq(line(v, "suffix")->outcome, leaks ? VERDICT_FOUND : VERDICT_CLEAN);
        cr_assert_eq(v->findings > 0, leaks);
        cr_assert_eq(v->finding[0].shape.pattern, cases[i % 3].pattern, "%s", v->finding[0].what);
        cr_assert(i > 0 || strstr(line(v, "suffix")->evidence, "2 of 199 positions: no"), "%s",
                  line(v, "suffix")->evidence);
        cr_assert_eq(line(v, "uniform")->outcome, VERDICT_SKIPPED);
        cr_assert_leq(p.asked, 26, "%zu", p.asked);
        puppet_free(&p);
    }
    free(v);
}
