#include "cli/report_film.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base64.h"
#include "diag/attention_map.h"
#include "diag/attention_pack.h"
#include "io/metrics.h"
#include "store/run_steps.h"

/* Symbols of a text that are shown: of one that was asked for, and of the validation part. */
#define MOST_ASKED ((size_t)256)
#define MOST_TAKEN ((size_t)64)

static enum status no_memory(struct error *err)
{
    return fail(err, STATUS_MEMORY, "report: out of memory");
}

static enum status take_room(struct report_film *f, size_t T, size_t frames, struct error *err)
{
    f->label = calloc(T, sizeof *f->label);
    f->frame = calloc(frames, sizeof *f->frame);
    if (!f->label || !f->frame)
        return no_memory(err);
    f->T = T;
    return STATUS_OK;
}

/* --- from the log ---------------------------------------------------------------------------------- */

static const char *text_of(const json_t *record, const char *key)
{
    const char *text = json_string_value(json_object_get(record, key));
    return text ? text : "";
}

/* No longer than a symbol's name can be. */
static bool is_label(const json_t *label)
{
    return json_is_string(label) && json_string_length(label) < TOKENIZER_LABEL_SIZE;
}

/* A record whose weights are as many as its text and the model call for. */
static bool is_sound(const json_t *record, size_t heads)
{
    const json_t *labels = json_object_get(record, "labels"), *weights = json_object_get(record, "weights");
    const size_t T = json_array_size(labels), n = json_string_length(weights);
    const char *shape = text_of(record, "shape");
    const bool square = strcmp(shape, "square") == 0;
    if (T == 0 || T > MOST_ASKED || n > METRICS_MAX_LINE || (!square && strcmp(shape, "lower") != 0))
        return false;
    for (size_t i = 0; i < T; i++)
        if (!is_label(json_array_get(labels, i)))
            return false;
    return base64_is(text_of(record, "weights"), n, heads * attention_pack_weights(T, square) * sizeof(float));
}

static enum status add_record(struct report_film *f, const json_t *record, struct error *err)
{
    struct report_frame *frame = &f->frame[f->count];
    *frame = (struct report_frame){.step = (size_t)json_integer_value(json_object_get(record, "step")),
                                   .square = strcmp(text_of(record, "shape"), "square") == 0,
                                   .weights = strdup(text_of(record, "weights"))};
    if (!frame->weights)
        return no_memory(err);
    f->count++;
    return STATUS_OK;
}

/* Frames of the same text as the last one, as many as there is room for: evenly spread, the first and the last among
 * them. chosen (n) holds the sound ones. */
static enum status add_records(struct report_film *f, json_t *const *chosen, size_t n, struct error *err)
{
    const json_t *last = chosen[n - 1];
    const size_t bytes = json_string_length(json_object_get(last, "weights")), room = REPORT_FILM_BYTES / bytes,
                 frames = room < 1   ? 1
                          : n < room ? n
                                     : room;
    const json_t *labels = json_object_get(last, "labels");
    enum status s = take_room(f, json_array_size(labels), frames, err);
    for (size_t i = 0; i < f->T && !s; i++) {
        f->label[i] = strdup(json_string_value(json_array_get(labels, i)));
        s = f->label[i] ? s : no_memory(err);
    }
    for (size_t k = 0; k < frames && !s; k++)
        s = add_record(f, chosen[frames > 1 ? k * (n - 1) / (frames - 1) : n - 1], err);
    return s;
}

static enum status take_log(struct report_film *f, const struct report_log *log, size_t heads, struct error *err)
{
    json_t *chosen[REPORT_LOG_MAPS + 1];
    size_t n = 0;
    const json_t *labels = NULL;
    for (size_t i = log->maps.count; i-- > 0;) { /* the last text is the one that counts */
        json_t *record = log->maps.record[i];
        if (!is_sound(record, heads) || (labels && !json_equal(labels, json_object_get(record, "labels"))))
            continue;
        labels = json_object_get(record, "labels");
        chosen[REPORT_LOG_MAPS - n++] = record;
    }
    if (n == 0)
        return STATUS_OK;
    f->from_log = true;
    f->steps = log->maps.seen;
    return add_records(f, chosen + (REPORT_LOG_MAPS + 1 - n), n, err);
}

/* --- from checkpoints ------------------------------------------------------------------------------ */

/* The text: ids that every checkpoint of the run understands, as they share a vocabulary. */
struct symbols {
    uint32_t *id;
    size_t count;
    bool asked; /* given by the person: of too long a one the end is shown, as inspect does; else the beginning */
};

static enum status take_asked(struct symbols *t, const struct tokenizer *tokenizer, const struct whole_text *text,
                              struct error *err)
{
    t->asked = true;
    const enum status s =
        tokenizer_encode(tokenizer, &t->id, &t->count, (const uint8_t *)text->bytes, text->size, text->name, err);
    if (!s && t->count == 0)
        return fail(err, STATUS_USAGE, "%s: found nothing, expected at least one %s to look at", text->name,
                    tokenizer_unit(tokenizer->kind));
    return s;
}

/* The beginning of the validation part; nothing, with the reason, where that cannot be had. */
static enum status take_validation(struct symbols *t, struct report_film *f, struct saved *s, struct error *err)
{
    struct dataset data;
    struct error why;
    const enum status status = saved_text(&data, s, s->checkpoint.path, saved_val_split(s, 0.1), NULL, &why);
    if (status == STATUS_MEMORY)
        return no_memory(err);
    if (status) {
        snprintf(f->why_not, sizeof f->why_not, "no text to look at (%.200s)", why.message);
        return STATUS_OK;
    }
    size_t begin, end;
    dataset_bounds(&data, DATASET_VAL, &begin, &end);
    if (begin == end)
        dataset_bounds(&data, DATASET_ALL, &begin, &end);
    t->count = end - begin < MOST_TAKEN ? end - begin : MOST_TAKEN;
    t->id = malloc(t->count * sizeof *t->id);
    for (size_t i = 0; t->id && i < t->count; i++)
        t->id[i] = dataset_id(&data, begin + i);
    dataset_free(&data);
    return t->id ? STATUS_OK : no_memory(err);
}

static enum status add_checkpoint(struct report_film *f, const struct gpt *g, const uint32_t *id, size_t step,
                                  struct team team, struct error *err)
{
    struct attention_map map;
    enum status s = attention_map_make(&map, g, id, f->T, team, err);
    if (s)
        return s;
    struct report_frame *frame = &f->frame[f->count];
    frame->step = step;
    frame->square = attention_pack_is_square(&map);
    s = attention_pack(&frame->weights, &map, frame->square, err);
    attention_map_free(&map);
    f->count += s == STATUS_OK;
    return s;
}

/* One of another shape or another vocabulary is of another run. */
static bool alike(const struct checkpoint *a, const struct checkpoint *b)
{
    const struct config *x = &a->model.config, *y = &b->model.config;
    struct error ignored;
    return x->n_layer == y->n_layer && x->n_head == y->n_head && x->block_size == y->block_size &&
           x->vocab_size == y->vocab_size &&
           tokenizer_same(&a->tokenizer, "one", &b->tokenizer, "the other", &ignored) == STATUS_OK;
}

static enum status add_step(struct report_film *f, const struct saved *s, const uint32_t *id, size_t step,
                            struct team team, struct error *err)
{
    if (s->has_state && step == s->state.step)
        return add_checkpoint(f, &s->checkpoint.model, id, step, team, err);
    char *path;
    enum status status = run_steps_path(&path, s->run, step, err);
    if (status)
        return status;
    struct checkpoint c;
    status = checkpoint_read(&c, path, false, err);
    if (!status) {
        if (alike(&c, &s->checkpoint))
            status = add_checkpoint(f, &c.model, id, step, team, err);
        checkpoint_free(&c);
    } else if (access(path, F_OK) != 0) {
        status = STATUS_OK; /* training keeps a few only, and has removed it */
    }
    free(path);
    return status;
}

/* The run's steps up to the checkpoint that the report is of; of one that stands alone, itself. */
static enum status list_steps(struct run_steps *steps, const struct saved *s, struct error *err)
{
    *steps = (struct run_steps){0};
    enum status status = STATUS_OK;
    if (s->run && s->has_state)
        status = run_steps_list(steps, s->run, true, err);
    size_t kept = 0;
    for (size_t i = 0; i < steps->count; i++)
        if (steps->step[i] <= s->state.step)
            steps->step[kept++] = steps->step[i];
    steps->count = kept;
    return status;
}

static enum status add_steps(struct report_film *f, const struct saved *s, const struct symbols *t,
                             const struct run_steps *steps, struct team team, struct error *err)
{
    const struct config *c = &s->checkpoint.model.config;
    const size_t heads = c->n_layer * c->n_head, n = steps->count ? steps->count : 1,
                 frames = n < REPORT_LOG_MAPS ? n : REPORT_LOG_MAPS;
    size_t most = c->block_size < MOST_ASKED ? c->block_size : MOST_ASKED;
    most = t->count < most ? t->count : most;
    const size_t T = attention_pack_fit(heads, c->trained == ATTENTION_FULL, most, REPORT_FILM_BYTES / frames / 4 * 4);
    if (T == 0) {
        snprintf(f->why_not, sizeof f->why_not, "%zu heads are more than a page can hold", heads);
        return STATUS_OK;
    }
    enum status status = take_room(f, T, frames, err);
    f->before = t->asked ? t->count - T : 0;
    f->steps = n;
    for (size_t i = 0; i < T && !status; i++) {
        char label[TOKENIZER_LABEL_SIZE];
        tokenizer_label(&s->checkpoint.tokenizer, t->id[f->before + i], label);
        f->label[i] = strdup(label);
        status = f->label[i] ? status : no_memory(err);
    }
    for (size_t k = 0; k < frames && !status; k++) {
        const size_t step = steps->count ? steps->step[frames > 1 ? k * (n - 1) / (frames - 1) : n - 1] : 0;
        status = steps->count ? add_step(f, s, t->id + f->before, step, team, err)
                              : add_checkpoint(f, &s->checkpoint.model, t->id + f->before,
                                               s->has_state ? s->state.step : 0, team, err);
    }
    return status;
}

static enum status take_checkpoints(struct report_film *f, struct saved *s, const struct report_film_settings *settings,
                                    struct error *err)
{
    struct symbols t = {0};
    struct run_steps steps = {0};
    enum status status =
        settings->text ? take_asked(&t, &s->checkpoint.tokenizer, settings->text, err) : take_validation(&t, f, s, err);
    if (!status && t.count > 0) {
        status = list_steps(&steps, s, err);
        if (!status)
            status = add_steps(f, s, &t, &steps, settings->team, err);
    }
    free(steps.step);
    free(t.id);
    return status;
}

enum status report_film_make(struct report_film *f, struct saved *s, const struct report_log *log,
                             const struct report_film_settings *settings, struct error *err)
{
    *f = (struct report_film){0};
    const struct config *c = &s->checkpoint.model.config;
    enum status status = settings->text ? STATUS_OK : take_log(f, log, c->n_layer * c->n_head, err);
    if (!status && f->T == 0)
        status = take_checkpoints(f, s, settings, err);
    return status;
}

void report_film_free(struct report_film *f)
{
    for (size_t i = 0; f->label && i < f->T; i++)
        free(f->label[i]);
    for (size_t k = 0; k < f->count; k++)
        free(f->frame[k].weights);
    free(f->label);
    free(f->frame);
    *f = (struct report_film){0};
}
