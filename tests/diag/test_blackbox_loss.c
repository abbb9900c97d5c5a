#include "diag/blackbox_loss.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "support/puppet.h"

/* The session's verdict has one line, with this outcome, and findings or none. */
static void expect(const struct session *s, enum verdict_outcome outcome, size_t findings)
{
    cr_assert_eq(s->v->lines, 1);
    cr_assert_eq(s->v->line[0].outcome, outcome, "%s", s->v->line[0].evidence);
    cr_assert_eq(s->v->findings, findings);
}

static const struct chart_shape causal = {CHART_CAUSAL, 0, 0, 0}, all = {CHART_ALL_FUTURE, 0, 0, 0};

Test(blackbox_loss, generation_is_the_same_with_and_without_a_future)
{
    const size_t sizes[][2] = {{7, 2}, {7, 40}, {3000, 40}};
    for (size_t i = 0; i < 3; i++) {
        struct puppet p;
        struct session s;
        struct error err;
        puppet_make(&p, sizes[i][0], sizes[i][1], puppet_causal);
        puppet_open(&s, &p);
        cr_assert_eq(blackbox_generation(&s, &causal, &err), STATUS_OK, "%s", err.message);
        expect(&s, VERDICT_CLEAN, 0);
        cr_assert_eq(s.v->nats, 0);
        puppet_close(&s);
        puppet_free(&p);
    }
}

/* A model that gives the token to come e^k times its odds, where it is in the window, gains what can be worked out. */
Test(blackbox_loss, generation_says_what_the_future_is_worth)
{
    struct puppet p;
    struct session s;
    struct error err;
    puppet_make(&p, 8, 60, puppet_causal);
    p.knows_next = 3;
    puppet_open(&s, &p);
    verdict_find(s.v, "suffix", "seen before")->shape = all;
    cr_assert_eq(blackbox_generation(&s, &all, &err), STATUS_OK, "%s", err.message);
    expect(&s, VERDICT_FOUND, 2);
    /* the logits differ by less than one in 8: near uniform odds */
    const double uniform = 1.0 / 8, worth = 3 - log(1 + uniform * (exp(3) - 1));
    cr_assert_float_eq(s.v->nats, worth, 0.2, "%g, %g", s.v->nats, worth);
    cr_assert_eq(s.v->finding[1].nats, s.v->nats);
    cr_assert_eq(s.v->finding[0].nats, s.v->nats, "it is the same leak");
    cr_assert_eq(s.v->finding[1].shape.pattern, CHART_ALL_FUTURE);
    puppet_close(&s);
    puppet_free(&p);
}

Test(blackbox_loss, a_dependence_on_the_length_is_told_from_low_precision)
{
    struct puppet p;
    struct session s;
    struct error err;
    puppet_make(&p, 8, 60, puppet_causal);
    p.counts_length = true;
    puppet_open(&s, &p);
    cr_assert_eq(blackbox_generation(&s, &causal, &err), STATUS_OK, "%s", err.message);
    expect(&s, VERDICT_FOUND, 1);
    cr_assert(strstr(s.v->finding[0].what, "how many tokens follow"), "%s", s.v->finding[0].what);
    puppet_close(&s);
    p.box.one_length = true; /* it says so itself */
    puppet_open(&s, &p);
    cr_assert_eq(blackbox_generation(&s, &causal, &err), STATUS_OK, "%s", err.message);
    expect(&s, VERDICT_SKIPPED, 0);
    puppet_close(&s);
    p.box.one_length = false;
    p.counts_length = false;
    p.step = 1.0 / 64; /* rounding that differs from length to length, in bfloat16's steps */
    puppet_open(&s, &p);
    cr_assert_eq(blackbox_generation(&s, &causal, &err), STATUS_OK, "%s", err.message);
    expect(&s, VERDICT_NOTED, 0);
    puppet_close(&s);
    puppet_free(&p);
}

Test(blackbox_loss, no_model_beats_uniform_odds_on_random_tokens)
{
    const size_t sizes[][2] = {{7, 2}, {7, 40}, {3000, 40}};
    for (size_t i = 0; i < 3; i++)
        for (int leaks = 0; leaks < 2; leaks++) {
            struct puppet p;
            struct session s;
            struct error err;
            puppet_make(&p, sizes[i][0], sizes[i][1], puppet_causal);
            p.bars_last = true;
            p.knows_next = leaks ? 3 : 0;
            puppet_open(&s, &p);
            cr_assert_eq(blackbox_uniform(&s, &err), STATUS_OK, "%s", err.message);
            expect(&s, leaks ? VERDICT_FOUND : VERDICT_CLEAN, (size_t)leaks);
            if (leaks)
                cr_assert_gt(s.v->finding[0].nats, 0.5);
            puppet_close(&s);
            puppet_free(&p);
        }
}

Test(blackbox_loss, rows_must_be_those_of_the_whole_answer)
{
    const size_t sizes[][2] = {{50, 2}, {7, 40}, {3000, 40}};
    for (size_t i = 0; i < 3; i++)
        for (int confused = 0; confused < 2; confused++) {
            struct puppet p;
            struct session s;
            struct error err;
            puppet_make(&p, sizes[i][0], sizes[i][1], puppet_causal);
            p.confuses_rows = confused;
            puppet_open(&s, &p);
            const enum status status = blackbox_rows(&s, &err);
            cr_assert_eq(status, confused ? STATUS_FORMAT : STATUS_OK);
            if (confused)
                cr_assert(strstr(err.message, "asked for rows only"), "%s", err.message);
            else
                expect(&s, VERDICT_CLEAN, 0);
            puppet_close(&s);
            puppet_free(&p);
        }
}
