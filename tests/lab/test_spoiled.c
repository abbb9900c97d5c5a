#include "lab/spoiled.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "diag/head_watch.h"
#include "support/machine.h"
#include "text/tokenizer.h"

static struct error err;

static struct spoiled_options options(void)
{
    return (struct spoiled_options){.trials = 2, .spoilt = 1, .steps = 120, .seed = 5, .team = support_team(1)};
}

static const struct spoiled_training *of(const struct spoiled *r, enum spoiled_kind kind)
{
    for (size_t i = 0; i < r->runs; i++)
        if (r->run[i].kind == kind)
            return &r->run[i];
    cr_assert(0, "no %s run", spoiled_name(kind));
    return NULL;
}

static bool was_told(const struct spoiled_training *t, enum head_finding_kind kind, enum head_finding_cause cause)
{
    for (size_t k = 0; k < t->verdicts && k < SPOILED_VERDICTS; k++)
        if (t->verdict[k].kind == kind && t->verdict[k].cause == cause)
            return true;
    return false;
}

Test(spoiled, each_spoiled_run_is_told_what_is_wrong_and_good_ones_nothing)
{
    struct spoiled r;
    const struct spoiled_options o = options();
    cr_assert_eq(spoiled_run(&r, &o, &err), STATUS_OK, "%s", err.message);
    cr_assert(r.runs == 5 && r.good == 2 && r.bad == 3);
    for (size_t i = 0; i < r.runs; i++)
        cr_expect(r.run[i].right, "%s, seed %zu: %zu said, first %s", spoiled_name(r.run[i].kind),
                  (size_t)r.run[i].seed, r.run[i].verdicts, r.run[i].verdict[0].says);
    cr_assert(r.good_right == 2 && r.bad_right == 3);
    cr_assert(r.run[0].seed == 5 && r.run[1].seed == 6 && r.run[0].verdicts == 0 && r.run[1].verdicts == 0);
    const struct spoiled_training *fast = of(&r, SPOILED_FAST), *frozen = of(&r, SPOILED_FROZEN),
                                  *hot = of(&r, SPOILED_HOT);
    cr_assert(was_told(fast, HEAD_FINDING_COLLAPSE, HEAD_FINDING_NO_CAUSE));
    cr_assert(was_told(frozen, HEAD_FINDING_UNIFORM, HEAD_FINDING_STILL));
    cr_assert(was_told(hot, HEAD_FINDING_UNIFORM, HEAD_FINDING_HOT));
    cr_assert(frozen->verdicts == 1 && hot->verdicts == 1, "the whole model at once, and no other reason");
    cr_assert_lt(fast->verdict[0].step, 60, "while it warms up");
    cr_assert(fast->nonfinite == 0 || fast->verdict[0].step < fast->nonfinite);
    cr_assert(fast->last_loss > r.run[0].last_loss + 0.2, "it is really spoiled");
    spoiled_free(&r);
}

Test(spoiled, figures_of_good_runs_are_far_from_the_limits_and_those_of_spoiled_ones_too)
{
    struct spoiled r;
    const struct spoiled_options o = options();
    cr_assert_eq(spoiled_run(&r, &o, &err), STATUS_OK, "%s", err.message);
    for (size_t i = 0; i < r.good; i++) {
        const struct spoiled_margins *m = &r.run[i].margins;
        cr_assert(m->score < 0.7 * HEAD_WATCH_SCORE && m->turn < 0.7 * HEAD_WATCH_TURN && m->turn > 0);
        cr_assert(fabs(m->temperature - 1) < 0.01 && m->moved > 10 * HEAD_WATCH_STILL);
        cr_assert(m->share > 10 * HEAD_WATCH_DEAD && m->distance > 2 * HEAD_WATCH_SAME);
    }
    cr_assert_gt(of(&r, SPOILED_FAST)->margins.score, 4 * HEAD_WATCH_SCORE);
    cr_assert_lt(of(&r, SPOILED_FROZEN)->margins.moved, 0.01 * HEAD_WATCH_STILL);
    cr_assert_float_eq(of(&r, SPOILED_HOT)->margins.temperature, SPOILED_TEMPERATURE, 0.2);
    spoiled_free(&r);
}

Test(spoiled, a_text_of_ones_own_is_read_and_the_same_bits_come_twice)
{
    struct spoiled r, again;
    struct spoiled_options o = options();
    static uint32_t ids[4000];
    for (size_t i = 0; i < 4000; i++)
        ids[i] = (uint32_t)(i * i / 7 % 11);
    const struct dataset data = {.ids = ids, .width = 4, .count = 4000, .train = 3600};
    o.data = &data;
    o.vocab_size = 11;
    o.trials = 1;
    o.steps = SPOILED_LEAST;
    cr_assert_eq(spoiled_run(&r, &o, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(spoiled_run(&again, &o, &err), STATUS_OK, "%s", err.message);
    cr_assert_float_eq(r.run[0].first_loss, log(11), 0.2, "%g", r.run[0].first_loss);
    for (size_t i = 0; i < r.runs; i++) {
        cr_assert_eq(r.run[i].last_loss, again.run[i].last_loss);
        cr_assert_eq(r.run[i].verdicts, again.run[i].verdicts);
    }
    spoiled_free(&r);
    spoiled_free(&again);
}

Test(spoiled, a_text_that_is_too_short_is_refused)
{
    struct spoiled r;
    struct spoiled_options o = options();
    uint32_t ids[60] = {0};
    const struct dataset data = {.ids = ids, .width = 4, .count = 60, .train = 60};
    o.data = &data;
    o.vocab_size = 2;
    cr_assert_eq(spoiled_run(&r, &o, &err), STATUS_RANGE);
    cr_assert(strstr(err.message, "60"), "%s", err.message);
}

static size_t asked_for;

static bool stop_at_third(void *context, size_t done, size_t total)
{
    cr_assert(context == &asked_for && done <= total && total == (size_t)5 * 120);
    return ++asked_for == 3;
}

Test(spoiled, stops_when_it_is_told_to)
{
    struct spoiled r;
    struct spoiled_options o = options();
    o.progress = stop_at_third;
    o.context = &asked_for;
    cr_assert_eq(spoiled_run(&r, &o, &err), STATUS_INTERRUPTED);
    cr_assert(asked_for == 3 && r.run == NULL);
}
