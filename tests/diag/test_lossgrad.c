#include "diag/lossgrad.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "support/tiny.h"

Test(lossgrad, right_losses_pass_whatever_the_size_of_the_logits)
{
    for (size_t V = 1; V < 70; V = V * 4 + 1)
        for (int large = 0; large < 2; large++) {
            struct config c = config_make(1, 1, 4, 5, V);
            c.tied = false;
            struct tiny t;
            tiny_make(&t, &c, 1, 3, 5, 1);
            real *head = tiny_tensor(&t, t.model.params, PARAMS_HEAD, 0);
            for (size_t k = 0; large && k < 4 * V; k++)
                head[k] *= 300;
            struct error err;
            struct verdict *v = calloc(1, sizeof *v);
            cr_assert_eq(lossgrad_check(v, &t.model, &t.work, t.tokens, t.targets, &err), STATUS_OK);
            cr_expect_eq(v->findings, 0, "V %zu: %s", V, v->finding[0].what);
            cr_expect_eq(v->line[0].outcome, VERDICT_CLEAN);
            free(v);
            tiny_free(&t);
        }
}
