/* The whole model with its matrix products in bf16, on every instruction set that is here. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/bf16.h"
#include "model/gpt.h"
#include "support/machine.h"
#include "support/tiny.h"

enum { T_ = 37, B_ = 3, V_ = 11 };

static const struct gpt_pass DROPPING = {.training = true, .seed = 5, .step = 9, .first_row = 3};

static struct config config_of(enum precision precision)
{
    struct config c = config_make(2, 3, 12, T_, V_);
    c.dropout = 0.3;
    c.precision = precision;
    return c;
}

static void make(struct tiny *t, enum precision precision, int threads, enum isa isa)
{
    const struct config c = config_of(precision);
    tiny_make(t, &c, 1, B_, T_, threads);
    t->work.team.isa = isa;
}

static real *logits_of(struct tiny *t, const struct gpt *g)
{
    gpt_forward(g, &t->work, t->tokens, B_, T_, &gpt_evaluating);
    const size_t n = (size_t)B_ * T_ * V_;
    real *copy = malloc(n * sizeof *copy);
    cr_assert(copy);
    return memcpy(copy, t->work.logits, n * sizeof *copy);
}

static double length(const real *x, const real *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += pow((double)x[i] - (y ? (double)y[i] : 0), 2);
    return sqrt(sum);
}

Test(gpt_bf16, logits_and_gradients_are_those_of_fp32_but_for_rounding)
{
    for (int isa = 0; isa <= (int)support_isa(); isa++) {
        struct tiny plain, half;
        make(&plain, PRECISION_FP32, 1, (enum isa)isa);
        make(&half, PRECISION_BF16, 2, (enum isa)isa);
        const size_t n = (size_t)B_ * T_ * V_, size = plain.model.table.size;
        real *a = logits_of(&plain, &plain.model), *b = logits_of(&half, &half.model);
        real *da = calloc(size, sizeof *da), *db = calloc(size, sizeof *db);
        cr_assert(da && db);
        const double loss = tiny_step(&plain, &DROPPING, da), other = tiny_step(&half, &DROPPING, db);
        const double off = length(a, b, n) / length(a, NULL, n), slope = length(da, db, size) / length(da, NULL, size);
        cr_expect(off > BF16_EPSILON / 50 && off < 3 * BF16_EPSILON, "%s: logits are %g off", isa_name((enum isa)isa),
                  off);
        cr_expect(slope > BF16_EPSILON / 50 && slope < 6 * BF16_EPSILON, "%s: gradients are %g off",
                  isa_name((enum isa)isa), slope);
        cr_expect(fabs(loss - other) < BF16_EPSILON * loss, "%g and %g", loss, other);
        free(db);
        free(da);
        free(b);
        free(a);
        tiny_free(&half);
        tiny_free(&plain);
    }
}

/* Changed symbols, at one position after another: what comes before must keep every bit, on as many threads. */
Test(gpt_bf16, no_position_sees_its_future_to_the_bit)
{
    for (int isa = 0; isa <= (int)support_isa(); isa++)
        for (int threads = 1; threads <= 2; threads++) {
            struct tiny t;
            make(&t, PRECISION_BF16, threads, (enum isa)isa);
            real *before = logits_of(&t, &t.model);
            for (size_t at = 1; at < T_; at += 5) {
                uint32_t *symbol = &t.tokens[T_ + at]; /* in the second row */
                const uint32_t old = *symbol;
                *symbol = (old + 1) % V_;
                real *after = logits_of(&t, &t.model);
                *symbol = old;
                const size_t row = T_ + at, same = row * V_, rest = 2 * T_ * V_;
                cr_expect_eq(memcmp(before, after, same * sizeof *after), 0, "position %zu", at);
                cr_expect_neq(memcmp(before + same, after + same, V_ * sizeof *after), 0, "position %zu", at);
                cr_expect_eq(memcmp(before + rest, after + rest, T_ * V_ * sizeof *after), 0, "the next row");
                free(after);
            }
            free(before);
            tiny_free(&t);
        }
}

Test(gpt_bf16, threads_give_the_same_bits_twice_and_numbers_alike)
{
    const size_t n = (size_t)B_ * T_ * V_;
    real *first = NULL;
    for (int threads = 1; threads <= 5; threads++) {
        struct tiny t;
        make(&t, PRECISION_BF16, threads, support_isa());
        const size_t size = t.model.table.size;
        real *grads = calloc(size, sizeof *grads), *again = calloc(size, sizeof *again);
        cr_assert(grads && again);
        tiny_step(&t, &DROPPING, grads);
        tiny_step(&t, &DROPPING, again);
        cr_expect_eq(memcmp(grads, again, size * sizeof *grads), 0, "%d threads", threads);
        real *logits = logits_of(&t, &t.model);
        if (first)
            cr_expect(length(first, logits, n) <= BF16_EPSILON * length(first, NULL, n), "%d threads", threads);
        else
            first = logits_of(&t, &t.model);
        free(logits);
        free(again);
        free(grads);
        tiny_free(&t);
    }
    free(first);
}

Test(gpt_bf16, the_same_room_serves_fp32_to_the_bit)
{
    struct tiny plain, half;
    make(&plain, PRECISION_FP32, 1, support_isa());
    make(&half, PRECISION_BF16, 1, support_isa());
    struct gpt as_fp32 = half.model;
    as_fp32.config.precision = PRECISION_FP32;
    real *a = logits_of(&plain, &plain.model), *b = logits_of(&half, &as_fp32);
    cr_assert_eq(memcmp(a, b, (size_t)B_ * T_ * V_ * sizeof *a), 0);
    free(b);
    free(a);
    tiny_free(&half);
    tiny_free(&plain);
}

Test(gpt_bf16, weights_that_change_between_passes_are_packed_anew)
{
    struct tiny t;
    make(&t, PRECISION_BF16, 2, support_isa());
    real *before = logits_of(&t, &t.model);
    real *head = tiny_tensor(&t, t.model.params, PARAMS_TOKEN_EMBEDDING, 0),
         *fc = tiny_tensor(&t, t.model.params, PARAMS_FC, 1);
    for (int k = 0; k < 2; k++) {
        real *weight = k ? fc : head;
        const real old = *weight;
        *weight += 1;
        real *moved = logits_of(&t, &t.model);
        *weight = old;
        real *back = logits_of(&t, &t.model);
        const size_t bytes = (size_t)B_ * T_ * V_ * sizeof *back;
        cr_expect_neq(memcmp(before, moved, bytes), 0, "weight %d", k);
        cr_expect_eq(memcmp(before, back, bytes), 0, "weight %d", k);
        free(back);
        free(moved);
    }
    free(before);
    tiny_free(&t);
}
