#include <criterion/criterion.h>
#include <math.h>

#include "kernels/embedding.h"
#include "support/division.h"
#include "support/oracle.h"

#define LIMIT (16 * (double)REAL_EPSILON)

enum fault { NONE, FLIPPED_SIGN, POSITION_NOT_MOVED, BATCH_ROWS_CONTINUE, LAST_REPEAT_MISSING, FAULTS };

struct call {
    size_t V, first, B, T, C, block_size;
    const uint32_t *tokens;
    const real *token, *position, *dx;
    real *x, *dtoken, *dposition;
};

static void forward(const struct lane *lane, void *context)
{
    const struct call *c = context;
    embedding_forward(lane, c->x, c->tokens, c->token, c->position, c->first, c->B, c->T, c->C);
}

static void backward(const struct lane *lane, void *context)
{
    const struct call *c = context;
    embedding_backward(lane, c->dtoken, c->dposition, c->dx, c->tokens, c->B, c->T, c->C);
}

static void call_init(struct call *c, struct pool *pool, size_t V, size_t first, size_t B, size_t T, size_t C)
{
    *c = (struct call){.V = V, .first = first, .B = B, .T = T, .C = C, .block_size = first + B * T};
    c->tokens = pool_ids(pool, B * T, 1, (uint32_t)V);
    c->token = pool_normal(pool, V * C, 2, 1);
    c->position = pool_normal(pool, c->block_size * C, 3, 1);
    c->dx = pool_normal(pool, B * T * C, 4, 1);
}

static double forward_error(size_t V, size_t first, size_t B, size_t T, size_t C, enum fault fault)
{
    struct pool pool = {0};
    struct call c;
    call_init(&c, &pool, V, first, B, T, C);
    double *want = pool_double(&pool, B * T * C);
    for (size_t n = 0; n < B * T; n++) {
        const size_t t = (fault == BATCH_ROWS_CONTINUE ? n : n % T) + (fault == POSITION_NOT_MOVED ? 0 : first);
        for (size_t i = 0; i < C; i++) {
            const double p = (double)c.position[t * C + i];
            want[n * C + i] = (double)c.token[c.tokens[n] * C + i] + (fault == FLIPPED_SIGN ? -p : p);
        }
    }
    double worst = 0;
    for (size_t d = 0; d < DIVISIONS; d++) {
        c.x = pool_real(&pool, B * T * C);
        division_run(&divisions[d], forward, &c);
        worst = fmax(worst, oracle_error(c.x, want, B * T * C));
    }
    pool_free(&pool);
    return worst;
}

static double backward_error(size_t V, size_t B, size_t T, size_t C, enum fault fault)
{
    struct pool pool = {0};
    struct call c;
    call_init(&c, &pool, V, 0, B, T, C);
    /* both gradients join what is there */
    const real *dtoken = pool_normal(&pool, V * C, 5, 1), *dposition = pool_normal(&pool, T * C, 6, 1);
    double *want_token = pool_widen(&pool, dtoken, V * C), *want_position = pool_widen(&pool, dposition, T * C);
    for (size_t n = 0; n < B * T - (fault == LAST_REPEAT_MISSING); n++)
        for (size_t i = 0; i < C; i++) {
            const double d = (double)c.dx[n * C + i];
            want_token[c.tokens[n] * C + i] += fault == FLIPPED_SIGN ? -d : d;
            want_position[n % T * C + i] += d;
        }
    double worst = 0;
    for (size_t d = 0; d < DIVISIONS; d++) {
        c.dtoken = pool_copy(&pool, dtoken, V * C);
        c.dposition = pool_copy(&pool, dposition, T * C);
        division_run(&divisions[d], backward, &c);
        worst = fmax(worst, oracle_error(c.dtoken, want_token, V * C));
        worst = fmax(worst, oracle_error(c.dposition, want_position, T * C));
    }
    pool_free(&pool);
    return worst;
}

Test(embedding, value_matches_the_oracle_at_any_first_position)
{
    for (size_t t = 0; t < ORACLE_SIZES; t++)
        for (size_t c = 0; c < ORACLE_SIZES; c++)
            for (size_t first = 0; first < 6; first += 5) {
                const double error = forward_error(11, first, 3, oracle_sizes[t], oracle_sizes[c], NONE);
                cr_assert(error <= LIMIT, "T %zu, C %zu, first %zu: error %.3g", oracle_sizes[t], oracle_sizes[c],
                          first, error);
            }
}

Test(embedding, gradients_add_up_over_repeated_tokens_under_every_division)
{
    /* V = 1: every token is the same; V = 3: nearly all repeat; V = 101: most do not occur */
    static const size_t vocabularies[] = {1, 3, 101};
    for (size_t v = 0; v < 3; v++)
        for (size_t t = 0; t < ORACLE_SIZES; t++)
            for (size_t c = 0; c < ORACLE_SIZES; c++) {
                const double error = backward_error(vocabularies[v], 3, oracle_sizes[t], oracle_sizes[c], NONE);
                cr_assert(error <= LIMIT, "V %zu, T %zu, C %zu: error %.3g", vocabularies[v], oracle_sizes[t],
                          oracle_sizes[c], error);
            }
}

Test(embedding, harness_catches_planted_faults)
{
    cr_assert(forward_error(11, 5, 3, 7, 17, FLIPPED_SIGN) > LIMIT);
    cr_assert(forward_error(11, 5, 3, 7, 17, POSITION_NOT_MOVED) > LIMIT);
    cr_assert(forward_error(11, 5, 3, 7, 17, BATCH_ROWS_CONTINUE) > LIMIT);
    cr_assert(backward_error(3, 3, 7, 17, FLIPPED_SIGN) > LIMIT);
    cr_assert(backward_error(3, 3, 7, 17, LAST_REPEAT_MISSING) > LIMIT);
}
