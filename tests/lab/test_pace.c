#include "lab/pace.h"

#include <criterion/criterion.h>
#include <math.h>

#include "base/clock.h"

static void make(struct gpt *g, struct pace *p, size_t block_size)
{
    struct error err;
    const struct config c = config_make(2, 2, 16, block_size, 9);
    cr_assert_eq(gpt_create(g, &c, &err), STATUS_OK);
    params_init(g->params, &g->table, &c, 5);
    cr_assert_eq(pace_create(p, g, ISA_PORTABLE, &err), STATUS_OK, "%s", err.message);
}

static void drop(struct gpt *g, struct pace *p)
{
    pace_free(p);
    gpt_free(g);
}

Test(pace, within_the_context_it_stops_where_the_context_is_full)
{
    struct gpt g;
    struct pace p;
    struct error err;
    make(&g, &p, 24);
    double rate = 0;
    const double start = clock_seconds();
    cr_assert_eq(pace_within(&rate, &p, 0.01, &err), STATUS_OK);
    const double took = clock_seconds() - start;
    cr_assert(rate > 0 && took >= 0.01);
    cr_assert_eq(p.decode.length, 24);
    cr_assert_eq(p.decode.view[0].past, 23, "the last one was one row, not a window computed again");
    drop(&g, &p);
}

Test(pace, past_it_every_symbol_computes_the_window_again)
{
    struct gpt g;
    struct pace p;
    struct error err;
    make(&g, &p, 64);
    double within = 0, past = 0;
    cr_assert_eq(pace_within(&within, &p, 0.05, &err), STATUS_OK);
    cr_assert_eq(pace_past(&past, &p, 0.05, &err), STATUS_OK);
    cr_assert_eq(p.decode.length, 64);
    cr_assert_eq(p.decode.view[0].past, 0);
    cr_assert(past > 0 && past < within, "%g within, %g past", within, past);
    drop(&g, &p);
}

Test(pace, weights_that_are_not_numbers_are_an_error)
{
    struct gpt g;
    struct pace p;
    struct error err;
    make(&g, &p, 4);
    g.params[0] = (real)NAN;
    double rate;
    cr_assert_eq(pace_within(&rate, &p, 0, &err), STATUS_NONFINITE);
    cr_assert_eq(pace_past(&rate, &p, 0, &err), STATUS_NONFINITE);
    drop(&g, &p);
}
