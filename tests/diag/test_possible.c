#include "diag/possible.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/tiny.h"
#include "text/bank.h"
#include "text/corpus.h"

/* A model that has the answer: one layer, one head without a mask, made by hand to copy the next symbol. Queries ask
 * for the position after their own, keys say where they stand, values are the symbols. */
static void make_copier(struct tiny *t, size_t V, size_t T)
{
    const size_t C = V + T;
    struct config c = config_make(1, 1, C, T, V);
    c.tied = false;
    tiny_make(t, &c, 1, 4, T, 1);
    memset(t->model.params, 0, t->model.table.size * sizeof(real));
    t->model.rules[0] = ATTENTION_FULL;
    real *wte = tiny_tensor(t, t->model.params, PARAMS_TOKEN_EMBEDDING, 0),
         *wpe = tiny_tensor(t, t->model.params, PARAMS_POSITION_EMBEDDING, 0),
         *qkv = tiny_tensor(t, t->model.params, PARAMS_QKV, 0), *proj = tiny_tensor(t, t->model.params, PARAMS_PROJ, 0),
         *head = tiny_tensor(t, t->model.params, PARAMS_HEAD, 0);
    const enum params_kind gains[] = {PARAMS_LN1_GAIN, PARAMS_LN2_GAIN, PARAMS_LNF_GAIN};
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < C; i++)
            tiny_tensor(t, t->model.params, gains[k], 0)[i] = 1;
    for (size_t v = 0; v < V; v++) {
        wte[v * C + v] = 1;
        qkv[v * 3 * C + 2 * C + v] = 1; /* value: the symbol */
        proj[v * C + v] = 10;           /* which drowns the one read */
        head[v * C + v] = 5;
    }
    for (size_t i = 0; i < T; i++) {
        wpe[i * C + V + i] = 1;
        qkv[(V + i) * 3 * C + C + V + i] = 30; /* key: where it stands */
        if (i + 1 < T)
            qkv[(V + i) * 3 * C + V + i + 1] = 30; /* query: the next */
    }
}

static struct verdict *uniform(struct tiny *t, size_t windows)
{
    struct error err;
    struct verdict *v = calloc(1, sizeof *v);
    cr_assert_eq(possible_uniform(v, &t->model, &t->work, windows, 1, &err), STATUS_OK, "%s", err.message);
    return v;
}

Test(possible, uniform_symbols_cannot_be_predicted_but_by_peeking)
{
    struct tiny t;
    make_copier(&t, 6, 20);
    struct verdict *v = uniform(&t, 30);
    cr_expect_eq(v->line[0].outcome, VERDICT_FOUND, "%s", v->line[0].evidence);
    cr_expect_gt(v->finding[0].nats, 0.5);
    free(v);
    t.model.rules[0] = ATTENTION_CAUSAL;
    v = uniform(&t, 30);
    cr_expect_eq(v->line[0].outcome, VERDICT_CLEAN, "%s", v->line[0].evidence);
    free(v);
    tiny_free(&t);
}

Test(possible, correct_models_are_never_below_ln_v)
{
    for (size_t V = 1; V < 40; V = V * 3 + 1) {
        struct config c = config_make(1, 2, 6, 11, V);
        struct tiny t;
        tiny_make(&t, &c, 1, 3, 11, 1);
        struct verdict *v = uniform(&t, 40);
        cr_expect_eq(v->line[0].outcome, V == 1 ? VERDICT_SKIPPED : VERDICT_CLEAN, "%s", v->line[0].evidence);
        free(v);
        tiny_free(&t);
    }
}

Test(possible, text_of_known_entropy_is_the_floor_where_the_vocabulary_has_it)
{
    struct grammar g;
    struct corpus corpus;
    struct tokenizer tokenizer;
    struct error err;
    cr_assert_eq(grammar_make(&g, &bank_source, &err), STATUS_OK);
    cr_assert_eq(corpus_make(&corpus, &g, 9, 20000, &err), STATUS_OK);
    cr_assert_eq(tokenizer_make_chars(&tokenizer, (const uint8_t *)corpus.text, corpus.count, "corpus", &err),
                 STATUS_OK);
    struct tiny t;
    make_copier(&t, tokenizer.size, 150);
    for (int full = 0; full < 2; full++) {
        t.model.rules[0] = full ? ATTENTION_FULL : ATTENTION_CAUSAL;
        real *head = tiny_tensor(&t, t.model.params, PARAMS_HEAD, 0); /* the last position has no next to copy */
        for (size_t v = 0; v < tokenizer.size; v++)
            head[v * (tokenizer.size + 150) + v] = 1;
        struct verdict *v = calloc(1, sizeof *v);
        cr_assert_eq(possible_entropy(v, &t.model, &t.work, &tokenizer, 6000, 77, &err), STATUS_OK);
        cr_expect_eq(v->line[0].outcome, full ? VERDICT_FOUND : VERDICT_CLEAN, "%s", v->line[0].evidence);
        free(v);
    }
    tokenizer.size--; /* a character it does not have */
    struct verdict *v = calloc(1, sizeof *v);
    cr_assert_eq(possible_entropy(v, &t.model, &t.work, &tokenizer, 6000, 77, &err), STATUS_OK);
    cr_expect_eq(v->line[0].outcome, VERDICT_SKIPPED);
    free(v);
    tokenizer_free(&tokenizer);
    corpus_free(&corpus);
    grammar_free(&g);
    tiny_free(&t);
}
