#include "lab/learning.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "support/machine.h"

enum { SYMBOLS = 2000, V = 8, T = 16 };
static uint8_t ids[SYMBOLS];
static struct dataset data;
static struct gpt model;
static struct trainer trainer;
static struct state state;
static struct learning l;
static struct error err;

/* A text of V symbols: each is the one before it or, once in four, any. */
static void make(void)
{
    const struct rng_site site = {.seed = 2, .purpose = RNG_TEST};
    for (uint32_t i = 0; i < SYMBOLS; i++) {
        const uint64_t any = rng_below(&site, i, (uint64_t)4 * V);
        ids[i] = any < V || i == 0 ? (uint8_t)(any % V) : (uint8_t)((ids[i - 1] + 1) % V);
    }
    data = (struct dataset){.ids = ids, .width = 1, .count = SYMBOLS, .train = SYMBOLS - 200};
    struct config c = config_make(1, 2, 32, T, V);
    c.dropout = 0.1;
    cr_assert_eq(gpt_create(&model, &c, &err), STATUS_OK, "%s", err.message);
    params_init(model.params, &model.table, &c, 1);
    trainer = (struct trainer){.settings = {.schedule = {.lr = 1e-3, .steps = 50},
                                            .batch_size = 6,
                                            .grad_accum = 1,
                                            .weight_decay = 0.1,
                                            .beta1 = 0.9,
                                            .beta2 = 0.99,
                                            .grad_clip = 1,
                                            .seed = 3,
                                            .team = support_team(1),
                                            .eval_windows = 2},
                               .data = &data,
                               .model = &model,
                               .state = &state};
    cr_assert_eq(trainer_create(&trainer, &err), STATUS_OK, "%s", err.message);
    l = (struct learning){.trainer = &trainer};
    cr_assert_eq(learning_open(&l, &err), STATUS_OK, "%s", err.message);
}

static void unmake(void)
{
    learning_close(&l);
    trainer_free(&trainer);
    gpt_free(&model);
}

TestSuite(learning, .init = make, .fini = unmake);

static void fault_of_gain(double factor)
{
    const struct params_tensor *gain = params_find(&model.table, PARAMS_LNF_GAIN, 0);
    for (size_t i = 0; i < gain->cols; i++)
        l.first[gain->offset + i] *= (real)factor;
}

Test(learning, first_loss_is_ln_V_and_outside_what_is_allowed_once_logits_are_large)
{
    struct learning_first r;
    learning_first(&r, &l);
    cr_assert_float_eq(r.expected, log(V) + 0.0064, 1e-9);
    cr_assert_float_eq(r.loss, r.expected, 4 * r.spread, "%g", r.loss);
    cr_assert(r.spread > 0.02 && r.spread < 0.12, "%g", r.spread);
    fault_of_gain(30);
    learning_first(&r, &l);
    cr_assert_gt(fabs(r.loss - r.expected), 8 * r.spread, "%g", r.loss);
}

Test(learning, one_batch_is_learnt_by_heart_down_to_what_windows_leave_open)
{
    struct learning_batch r;
    cr_assert_eq(learning_batch(&r, &l, &err), STATUS_OK);
    cr_assert(r.rows == 4 && r.symbols == (size_t)4 * T);
    cr_assert(r.reached && !r.cut && r.last <= r.goal && r.first > 1.5, "%g of %g", r.last, r.goal);
    cr_assert(r.updates > 5 && r.updates < LEARNING_BATCH_UPDATES);
}

Test(learning, what_windows_leave_open_is_the_entropy_of_targets_after_equal_beginnings)
{
    memset(ids, 0, sizeof ids);
    struct learning_batch r;
    cr_assert_eq(learning_batch(&r, &l, &err), STATUS_OK);
    cr_assert_eq(r.floor, 0, "every target is 0");
    for (size_t i = 0; i < SYMBOLS; i++)
        ids[i] = (uint8_t)(i % 2); /* begins with 0 or 1; then all is known */
    cr_assert_eq(learning_batch(&r, &l, &err), STATUS_OK);
    cr_assert_eq(r.floor, 0, "the first symbol tells");
    /* "001001": after a first 0 comes 0 or 1, as often as the windows that are drawn begin at one or the other. */
    for (size_t i = 0; i < SYMBOLS; i++)
        ids[i] = (uint8_t)(i % 3 == 2);
    size_t first[3];
    do {
        memset(first, 0, sizeof first);
        trainer.settings.seed++;
        for (uint32_t b = 0; b < 4; b++)
            first[dataset_draw(&data, T, trainer.settings.seed, 0, b) % 3]++;
    } while (first[0] == 0 || first[1] == 0);
    cr_assert_eq(learning_batch(&r, &l, &err), STATUS_OK);
    const double zeros = (double)(first[0] + first[1]);
    double sum = 0;
    for (size_t k = 0; k < 2; k++)
        sum -= first[k] ? (double)first[k] * log((double)first[k] / zeros) : 0;
    cr_assert_float_eq(r.floor, sum / (4 * T), 1e-12, "%g", r.floor);
}

Test(learning, a_model_with_a_window_is_left_with_what_the_window_does_not_show)
{
    model.config.window = 1; /* each place sees itself alone */
    struct learning_batch r;
    cr_assert_eq(learning_batch(&r, &l, &err), STATUS_OK);
    const uint32_t *tokens = trainer.learner.tokens, *targets = trainer.learner.targets;
    double sum = 0;
    for (size_t i = 0; i < T; i++)
        for (size_t a = 0; a < 4; a++) {
            double same = 0, match = 0;
            for (size_t b = 0; b < 4; b++)
                if (tokens[a * T + i] == tokens[b * T + i]) {
                    same++;
                    match += targets[a * T + i] == targets[b * T + i];
                }
            sum -= log(match / same);
        }
    cr_assert_gt(sum, 0);
    cr_assert_float_eq(r.floor, sum / (4.0 * T), 1e-12, "%g", r.floor);
}

/* Rows that are all the same symbol learn nothing of the text; those whose inputs are the targets learn everything. */
static void give_away(uint32_t *tokens, const uint32_t *targets, size_t n)
{
    memcpy(tokens, targets, n * sizeof *tokens);
}

Test(learning, blinded_input_comes_to_the_entropy_of_the_symbols_and_not_below)
{
    struct learning_blinded r;
    cr_assert_eq(learning_blinded(&r, &l, &err), STATUS_OK);
    double entropy = 0;
    for (unsigned v = 0; v < V; v++) {
        double n = 0;
        for (size_t i = 0; i < data.train; i++)
            n += ids[i] == v;
        entropy -= n / (double)data.train * log(n / (double)data.train);
    }
    cr_assert_float_eq(r.entropy, entropy, 0.002, "%g, %g", r.entropy, entropy);
    cr_assert_float_eq(r.loss, r.entropy, 0.04 + 4 * r.error, "%g", r.loss);
    cr_assert(r.error > 0 && r.error < 0.05 && r.updates == LEARNING_BLIND_UPDATES);
}

Test(learning, blinded_input_that_gives_the_targets_away_falls_far_below_the_entropy)
{
    struct learning_blinded r;
    l.blind = give_away;
    cr_assert_eq(learning_blinded(&r, &l, &err), STATUS_OK);
    cr_assert_lt(r.loss, r.entropy - 0.5 - 4 * r.error, "%g", r.loss);
}

Test(learning, entropy_counts_each_place_of_the_window_where_the_text_is_hardly_longer)
{
    /* Two windows: the target of each place is one of two neighbours, each as likely. */
    data.train = T + 2;
    struct learning_blinded r;
    cr_assert_eq(learning_blinded(&r, &l, &err), STATUS_OK);
    size_t differ = 0;
    for (size_t i = 0; i < T; i++)
        differ += ids[1 + i] != ids[2 + i];
    cr_assert_float_eq(r.entropy, (double)differ / T * log(2), 1e-12, "%g", r.entropy);
}

Test(learning, sweep_tells_rates_that_learn_from_those_that_do_not_and_is_the_same_each_time)
{
    struct learning_sweep a, b;
    cr_assert_eq(learning_sweep(&a, &l, &err), STATUS_OK);
    cr_assert_eq(learning_sweep(&b, &l, &err), STATUS_OK);
    for (size_t k = 0; k < LEARNING_RATES; k++)
        cr_assert(a.loss[k] == b.loss[k] && a.rate[k] == b.rate[k], "rate %g", a.rate[k]);
    cr_assert(a.best > 0 && a.recommended > 0 && a.updates == LEARNING_RATE_UPDATES && !a.cut);
    cr_assert_gt(a.loss[0], 1.2 * a.loss[3], "3e-4 is slower than 1e-2: %g, %g", a.loss[0], a.loss[3]);
    for (size_t k = 0; k < LEARNING_RATES; k++)
        if (a.rate[k] == a.recommended)
            cr_assert_leq(a.loss[k], 1.04 * a.loss[3]);
        else if (a.rate[k] > a.recommended)
            cr_assert_gt(a.loss[k], 1.04 * a.loss[3], "%g is higher and as good", a.rate[k]);
}

Test(learning, on_random_symbols_no_rate_learns)
{
    const struct rng_site site = {.seed = 4, .purpose = RNG_TEST};
    for (uint32_t i = 0; i < SYMBOLS; i++)
        ids[i] = (uint8_t)rng_below(&site, i, V);
    data.train = SYMBOLS;
    struct learning_sweep r;
    cr_assert_eq(learning_sweep(&r, &l, &err), STATUS_OK);
    cr_assert(r.best == 0 && r.recommended == 0, "%g", r.best);
}

static bool stop_at_seven(void *context, const char *run, size_t done, size_t total)
{
    (void)run;
    cr_assert_lt(done, total + 1);
    return ++*(size_t *)context == 7;
}

Test(learning, stops_when_asked_and_leaves_the_first_weights)
{
    size_t asked = 0;
    l.stop = stop_at_seven;
    l.context = &asked;
    struct learning_batch r;
    real *before = malloc(model.table.size * sizeof *before);
    cr_assert_not_null(before);
    memcpy(before, l.first, model.table.size * sizeof *before);
    cr_assert_eq(learning_batch(&r, &l, &err), STATUS_INTERRUPTED);
    cr_assert_neq(memcmp(before, model.params, model.table.size * sizeof *before), 0, "it had begun");
    learning_close(&l);
    cr_assert_eq(memcmp(before, model.params, model.table.size * sizeof *before), 0);
    free(before);
}

Test(learning, a_run_that_is_cut_says_so)
{
    l.seconds = 1e-9;
    struct learning_batch b;
    struct learning_sweep s;
    cr_assert_eq(learning_batch(&b, &l, &err), STATUS_OK);
    cr_assert(b.cut && !b.reached && b.updates == 0);
    cr_assert_eq(learning_sweep(&s, &l, &err), STATUS_OK);
    cr_assert(s.cut && s.updates == 16);
}
