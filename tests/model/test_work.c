#include "model/work.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "base/team.h"
#include "kernels/attention_ref.h"
#include "support/machine.h"

#define MOST 128

/* Every array of a work and how many numbers its users may write. */
struct arrays {
    real *at[MOST];
    size_t size[MOST];
    size_t count;
};

static void note(struct arrays *a, real *at, size_t size)
{
    cr_assert_lt(a->count, MOST);
    a->at[a->count] = at;
    a->size[a->count++] = size;
}

static struct arrays arrays_of(const struct work *w, const struct config *c)
{
    struct arrays a = {.count = 0};
    const size_t N = w->B * w->T, C = c->n_embd, H = c->n_head;
    note(&a, w->embedded, N * C);
    for (size_t layer = 0; layer < (w->training ? c->n_layer : 1); layer++) {
        const struct block_acts *b = &w->block[layer];
        real *const wide[] = {b->ln1, b->att, b->mid, b->ln2, b->out};
        real *const thin[] = {b->ln1_mean, b->ln1_rstd, b->ln2_mean, b->ln2_rstd};
        real *const rows[] = {b->rows.lse, b->rows.entropy, b->rows.max_score};
        for (size_t i = 0; i < 5; i++)
            note(&a, wide[i], N * C);
        for (size_t i = 0; i < 4; i++)
            note(&a, thin[i], N);
        for (size_t i = 0; i < 3; i++)
            note(&a, rows[i], H * N);
        note(&a, b->qkv, 3 * N * C);
        if (w->training) {
            note(&a, b->kept.max, H * N);
            note(&a, b->kept.share, H * N);
        }
        if (w->ref_scratch)
            note(&a, b->weights, H * N * w->T);
        note(&a, b->fc, 4 * N * C);
        note(&a, b->gelu, 4 * N * C);
    }
    const struct attention_shape shape = {.B = w->B,
                                          .H = H,
                                          .H_kv = H,
                                          .hs = c->head_size,
                                          .T_q = w->T,
                                          .T_k = w->T,
                                          .bf16 = c->precision == PRECISION_BF16};
    note(&a, w->branch, N * C);
    note(&a, w->lnf, N * C);
    note(&a, w->lnf_mean, N);
    note(&a, w->lnf_rstd, N);
    note(&a, w->logits, N * c->vocab_size);
    note(&a, w->loss, N);
    note(&a, w->scratch, attention_scratch(&shape, w->team.threads));
    if (w->ref_scratch)
        note(&a, w->ref_scratch, (size_t)w->team.threads * attention_ref_scratch(&shape));
    if (w->training) {
        note(&a, w->dres, N * C);
        note(&a, w->dbranch, N * C);
        note(&a, w->dln, N * C);
        note(&a, w->dqkv, 3 * N * C);
        note(&a, w->dfc, 4 * N * C);
    }
    return a;
}

static struct work work_of(const struct config *c, size_t B, size_t T, bool training, int threads)
{
    struct error err;
    struct work w;
    cr_assert_eq(work_create(&w, c, B, T, training, support_team(threads), &err), STATUS_OK, "%s", err.message);
    return w;
}

Test(work, arrays_are_aligned_whole_and_apart)
{
    for (int training = 0; training < 2; training++) {
        const struct config c = config_make(3, 2, 6, 9, 7);
        struct work w = work_of(&c, 2, 5, training, 2);
        const struct arrays a = arrays_of(&w, &c);
        for (size_t i = 0; i < a.count; i++) {
            cr_expect_eq((uintptr_t)a.at[i] % ARENA_ALIGN, 0, "array %zu", i);
            for (size_t k = 0; k < a.size[i]; k++)
                a.at[i][k] = (real)(i + 1);
        }
        for (size_t i = 0; i < a.count; i++)
            for (size_t k = 0; k < a.size[i]; k++)
                cr_assert_eq(a.at[i][k], (real)(i + 1), "array %zu is overwritten", i);
        work_free(&w);
    }
}

Test(work, measure_says_what_create_takes)
{
    const struct config c = config_make(3, 2, 6, 9, 7);
    size_t sizes[2];
    for (int training = 0; training < 2; training++) {
        struct error err;
        struct work w = work_of(&c, 2, 5, training, 1);
        cr_assert_eq(work_measure(&sizes[training], &c, 2, 5, training, support_team(1), &err), STATUS_OK);
        cr_expect_eq(w.arena.used, sizes[training]);
        cr_expect_eq(w.arena.size, sizes[training]);
        const struct arrays a = arrays_of(&w, &c);
        size_t least = 0;
        for (size_t i = 0; i < a.count; i++)
            least += a.size[i] * sizeof(real);
        cr_expect_geq(sizes[training], least);
        cr_expect_leq(sizes[training], least + (a.count + 1) * ARENA_ALIGN + 3 * sizeof(struct block_acts));
        work_free(&w);
    }
    cr_expect_lt(sizes[0], sizes[1]);
}

Test(work, layers_share_memory_except_in_training)
{
    const struct config c = config_make(3, 2, 6, 9, 7);
    struct work training = work_of(&c, 1, 5, true, 1), evaluating = work_of(&c, 1, 5, false, 1);
    cr_expect_eq(evaluating.block[0].out, evaluating.block[2].out);
    cr_expect_null(evaluating.dres);
    cr_expect_null(evaluating.dqkv);
    cr_expect_neq(training.block[0].out, training.block[1].out);
    cr_expect_neq(training.block[1].kept.max, training.block[2].kept.max);
    cr_expect_null(evaluating.block[0].kept.max);
    work_free(&evaluating);
    work_free(&training);
    cr_expect_null(training.block, "nothing is left to free twice");
}

Test(work, weights_are_kept_when_asked_for)
{
    struct error err;
    const struct config c = config_make(3, 2, 6, 9, 7);
    for (int training = 0; training < 2; training++) {
        struct work w = work_of(&c, 2, 5, training, 2);
        cr_expect_null(w.block[0].weights);
        for (int twice = 0; twice < 2; twice++)
            cr_assert_eq(work_keep_weights(&w, &c, &err), STATUS_OK);
        const struct arrays a = arrays_of(&w, &c);
        for (size_t i = 0; i < a.count; i++)
            for (size_t k = 0; k < a.size[i]; k++)
                a.at[i][k] = (real)(i + 1);
        for (size_t i = 0; i < a.count; i++)
            for (size_t k = 0; k < a.size[i]; k++)
                cr_assert_eq(a.at[i][k], (real)(i + 1), "array %zu is overwritten", i);
        cr_expect_eq(w.block[1].weights != w.block[2].weights, training != 0);
        work_free(&w);
    }
    const struct config huge = config_make(1, 1, 1, (size_t)1 << 30, 7);
    struct work w = work_of(&c, 1, 5, true, 1);
    w.T = (size_t)1 << 40; /* as it would be of such a context */
    cr_expect_eq(work_keep_weights(&w, &huge, &err), STATUS_RANGE);
    cr_expect_null(w.ref_scratch);
    work_free(&w);
}

Test(work, memory_grows_with_the_context_and_not_with_its_square)
{
    struct error err;
    const struct config c = config_make(2, 2, 8, 1 << 16, 7);
    size_t short_one, long_one;
    for (int training = 0; training < 2; training++) {
        cr_assert_eq(work_measure(&short_one, &c, 1, 1 << 14, training, support_team(2), &err), STATUS_OK);
        cr_assert_eq(work_measure(&long_one, &c, 1, 1 << 15, training, support_team(2), &err), STATUS_OK);
        cr_expect_leq((double)long_one, 2.01 * (double)short_one);
        cr_expect_geq((double)long_one, 1.5 * (double)short_one);
    }
}

Test(work, sizes_that_overflow_are_refused_and_named)
{
    const size_t huge = (size_t)1 << 30;
    const struct config c = config_make(2, 2, 1024, huge, 65);
    static const struct {
        size_t B, T;
        const char *named;
    } SIZES[] = {
        {SIZE_MAX, 1, "18446744073709551615 times 1 "},                 /* B * T * C wraps */
        {SIZE_MAX / 1024 + 1, 1, " times 1 symbols"},                   /* ... to exactly 0 */
        {SIZE_MAX / 4096, 2, " times 2 symbols"},                       /* only with the size of a number */
        {(size_t)1 << 20, (size_t)1 << 30, "1048576 times 1073741824"}, /* B H T T */
    };
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++)
        for (int training = 0; training < 2; training++) {
            struct error err = {""};
            size_t bytes = 123;
            cr_expect_eq(work_measure(&bytes, &c, SIZES[i].B, SIZES[i].T, training, support_team(1), &err),
                         STATUS_RANGE, "%zu", i);
            cr_expect_eq(bytes, 123);
            if (sizeof(size_t) == 8)
                cr_expect(strstr(err.message, SIZES[i].named), "%s", err.message);
            struct work w;
            memset(&w, 0xff, sizeof w);
            cr_expect_eq(work_create(&w, &c, SIZES[i].B, SIZES[i].T, training, support_team(1), &err), STATUS_RANGE);
            cr_expect_null(w.arena.base, "nothing is left allocated");
            cr_expect_null(w.block);
        }
}
