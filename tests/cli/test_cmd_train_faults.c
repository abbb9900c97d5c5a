/* The program among calls that fail, kills and full disks: a sample of what `make faults` does in full. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/injector.h"
#include "support/ordeal.h"
#include "support/scratch.h"

TestSuite(cmd_train_faults, .init = scratch_make, .fini = scratch_remove, .timeout = 600);

#define IO_ERROR 5

static struct ordeal ordeal_make(void)
{
    struct ordeal o = {.program = NOPEEK_BINARY, .folder = scratch_folder()};
    cr_assert(ordeal_prepare(&o), "%s", o.complaint);
    return o;
}

/* About `trials` of the calls of this kind, first and last among them. */
static void sample(struct ordeal *o, enum ordeal_scene scene, enum injector_call call, enum injector_action action,
                   size_t trials)
{
    size_t counts[INJECTOR_CALLS];
    cr_assert(ordeal_count(o, scene, counts), "%s", o->complaint);
    const size_t n = counts[call];
    cr_assert_gt(n, 0, "%s", injector_names[call]);
    for (size_t k = 0; k < trials; k++) {
        const size_t number = 1 + k * (n - 1) / (trials - 1);
        cr_assert(ordeal_call(o, scene, call, number, action, IO_ERROR), "%s, %s %zu of %zu: %s", ordeal_names[scene],
                  injector_names[call], number, n, o->complaint);
        cr_assert(o->reached, "%s %zu of %zu", injector_names[call], number, n);
    }
}

Test(cmd_train_faults, a_call_that_fails_leaves_the_last_checkpoint_and_one_message)
{
    if (!injector_available())
        return;
    struct ordeal o = ordeal_make();
    sample(&o, ORDEAL_TRAIN, INJECTOR_WRITE, INJECTOR_FAIL, 3);
    sample(&o, ORDEAL_RESUME, INJECTOR_WRITE, INJECTOR_FAIL_ON, 3);
    sample(&o, ORDEAL_RESUME, INJECTOR_SYNC, INJECTOR_FAIL, 3);
    sample(&o, ORDEAL_TRAIN, INJECTOR_RENAME, INJECTOR_FAIL, 3);
    sample(&o, ORDEAL_RESUME, INJECTOR_OPEN, INJECTOR_FAIL, 3);
    sample(&o, ORDEAL_RESUME, INJECTOR_STAT, INJECTOR_FAIL, 3);
    sample(&o, ORDEAL_RESUME, INJECTOR_LIST, INJECTOR_FAIL, 3);
    sample(&o, ORDEAL_TRAIN, INJECTOR_SYMLINK, INJECTOR_FAIL, 3);
    sample(&o, ORDEAL_TRAIN, INJECTOR_UNLINK, INJECTOR_FAIL, 3);
    cr_assert(o.failed > 0 && o.recovered > 0);
}

Test(cmd_train_faults, a_reader_fails_or_says_what_it_always_says)
{
    if (!injector_available())
        return;
    struct ordeal o = ordeal_make();
    const enum ordeal_scene scenes[] = {ORDEAL_GENERATE, ORDEAL_EVAL,   ORDEAL_INFO,
                                        ORDEAL_INSPECT,  ORDEAL_REPORT, ORDEAL_CORPUS};
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        sample(&o, scenes[i], INJECTOR_OPEN, INJECTOR_FAIL, 3);
        sample(&o, scenes[i], INJECTOR_WRITE, INJECTOR_FAIL, 2);
        sample(&o, scenes[i], INJECTOR_WRITE, INJECTOR_SHORT, 2);
        sample(&o, scenes[i], INJECTOR_STAT, INJECTOR_FAIL, 3);
    }
    cr_assert_gt(o.failed, 0);
}

Test(cmd_train_faults, killed_at_any_call_of_a_save_it_goes_on_to_the_same_bits)
{
    if (!injector_available())
        return;
    struct ordeal o = ordeal_make();
    sample(&o, ORDEAL_RESUME, INJECTOR_RENAME, INJECTOR_KILL_BEFORE, 3);
    sample(&o, ORDEAL_RESUME, INJECTOR_RENAME, INJECTOR_KILL_AFTER, 3);
    sample(&o, ORDEAL_TRAIN, INJECTOR_SYNC, INJECTOR_KILL_AFTER, 3);
    sample(&o, ORDEAL_TRAIN, INJECTOR_UNLINK, INJECTOR_KILL_BEFORE, 3);
    sample(&o, ORDEAL_RESUME, INJECTOR_SYMLINK, INJECTOR_KILL_AFTER, 3);
}

Test(cmd_train_faults, two_signals_within_a_save_leave_no_half_file)
{
    if (!injector_available())
        return;
    struct ordeal o = ordeal_make();
    sample(&o, ORDEAL_RESUME, INJECTOR_WRITE, INJECTOR_SIGNALS, 4);
    sample(&o, ORDEAL_TRAIN, INJECTOR_SYNC, INJECTOR_SIGNALS, 4);
}

Test(cmd_train_faults, killed_at_random_the_highest_step_always_loads)
{
    struct ordeal o = ordeal_make();
    size_t kills;
    cr_assert(ordeal_kills(&o, &kills, 15, 0.3, 3), "%s", o.complaint);
    cr_assert_geq(kills, 15);
}

Test(cmd_train_faults, files_that_cannot_grow_leave_the_last_checkpoint)
{
    struct ordeal o = ordeal_make();
    for (size_t bytes = 100; bytes < 20000; bytes *= 5)
        cr_assert(ordeal_limit(&o, ORDEAL_RESUME, bytes), "%zu bytes: %s", bytes, o.complaint);
    cr_assert_gt(o.failed, 0);
}

/* ---- what a power cut would leave ---- */

#define DIRTY 64

/* Names whose content, or entries, are not known to be on the disk. */
struct disk {
    char dirty[DIRTY][512];
    size_t count, commits, removals;
    bool commit_pending; /* renamed, but the folder around it not synced since */
};

static void mark(struct disk *d, const char *path)
{
    for (size_t i = 0; i < d->count; i++)
        if (strcmp(d->dirty[i], path) == 0)
            return;
    cr_assert_lt(d->count, DIRTY);
    snprintf(d->dirty[d->count++], sizeof d->dirty[0], "%s", path);
}

static void clean(struct disk *d, const char *path)
{
    for (size_t i = 0; i < d->count; i++)
        if (strcmp(d->dirty[i], path) == 0)
            memcpy(d->dirty[i], d->dirty[--d->count], sizeof d->dirty[0]);
}

static bool is_step(const char *path)
{
    const char *name = strrchr(path, '/');
    return name && strncmp(name, "/step-", 6) == 0 && !strchr(name, '.');
}

static void on_call(void *context, const struct injector_event *e)
{
    struct disk *d = context;
    const char *tail = strstr(e->path, "/run/.step-");
    char folder[512];
    if (tail && (e->call == INJECTOR_WRITE || e->call == INJECTOR_OPEN) && strchr(tail + 5, '/')) {
        /* A file under construction is written, or made in its folder. */
        snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(e->path, '/') - e->path), e->path);
        mark(d, e->call == INJECTOR_WRITE ? e->path : folder);
    } else if (e->call == INJECTOR_WRITE && strstr(e->path, "/run/metrics.jsonl")) {
        mark(d, e->path);
    } else if (e->call == INJECTOR_SYNC) {
        clean(d, e->path);
        const size_t n = strlen(e->path);
        if (n > 4 && strcmp(e->path + n - 4, "/run") == 0)
            d->commit_pending = false;
    } else if (e->call == INJECTOR_RENAME && is_step(e->other)) {
        for (size_t i = 0; i < d->count; i++)
            cr_assert_fail("%s is not synced before the commit", d->dirty[i]);
        d->commits++;
        d->commit_pending = true;
    } else if (e->call == INJECTOR_RENAME && strstr(e->other, "/run/latest")) {
        cr_assert_not(d->commit_pending, "latest moves on before the new checkpoint is on the disk");
    } else if (e->call == INJECTOR_RENAME && is_step(e->path)) {
        cr_assert_not(d->commit_pending, "%s goes before the new checkpoint is on the disk", e->path);
        d->removals++;
    }
}

Test(cmd_train_faults, every_byte_is_on_the_disk_before_it_is_committed_and_nothing_older_goes_before)
{
    if (!injector_available())
        return;
    struct disk *d = calloc(1, sizeof *d);
    struct ordeal o = ordeal_make();
    cr_assert(ordeal_watch(&o, ORDEAL_RESUME, on_call, d), "%s", o.complaint);
    cr_assert(d->commits == 3 && d->removals > 0, "%zu commits, %zu removals", d->commits, d->removals);
    free(d);
}
