/* A run holds as much memory after many steps as after few. */
#include <criterion/criterion.h>

#include "support/rig.h"
#include "support/scratch.h"
#include "train/trainer.h"

#if defined(__GLIBC__) && !defined(NOPEEK_SANITIZED) /* only there can the bytes that are held be asked for */
#include <malloc.h>

#if __GLIBC_PREREQ(2, 33)

TestSuite(trainer_memory, .init = scratch_make, .fini = scratch_remove);

/* Both in the middle between two evaluations, and far apart: what lives when it is counted stands in pieces of which
 * some are 16 bytes larger than they need be, about 1 KB in all whatever the steps. */
enum { EARLY = 35, LATE = 1035, INTERVAL = 10, PLANTED = 16 };

struct held {
    struct rig rig; /* first: callbacks are given the rig */
    size_t early, late;
    bool leaks;
};

/* glibc keeps up to 7 freed pieces of each small size at hand and counts them as held: they are taken while it counts.
 */
static size_t bytes_held(void)
{
    enum { SIZES = 64, PIECES = 7, STEP = 16, HEADER = sizeof(size_t) };
    void *taken[SIZES * PIECES];
    size_t own = 0;
    for (size_t i = 0; i < SIZES * PIECES; i++) {
        taken[i] = malloc((i / PIECES + 1) * STEP + HEADER);
        cr_assert_not_null(taken[i]);
        own += malloc_usable_size(taken[i]) + HEADER;
    }
    const struct mallinfo2 m = mallinfo2();
    for (size_t i = 0; i < SIZES * PIECES; i++)
        free(taken[i]);
    return m.uordblks + m.hblkhd - own;
}

static void look(struct rig *rig, size_t step)
{
    struct held *held = (struct held *)rig;
    if (held->leaks)
        cr_assert_not_null(malloc(PLANTED));
    if (step == EARLY)
        held->early = bytes_held();
    if (step == LATE)
        held->late = bytes_held();
}

static size_t growth(const char *dir, bool leaks)
{
    struct error err;
    struct held held = {.leaks = leaks};
    rig_make(&held.rig, dir);
    struct trainer_settings *s = &held.rig.trainer.settings;
    s->schedule.steps = LATE + INTERVAL;
    s->eval_interval = INTERVAL;
    s->log_interval = 1;
    held.rig.after_step = look;
    cr_assert_eq(rig_train(&held.rig, &err), STATUS_OK, "%s", err.message);
    cr_assert(held.rig.steps == LATE + INTERVAL && held.rig.evals > LATE / INTERVAL);
    rig_free(&held.rig);
    return held.late > held.early ? held.late - held.early : 0;
}

/* With a record of every step, and an evaluation, a sample and a checkpoint every few. */
Test(trainer_memory, does_not_grow_with_the_steps)
{
    const size_t grown = growth("run", false);
    cr_assert_leq(grown, (LATE - EARLY) * PLANTED / 4, "%zu bytes more", grown);
    cr_assert_geq(growth("planted", true), (LATE - EARLY) * PLANTED, "bytes that are lost at each step show");
}

#endif
#endif
