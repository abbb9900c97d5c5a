#include "lab/trap.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/machine.h"
#include "support/textfile.h"

/* A trap of a few seconds: a small text, small twins. */
struct lab {
    struct textfile_folder folder;
    struct tokenizer tokenizer;
    struct dataset data;
    struct trap trap;
    size_t steps, looks, interrupt_at;
};

static struct lab lab; /* a trap is large */

static void on_step(void *context, const struct trap *t)
{
    struct lab *l = context;
    l->steps++;
    cr_assert_eq(l->steps, t->step);
    /* The twins have just seen the same batch: the second one's is still there, the first one's must be its like. */
    const struct gpt_learner *right = &t->twin[TRAP_RIGHT].learner, *leaky = &t->twin[TRAP_LEAKY].learner;
    const size_t bytes = t->settings.batch_size * t->settings.config.block_size * sizeof(uint32_t);
    cr_assert_eq(memcmp(right->tokens, leaky->tokens, bytes), 0);
    if (t->twin[TRAP_LEAKY].data.fault == DATASET_FAULT_NONE)
        cr_assert_eq(memcmp(right->targets, leaky->targets, bytes), 0);
}

static void on_look(void *context, const struct trap *t)
{
    struct lab *l = context;
    if (t->points == 1)
        cr_assert_eq(
            memcmp(t->twin[0].model.params, t->twin[1].model.params, t->twin[0].model.table.size * sizeof(real)), 0,
            "twins begin alike");
    l->looks++;
}

static bool interrupted(void *context)
{
    const struct lab *l = context;
    return l->interrupt_at && l->steps >= l->interrupt_at;
}

static void prepare(const char *fault, size_t symbols, size_t steps)
{
    char text[4096], path[TEXTFILE_PATH_SIZE];
    struct error err;
    cr_assert_leq(symbols, sizeof text);
    for (size_t i = 0; i < symbols; i++)
        text[i] = "the cat sat on a mat; a dog ran.\n"[i * i % 33];
    lab = (struct lab){.tokenizer = {.kind = TOKENIZER_CHARS}};
    textfile_begin(&lab.folder);
    textfile_write(path, &lab.folder, "text.txt", text, symbols);
    const char *paths[] = {path};
    cr_assert_eq(dataset_open(&lab.data, &lab.tokenizer, paths, 1, 0.25, &err), STATUS_OK, "%s", err.message);
    struct config c = config_make(2, 2, 16, 12, lab.tokenizer.size);
    c.bias = false;
    lab.trap.settings = (struct trap_settings){.config = c,
                                               .schedule = {.lr = 3e-3, .min_lr = 3e-4, .warmup = 1, .steps = steps},
                                               .batch_size = 4,
                                               .weight_decay = 0.1,
                                               .beta1 = 0.9,
                                               .beta2 = 0.99,
                                               .grad_clip = 1,
                                               .seed = 3,
                                               .team = support_team(1),
                                               .eval_interval = 4,
                                               .eval_windows = 5,
                                               .sample_size = 60};
    lab.trap.data = &lab.data;
    lab.trap.tokenizer = &lab.tokenizer;
    lab.trap.events = (struct trap_events){&lab, on_step, on_look, interrupted};
    cr_assert_eq(trap_fault(&lab.trap.settings.fault, fault, &c, 4, &err), STATUS_OK, "%s", err.message);
}

static void finish(void)
{
    trap_free(&lab.trap);
    dataset_free(&lab.data);
    tokenizer_free(&lab.tokenizer);
    textfile_end(&lab.folder);
}

static struct trap *run(const char *fault, size_t steps)
{
    struct error err;
    prepare(fault, 2000, steps);
    cr_assert_eq(trap_create(&lab.trap, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(trap_run(&lab.trap, &err), STATUS_OK, "%s", err.message);
    return &lab.trap;
}

static bool caught(const struct trap_twin *twin, const char *detector, size_t step)
{
    for (size_t i = 0; i < twin->catches; i++)
        if (strcmp(twin->caught[i].detector, detector) == 0)
            return twin->caught[i].step == step;
    return false;
}

Test(trap, the_right_twin_writes_as_well_as_it_reads_and_the_leaky_one_does_not)
{
    const struct trap *t = run("no-mask", 58);
    cr_assert_eq(t->points, 16, "steps 0, 4, ... 56 and 58");
    cr_assert(lab.looks == 16 && lab.steps == 58);
    for (size_t i = 0; i < t->points; i++) {
        const struct trap_look *right = &t->point[i].look[TRAP_RIGHT], *leaky = &t->point[i].look[TRAP_LEAKY];
        cr_assert_float_eq(right->generation_loss, right->val_loss, 1e-5);
        if (i + 1 == t->points)
            cr_assert_gt(fabs(leaky->generation_loss - leaky->val_loss), 1e-3);
        for (size_t h = 0; h < 4; h++) {
            cr_assert_eq(right->future[h], 0);
            cr_assert(leaky->future[h] > 0.2 && leaky->future[h] < 0.8, "%g", leaky->future[h]);
            cr_assert(right->entropy[h] > 0 && right->entropy[h] <= 1.0001);
        }
    }
    for (size_t i = 0; i < 16; i++)
        cr_assert_eq(t->point[i].step, i < 15 ? 4 * i : 58);
    finish();
}

Test(trap, the_leaky_twin_is_caught_before_the_first_step_and_the_right_one_never)
{
    const struct trap *t = run("no-mask", 1);
    cr_assert(caught(&t->twin[TRAP_LEAKY], "suffix", 0) && caught(&t->twin[TRAP_LEAKY], "gradient", 0) &&
              caught(&t->twin[TRAP_LEAKY], "generation", 0));
    for (size_t i = 0; i < t->twin[TRAP_RIGHT].catches; i++)
        cr_assert_fail("%s", t->twin[TRAP_RIGHT].caught[i].detector);
    finish();
}

Test(trap, maps_show_the_weights_and_samples_are_written)
{
    const struct trap *t = run("no-mask", 2);
    const size_t S = t->snippet;
    cr_assert_eq(S, 12);
    for (size_t side = 0; side < TRAP_SIDES; side++) {
        double future = 0;
        for (size_t head = 0; head < 4; head++)
            for (size_t i = 0; i < S; i++) {
                double sum = 0;
                for (size_t j = 0; j < S; j++) {
                    sum += t->twin[side].maps[(head * S + i) * S + j];
                    future += j > i ? t->twin[side].maps[(head * S + i) * S + j] : 0;
                }
                cr_assert_float_eq(sum, 1, 1e-5);
            }
        cr_assert_eq(future == 0, side == TRAP_RIGHT);
        cr_assert_eq(t->twin[side].sample_bytes, 60);
    }
    finish();
}

Test(trap, a_person_is_fooled_when_the_leaky_twin_first_looks_better_and_writes_worse)
{
    const struct trap *t = run("no-mask", 60);
    size_t first = TRAP_NEVER;
    for (size_t i = t->points; i-- > 1;)
        if (t->point[i].look[TRAP_LEAKY].val_loss < t->point[i].look[TRAP_RIGHT].val_loss &&
            t->point[i].look[TRAP_LEAKY].generation_loss > t->point[i].look[TRAP_RIGHT].generation_loss)
            first = t->point[i].step;
    cr_assert_eq(t->fooled_at, first);
    finish();
}

Test(trap, a_fault_of_the_data_is_read_by_one_twin_only)
{
    const struct trap *t = run("targets-not-shifted", 30);
    const struct trap_look *leaky = &t->point[t->points - 1].look[TRAP_LEAKY];
    cr_assert_eq(lab.data.fault, DATASET_FAULT_NONE);
    cr_assert(caught(&t->twin[TRAP_LEAKY], "targets", 0));
    cr_assert_eq(t->twin[TRAP_RIGHT].catches, 0);
    cr_assert_gt(leaky->generation_loss, leaky->val_loss + 0.1, "%g, %g", leaky->generation_loss, leaky->val_loss);
    finish();
}

Test(trap, every_fault_that_trains_can_be_planted)
{
    for (size_t i = 0; i < catalogue_size; i++) {
        struct error err;
        const struct catalogue_entry *e;
        struct config c = config_make(2, 2, 16, 80, 30); /* longer than a tile of attention */
        c.dropout = 0.1;
        if (catalogue[i].needs_window) {
            cr_assert_eq(trap_fault(&e, catalogue[i].name, &c, 4, &err), STATUS_USAGE);
            cr_assert(strstr(err.message, "window"), "%s", err.message);
            c.declared = c.trained = ATTENTION_WINDOW;
            c.window = 5;
        }
        const enum status s = trap_fault(&e, catalogue[i].name, &c, 4, &err);
        cr_assert_eq(s, catalogue[i].trains ? STATUS_OK : STATUS_USAGE, "%s", catalogue[i].name);
        c.dropout = 0;
        if (catalogue[i].needs_dropout) {
            cr_assert_eq(trap_fault(&e, catalogue[i].name, &c, 4, &err), STATUS_USAGE);
            cr_assert(strstr(err.message, "--dropout"), "%s", err.message);
        }
    }
    struct error err;
    const struct catalogue_entry *e;
    const struct config c = config_make(2, 2, 16, 1, 30);
    cr_assert_eq(trap_fault(&e, "no-mask", &c, 4, &err), STATUS_USAGE, "one position has no future");
    cr_assert_eq(trap_fault(&e, "no-musk", &c, 4, &err), STATUS_USAGE);
    for (size_t i = 0; i < catalogue_size; i++)
        cr_assert_eq(strstr(err.message, catalogue[i].name) != NULL, catalogue[i].trains, "%s", err.message);
}

Test(trap, what_cannot_be_run_is_refused_with_nothing_held)
{
    struct error err;
    prepare("no-mask", 40, 3);
    cr_assert_eq(trap_create(&lab.trap, &err), STATUS_RANGE);
    cr_assert(strstr(err.message, "validation part") && strstr(err.message, "--val-split"), "%s", err.message);
    finish();
    prepare("no-mask", 12, 3);
    cr_assert_eq(trap_create(&lab.trap, &err), STATUS_RANGE, "%s", err.message);
    finish();
    prepare("no-mask", 2000, 3);
    lab.trap.settings.schedule.min_lr = 1;
    cr_assert_eq(trap_create(&lab.trap, &err), STATUS_USAGE, "%s", err.message);
    finish();
    prepare("no-mask", 2000, 3);
    lab.trap.settings.schedule.lr = 1e30;
    cr_assert_eq(trap_create(&lab.trap, &err), STATUS_OK);
    cr_assert_eq(trap_run(&lab.trap, &err), STATUS_NONFINITE);
    cr_assert(strstr(err.message, "twin") && strstr(err.message, "step"), "%s", err.message);
    finish();
}

Test(trap, stops_when_asked)
{
    struct error err;
    prepare("no-mask", 2000, 10);
    lab.interrupt_at = 3;
    cr_assert_eq(trap_create(&lab.trap, &err), STATUS_OK);
    cr_assert_eq(trap_run(&lab.trap, &err), STATUS_INTERRUPTED);
    cr_assert(strstr(err.message, "after step 3 of 10"), "%s", err.message);
    finish();
}
