#include "diag/scores.h"

#include <criterion/criterion.h>
#include <math.h>

#include "support/tiny.h"

Test(scores, of_a_scaled_copy_grow_with_the_square_of_the_factor)
{
    for (int bias = 0; bias < 2; bias++) {
        struct config c = config_make(1, 2, 8, 9, 5); /* one layer: deeper ones see other inputs */
        c.bias = bias;
        struct tiny t;
        tiny_make(&t, &c, 1, 2, 9, 1);
        const struct scores plain = scores_measure(&t.model, &t.work, t.tokens);
        cr_assert(plain.lowest <= plain.highest && isfinite(plain.lowest));
        struct gpt copy;
        struct error err;
        cr_assert_eq(scores_scaled(&copy, &t.model, 10, &err), STATUS_OK);
        const struct scores scaled = scores_measure(&copy, &t.work, t.tokens);
        cr_expect_float_eq(scaled.highest, 100 * plain.highest, 1e-4 * fabs(scaled.highest) + 1e-9);
        cr_expect_float_eq(scaled.lowest, 100 * plain.lowest, 1e-4 * fabs(scaled.lowest) + 1e-9);
        cr_expect_eq(scores_measure(&t.model, &t.work, t.tokens).highest, plain.highest, "the model is left alone");
        scores_free(&copy);
        tiny_free(&t);
    }
}
