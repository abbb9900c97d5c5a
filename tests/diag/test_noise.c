#include "diag/noise.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "support/tiny.h"

static struct noise measure(struct tiny *t)
{
    struct error err;
    struct noise n;
    cr_assert_eq(noise_measure(&n, &t->model, &t->work, t->tokens, t->targets, 2, 9, 1, &err), STATUS_OK);
    return n;
}

Test(noise, is_of_the_size_of_rounding_and_grows_with_the_logits)
{
    struct config c = config_make(2, 2, 8, 9, 5);
    c.tied = false;
    struct tiny t;
    tiny_make(&t, &c, 1, 2, 9, 1);
    const size_t bytes = t.model.table.size * sizeof(real);
    real *before = malloc(bytes);
    memcpy(before, t.model.params, bytes);
    const double unit = sizeof(real) == 8 ? 1e-15 : 1e-6;
    const struct noise calm = measure(&t);
    cr_expect(calm.logits > unit / 10 && calm.logits < unit * 30, "%g", calm.logits);
    cr_expect(calm.loss > 0 && calm.loss < unit * 30, "%g", calm.loss);
    cr_assert_eq(memcmp(before, t.model.params, bytes), 0, "the model is left alone");
    real *head = tiny_tensor(&t, t.model.params, PARAMS_HEAD, 0);
    for (size_t k = 0; k < 5 * 8; k++)
        head[k] *= 100;
    cr_expect_gt(measure(&t).logits, 30 * calm.logits);
    free(before);
    tiny_free(&t);
}
