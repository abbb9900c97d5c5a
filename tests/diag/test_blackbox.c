#include "diag/blackbox.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "support/puppet.h"

#define V 5
#define N 3

static enum status ask(struct puppet *p, double *logp, struct error *err)
{
    const uint32_t tokens[N] = {0, 3, 1};
    return blackbox_ask(&p->box, logp, tokens, N, NULL, N, err);
}

Test(blackbox, answers_become_log_probabilities)
{
    struct puppet p;
    struct error err;
    double x[N * V];
    puppet_make(&p, V, N, puppet_causal);
    cr_assert_eq(ask(&p, x, &err), STATUS_OK, "%s", err.message);
    for (size_t k = 0; k < N; k++) {
        double sum = 0;
        for (size_t v = 0; v < V; v++)
            sum += exp(x[k * V + v]);
        cr_assert_float_eq(sum, 1, 1e-12);
    }
    cr_assert_eq(p.box.n_allowed, V);
    cr_assert_eq(p.box.questions, 1);
    cr_assert(p.box.largest > 0 && p.box.largest <= 1);
    puppet_free(&p);
}

Test(blackbox, a_symbol_barred_in_every_row_is_left_out)
{
    struct puppet p;
    struct error err;
    double x[N * V];
    puppet_make(&p, V, N, puppet_causal);
    p.bars_last = true;
    cr_assert_eq(ask(&p, x, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(p.box.n_allowed, V - 1);
    cr_assert(p.box.barred[V - 1] && x[V - 1] == -INFINITY && isfinite(x[V - 2]));
    p.bars_last = false;
    cr_assert_eq(ask(&p, x, &err), STATUS_NONFINITE, "it was barred before");
    puppet_free(&p);
}

Test(blackbox, what_is_not_finite_is_named_with_its_place)
{
    const struct {
        double poison;
        const char *words;
    } cases[] = {{NAN, "row 1 has NaN (or null) for symbol 2"},
                 {INFINITY, "row 1 has Infinity for symbol 2"},
                 {-INFINITY, "symbol 2 has -Infinity in some rows only (row 1)"}};
    for (size_t i = 0; i < 3; i++) {
        struct puppet p;
        struct error err;
        double x[N * V];
        puppet_make(&p, V, N, puppet_causal);
        p.poison = cases[i].poison;
        cr_assert_eq(ask(&p, x, &err), STATUS_NONFINITE);
        cr_assert(strstr(err.message, cases[i].words), "%s", err.message);
        cr_assert(strstr(err.message, "question 1 (3 tokens): "), "%s", err.message);
        puppet_free(&p);
    }
}

Test(blackbox, precision_shows_in_the_logits)
{
    const struct {
        double step;
        int bits;
    } cases[] = {{1.0 / 64, 8}, {1.0 / 1024, 11}, {0, 24}};
    for (size_t i = 0; i < 3; i++) {
        struct puppet p;
        struct error err;
        double x[N * V];
        puppet_make(&p, V, N, puppet_causal);
        p.step = cases[i].step;
        cr_assert_eq(ask(&p, x, &err), STATUS_OK);
        cr_assert_eq(blackbox_epsilon(&p.box), ldexp(1, -cases[i].bits), "step %g", cases[i].step);
        puppet_free(&p);
    }
}
