#include "train/writing_loss.h"

#include <criterion/criterion.h>
#include <math.h>

#include "support/machine.h"
#include "support/rig.h"
#include "support/scratch.h"

TestSuite(writing_loss, .init = scratch_make, .fini = scratch_remove);

static struct error err;

static struct generation look(const struct rig *rig, size_t T)
{
    struct work w;
    struct generation r;
    cr_assert_eq(work_create(&w, &rig->model.config, 2, T, false, support_team(1), &err), STATUS_OK);
    cr_assert_eq(writing_loss(&r, &rig->model, &w, &rig->data, &err), STATUS_OK, "%s", err.message);
    work_free(&w);
    return r;
}

Test(writing_loss, is_the_loss_of_whole_windows_where_nothing_is_peeked_at)
{
    struct rig rig;
    rig_make(&rig, "run");
    const struct generation r = look(&rig, rig.model.config.block_size);
    cr_assert_gt(r.loss, 1);
    cr_assert_float_eq(r.loss, r.parallel, 1e-5);
    rig_free(&rig);
}

Test(writing_loss, parts_from_it_where_the_mask_is_missing)
{
    struct rig rig;
    rig_make(&rig, "run");
    for (size_t k = 0; k < rig.model.config.n_layer * rig.model.config.n_head; k++)
        rig.model.rules[k] = ATTENTION_FULL;
    for (size_t k = 0; k < rig.model.table.size; k++) /* so that attention matters */
        rig.model.params[k] *= 8;
    const struct generation r = look(&rig, rig.model.config.block_size);
    cr_assert_gt(fabs(r.loss - r.parallel), 1e-3, "%g %g", r.loss, r.parallel);
    rig_free(&rig);
}

Test(writing_loss, of_a_part_without_a_pair_of_symbols_is_none)
{
    struct rig rig;
    rig_make(&rig, "run");
    const size_t train = rig.data.train;
    rig.data.train = rig.data.count - 1;
    struct generation r = look(&rig, 4);
    cr_assert(isnan(r.loss) && isnan(r.parallel));
    rig.data.train = rig.data.count - 2; /* one target is enough */
    r = look(&rig, 4);
    cr_assert(isfinite(r.loss) && fabs(r.loss - r.parallel) < 1e-6);
    rig.data.train = train;
    rig_free(&rig);
}
