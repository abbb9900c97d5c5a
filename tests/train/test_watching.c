#include "train/watching.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/rig.h"
#include "support/scratch.h"

TestSuite(watching, .init = scratch_make, .fini = scratch_remove);

static struct error err;

/* The run's verdict records as a new array. */
static json_t *verdicts(const char *dir)
{
    json_t *lines = rig_metrics(dir), *list = json_array();
    for (size_t i = 0; i < json_array_size(lines); i++) {
        json_t *line = json_array_get(lines, i);
        if (strcmp(json_string_value(json_object_get(line, "kind")), "verdict") == 0)
            json_array_append(list, line);
    }
    json_decref(lines);
    return list;
}

static const char *text_of(const json_t *record, const char *key)
{
    const char *text = json_string_value(json_object_get(record, key));
    return text ? text : "";
}

static double evidence(const json_t *record, const char *key)
{
    const json_t *x = json_object_get(json_object_get(record, "evidence"), key);
    return json_is_number(x) ? json_number_value(x) : (double)NAN;
}

static long long whole(const json_t *record, const char *key)
{
    return json_integer_value(json_object_get(record, key));
}

/* Head `head` of a layer gives nothing, and nothing comes back through it. */
static void kill_head(struct gpt *g, size_t layer, size_t head)
{
    const struct params_tensor *qkv = params_find(&g->table, PARAMS_QKV, layer),
                               *proj = params_find(&g->table, PARAMS_PROJ, layer);
    const size_t C = g->config.n_embd, hs = g->config.head_size;
    for (size_t i = 0; i < C; i++)
        memset(g->params + qkv->offset + i * 3 * C + 2 * C + head * hs, 0, hs * sizeof(real));
    memset(g->params + proj->offset + head * hs * C, 0, hs * C * sizeof(real));
}

static void make(struct rig *rig, const char *dir, size_t steps)
{
    rig_make(rig, dir);
    rig->trainer.settings.schedule.steps = steps;
    kill_head(&rig->model, 1, 0);
}

static void train_ok(struct rig *rig)
{
    cr_assert_eq(rig_train(rig, &err), STATUS_OK, "%s", err.message);
}

Test(watching, a_dead_head_is_noted_and_recorded_once)
{
    struct rig rig;
    make(&rig, "run", 120);
    train_ok(&rig);
    cr_assert_eq(rig.notes, 1, "%s", rig.note);
    cr_assert_eq(strncmp(rig.note, "step 60: dead: layer 1 head 0: adds nothing", 43), 0, "%s", rig.note);
    json_t *list = verdicts("run");
    cr_assert_eq(json_array_size(list), 1);
    const json_t *v = json_array_get(list, 0);
    cr_assert(whole(v, "step") == 60 && whole(v, "layer") == 1 && evidence(v, "share") == 0);
    cr_assert_str_eq(text_of(v, "verdict"), "dead");
    const json_t *heads = json_object_get(v, "heads");
    cr_assert(json_array_size(heads) == 1 && json_integer_value(json_array_get(heads, 0)) == 0);
    char line[2 * HEAD_FINDING_WORDS];
    snprintf(line, sizeof line, "step 60: dead: %s: %s", text_of(v, "says"), text_of(v, "advice"));
    cr_assert_str_eq(line, rig.note);
    json_decref(list);
    rig_free(&rig);
}

Test(watching, resuming_says_nothing_again_and_leaves_the_bits_alone)
{
    struct rig rig;
    make(&rig, "whole", 140);
    train_ok(&rig);
    rig_free(&rig);
    const size_t cuts[] = {30, 60, 75};
    for (size_t i = 0; i < 3; i++) {
        char dir[16];
        snprintf(dir, sizeof dir, "cut-%zu", cuts[i]);
        make(&rig, dir, 140);
        rig.trainer.settings.stop_after = cuts[i];
        train_ok(&rig);
        const size_t before = rig.notes;
        cr_assert_eq(before, cuts[i] >= 60);
        rig_free(&rig);
        rig_resume(&rig, dir);
        rig.trainer.settings.schedule.steps = 140;
        train_ok(&rig);
        cr_assert_eq(before + rig.notes, 1, "%s: %s", dir, rig.note);
        rig_free(&rig);
        json_t *list = verdicts(dir);
        cr_assert_eq(json_array_size(list), 1);
        json_decref(list);
        cr_assert(rig_same_bits("whole", dir, 140), "%s", dir);
    }
}

Test(watching, going_back_to_before_it_was_said_says_it_again)
{
    struct rig rig;
    size_t moved;
    make(&rig, "run", 120);
    rig.trainer.settings.save_every = 40;
    rig.trainer.settings.keep = 0;
    train_ok(&rig);
    rig_free(&rig);
    cr_assert_eq(run_rewind(scratch_path("run"), 40, 40, &moved, &err), STATUS_OK, "%s", err.message);
    rig_resume(&rig, "run");
    cr_assert_eq(rig.state.step, 40);
    rig.trainer.settings.schedule.steps = 120;
    train_ok(&rig);
    cr_assert_eq(rig.notes, 1);
    json_t *list = verdicts("run");
    cr_assert(json_array_size(list) == 1 && whole(json_array_get(list, 0), "step") == 100);
    json_decref(list);
    rig_free(&rig);
}

/* Queries a thousand times as long. */
static void sharpen(struct rig *rig, size_t step)
{
    const struct params_tensor *p = params_find(&rig->model.table, PARAMS_QKV, 0);
    const size_t C = rig->model.config.n_embd;
    for (size_t i = 0; step == 33 && i < C; i++)
        for (size_t k = 0; k < C; k++)
            rig->model.params[p->offset + i * 3 * C + k] *= 1000;
}

Test(watching, a_collapse_is_told_at_the_update_it_shows_at_whatever_is_logged)
{
    struct rig rig;
    rig_make(&rig, "run");
    rig.trainer.settings.schedule.steps = 60;
    rig.trainer.settings.log_interval = 1000;
    rig.after_step = sharpen;
    train_ok(&rig);
    json_t *list = verdicts("run");
    cr_assert_eq(json_array_size(list), 1);
    const json_t *v = json_array_get(list, 0);
    cr_assert_str_eq(text_of(v, "verdict"), "collapse");
    cr_assert(whole(v, "step") == 34 && whole(v, "layer") == 0);
    cr_assert(evidence(v, "entropy") < 0.3 && evidence(v, "entropy_before") > 0.6);
    cr_assert(evidence(v, "max_score") > 40 && evidence(v, "max_score_before") < 10);
    cr_assert_float_eq(evidence(v, "lr"), rig.lr[33], 1e-9);
    cr_assert_float_eq(evidence(v, "loss"), rig.loss[33], 1e-7);
    cr_assert(strstr(text_of(v, "advice"), "lower --lr"));
    json_decref(list);
    rig_free(&rig);
}

/* Head 1 of layer 0 becomes head 0 in all it does. */
static void duplicate_head(struct gpt *g)
{
    const struct params_tensor *qkv = params_find(&g->table, PARAMS_QKV, 0),
                               *bias = params_find(&g->table, PARAMS_QKV_BIAS, 0),
                               *proj = params_find(&g->table, PARAMS_PROJ, 0);
    const size_t C = g->config.n_embd, hs = g->config.head_size;
    for (size_t i = 0; i <= C; i++) {
        real *row = g->params + (i < C ? qkv->offset + i * 3 * C : bias->offset);
        for (size_t k = 0; k < hs; k++)
            row[k] *= 30; /* queries that look somewhere in particular */
        for (size_t part = 0; part < 3; part++)
            memcpy(row + part * C + hs, row + part * C, hs * sizeof *row);
    }
    memcpy(g->params + proj->offset + hs * C, g->params + proj->offset, hs * C * sizeof(real));
}

Test(watching, twins_among_the_heads_are_told_at_the_first_evaluation)
{
    struct rig rig;
    rig_make(&rig, "run");
    rig.model.config.dropout = 0; /* which would be drawn for each of them */
    rig.trainer.settings.schedule.steps = 20;
    rig.trainer.settings.eval_interval = 5;
    duplicate_head(&rig.model);
    train_ok(&rig);
    cr_assert_eq(rig.notes, 1, "%s", rig.note);
    json_t *list = verdicts("run");
    cr_assert_eq(json_array_size(list), 1);
    const json_t *v = json_array_get(list, 0), *heads = json_object_get(v, "heads");
    cr_assert_str_eq(text_of(v, "verdict"), "duplicate");
    cr_assert(whole(v, "step") == 5 && whole(v, "layer") == 0 && json_array_size(heads) == 2);
    cr_assert(json_integer_value(json_array_get(heads, 0)) == 0 && json_integer_value(json_array_get(heads, 1)) == 1);
    cr_assert_lt(evidence(v, "distance"), 1e-3);
    json_decref(list);
    rig_free(&rig);
}

Test(watching, a_log_that_is_not_there_or_of_another_shape_says_nothing)
{
    struct rig rig;
    struct watching w;
    rig_make(&rig, "run");
    cr_assert_eq(watching_open(&w, &rig.model, &err), STATUS_OK);
    cr_assert_eq(watching_recall(&w, scratch_path("nowhere"), &err), STATUS_OK, "%s", err.message);
    static const char log[] =
        "{\"kind\":\"step\",\"step\":3,\"loss\":null,\"entropy\":[[0.5]],\"max_score\":7}\n"
        "{\"kind\":\"step\",\"step\":-3,\"entropy\":[[1,1],[1,1]],\"max_score\":[[1,1],[1,1]]}\n"
        "{\"kind\":\"verdict\",\"step\":3,\"verdict\":\"fine\",\"layer\":0,\"heads\":[0]}\n"
        "{\"kind\":\"verdict\",\"step\":3,\"verdict\":\"dead\",\"layer\":9,\"heads\":[0]}\n"
        "{\"kind\":\"verdict\",\"step\":3,\"verdict\":\"dead\",\"layer\":-1,\"heads\":[0]}\n"
        "{\"kind\":\"verdict\",\"step\":3,\"verdict\":\"dead\",\"layer\":1,\"heads\":[-1,2,\"1\"]}\n"
        "{\"kind\":\"verdict\",\"step\":3,\"verdict\":7,\"layer\":1,\"heads\":[0]}\n"
        "{\"kind\":7}\nnot JSON\n";
    scratch_write(scratch_path("metrics.jsonl"), log, sizeof log - 1);
    cr_assert_eq(watching_recall(&w, scratch_path("."), &err), STATUS_OK, "%s", err.message);
    cr_assert(isnan(w.watch.first_loss));
    for (size_t k = 0; k < HEAD_FINDING_KINDS; k++)
        for (size_t i = 0; i < 4; i++)
            cr_assert_not(w.watch.said[k][i] && !(k == HEAD_FINDING_DEAD && i == 2), "%zu %zu", k, i);
    watching_close(&w);
    rig_free(&rig);
}

Test(watching, a_log_with_its_records_is_remembered)
{
    struct rig rig;
    struct watching w;
    rig_make(&rig, "run");
    cr_assert_eq(watching_open(&w, &rig.model, &err), STATUS_OK);
    static const char log[] = "{\"kind\":\"step\",\"step\":1,\"loss\":3.5,\"entropy\":[[0.9,null],[0.8,0.7]],"
                              "\"max_score\":[[1,2],[3,4]]}\n"
                              "{\"kind\":\"verdict\",\"step\":9,\"verdict\":\"dead\",\"layer\":1,\"heads\":[0,1]}\n";
    scratch_write(scratch_path("metrics.jsonl"), log, sizeof log - 1);
    cr_assert_eq(watching_recall(&w, scratch_path("."), &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(w.watch.first_loss, 3.5);
    const bool *dead = w.watch.said[HEAD_FINDING_DEAD];
    cr_assert(!dead[0] && !dead[1] && dead[2] && dead[3]);
    watching_close(&w);
    rig_free(&rig);
}

Test(watching, one_line_tells_of_all_layers_and_a_record_of_each)
{
    struct rig rig;
    struct metrics log;
    struct watching w;
    rig_make(&rig, "run");
    cr_assert_eq(watching_open(&w, &rig.model, &err), STATUS_OK);
    const size_t both[] = {0, 1};
    struct head_finding f[4];
    for (size_t i = 0; i < 4; i++)
        f[i] = (struct head_finding){.kind = i < 2 ? HEAD_FINDING_UNIFORM : HEAD_FINDING_DUPLICATE,
                                     .cause = i < 2 ? HEAD_FINDING_HOT : HEAD_FINDING_NO_CAUSE,
                                     .step = 30,
                                     .layer = i % 2,
                                     .count = 2,
                                     .of = 2,
                                     .head = both,
                                     .entropy = 0.999,
                                     .loss = (double)NAN,
                                     .max_score = 0.25,
                                     .temperature = 20,
                                     .distance = 0};
    w.watch.finding = f;
    w.watch.found = 4;
    cr_assert_eq(metrics_open(&log, scratch_path("."), -1, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(watching_tell(&w, &log, rig.trainer.events.note, &rig, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(metrics_close(&log, &err), STATUS_OK);
    cr_assert_eq(rig.notes, 3, "uniform, and each pair");
    json_t *list = verdicts(".");
    cr_assert_eq(json_array_size(list), 4);
    const json_t *v = json_array_get(list, 1);
    cr_assert_eq(whole(v, "layer"), 1);
    cr_assert_str_eq(json_string_value(json_object_get(json_object_get(v, "evidence"), "cause")), "temperature");
    cr_assert(evidence(v, "temperature") == 20 && isnan(evidence(v, "loss")), "what is not known is left out");
    json_decref(list);
    watching_close(&w);
    rig_free(&rig);
}
