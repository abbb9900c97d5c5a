#include "train/evaluate.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/tiny.h"

#define LONGEST 5
#define SYMBOLS 13
#define V 6

static uint8_t ids[SYMBOLS];
static struct dataset data = {.ids = ids, .width = 1, .count = SYMBOLS, .train = 8};
static struct tiny t;

/* alone[s][n]: the loss of symbol s + n + 1 after the n + 1 symbols from s on, run as a window of its own. */
static double alone[SYMBOLS][LONGEST];

static void make(double dropout, size_t B, int threads)
{
    struct config c = config_make(2, 2, 8, LONGEST, V);
    c.dropout = dropout;
    tiny_make(&t, &c, 1, B, LONGEST, threads);
    for (size_t i = 0; i < SYMBOLS; i++)
        ids[i] = (uint8_t)((i * i + i / 3) % V);
    for (size_t s = 0; s < SYMBOLS; s++)
        for (size_t n = 1; n <= LONGEST && s + n < SYMBOLS; n++) {
            uint32_t tokens[LONGEST], targets[LONGEST];
            dataset_window(&data, tokens, targets, s, n);
            gpt_forward(&t.model, &t.work, tokens, 1, n, &gpt_evaluating);
            gpt_loss(&t.model, &t.work, targets, 1, n);
            alone[s][n - 1] = (double)t.work.loss[n - 1];
        }
}

static void drop(void)
{
    tiny_free(&t);
}

/* What evaluate must find, one target at a time. */
struct wanted {
    double sum, position_loss[LONGEST];
    size_t tokens, position_count[LONGEST];
    bool counted[SYMBOLS];
};

static void count(struct wanted *w, size_t begin, size_t start, size_t position)
{
    const double loss = alone[begin + start][position];
    cr_assert_not(w->counted[start + position + 1], "target %zu twice", start + position + 1);
    w->counted[start + position + 1] = true;
    w->sum += loss;
    w->tokens++;
    w->position_loss[position] += loss;
    w->position_count[position]++;
}

static struct wanted want(size_t begin, size_t end, size_t T, size_t stride, size_t max_windows)
{
    struct wanted w = {0};
    const size_t step = stride ? stride : T, targets = end > begin ? end - begin - 1 : 0;
    size_t windows = 0, owner[SYMBOLS];
    for (size_t j = 1; j <= targets; j++) { /* a target belongs to the first window that holds it */
        owner[j] = j <= T ? 0 : (j - T + step - 1) / step;
        windows = owner[j] + 1;
    }
    for (size_t j = 1; j <= targets; j++) {
        bool chosen = max_windows == 0 || max_windows >= windows;
        for (size_t k = 0; !chosen && k < max_windows; k++)
            chosen = owner[j] == k * (windows - 1) / max_windows;
        if (chosen)
            count(&w, begin, owner[j] * step, j - 1 - owner[j] * step);
    }
    return w;
}

static void compare(size_t begin, size_t end, size_t T, size_t stride, size_t max_windows)
{
    struct error err;
    double position_loss[LONGEST] = {0};
    size_t position_count[LONGEST] = {0};
    struct evaluation e = {.position_loss = position_loss, .position_count = position_count};
    const struct evaluate_options o = {.T = T, .stride = stride, .max_windows = max_windows};
    cr_assert_eq(evaluate(&e, &t.model, &t.work, &data, begin, end, &o, &err), STATUS_OK, "%s", err.message);
    const struct wanted w = want(begin, end, T, stride, max_windows);
    cr_assert_eq(e.tokens, w.tokens, "[%zu,%zu) T %zu stride %zu windows %zu: %zu targets, not %zu", begin, end, T,
                 stride, max_windows, e.tokens, w.tokens);
    if (w.tokens == 0)
        cr_assert(isnan(e.loss));
    else
        cr_assert_float_eq(e.loss, w.sum / (double)w.tokens, 1e-5);
    for (size_t i = 0; i < LONGEST; i++) {
        cr_assert_eq(position_count[i], w.position_count[i]);
        cr_assert_float_eq(position_loss[i], w.position_loss[i], 1e-4);
    }
    if (max_windows == 0)
        cr_assert_eq(e.tokens, end > begin ? end - begin - 1 : 0, "every symbol but the first is a target");
}

static void compare_all(void)
{
    for (size_t end = 0; end <= SYMBOLS; end++)
        for (size_t T = 1; T <= LONGEST; T++)
            for (size_t stride = 0; stride <= T; stride++)
                for (size_t max_windows = 0; max_windows < 5; max_windows++)
                    compare(0, end, T, stride, max_windows);
}

Test(evaluate, equals_one_window_at_a_time_with_every_target_once, .fini = drop)
{
    make(0, 1, 1);
    compare_all();
}

Test(evaluate, rows_and_threads_change_nothing, .fini = drop)
{
    make(0, 3, 2);
    compare_all();
}

Test(evaluate, a_part_is_read_from_its_first_symbol_to_its_last, .fini = drop)
{
    make(0, 2, 1);
    for (size_t begin = 0; begin <= SYMBOLS; begin++)
        for (size_t end = begin; end <= SYMBOLS; end++)
            for (size_t stride = 1; stride <= 3; stride++)
                compare(begin, end, 3, stride, 0);
    size_t begin, end;
    dataset_bounds(&data, DATASET_VAL, &begin, &end);
    cr_assert(begin == 8 && end == SYMBOLS);
}

Test(evaluate, dropout_is_off_and_the_same_question_has_the_same_answer, .fini = drop)
{
    const struct evaluate_options o = {.T = LONGEST};
    struct error err;
    struct evaluation first = {0}, again = {0}, without = {0};
    make(0.5, 2, 1);
    cr_assert_eq(evaluate(&first, &t.model, &t.work, &data, 0, SYMBOLS, &o, &err), STATUS_OK);
    cr_assert_eq(evaluate(&again, &t.model, &t.work, &data, 0, SYMBOLS, &o, &err), STATUS_OK);
    t.model.config.dropout = 0;
    cr_assert_eq(evaluate(&without, &t.model, &t.work, &data, 0, SYMBOLS, &o, &err), STATUS_OK);
    cr_assert(first.loss == again.loss && first.loss == without.loss);
}

Test(evaluate, spoiled_weights_are_told_with_the_place, .fini = drop)
{
    const struct evaluate_options o = {.T = LONGEST};
    struct error err;
    struct evaluation e = {0};
    make(0, 2, 1);
    tiny_tensor(&t, t.model.params, PARAMS_FC, 1)[3] = (real)NAN;
    cr_assert_eq(evaluate(&e, &t.model, &t.work, &data, 0, SYMBOLS, &o, &err), STATUS_NONFINITE);
    cr_assert(strstr(err.message, "symbol 1 of the text"), "%s", err.message);
    cr_assert_eq(evaluate(&e, &t.model, &t.work, &data, 8, SYMBOLS, &o, &err), STATUS_NONFINITE);
    cr_assert(strstr(err.message, "symbol 9 of the text"), "%s", err.message);
}

/* Asks to stop before window `context`, and checks that it is told the truth. */
static bool stop_at(void *context, size_t done, size_t windows)
{
    cr_assert_eq(windows, 3);
    cr_assert_leq(done, 2);
    return done == *(size_t *)context;
}

Test(evaluate, stops_between_batches_when_asked, .fini = drop)
{
    make(0, 1, 1);
    for (size_t at = 0; at < 4; at++) {
        struct error err;
        struct evaluation e = {0};
        const struct evaluate_options o = {.T = LONGEST, .stop = stop_at, .context = &at};
        const enum status s = evaluate(&e, &t.model, &t.work, &data, 0, SYMBOLS, &o, &err);
        cr_assert_eq(s, at < 3 ? STATUS_INTERRUPTED : STATUS_OK);
    }
}
