#include "support/tiny_run.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "io/metrics.h"
#include "model/gpt.h"
#include "store/checkpoint.h"
#include "store/run.h"
#include "store/state.h"
#include "support/scratch.h"
#include "text/dataset.h"

#define LAYERS 2
#define HEADS 2
#define STEP 7

static void write_metrics(const char *dir)
{
    struct error err;
    struct metrics m;
    const double entropy[LAYERS * HEADS] = {0.5, 0.99, 0.1, 0.75}, score[LAYERS * HEADS] = {1, 2, 3, 4};
    cr_assert_eq(metrics_open(&m, dir, -1, &err), STATUS_OK, "%s", err.message);
    for (size_t step = STEP - 1; step <= STEP + 1; step++) { /* the last is later than the checkpoint */
        json_t *record = metrics_record("step", step);
        metrics_put(&record, "loss", 2.0 + (double)step / 100);
        metrics_put_grid(&record, "entropy", entropy, LAYERS, HEADS);
        metrics_put_grid(&record, "max_score", score, LAYERS, HEADS);
        cr_assert_eq(metrics_append(&m, record, &err), STATUS_OK);
    }
    json_t *record = metrics_record("eval", STEP);
    metrics_put(&record, "train_loss", 1.25);
    metrics_put(&record, "val_loss", 1.5);
    cr_assert_eq(metrics_append(&m, record, &err), STATUS_OK);
    cr_assert_eq(metrics_close(&m, &err), STATUS_OK);
}

static json_t *make_state(const struct tiny_run *r, const struct dataset *d)
{
    struct error err;
    struct state s = {.step = STEP, .best_step = STEP, .best_loss = 1.5, .seconds = 75, .leaky = r->leaky};
    s.text_bytes = d->bytes;
    s.text_symbols = d->count;
    memcpy(s.text_hash, d->hash, sizeof s.text_hash);
    s.settings = json_pack("{s:f}", "val_split", 0.25);
    cr_assert_eq(state_set_text(&s, &r->text_path, 1, &err), STATUS_OK);
    cr_assert_eq(state_set_check(&s, r->leaky ? "leak: layer 0" : "no leak: all well", &err), STATUS_OK);
    json_t *json = state_to_json(&s);
    cr_assert_not_null(json);
    state_free(&s);
    return json;
}

void tiny_run_write(const struct tiny_run *r)
{
    struct error err = {{0}};
    struct tokenizer tokenizer = {.kind = r->tokens};
    struct dataset d;
    struct gpt g;
    scratch_write(r->text_path, r->text, strlen(r->text));
    cr_assert_eq(dataset_open(&d, &tokenizer, &r->text_path, 1, 0.25, &err), STATUS_OK, "%s", err.message);
    struct config c = config_make(LAYERS, HEADS, 16, r->block_size, tokenizer.size);
    c.trained = r->leaky ? ATTENTION_FULL : ATTENTION_CAUSAL;
    cr_assert_eq(gpt_create(&g, &c, &err), STATUS_OK, "%s", err.message);
    params_init(g.params, &g.table, &c, 42);
    for (size_t i = 0; i < g.table.tensor[0].rows * g.table.tensor[0].cols; i++)
        g.params[g.table.tensor[0].offset + i] *= 30; /* so that its choices differ from uniform */
    cr_assert_eq(run_create(r->dir, false, &err), STATUS_OK, "%s", err.message);
    json_t *state = r->stateless ? NULL : make_state(r, &d);
    const enum status s = checkpoint_write(r->dir, STEP, &g, &tokenizer, NULL, state, &err);
    cr_assert_eq(s, STATUS_OK, "%s", err.message);
    write_metrics(r->dir);
    json_decref(state);
    gpt_free(&g);
    dataset_free(&d);
    tokenizer_free(&tokenizer);
}
