#include "model/gpt.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "support/machine.h"
#include "support/tiny.h"

#ifdef NOPEEK_DOUBLE
#define NEAR 1e-12
#else
#define NEAR 1e-5
#endif

static const struct gpt_pass DROPPING = {.training = true, .seed = 5, .step = 9, .first_row = 3};

/* Longer than two strips of attention's products, and ragged. */
enum { LONG = 37 };

static struct config small_config(void)
{
    struct config c = config_make(2, 3, 6, LONG, 11);
    c.dropout = 0.3;
    return c;
}

static real *copy(const real *x, size_t n)
{
    real *y = malloc(n * sizeof *y);
    memcpy(y, x, n * sizeof *y);
    return y;
}

static real *logits_of(struct tiny *t, const struct gpt_pass *pass)
{
    gpt_forward(&t->model, &t->work, t->tokens, t->B, t->T, pass);
    return copy(t->work.logits, t->B * t->T * t->model.config.vocab_size);
}

static size_t rows_of(const struct tiny *t)
{
    return t->B * t->T;
}

/* max(1, largest |x|): what a tolerance for logits is relative to. */
static double scale_of(const real *x, size_t n)
{
    double most = 1;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs((double)x[i]));
    return most;
}

/* ---- no position sees its future ---- */

/* The first position of batch row b at which two sets of logits differ in any bit; T when none does. */
static size_t first_difference(const struct tiny *t, const real *a, const real *b, size_t row)
{
    const size_t V = t->model.config.vocab_size;
    for (size_t i = 0; i < t->T; i++)
        if (memcmp(a + (row * t->T + i) * V, b + (row * t->T + i) * V, V * sizeof *a))
            return i;
    return t->T;
}

/* Changes every token from position at on, in all rows, and back. */
static void shift_tokens(struct tiny *t, size_t at, size_t by)
{
    const size_t V = t->model.config.vocab_size;
    for (size_t n = 0; n < rows_of(t); n++)
        if (n % t->T >= at)
            t->tokens[n] = (uint32_t)((t->tokens[n] + by) % V);
}

/* Where the change of a suffix is first felt, at each t: exactly there, when the model is causal. */
static size_t count_leaks(struct tiny *t, const struct gpt_pass *pass)
{
    size_t leaks = 0;
    real *before = logits_of(t, pass);
    for (size_t at = 1; at < t->T; at++) {
        shift_tokens(t, at, 1);
        real *after = logits_of(t, pass);
        shift_tokens(t, at, t->model.config.vocab_size - 1);
        for (size_t b = 0; b < t->B; b++) {
            const size_t first = first_difference(t, before, after, b);
            cr_expect_leq(first, at, "a change at %zu must be felt there", at);
            leaks += first < at;
        }
        free(after);
    }
    free(before);
    return leaks;
}

Test(gpt, a_changed_suffix_leaves_earlier_logits_bit_identical)
{
    for (int threads = 1; threads <= 2; threads++) {
        const struct config c = small_config();
        struct tiny t;
        tiny_make(&t, &c, 1, 2, LONG, threads);
        cr_expect_eq(count_leaks(&t, &gpt_evaluating), 0);
        cr_expect_eq(count_leaks(&t, &DROPPING), 0, "with dropout");
        tiny_free(&t);
    }
}

/* A finite number in place of minus infinity would be beaten here: scores lie beyond -1e5. */
Test(gpt, huge_scores_hide_the_future_as_well)
{
    const struct config c = small_config();
    struct tiny t;
    tiny_make(&t, &c, 1, 1, LONG, 1);
    tiny_sharpen(&t, 0, (real)3e5);
    tiny_sharpen(&t, 1, (real)3e5);
    cr_expect_eq(count_leaks(&t, &gpt_evaluating), 0);
    gpt_forward(&t.model, &t.work, t.tokens, t.B, t.T, &gpt_evaluating);
    real least = 0;
    for (size_t i = 0; i < c.n_head * t.T; i++)
        least = t.work.block[0].rows.max_score[i] < least ? t.work.block[0].rows.max_score[i] : least;
    cr_expect_lt(least, (real)-1e5, "the test wants a row of nothing but scores below -1e5, not %g", (double)least);
    tiny_free(&t);
}

Test(gpt, one_head_that_sees_everything_is_a_leak_that_shows)
{
    const struct config c = small_config();
    struct tiny t;
    tiny_make(&t, &c, 1, 1, LONG, 1);
    for (size_t head = 0; head < c.n_layer * c.n_head; head++) {
        t.model.rules[head] = ATTENTION_FULL;
        cr_expect_eq(count_leaks(&t, &gpt_evaluating), LONG - 1, "head %zu", head);
        t.model.rules[head] = ATTENTION_CAUSAL;
    }
    cr_expect_eq(count_leaks(&t, &gpt_evaluating), 0);
    tiny_free(&t);
}

/* Sends a random gradient of the logits at position i back. */
static void send_back(struct tiny *t, size_t i, const struct gpt_pass *pass)
{
    const size_t V = t->model.config.vocab_size;
    const struct rng_site site = {.seed = 3, .purpose = RNG_TEST};
    gpt_forward(&t->model, &t->work, t->tokens, t->B, t->T, pass);
    memset(t->work.logits, 0, rows_of(t) * V * sizeof *t->work.logits);
    for (size_t b = 0; b < t->B; b++)
        for (size_t v = 0; v < V; v++)
            t->work.logits[(b * t->T + i) * V + v] = (real)rng_normal(&site, (uint32_t)v);
    gpt_backward(&t->model, &t->work, t->tokens, t->B, t->T, pass, NULL);
}

static bool row_is_zero(const struct tiny *t, size_t n)
{
    const size_t C = t->model.config.n_embd;
    for (size_t c = 0; c < C; c++)
        if (t->work.dres[n * C + c] != 0)
            return false;
    return true;
}

Test(gpt, logits_have_exactly_no_gradient_at_later_inputs)
{
    const struct config c = small_config();
    struct tiny t;
    tiny_make(&t, &c, 1, 2, LONG, 1);
    for (size_t i = 0; i < LONG; i++) {
        send_back(&t, i, &gpt_evaluating);
        for (size_t n = 0; n < rows_of(&t); n++)
            cr_expect_eq(row_is_zero(&t, n), n % LONG > i, "logits at %zu, input at %zu", i, n % LONG);
        send_back(&t, i, &DROPPING);
        for (size_t n = 0; n < rows_of(&t); n++)
            cr_expect(n % LONG <= i || row_is_zero(&t, n), "with dropout: logits at %zu, input at %zu", i, n % LONG);
    }
    t.model.rules[4] = ATTENTION_FULL;
    send_back(&t, 5, &gpt_evaluating);
    cr_expect_not(row_is_zero(&t, LONG - 1), "a head that sees everything shows here too");
    tiny_free(&t);
}

Test(gpt, not_a_number_at_a_late_position_reaches_no_earlier_logit)
{
    const struct config c = small_config();
    struct tiny t;
    tiny_make(&t, &c, 1, 2, LONG, 1);
    const size_t V = c.vocab_size;
    real *before = logits_of(&t, &gpt_evaluating);
    real *position = tiny_tensor(&t, t.model.params, PARAMS_POSITION_EMBEDDING, 0);
    static const size_t AT[] = {1, 15, 16, 17, 31, 32, 33, LONG - 1};
    static const double BAD[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (size_t k = 0; k < sizeof AT / sizeof *AT; k++)
        for (size_t v = 0; v < sizeof BAD / sizeof *BAD; v++) {
            real *place = position + AT[k] * c.n_embd + 1, kept = *place;
            *place = (real)BAD[v];
            real *after = logits_of(&t, &gpt_evaluating);
            *place = kept;
            for (size_t b = 0; b < t.B; b++) {
                cr_expect_eq(first_difference(&t, before, after, b), AT[k]);
                for (size_t i = AT[k]; i < LONG; i++)
                    cr_expect(isnan(after[(b * LONG + i) * V]), "position %zu sees the one at %zu", i, AT[k]);
            }
            free(after);
        }
    free(before);
    tiny_free(&t);
}

Test(gpt, batch_rows_do_not_see_each_other)
{
    const struct config c = small_config();
    struct tiny t;
    tiny_make(&t, &c, 1, 3, 19, 2);
    real *before = logits_of(&t, &DROPPING);
    for (size_t i = 0; i < 19; i++)
        t.tokens[19 + i] = (t.tokens[19 + i] + 1) % 11;
    real *after = logits_of(&t, &DROPPING);
    cr_expect_eq(first_difference(&t, before, after, 0), 19);
    cr_expect_eq(first_difference(&t, before, after, 1), 0);
    cr_expect_eq(first_difference(&t, before, after, 2), 19);
    free(after);
    free(before);
    tiny_free(&t);
}

/* ---- loss ---- */

Test(gpt, loss_is_minus_the_log_of_the_targets_probability)
{
    const struct config c = small_config();
    struct tiny t;
    tiny_make(&t, &c, 1, 2, 5, 1);
    const size_t V = c.vocab_size, N = rows_of(&t);
    real *logits = logits_of(&t, &gpt_evaluating);
    gpt_loss(&t.model, &t.work, t.targets, t.B, t.T);
    double total = 0;
    for (size_t n = 0; n < N; n++) {
        double sum = 0;
        for (size_t v = 0; v < V; v++)
            sum += exp((double)logits[n * V + v]);
        const double loss = log(sum) - (double)logits[n * V + t.targets[n]];
        cr_expect_float_eq((double)t.work.loss[n], loss, NEAR * 5);
        for (size_t v = 0; v < V; v++)
            cr_expect_float_eq((double)t.work.logits[n * V + v], exp((double)logits[n * V + v]) / sum, NEAR);
        total += loss;
    }
    cr_expect_float_eq(gpt_mean_loss(&t.work, N), total / (double)N, NEAR * 5);
    gpt_loss_backward(&t.model, &t.work, t.targets, (real)0.25, t.B, t.T);
    for (size_t n = 0; n < N; n++) {
        double sum = 0;
        for (size_t v = 0; v < V; v++)
            sum += (double)t.work.logits[n * V + v];
        cr_expect_float_eq(sum, 0, NEAR);
        cr_expect_float_eq((double)t.work.logits[n * V + t.targets[n]], 0.25 * (exp(-(double)t.work.loss[n]) - 1),
                           NEAR);
    }
    free(logits);
    tiny_free(&t);
}

Test(gpt, a_fresh_model_knows_nothing)
{
    const struct config c = config_make(4, 4, 32, LONG, 65);
    struct tiny t;
    tiny_make(&t, &c, 1, 4, LONG, 1);
    params_init(t.model.params, &t.model.table, &c, 1);
    gpt_forward(&t.model, &t.work, t.tokens, t.B, t.T, &gpt_evaluating);
    gpt_loss(&t.model, &t.work, t.targets, t.B, t.T);
    const double loss = gpt_mean_loss(&t.work, rows_of(&t));
    cr_expect_float_eq(loss, log(65), 0.03 * log(65), "%g", loss);
    tiny_free(&t);
}

/* ---- dropout, accumulation, threads, room ---- */

Test(gpt, evaluation_has_no_dropout)
{
    struct config c = small_config();
    struct tiny t, without;
    tiny_make(&t, &c, 1, 2, 7, 1);
    c.dropout = 0;
    tiny_make(&without, &c, 1, 2, 7, 1);
    real *a = logits_of(&t, &gpt_evaluating), *b = logits_of(&without, &gpt_evaluating);
    real *dropped = logits_of(&t, &DROPPING), *again = logits_of(&t, &gpt_evaluating);
    const size_t n = rows_of(&t) * c.vocab_size;
    cr_expect_eq(memcmp(a, b, n * sizeof *a), 0);
    cr_expect_eq(memcmp(a, again, n * sizeof *a), 0, "a training pass leaves no trace");
    cr_expect_gt(tiny_distance(a, dropped, n), 0.01);
    free(again);
    free(dropped);
    free(b);
    free(a);
    tiny_free(&without);
    tiny_free(&t);
}

Test(gpt, dropout_is_a_function_of_its_counters)
{
    const struct config c = small_config();
    struct tiny t;
    tiny_make(&t, &c, 1, 2, 7, 1);
    const size_t n = rows_of(&t) * c.vocab_size;
    real *a = logits_of(&t, &DROPPING), *same = logits_of(&t, &DROPPING);
    cr_expect_eq(memcmp(a, same, n * sizeof *a), 0);
    struct gpt_pass others[3] = {DROPPING, DROPPING, DROPPING};
    others[0].seed++;
    others[1].step++;
    others[2].first_row += 2;
    for (size_t i = 0; i < 3; i++) {
        real *other = logits_of(&t, &others[i]);
        cr_expect_gt(tiny_distance(a, other, n), 0.01, "counter %zu", i);
        free(other);
    }
    free(same);
    free(a);
    tiny_free(&t);
}

/* The gradient of a batch is the sum over any division of it into smaller ones: dropout too knows a row by its number
 * in the whole step. */
Test(gpt, small_batches_add_up_to_a_large_one)
{
    const struct config c = small_config();
    struct tiny t;
    tiny_make(&t, &c, 1, 4, 7, 1);
    const size_t size = t.model.table.size, n = 7;
    real *whole = calloc(size, sizeof *whole), *sum = calloc(size, sizeof *sum);
    tiny_step(&t, &DROPPING, whole);
    static const size_t PARTS[] = {1, 2, 1};
    size_t first = 0;
    for (size_t k = 0; k < 3; k++) {
        struct gpt_pass pass = DROPPING;
        pass.first_row += (uint32_t)first;
        gpt_forward(&t.model, &t.work, t.tokens + first * n, PARTS[k], n, &pass);
        gpt_loss(&t.model, &t.work, t.targets + first * n, PARTS[k], n);
        gpt_loss_backward(&t.model, &t.work, t.targets + first * n, (real)(1.0 / 28), PARTS[k], n);
        gpt_backward(&t.model, &t.work, t.tokens + first * n, PARTS[k], n, &pass, sum);
        first += PARTS[k];
    }
    cr_expect_leq(tiny_distance(whole, sum, size), NEAR * scale_of(whole, size));
    free(sum);
    free(whole);
    tiny_free(&t);
}

Test(gpt, gradients_are_added_and_may_be_left_out)
{
    const struct config c = small_config();
    struct tiny t;
    tiny_make(&t, &c, 1, 2, 7, 1);
    const size_t size = t.model.table.size, n = rows_of(&t) * c.n_embd, v = rows_of(&t) * c.vocab_size;
    real *once = calloc(size, sizeof *once);
    tiny_step(&t, &DROPPING, once);
    real *dres = copy(t.work.dres, n), *dlogits = copy(t.work.logits, v), *sum = copy(once, size);

    gpt_forward(&t.model, &t.work, t.tokens, t.B, t.T, &DROPPING);
    memcpy(t.work.logits, dlogits, v * sizeof *dlogits);
    gpt_backward(&t.model, &t.work, t.tokens, t.B, t.T, &DROPPING, sum);
    for (size_t i = 0; i < size; i++)
        sum[i] -= once[i];
    cr_expect_leq(tiny_distance(once, sum, size), NEAR * scale_of(once, size));

    gpt_forward(&t.model, &t.work, t.tokens, t.B, t.T, &DROPPING);
    memcpy(t.work.logits, dlogits, v * sizeof *dlogits);
    gpt_backward(&t.model, &t.work, t.tokens, t.B, t.T, &DROPPING, NULL);
    cr_expect_eq(memcmp(dres, t.work.dres, n * sizeof *dres), 0,
                 "the inputs' gradient is the same without the weights'");
    free(sum);
    free(dlogits);
    free(dres);
    free(once);
    tiny_free(&t);
}

Test(gpt, threads_divide_the_work_and_not_the_result)
{
    const struct config c = small_config();
    real *first = NULL, *first_logits = NULL;
    for (int threads = 1; threads <= 5; threads++) {
        struct tiny t;
        tiny_make(&t, &c, 1, 3, 19, threads);
        const size_t size = t.model.table.size, n = rows_of(&t) * c.vocab_size;
        real *grads = calloc(size, sizeof *grads), *again = calloc(size, sizeof *again);
        tiny_step(&t, &DROPPING, grads);
        tiny_step(&t, &DROPPING, again);
        cr_expect_eq(memcmp(grads, again, size * sizeof *grads), 0, "%d threads give the same bits twice", threads);
        real *logits = logits_of(&t, &DROPPING);
        if (!first) {
            first = copy(grads, size);
            first_logits = copy(logits, n);
        }
        cr_expect_leq(tiny_distance(first, grads, size), NEAR * scale_of(first, size), "%d threads", threads);
        cr_expect_leq(tiny_distance(first_logits, logits, n), NEAR * scale_of(first_logits, n), "%d threads", threads);
        free(logits);
        free(again);
        free(grads);
        tiny_free(&t);
    }
    free(first_logits);
    free(first);
}

Test(gpt, evaluation_in_shared_memory_gives_the_same_bits)
{
    struct error err;
    const struct config c = small_config();
    struct tiny t;
    struct work shared;
    tiny_make(&t, &c, 1, 2, 19, 1);
    cr_assert_eq(work_create(&shared, &c, 2, 19, false, support_team(1), &err), STATUS_OK, "%s", err.message);
    real *logits = logits_of(&t, &gpt_evaluating);
    gpt_forward(&t.model, &shared, t.tokens, 2, 19, &gpt_evaluating);
    cr_expect_eq(memcmp(logits, shared.logits, rows_of(&t) * c.vocab_size * sizeof *logits), 0);
    free(logits);
    work_free(&shared);
    tiny_free(&t);
}

/* A pass may be smaller than the room it has, in both directions; a prefix has the logits that it has in the whole. */
Test(gpt, smaller_passes_fit_in_larger_room)
{
    const struct config c = small_config();
    struct tiny t;
    tiny_make(&t, &c, 1, 2, LONG, 1);
    const size_t V = c.vocab_size;
    real *whole = logits_of(&t, &gpt_evaluating);
    for (size_t T = 1; T <= LONG; T++) {
        gpt_forward(&t.model, &t.work, t.tokens, 1, T, &gpt_evaluating);
        cr_expect_leq(tiny_distance(whole, t.work.logits, T * V), NEAR * scale_of(whole, T * V), "T = %zu", T);
    }
    free(whole);
    tiny_free(&t);
}

Test(gpt, an_untied_head_equal_to_the_embedding_gives_the_tied_logits)
{
    struct config c = small_config();
    struct tiny tied, untied;
    tiny_make(&tied, &c, 1, 2, 7, 1);
    c.tied = false;
    tiny_make(&untied, &c, 1, 2, 7, 1);
    const size_t size = tied.model.table.size, E = c.vocab_size * c.n_embd;
    memcpy(untied.model.params, tied.model.params, size * sizeof *tied.model.params); /* the head comes last */
    memcpy(tiny_tensor(&untied, untied.model.params, PARAMS_HEAD, 0),
           tiny_tensor(&tied, tied.model.params, PARAMS_TOKEN_EMBEDDING, 0), E * sizeof *tied.model.params);
    real *a = logits_of(&tied, &gpt_evaluating), *b = logits_of(&untied, &gpt_evaluating);
    cr_expect_eq(memcmp(a, b, rows_of(&tied) * c.vocab_size * sizeof *a), 0);

    /* The tied matrix is used twice, so its gradient is the sum of both. */
    real *da = calloc(size, sizeof *da), *db = calloc(untied.model.table.size, sizeof *db);
    tiny_step(&tied, &gpt_evaluating, da);
    tiny_step(&untied, &gpt_evaluating, db);
    real *both = tiny_tensor(&untied, db, PARAMS_TOKEN_EMBEDDING, 0);
    const real *head = tiny_tensor(&untied, db, PARAMS_HEAD, 0);
    for (size_t i = 0; i < E; i++)
        both[i] += head[i];
    cr_expect_leq(tiny_distance(da, db, size), NEAR * scale_of(da, size));
    free(db);
    free(da);
    free(b);
    free(a);
    tiny_free(&untied);
    tiny_free(&tied);
}

Test(gpt, the_smallest_sizes_work)
{
    static const struct {
        size_t L, H, C, block, V, B, T;
    } SIZES[] = {
        {1, 1, 1, 1, 1, 1, 1},   {1, 1, 1, 1, 2, 1, 1},   {1, 3, 3, 1, 2, 2, 1},   {2, 1, 1, 2, 1, 1, 2},
        {1, 2, 2, 15, 3, 1, 15}, {1, 2, 2, 16, 3, 1, 16}, {1, 2, 2, 17, 3, 1, 17},
    };
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        const struct config c = config_make(SIZES[i].L, SIZES[i].H, SIZES[i].C, SIZES[i].block, SIZES[i].V);
        struct tiny t;
        tiny_make(&t, &c, 1, SIZES[i].B, SIZES[i].T, 2);
        real *grads = calloc(t.model.table.size, sizeof *grads);
        const double loss = tiny_step(&t, &gpt_evaluating, grads);
        cr_expect(isfinite(loss) && loss >= 0, "size %zu: %g", i, loss);
        cr_expect(c.vocab_size > 1 || loss == 0, "one symbol is no surprise");
        for (size_t k = 0; k < t.model.table.size; k++)
            cr_expect(isfinite(grads[k]), "size %zu", i);
        free(grads);
        tiny_free(&t);
    }
}

Test(gpt, create_checks_the_config_and_sets_the_rules)
{
    struct error err;
    struct gpt g;
    struct config c = config_make(2, 3, 8, 4, 5);
    cr_expect_eq(gpt_create(&g, &c, &err), STATUS_RANGE);
    cr_expect_null(g.params);
    c = config_make(2, 3, 6, 4, 5);
    c.trained = ATTENTION_FULL;
    cr_assert_eq(gpt_create(&g, &c, &err), STATUS_OK, "%s", err.message);
    for (size_t i = 0; i < 6; i++)
        cr_expect_eq(g.rules[i], ATTENTION_FULL);
    for (size_t i = 0; i < g.table.size; i++)
        cr_expect_eq(g.params[i], 0);
    gpt_free(&g);
    cr_expect_null(g.params, "nothing is left to free twice");
}
