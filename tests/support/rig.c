#include "support/rig.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/run.h"
#include "support/machine.h"
#include "support/scratch.h"

#define SYMBOLS 420

static void on_step(void *context, const struct trainer_step *s)
{
    struct rig *rig = context;
    cr_assert_lt(rig->steps, RIG_STEPS);
    rig->lr[rig->steps] = s->lr;
    rig->loss[rig->steps] = s->loss;
    rig->steps++;
    if (rig->after_step)
        rig->after_step(rig, s->step);
}

static void on_eval(void *context, const struct trainer_eval *e)
{
    struct rig *rig = context;
    rig->eval_step[rig->evals] = e->step;
    rig->val_loss[rig->evals++] = e->val_loss;
}

static void on_saved(void *context, size_t step, const char *dir)
{
    struct rig *rig = context;
    cr_assert_eq(step, rig->state.step);
    cr_assert_str_eq(dir, rig->trainer.dir);
    rig->saves++;
}

static void on_note(void *context, const char *line)
{
    struct rig *rig = context;
    rig->notes++;
    snprintf(rig->note, sizeof rig->note, "%s", line);
}

static bool interrupted(void *context)
{
    const struct rig *rig = context;
    return rig->interrupt_at > 0 && rig->state.step >= rig->interrupt_at;
}

struct trainer_settings rig_settings(void)
{
    return (struct trainer_settings){
        .schedule = {.lr = 1e-2, .min_lr = 1e-4, .warmup = 5, .steps = 12},
        .batch_size = 4,
        .grad_accum = 3,
        .weight_decay = 0.1,
        .beta1 = 0.9,
        .beta2 = 0.99,
        .grad_clip = 1,
        .seed = 7,
        .team = support_team(1),
        .eval_windows = 4,
        .log_interval = 4,
        .keep = 2,
        .sample_size = 8,
    };
}

/* Text that can be learnt: words of a small language. */
static void open_text(struct rig *rig)
{
    static const char *const words[] = {"ab", "cab\n", "fade", "\xc3\xa9", "bad. "};
    struct error err;
    char text[SYMBOLS * 2] = "";
    for (size_t i = 0, n = 0; n + 8 < SYMBOLS; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s ", words[(i * i + i / 7) % 5]);
    const char *path = scratch_path("rig-text");
    scratch_write(path, text, strlen(text));
    cr_assert_eq(dataset_open(&rig->data, &rig->tokenizer, &path, 1, 0.2, &err), STATUS_OK, "%s", err.message);
}

static void begin(struct rig *rig, const char *dir)
{
    *rig = (struct rig){0};
    snprintf(rig->dir, sizeof rig->dir, "%s", dir);
    open_text(rig);
    rig->trainer.settings = rig_settings();
    rig->trainer.data = &rig->data;
    rig->trainer.tokenizer = &rig->tokenizer;
    rig->trainer.model = &rig->model;
    rig->trainer.state = &rig->state;
    rig->trainer.dir = scratch_path("%s", rig->dir);
    rig->trainer.events = (struct trainer_events){rig, on_step, on_eval, on_saved, on_note, interrupted};
}

void rig_make(struct rig *rig, const char *dir)
{
    struct error err;
    begin(rig, dir);
    struct config c = config_make(2, 2, 8, 6, rig->tokenizer.size);
    c.dropout = 0.2;
    cr_assert_eq(gpt_create(&rig->model, &c, &err), STATUS_OK, "%s", err.message);
    params_init(rig->model.params, &rig->model.table, &c, 1);
    const char *path = "rig-text";
    rig->state = (struct state){.best_step = STATE_NO_STEP, .best_loss = (double)NAN, .settings = json_object()};
    cr_assert_eq(state_set_text(&rig->state, &path, 1, &err), STATUS_OK);
    memcpy(rig->state.text_hash, rig->data.hash, sizeof rig->data.hash);
}

void rig_resume(struct rig *rig, const char *dir)
{
    struct error err;
    struct checkpoint c;
    char *folder;
    begin(rig, dir);
    cr_assert_eq(run_find(&folder, rig->trainer.dir, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(checkpoint_read(&c, folder, true, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(state_from_json(&rig->state, c.state, folder, &err), STATUS_OK, "%s", err.message);
    free(folder);
    rig->model = c.model;
    c.model = (struct gpt){0};
    rig->read = c.moments;
    c.moments = (struct checkpoint_moments){0};
    rig->trainer.resumed = true;
    checkpoint_free(&c);
}

enum status rig_train(struct rig *rig, struct error *err)
{
    enum status s = rig->trainer.resumed ? STATUS_OK : run_create(rig->trainer.dir, false, err);
    if (!s)
        s = trainer_create(&rig->trainer, err);
    if (!s && rig->trainer.resumed) {
        memcpy(rig->trainer.optimizer.m, rig->read.m, rig->model.table.size * sizeof(real));
        memcpy(rig->trainer.optimizer.v, rig->read.v, rig->model.table.size * sizeof(real));
    }
    return s ? s : trainer_run(&rig->trainer, err);
}

void rig_free(struct rig *rig)
{
    free(rig->read.m);
    free(rig->read.v);
    trainer_free(&rig->trainer);
    state_free(&rig->state);
    gpt_free(&rig->model);
    dataset_free(&rig->data);
    tokenizer_free(&rig->tokenizer);
}

char *rig_file(const char *dir, size_t step, const char *name, size_t *n)
{
    char folder[RUN_STEP_NAME_SIZE];
    run_step_name(folder, step);
    return scratch_read(scratch_path("%s/%s/%s", dir, folder, name), n);
}

static bool same_file(const char *dir_a, const char *dir_b, size_t step, const char *name)
{
    size_t n, m;
    char *a = rig_file(dir_a, step, name, &n), *b = rig_file(dir_b, step, name, &m);
    const bool same = n > 0 && n == m && memcmp(a, b, n) == 0;
    free(a);
    free(b);
    return same;
}

bool rig_same_bits(const char *dir_a, const char *dir_b, size_t step)
{
    return same_file(dir_a, dir_b, step, "model.safetensors") && same_file(dir_a, dir_b, step, "optimizer.safetensors");
}

json_t *rig_metrics(const char *dir)
{
    char *text = scratch_read(scratch_path("%s/metrics.jsonl", dir), NULL);
    json_t *lines = json_array();
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        json_t *record = json_loads(line, 0, NULL);
        cr_assert_not_null(record, "%s", line);
        json_object_del(record, "tokens_per_s");
        json_array_append_new(lines, record);
    }
    free(text);
    return lines;
}

bool rig_has_step(const char *dir, size_t step)
{
    struct error err;
    struct checkpoint c;
    char name[RUN_STEP_NAME_SIZE];
    run_step_name(name, step);
    if (checkpoint_read(&c, scratch_path("%s/%s", dir, name), true, &err) != STATUS_OK)
        return false;
    checkpoint_free(&c);
    return true;
}
