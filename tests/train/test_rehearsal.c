#include "train/rehearsal.h"

#include <criterion/criterion.h>

#include "base/clock.h"
#include "support/rig.h"
#include "support/scratch.h"

TestSuite(rehearsal, .init = scratch_make, .fini = scratch_remove);

static struct error err;

static void rehearse(struct rehearsal *r, struct rig *rig)
{
    cr_assert_eq(trainer_create(&rig->trainer, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(rehearsal_run(r, &rig->trainer, 0.05, &err), STATUS_OK, "%s", err.message);
}

Test(rehearsal, counts_what_the_run_will_do_and_writes_nothing)
{
    struct rehearsal r;
    struct rig rig;
    rig_make(&rig, "run");
    rig.trainer.settings.eval_interval = 5; /* after steps 5, 10 and 12, and before the first */
    const double start = clock_seconds();
    rehearse(&r, &rig);
    const double passed = clock_seconds() - start;
    cr_assert_eq(r.steps, 12u);
    cr_assert_eq(r.evaluations, 4u);
    cr_assert_geq(r.measured, 2u);
    cr_assert(r.step > 0 && r.evaluation > 0 && r.step <= passed && r.evaluation <= passed);
    cr_assert_float_eq(r.seconds, 12 * r.step + 4 * r.evaluation, 1e-12);
    cr_assert_not(scratch_exists(scratch_path("run/metrics.jsonl")));
    cr_assert_eq(rig.saves, 0u);
    cr_assert_eq(rig.trainer.learner.eval_windows, rig.trainer.settings.eval_windows, "as it was");
    rig_free(&rig);
}

Test(rehearsal, ends_where_stop_after_does)
{
    struct rehearsal r;
    struct rig rig;
    rig_make(&rig, "run");
    rig.trainer.settings.stop_after = 7;
    rehearse(&r, &rig);
    cr_assert_eq(r.steps, 7u);
    cr_assert_eq(r.evaluations, 1u);
    rig_free(&rig);
}

Test(rehearsal, a_run_that_is_done_takes_no_time)
{
    struct rehearsal r;
    struct rig rig;
    rig_make(&rig, "run");
    cr_assert_eq(rig_train(&rig, &err), STATUS_OK, "%s", err.message);
    rig_free(&rig);
    rig_resume(&rig, "run");
    rehearse(&r, &rig);
    cr_assert_eq(r.steps, 0u);
    cr_assert_eq(r.seconds, 0);
    rig_free(&rig);
}
