#include "train/trainer.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/run.h"
#include "support/machine.h"
#include "support/rig.h"
#include "support/scratch.h"
#include "train/evaluate.h"

TestSuite(trainer, .init = scratch_make, .fini = scratch_remove);

static struct error err;

static void train_ok(struct rig *rig)
{
    cr_assert_eq(rig_train(rig, &err), STATUS_OK, "%s", err.message);
}

/* A run with rig_settings, but for threads. */
static void train_whole(const char *dir, int threads)
{
    struct rig rig;
    rig_make(&rig, dir);
    rig.trainer.settings.team = support_team(threads);
    train_ok(&rig);
    cr_assert_eq(rig.steps, 12);
    rig_free(&rig);
}

static void train_resumed(const char *dir, int threads)
{
    struct rig rig;
    rig_resume(&rig, dir);
    rig.trainer.settings.team = support_team(threads);
    train_ok(&rig);
    cr_assert_eq(rig.state.step, 12);
    rig_free(&rig);
}

static void expect_same_metrics(const char *a, const char *b)
{
    json_t *x = rig_metrics(a), *y = rig_metrics(b);
    cr_assert_gt(json_array_size(x), 3);
    if (!json_equal(x, y)) {
        char *s = json_dumps(x, JSON_INDENT(1)), *t = json_dumps(y, JSON_INDENT(1));
        cr_assert(0, "%s\nis not\n%s", s, t);
    }
    json_decref(x);
    json_decref(y);
}

Test(trainer, stopped_and_resumed_anywhere_it_ends_with_the_same_bits)
{
    train_whole("whole", 1);
    const size_t cuts[] = {1, 3, 5, 6, 11, 12};
    for (size_t i = 0; i < 6; i++) { /* 1, 3 and 5 are inside the warm-up */
        char dir[16];
        struct rig rig;
        snprintf(dir, sizeof dir, "cut-%zu", cuts[i]);
        rig_make(&rig, dir);
        rig.trainer.settings.stop_after = cuts[i];
        train_ok(&rig);
        cr_assert(rig.state.step == cuts[i] && rig_has_step(dir, cuts[i]));
        rig_free(&rig);
        train_resumed(dir, 1);
        cr_assert(rig_same_bits("whole", dir, 12), "cut after %zu", cuts[i]);
        expect_same_metrics("whole", dir);
    }
}

Test(trainer, so_it_does_with_two_threads)
{
    struct rig rig;
    train_whole("whole", 2);
    rig_make(&rig, "cut");
    rig.trainer.settings.team = support_team(2);
    rig.trainer.settings.stop_after = 3;
    train_ok(&rig);
    rig_free(&rig);
    train_resumed("cut", 2);
    cr_assert(rig_same_bits("whole", "cut", 12));
    expect_same_metrics("whole", "cut");
}

Test(trainer, so_it_does_when_interrupted_twice)
{
    struct rig rig;
    train_whole("whole", 1);
    rig_make(&rig, "cut");
    rig.interrupt_at = 2;
    cr_assert_eq(rig_train(&rig, &err), STATUS_INTERRUPTED);
    cr_assert(strstr(err.message, "after step 2") && strstr(err.message, "--resume"), "%s", err.message);
    cr_assert(rig.steps == 2 && rig_has_step("cut", 2));
    rig_free(&rig);
    rig_resume(&rig, "cut");
    rig.interrupt_at = 7;
    cr_assert_eq(rig_train(&rig, &err), STATUS_INTERRUPTED);
    cr_assert(rig.steps == 5 && rig_has_step("cut", 7));
    rig_free(&rig);
    train_resumed("cut", 1);
    cr_assert(rig_same_bits("whole", "cut", 12));
    expect_same_metrics("whole", "cut");
}

Test(trainer, so_it_does_from_before_the_first_step)
{
    struct rig rig;
    size_t moved;
    rig_make(&rig, "run");
    rig.trainer.settings.keep = 0;
    train_ok(&rig);
    rig_free(&rig);
    train_whole("whole", 1);
    cr_assert_eq(run_rewind(scratch_path("run"), 0, 0, &moved, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(moved, 1);
    rig_resume(&rig, "run");
    cr_assert_eq(rig.state.step, 0);
    rig.trainer.settings.stop_after = 1;
    train_ok(&rig);
    cr_assert_eq(rig.evals, 0, "what was done at step 0 is not done again");
    cr_assert_not(scratch_exists(scratch_path("run/step-000000.old")), "nor written again");
    rig_free(&rig);
    train_resumed("run", 1);
    cr_assert(rig_same_bits("whole", "run", 12));
    expect_same_metrics("whole", "run");
}

Test(trainer, looking_logging_and_saving_do_not_change_the_weights)
{
    train_whole("plain", 1);
    for (size_t i = 0; i < 4; i++) {
        struct rig rig;
        char dir[16];
        snprintf(dir, sizeof dir, "busy-%zu", i);
        rig_make(&rig, dir);
        struct trainer_settings *s = &rig.trainer.settings;
        if (i == 0)
            s->eval_interval = 1;
        if (i == 1)
            s->log_interval = 1;
        if (i == 2)
            s->save_every = 5;
        if (i == 3) {
            s->eval_interval = 3;
            s->eval_windows = 1000;
            s->sample_size = 50;
            s->save_every = s->log_interval = 2;
        }
        train_ok(&rig);
        cr_assert_eq(rig.evals, i == 0 ? 13 : i == 3 ? 5 : 2);
        rig_free(&rig);
        cr_assert(rig_same_bits("plain", dir, 12), "%s", dir);
    }
}

Test(trainer, the_log_says_what_happened)
{
    struct rig rig;
    rig_make(&rig, "run");
    rig.trainer.settings.eval_interval = 6;
    train_ok(&rig);
    json_t *lines = rig_metrics("run");
    const struct {
        const char *kind;
        int step;
    } want[] = {{"eval", 0},      {"attention", 0}, {"step", 1},  {"step", 4},  {"eval", 6},
                {"attention", 6}, {"step", 8},      {"step", 12}, {"eval", 12}, {"attention", 12}};
    const size_t n = sizeof want / sizeof *want;
    cr_assert_eq(json_array_size(lines), n);
    size_t evals = 0;
    for (size_t i = 0; i < n; i++) {
        const json_t *line = json_array_get(lines, i);
        const long long step = json_integer_value(json_object_get(line, "step"));
        cr_assert_str_eq(json_string_value(json_object_get(line, "kind")), want[i].kind);
        cr_assert_eq(step, want[i].step);
        if (strcmp(want[i].kind, "step") == 0) {
            cr_assert_float_eq(json_number_value(json_object_get(line, "loss")), rig.loss[step - 1], 1e-8);
            cr_assert_float_eq(json_number_value(json_object_get(line, "lr")), rig.lr[step - 1], 1e-10);
            cr_assert_gt(json_number_value(json_object_get(line, "grad_norm")), 0);
            const char *const grids[] = {"entropy", "max_score"};
            for (size_t g = 0; g < 2; g++) {
                const json_t *grid = json_object_get(line, grids[g]);
                cr_assert(json_array_size(grid) == 2 && json_array_size(json_array_get(grid, 1)) == 2);
                cr_assert(json_is_number(json_array_get(json_array_get(grid, 1), 1)));
            }
        } else if (strcmp(want[i].kind, "eval") == 0) {
            const double val_loss = json_number_value(json_object_get(line, "val_loss")),
                         alone = json_number_value(json_object_get(line, "generation_loss")),
                         together = json_number_value(json_object_get(line, "generation_parallel"));
            cr_assert_float_eq(val_loss, rig.val_loss[evals], 1e-8);
            evals++;
            cr_assert(alone > 0 && fabs(alone - together) < 1e-5, "%g %g", alone, together);
            cr_assert(json_is_number(json_object_get(line, "train_loss")));
            cr_assert_eq(strncmp(json_string_value(json_object_get(line, "check")), "no leak (", 9), 0);
            cr_assert_gt(json_string_length(json_object_get(line, "sample")), 7);
        }
    }
    json_decref(lines);
    rig_free(&rig);
}

Test(trainer, it_learns)
{
    struct rig rig;
    rig_make(&rig, "run");
    rig.trainer.settings.schedule.steps = 150;
    train_ok(&rig);
    cr_assert_float_eq(rig.loss[0], log((double)rig.tokenizer.size), 0.1, "%g", rig.loss[0]);
    cr_assert_lt(rig.val_loss[rig.evals - 1], 0.7 * rig.loss[0]);
    cr_assert_eq(rig.notes, 0);
    rig_free(&rig);
}

Test(trainer, decay_shrinks_matrices_and_nothing_else)
{
    for (int tied = 0; tied < 2; tied++) {
        struct rig with, without;
        struct rig *const rigs[] = {&with, &without};
        for (size_t i = 0; i < 2; i++) {
            char dir[16];
            snprintf(dir, sizeof dir, "run-%d-%zu", tied, i);
            rig_make(rigs[i], dir);
            struct config c = rigs[i]->model.config;
            c.tied = tied != 0;
            gpt_free(&rigs[i]->model);
            cr_assert_eq(gpt_create(&rigs[i]->model, &c, &err), STATUS_OK);
            for (size_t k = 0; k < rigs[i]->model.table.size; k++)
                rigs[i]->model.params[k] = (real)(0.01 * (double)(k % 13 + 1));
            rigs[i]->trainer.settings.schedule.warmup = 0;
            rigs[i]->trainer.settings.schedule.steps = 1;
            rigs[i]->trainer.settings.weight_decay = i == 0 ? 0.5 : 0;
            train_ok(rigs[i]);
        }
        size_t kinds = 0;
        for (size_t i = 0; i < with.model.table.count; i++) {
            const struct params_tensor *p = &with.model.table.tensor[i];
            const real *a = with.model.params + p->offset, *b = without.model.params + p->offset;
            const bool matrix = p->role == PARAMS_ROLE_MATRIX || p->role == PARAMS_ROLE_HEAD;
            kinds |= (size_t)1 << p->role;
            for (size_t k = 0; k < p->rows * p->cols; k++) {
                const double was = 0.01 * (double)((p->offset + k) % 13 + 1), lost = matrix ? 1e-2 * 0.5 * was : 0;
                cr_assert_float_eq((double)b[k] - (double)a[k], lost, matrix ? 1e-7 : 0, "%s", p->name);
            }
        }
        cr_assert_eq(kinds, tied ? 15 : 31, "every role is there");
        rig_free(&with);
        rig_free(&without);
    }
}

static size_t steps_in(const char *dir)
{
    size_t n = 0;
    for (size_t step = 0; step <= 24; step++) {
        char name[RUN_STEP_NAME_SIZE];
        run_step_name(name, step);
        n += scratch_exists(scratch_path("%s/%s", dir, name));
    }
    return n;
}

static void go_astray(struct rig *rig, size_t step)
{
    const struct params_tensor *p = params_find(&rig->model.table, PARAMS_LNF_GAIN, 0);
    for (size_t i = 0; step == 11 && i < p->cols; i++)
        rig->model.params[p->offset + i] *= -20;
}

Test(trainer, the_best_checkpoint_stays_and_keep_counts_the_newest)
{
    const size_t keeps[] = {0, 1, 3};
    for (size_t i = 0; i < 3; i++) {
        struct rig rig;
        char dir[16];
        snprintf(dir, sizeof dir, "run-%zu", keeps[i]);
        rig_make(&rig, dir);
        struct trainer_settings *s = &rig.trainer.settings;
        rig.after_step = go_astray;
        s->schedule.steps = 24;
        s->eval_interval = 2;
        s->eval_windows = 1000;
        s->keep = keeps[i];
        train_ok(&rig);
        size_t best = 0;
        for (size_t k = 1; k < rig.evals; k++)
            best = rig.val_loss[k] < rig.val_loss[best] ? k : best;
        const size_t best_step = rig.eval_step[best];
        cr_assert_eq(rig.state.best_step, best_step);
        cr_assert_eq(rig.state.best_loss, rig.val_loss[best]);
        cr_assert(best_step > 0 && best_step < 12, "the run is meant to go astray after its best");
        char *folder, name[RUN_STEP_NAME_SIZE];
        cr_assert_eq(run_find(&folder, scratch_path("%s/best", dir), &err), STATUS_OK);
        run_step_name(name, best_step);
        cr_assert(strstr(folder, name), "%s", folder);
        free(folder);
        cr_assert(rig_has_step(dir, best_step) && rig_has_step(dir, 24));
        cr_assert_eq(steps_in(dir), keeps[i] == 0 ? 13 : keeps[i] == 1 ? 2 : keeps[i]);
        rig_free(&rig);
    }
}

Test(trainer, a_loss_above_a_uniform_guess_is_noted)
{
    struct rig rig;
    rig_make(&rig, "run");
    rig.trainer.settings.schedule = (struct schedule){.lr = 10, .min_lr = 10, .warmup = 0, .steps = 4};
    train_ok(&rig);
    cr_assert_geq(rig.notes, 1, "and so may be what its heads do");
    cr_assert(strstr(rig.note, "above ln ") && strstr(rig.note, "lower --lr"), "%s", rig.note);
    rig_free(&rig);
}

static void spoil_weight(struct rig *rig, size_t step)
{
    if (step == 5)
        rig->model.params[rig->model.table.size / 2] = (real)NAN;
}

static void spoil_moment(struct rig *rig, size_t step)
{
    if (step == 5)
        rig->trainer.optimizer.v[3] = (real)INFINITY;
}

static void blow_up(struct rig *rig, size_t step)
{
    const struct params_tensor *p = params_find(&rig->model.table, PARAMS_LNF_GAIN, 0);
    for (size_t i = 0; step == 5 && i < p->cols; i++)
        rig->model.params[p->offset + i] = (real)3e38; /* finite, but no logit is */
}

Test(trainer, the_first_loss_that_is_not_finite_ends_the_run_and_the_last_good_checkpoint_stays)
{
    void (*const spoils[])(struct rig * rig, size_t step) = {spoil_weight, spoil_moment, blow_up};
    for (size_t i = 0; i < 3; i++)
        for (size_t mode = 0; mode < 3; mode++) { /* saved at every step, seldom, evaluated at every step */
            if (i == 1 && mode == 1)
                continue; /* a moment shows in the weights only */
            struct rig rig;
            char dir[16];
            snprintf(dir, sizeof dir, "run-%zu-%zu", i, mode);
            rig_make(&rig, dir);
            rig.after_step = spoils[i];
            rig.trainer.settings.save_every = mode == 0 ? 1 : 3;
            rig.trainer.settings.eval_interval = mode == 2 ? 1 : 0;
            cr_assert_eq(rig_train(&rig, &err), STATUS_NONFINITE, "%s", dir);
            const size_t saved = mode == 1 ? 3 : 4, named = mode == 1 ? 6 : 5;
            char says[64];
            snprintf(says, sizeof says, "step %zu: ", named);
            cr_assert_eq(strncmp(err.message, says, strlen(says)), 0, "%s: %s", dir, err.message);
            snprintf(says, sizeof says, "the checkpoint of step %zu is kept", saved);
            cr_assert(strstr(err.message, says) && strstr(err.message, "lower --lr (now 0.0"), "%s", err.message);
            cr_assert(rig_has_step(dir, saved) && !rig_has_step(dir, named));
            rig_free(&rig);
            train_resumed(dir, 1);
        }
}

Test(trainer, a_learning_rate_that_is_far_too_large_ends_in_the_same_way)
{
    for (size_t save_every = 1; save_every < 8; save_every += 3) {
        struct rig rig;
        char dir[16];
        snprintf(dir, sizeof dir, "run-%zu", save_every);
        rig_make(&rig, dir);
        struct trainer_settings *s = &rig.trainer.settings;
        s->schedule = (struct schedule){.lr = 1e9, .min_lr = 1e9, .warmup = 0, .steps = 200};
        s->grad_clip = 0;
        s->save_every = save_every;
        cr_assert_eq(rig_train(&rig, &err), STATUS_NONFINITE, "%s", err.message);
        cr_assert(strstr(err.message, "not finite") || strstr(err.message, "no finite loss"), "%s", err.message);
        for (size_t i = 0; i < rig.steps; i++)
            cr_assert(isfinite(rig.loss[i]), "no step is reported after the first bad loss");
        rig_free(&rig);
        size_t begin, end;
        struct evaluation e = {0};
        rig_resume(&rig, dir); /* the weights, and the moments, that were kept are of use */
        dataset_bounds(&rig.data, DATASET_TRAIN, &begin, &end);
        cr_assert_eq(trainer_create(&rig.trainer, &err), STATUS_OK);
        const struct evaluate_options o = {.T = 6};
        cr_assert_eq(evaluate(&e, &rig.model, &rig.trainer.work, &rig.data, begin, end, &o, &err), STATUS_OK, "%s",
                     err.message);
        rig_free(&rig);
    }
}

static void open_a_head(struct rig *rig, size_t step)
{
    if (step == 6)
        rig->model.rules[3] = ATTENTION_FULL;
}

Test(trainer, a_leak_that_comes_up_during_training_is_found_at_the_next_evaluation)
{
    for (int allow = 0; allow < 2; allow++) {
        struct rig rig;
        char dir[16];
        snprintf(dir, sizeof dir, "run-%d", allow);
        rig_make(&rig, dir);
        rig.after_step = open_a_head;
        rig.trainer.settings.eval_interval = 4;
        rig.trainer.settings.allow_leak = allow != 0;
        const enum status s = rig_train(&rig, &err);
        cr_assert_eq(s, allow ? STATUS_OK : STATUS_LEAK, "%s", err.message);
        if (!allow)
            cr_assert(strstr(err.message, "layer 1 head 1: attention sees all later positions"), "%s", err.message);
        cr_assert_eq(rig_has_step(dir, 8) || rig_has_step(dir, 12), allow != 0);
        cr_assert(allow || rig_has_step(dir, 4));
        cr_assert_eq(rig.state.leaky, allow != 0);
        rig_free(&rig);
        if (allow) {
            rig_resume(&rig, dir);
            cr_assert(rig.state.leaky, "for good");
            rig_free(&rig);
        }
    }
}

Test(trainer, a_leak_is_refused_before_anything_is_written)
{
    struct rig rig;
    rig_make(&rig, "run");
    rig.model.rules[1] = ATTENTION_FULL;
    cr_assert_eq(trainer_create(&rig.trainer, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(trainer_check(&rig.trainer, &err), STATUS_LEAK);
    cr_assert(strstr(err.message, "layer 0 head 1: attention sees all later positions") &&
                  strstr(err.message, "--allow-leak"),
              "%s", err.message);
    cr_assert_not(rig.state.leaky);
    rig.trainer.settings.allow_leak = true;
    cr_assert_eq(trainer_check(&rig.trainer, &err), STATUS_OK, "%s", err.message);
    cr_assert(rig.state.leaky && strncmp(rig.state.check, "leak: ", 6) == 0);
    rig.model.rules[1] = ATTENTION_CAUSAL;
    cr_assert_eq(trainer_check(&rig.trainer, &err), STATUS_OK, "%s", err.message);
    cr_assert(rig.state.leaky, "the mark stays");
    cr_assert_eq(strncmp(rig.state.check, "no leak", 7), 0);
    cr_assert_not(scratch_exists(scratch_path("run")));
    rig_free(&rig);
}

Test(trainer, time_that_is_up_ends_the_run_with_a_checkpoint)
{
    struct rig rig;
    train_whole("whole", 1);
    rig_make(&rig, "run");
    rig.trainer.settings.max_time = 1e-9;
    train_ok(&rig);
    cr_assert(rig.state.step == 1 && rig_has_step("run", 1));
    cr_assert(rig.notes == 1 && strstr(rig.note, "--max-time"), "%s", rig.note);
    rig_free(&rig);
    rig_resume(&rig, "run");
    rig.trainer.settings.max_time = 1e9;
    train_ok(&rig);
    cr_assert_eq(rig.notes, 0);
    rig_free(&rig);
    cr_assert(rig_same_bits("whole", "run", 12));
    rig_resume(&rig, "run"); /* there is nothing left to do */
    rig.trainer.settings.max_time = 1e-9;
    train_ok(&rig);
    cr_assert(rig.steps == 0 && rig.notes == 1 && strstr(rig.note, "nothing to do"), "%s", rig.note);
    rig_free(&rig);
}

Test(trainer, without_a_validation_part_it_trains_and_has_no_best)
{
    struct rig rig;
    rig_make(&rig, "run");
    rig.data.train = rig.data.count;
    rig.trainer.settings.eval_interval = 3;
    train_ok(&rig);
    cr_assert(rig.evals == 5 && isnan(rig.val_loss[4]));
    cr_assert(rig.state.best_step == STATE_NO_STEP && isnan(rig.state.best_loss));
    cr_assert_not(scratch_exists(scratch_path("run/best")));
    json_t *lines = rig_metrics("run");
    cr_assert(json_is_null(json_object_get(json_array_get(lines, 0), "val_loss")));
    json_decref(lines);
    rig_free(&rig);
}

Test(trainer, memory_is_measured_before_it_is_taken)
{
    struct rig rig;
    size_t bytes;
    rig_make(&rig, "run");
    rig.trainer.settings.team = support_team(3);
    const struct trainer_settings *s = &rig.trainer.settings;
    cr_assert_eq(trainer_measure(&bytes, &rig.model.config, s, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(trainer_create(&rig.trainer, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(bytes, rig.trainer.arena.size + rig.trainer.work.arena.size);
    rig_free(&rig);
    trainer_free(&rig.trainer); /* twice is harmless */
}

Test(trainer, a_text_shorter_than_a_window_is_refused_with_both_counts)
{
    struct rig rig;
    rig_make(&rig, "run");
    rig.data.train = 6;
    cr_assert_eq(trainer_create(&rig.trainer, &err), STATUS_RANGE);
    cr_assert(strstr(err.message, "at least 7 symbols") && strstr(err.message, "found 6"), "%s", err.message);
    rig.data.train = 7;
    train_ok(&rig);
    rig_free(&rig);
}

Test(trainer, settings_out_of_range_are_refused_by_name)
{
#define CASE(name, ...)                                                                                                \
    {                                                                                                                  \
        struct trainer_settings s = rig_settings();                                                                    \
        __VA_ARGS__;                                                                                                   \
        cr_assert_eq(trainer_check_settings(&s, &err), STATUS_USAGE, name);                                            \
        cr_assert(strstr(err.message, name), "%s", err.message);                                                       \
    }
    CASE("steps", s.schedule.steps = 0)
    CASE("steps", s.schedule.steps = (size_t)UINT32_MAX + 1)
    CASE("batch-size", s.batch_size = 0)
    CASE("grad-accum", s.grad_accum = 0)
    CASE("grad-accum", s.batch_size = s.grad_accum = 65536)
    CASE("beta1", s.beta1 = 1)
    CASE("beta1", s.beta1 = -0.1)
    CASE("beta2", s.beta2 = 1)
    CASE("beta2", s.beta2 = (double)NAN)
    CASE("weight-decay", s.weight_decay = -1)
    CASE("weight-decay", s.weight_decay = (double)INFINITY)
    CASE("grad-clip", s.grad_clip = -1)
    CASE("grad-clip", s.grad_clip = (double)NAN)
    CASE("warmup", s.schedule.warmup = 13)
    CASE("min-lr", s.schedule.min_lr = 1)
    const struct trainer_settings good = rig_settings();
    cr_assert_eq(trainer_check_settings(&good, &err), STATUS_OK);
}

static void swap_folders(struct rig *rig, size_t step)
{
    (void)rig;
    if (step != 3)
        return;
    cr_assert_eq(rename(scratch_path("run"), scratch_path("moved")), 0);
    cr_assert_eq(rename(scratch_path("other"), scratch_path("run")), 0);
}

/* Somebody moves the run away and another one into its place: that one is not saved into, nor pruned. */
Test(trainer, a_run_that_took_the_place_of_this_one_is_left_alone)
{
    struct rig rig;
    rig_make(&rig, "other");
    rig.trainer.settings.save_every = 1;
    rig.trainer.settings.keep = 0;
    train_ok(&rig);
    rig_free(&rig);
    rig_make(&rig, "run");
    rig.trainer.settings.save_every = 2;
    rig.trainer.settings.keep = 1;
    rig.after_step = swap_folders;
    cr_assert_eq(rig_train(&rig, &err), STATUS_WRITE, "%s", err.message);
    cr_assert(strstr(err.message, "moved, deleted or replaced"), "%s", err.message);
    rig_free(&rig);
    for (size_t step = 0; step <= 12; step++)
        cr_assert(rig_has_step("run", step), "step %zu of the other run", step);
    cr_assert(rig_has_step("moved", 2));
    cr_assert_eq(rename(scratch_path("moved"), scratch_path("back")), 0);
    train_resumed("back", 1);
}
