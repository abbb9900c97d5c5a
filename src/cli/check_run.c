#include "cli/check_run.h"

#include <stdio.h>
#include <string.h>

#include "base/team.h"
#include "cli/compute.h"
#include "cli/reading.h"
#include "cli/saved.h"
#include "diag/detect.h"

/* Symbols of a batch that is looked at. */
#define SYMBOLS 512

/* The text that the run was trained on, if it is where it was and what it was. */
static bool own_text(struct dataset *d, const struct saved *saved, double val_split)
{
    const struct state *state = &saved->state;
    if (!saved->has_state || state->n_texts == 0 || strcmp(state->text[0], "-") == 0)
        return false;
    struct error why;
    struct tokenizer tokenizer = saved->checkpoint.tokenizer; /* in use as it is; never made here */
    if (reading_open(d, &tokenizer, (const char *const *)state->text, state->n_texts, val_split, &why) != STATUS_OK) {
        fprintf(stderr, "nopeek: the run's text is left out: %s\n", why.message);
        return false;
    }
    if (strcmp(state->text_hash, d->hash) == 0)
        return true;
    fprintf(stderr, "nopeek: the run's text is left out: %s has changed since the run was trained\n", state->text[0]);
    dataset_free(d);
    return false;
}

static enum status detect(struct verdict *v, const struct check_run *c, const struct saved *saved,
                          const struct dataset *data, struct error *err)
{
    const struct gpt *g = &saved->checkpoint.model;
    const size_t T = g->config.block_size, rows = (c->quick ? SYMBOLS / 2 : SYMBOLS) / T,
                 B = rows < 2    ? 2
                     : rows > 16 ? 16
                                 : rows;
    struct work work;
    const struct team team = compute_team(c->threads);
    enum status s = work_create(&work, &g->config, B, T, true, team, err);
    if (s != STATUS_OK)
        return s;
    const struct detect d = {.g = g,
                             .w = &work,
                             .data = data,
                             .tokenizer = &saved->checkpoint.tokenizer,
                             .seed = c->seed,
                             .stop = c->stop,
                             .context = c->context,
                             .quick = c->quick};
    s = detect_run(v, &d, err);
    work_free(&work);
    return s;
}

enum status check_run(struct verdict *v, const struct check_run *c, struct error *err)
{
    struct saved saved;
    enum status s = saved_open(&saved, c->run, err);
    if (s != STATUS_OK)
        return s;
    struct dataset data = {0};
    saved.checkpoint.model.config.precision = c->precision;
    const double val_split = saved_val_split(&saved, 0.1);
    bool has_text = c->n_texts > 0;
    if (has_text)
        s = reading_open(&data, &saved.checkpoint.tokenizer, c->texts, c->n_texts, val_split, err);
    else
        has_text = own_text(&data, &saved, val_split);
    if (s == STATUS_OK)
        s = detect(v, c, &saved, has_text ? &data : NULL, err);
    dataset_free(&data);
    saved_close(&saved);
    return s;
}
