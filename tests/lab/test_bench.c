#include "lab/bench.h"

#include <criterion/criterion.h>
#include <math.h>

#include "base/clock.h"
#include "support/machine.h"

static struct config tiny_config(void)
{
    struct config c = config_make(2, 2, 16, 12, 9);
    c.dropout = 0.1;
    return c;
}

static struct bench_options tiny_options(void)
{
    return (struct bench_options){.config = tiny_config(),
                                  .batch_size = 3,
                                  .team = support_team(2),
                                  .repeats = 3,
                                  .gemm_size = 32,
                                  .steps = true,
                                  .details = true,
                                  .generation = true};
}

Test(bench, flop_of_a_step_are_those_of_its_products)
{
    struct error err;
    for (int tied = 0; tied < 2; tied++) {
        struct params_table t;
        struct config c = tiny_config();
        c.tied = tied;
        cr_assert_eq(params_table_make(&t, &c, &err), STATUS_OK);
        const double tokens = 3 * 12, weights = 2 * (12 * 16 * 16) + 9 * 16;
        const double all = bench_step_flops(&t, &c, 3);
        cr_assert_eq(all, 6 * tokens * weights + 6 * 2 * 12 * 16 * tokens);
        double parts = 0;
        for (int o = 0; o < LAPS_OPERATIONS; o++)
            for (int p = 0; p < LAPS_PASSES; p++)
                parts += bench_flops(&c, 3, (enum laps_operation)o, (enum laps_pass)p);
        cr_assert_eq(parts, all);
        params_table_free(&t);
    }
}

Test(bench, measures_everything_in_every_round)
{
    struct error err;
    struct bench b;
    const struct bench_options o = tiny_options();
    const double start = clock_seconds();
    cr_assert_eq(bench_run(&b, &o, &err), STATUS_OK, "%s", err.message);
    const double took = clock_seconds() - start;
    cr_assert(b.tokens == 36 && b.parameters > 6000 && b.step_flops > 1e6);
    cr_assert(b.threads >= 1 && b.threads <= 2);
    cr_assert_eq(b.steps, 3, "a bout of no length is one step");
    cr_assert(b.step > 0 && b.step_least <= b.step_low && b.step_low <= b.step && b.step <= b.step_high);
    cr_assert_lt((double)b.steps * b.step_least, took);
    cr_assert(b.gemm_flops > 0 && b.quiet > 0 && b.summary > 0 && b.within > 0 && b.past > 0);
    cr_assert_eq(b.one_thread > 0, b.threads > 1);
    for (int k = 0; k < LAPS_OPERATIONS; k++)
        cr_expect_gt(laps_of(&b.laps, (enum laps_operation)k), 0, "%s", laps_name((enum laps_operation)k));
    /* the optimizer was really asked: two teams cannot start and end in less */
    cr_assert(laps_of(&b.laps, LAPS_NORM) > 5e-7 && laps_of(&b.laps, LAPS_ADAMW) > 5e-7);
    cr_assert_lt(laps_total(&b.laps), took);
    cr_assert_gt(b.arena_bytes, 4 * b.parameters * sizeof(real));
    cr_assert(b.peak_bytes == 0 || b.peak_bytes > b.arena_bytes);
}

Test(bench, a_bout_lasts_as_long_as_it_is_told_to)
{
    struct error err;
    struct bench b;
    struct bench_options o = tiny_options();
    o.repeats = 1;
    o.bout = 0.1;
    o.details = o.generation = false;
    const double start = clock_seconds();
    cr_assert_eq(bench_run(&b, &o, &err), STATUS_OK);
    cr_assert_geq(clock_seconds() - start, 0.1);
    cr_assert(b.steps > 1 && b.steps <= 1000, "%zu", b.steps);
    cr_assert(b.quiet == 0 && b.one_thread == 0 && b.within == 0 && laps_total(&b.laps) == 0);
}

Test(bench, generation_alone_takes_no_step)
{
    struct error err;
    struct bench b;
    struct bench_options o = tiny_options();
    o.steps = false;
    cr_assert_eq(bench_run(&b, &o, &err), STATUS_OK);
    cr_assert(b.steps == 0 && b.gemm_flops == 0 && b.arena_bytes == 0 && b.within > 0 && b.past > 0);
}

struct count {
    size_t asked, total, stop_at;
};

static bool ask(void *context, size_t done, size_t total)
{
    struct count *c = context;
    cr_assert_eq(done, ++c->asked);
    cr_assert(total >= done && (c->total == 0 || c->total == total));
    c->total = total;
    return done == c->stop_at;
}

static bool at_the_third(void *context)
{
    return ++*(size_t *)context == 3;
}

Test(bench, may_be_stopped_after_any_step)
{
    struct error err;
    struct bench b;
    struct bench_options o = tiny_options();
    size_t asked = 0;
    o.stop = at_the_third;
    o.context = &asked;
    cr_assert_eq(bench_run(&b, &o, &err), STATUS_INTERRUPTED);
    cr_assert_eq(asked, 3);
}

Test(bench, says_how_far_it_is_and_stops_when_it_is_told_to)
{
    struct error err;
    struct bench b;
    struct bench_options o = tiny_options();
    struct count whole = {0}, part = {.stop_at = 4};
    o.progress = ask;
    o.context = &whole;
    cr_assert_eq(bench_run(&b, &o, &err), STATUS_OK);
    cr_assert(whole.asked > 0 && whole.asked == whole.total);
    o.context = &part;
    cr_assert_eq(bench_run(&b, &o, &err), STATUS_INTERRUPTED);
    cr_assert_eq(part.asked, 4);
}

Test(bench, a_shape_that_cannot_be_is_refused)
{
    struct error err;
    struct bench b;
    struct bench_options o = tiny_options();
    o.config.n_head = 3;
    cr_assert_eq(bench_run(&b, &o, &err), STATUS_RANGE);
#ifndef NOPEEK_SANITIZED /* a sanitizer reports what is refused */
    o = tiny_options();
    o.batch_size = (size_t)1 << 40;
    cr_assert_neq(bench_run(&b, &o, &err), STATUS_OK);
#endif
}
