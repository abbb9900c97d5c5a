#include "train/verify_resume.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "store/run.h"
#include "support/machine.h"
#include "support/rig.h"
#include "support/scratch.h"

TestSuite(verify_resume, .init = scratch_make, .fini = scratch_remove);

static struct error err;

/* Steps are saved of models that are none of the rig's. */
static void pass_over(void *context, size_t step, const char *dir)
{
    (void)context, (void)step, (void)dir;
}

static enum status verify(struct verify_resume *v, struct rig *rig, size_t steps)
{
    cr_assert_eq(trainer_create(&rig->trainer, &err), STATUS_OK, "%s", err.message);
    return verify_resume(v, &rig->trainer, scratch_path("work"), steps, &err);
}

Test(verify_resume, halves_are_the_whole_to_the_last_bit)
{
    static const size_t steps[] = {2, 3, 12};
    for (size_t i = 0; i < 3; i++)
        for (int precision = 0; precision < 2; precision++) {
            struct verify_resume v;
            struct rig rig;
            rig_make(&rig, scratch_path("run-%zu-%d", i, precision) + strlen(scratch_folder()) + 1);
            rig.trainer.events.saved = pass_over;
            rig.model.config.precision = precision ? PRECISION_BF16 : PRECISION_FP32;
            rig.trainer.settings.team = support_team(precision + 1);
            cr_assert_eq(trainer_create(&rig.trainer, &err), STATUS_OK, "%s", err.message);
            cr_assert_eq(verify_resume(&v, &rig.trainer, scratch_path("work-%zu-%d", i, precision), steps[i], &err),
                         STATUS_OK, "%s", err.message);
            cr_assert(v.same, "%s", v.difference);
            cr_assert(v.first == 0 && v.half == steps[i] / 2 && v.last == steps[i]);
            cr_assert_eq(v.records, steps[i]);
            cr_assert_eq(v.numbers, 3 * rig.model.table.size);
            rig_free(&rig);
        }
}

Test(verify_resume, a_run_that_is_resumed_itself_is_verified_from_where_it_is)
{
    struct verify_resume v;
    struct rig rig;
    rig_make(&rig, "run");
    rig.trainer.settings.stop_after = 5;
    cr_assert_eq(rig_train(&rig, &err), STATUS_OK, "%s", err.message);
    rig_free(&rig);
    rig_resume(&rig, "run");
    rig.trainer.settings.stop_after = 0;
    rig.trainer.events.saved = pass_over;
    cr_assert_eq(trainer_create(&rig.trainer, &err), STATUS_OK, "%s", err.message);
    memcpy(rig.trainer.optimizer.m, rig.read.m, rig.model.table.size * sizeof(real));
    memcpy(rig.trainer.optimizer.v, rig.read.v, rig.model.table.size * sizeof(real));
    cr_assert_eq(verify_resume(&v, &rig.trainer, scratch_path("work"), 6, &err), STATUS_OK, "%s", err.message);
    cr_assert(v.same, "%s", v.difference);
    cr_assert(v.first == 5 && v.half == 8 && v.last == 11);
    rig_free(&rig);
}

Test(verify_resume, more_steps_than_the_schedule_has_are_refused)
{
    struct verify_resume v;
    struct rig rig;
    rig_make(&rig, "run");
    cr_assert_eq(verify(&v, &rig, 13), STATUS_USAGE);
    cr_assert(strstr(err.message, "13 steps are to be verified, but the run has 12 left"), "%s", err.message);
    cr_assert_not(scratch_exists(scratch_path("work")));
    rig_free(&rig);
}

/* The planted fault: what the first half has saved is replaced by a checkpoint, sound in itself, in which one number
 * is another (not a last bit of a moment: that may be rounded away again by the updates that follow). */
static const char *which;

static void tamper(void *context, size_t step, const char *dir)
{
    (void)context;
    if (step != 6 || !strstr(dir, "halves"))
        return;
    char *folder;
    struct checkpoint c;
    cr_assert_eq(run_find(&folder, dir, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(checkpoint_read(&c, folder, true, &err), STATUS_OK, "%s", err.message);
    real *x = strcmp(which, "weights") == 0         ? c.model.params
              : strcmp(which, "first moments") == 0 ? c.moments.m
                                                    : c.moments.v;
    const size_t last = c.model.table.size - 1;
    x[last] = x[last] * (real)1.001 + (real)1e-6;
    cr_assert_eq(checkpoint_write(dir, step, &c.model, &c.tokenizer, &c.moments, c.state, &err), STATUS_OK, "%s",
                 err.message);
    checkpoint_free(&c);
    free(folder);
}

Test(verify_resume, one_number_lost_on_the_way_is_noticed)
{
    static const char *const lost[] = {"weights", "first moments", "second moments"};
    for (size_t i = 0; i < 3; i++) {
        struct verify_resume v;
        struct rig rig;
        which = lost[i];
        rig_make(&rig, scratch_path("run-%zu", i) + strlen(scratch_folder()) + 1);
        rig.trainer.events.saved = tamper;
        cr_assert_eq(trainer_create(&rig.trainer, &err), STATUS_OK, "%s", err.message);
        cr_assert_eq(verify_resume(&v, &rig.trainer, scratch_path("work-%zu", i), 12, &err), STATUS_OK, "%s",
                     err.message);
        cr_assert_not(v.same, "one of the %s was lost", which);
        cr_assert_gt(strlen(v.difference), 0u);
        rig_free(&rig);
    }
}
