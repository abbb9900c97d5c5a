#include "lab/impossible.h"
#include "support/machine.h"

#include <criterion/criterion.h>

static struct impossible run(const char *fault)
{
    struct error err;
    struct impossible r;
    cr_assert_eq(impossible_run(&r, fault ? catalogue_find(fault) : NULL, 1, support_isa(), &err), STATUS_OK, "%s",
                 err.message);
    return r;
}

Test(impossible, a_correct_model_learns_nothing_from_uniform_symbols)
{
    const struct impossible r = run(NULL);
    cr_assert(!r.below && r.loss > r.possible - 0.02, "%g", r.loss);
}

Test(impossible, a_model_that_peeks_learns_to)
{
    const struct impossible r = run("one-ahead");
    cr_assert(r.below && r.loss < 0.9 * r.possible, "%g of %g", r.loss, r.possible);
    cr_assert(run("targets-not-shifted").below);
}
