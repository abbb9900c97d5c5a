#include "cli/inspection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/memory.h"

/* Symbols that kinds and losses are measured on, about, and the bounds of the number of windows that gives. */
#define SYMBOLS 8192
#define FEWEST 8
#define MOST 128

/* Where windows are cut from: a part of a dataset, or the ids of the text. */
struct source {
    const struct dataset *data; /* NULL: ids */
    const uint32_t *ids;
    size_t begin, end;
};

static enum status no_memory(struct error *err)
{
    return fail(err, STATUS_MEMORY, "inspect: out of memory");
}

const uint32_t *inspection_tokens(const struct inspection *n)
{
    return n->ids + n->before;
}

/* --- the text ------------------------------------------------------------------------------------- */

static enum status encode(struct inspection *n, const struct whole_text *text, struct error *err)
{
    size_t count;
    const struct tokenizer *t = &n->saved.checkpoint.tokenizer;
    const enum status s =
        tokenizer_encode(t, &n->ids, &count, (const uint8_t *)text->bytes, text->size, text->name, err);
    if (s)
        return s;
    if (count == 0)
        return fail(err, STATUS_USAGE, "%s: found nothing, expected at least one %s to look at", text->name,
                    tokenizer_unit(t->kind));
    n->T = count;
    return s;
}

/* The first window of the validation part. */
static enum status take_beginning(struct inspection *n, const struct source *from, struct error *err)
{
    n->T = from->end - from->begin;
    n->ids = from->data && n->T > 0 ? malloc(n->T * sizeof *n->ids) : NULL;
    if (!from->data || n->T == 0)
        return fail(err, STATUS_USAGE, "inspect: no text to look at (%s): give one with --text or --file",
                    n->no_validation.message);
    if (!n->ids)
        return no_memory(err);
    for (size_t i = 0; i < n->T; i++)
        n->ids[i] = dataset_id(from->data, from->begin + i);
    return STATUS_OK;
}

/* Keeps the last symbols that the context holds; names them all. */
static enum status cut_and_label(struct inspection *n, struct error *err)
{
    const size_t context = n->saved.checkpoint.model.config.block_size;
    n->before = n->T > context ? n->T - context : 0;
    n->T -= n->before;
    n->label = calloc(n->T, sizeof *n->label);
    if (!n->label)
        return no_memory(err);
    for (size_t i = 0; i < n->T; i++)
        tokenizer_label(&n->saved.checkpoint.tokenizer, inspection_tokens(n)[i], n->label[i]);
    return STATUS_OK;
}

/* --- maps ----------------------------------------------------------------------------------------- */

static enum status check_memory(const struct inspection *n, struct error *err)
{
    size_t cells, bytes;
    const size_t there = memory_available();
    if (checked_mul(&cells, n->T, n->T) && checked_mul(&bytes, cells, n->L * n->H * sizeof(real)) &&
        (there == 0 || bytes < there / 2))
        return STATUS_OK;
    return fail(err, STATUS_MEMORY,
                "inspect: maps of %zu x %zu for %zu heads take more than half of the %zu MB of memory that there are: "
                "give a shorter text",
                n->T, n->T, n->L * n->H, there / 1000000);
}

static enum status make_maps(struct inspection *n, struct team team, struct error *err)
{
    enum status s = check_memory(n, err);
    if (!s)
        s = attention_map_make(&n->map, &n->saved.checkpoint.model, inspection_tokens(n), n->T, team, err);
    if (s)
        return s;
    n->row_entropy = calloc(n->L * n->H * n->T, sizeof *n->row_entropy);
    if (!n->row_entropy)
        return no_memory(err);
    for (size_t k = 0; k < n->L * n->H; k++)
        n->head[k].map = attention_map_head(n->row_entropy + k * n->T, &n->map, k / n->H, k % n->H);
    return STATUS_OK;
}

/* --- kinds and losses, over windows ----------------------------------------------------------------- */

/* A window of T inputs and T targets for each k < n, evenly spread; n T < symbols, and none overlaps another. */
static void cut_windows(uint32_t *tokens, uint32_t *targets, const struct source *from, size_t n, size_t T)
{
    const size_t room = from->end - from->begin - 1 - T;
    for (size_t k = 0; k < n; k++) {
        const size_t start = from->begin + (n > 1 ? k * room / (n - 1) : 0);
        if (from->data) {
            dataset_window(from->data, tokens + k * T, targets + k * T, start, T);
        } else {
            memcpy(tokens + k * T, from->ids + start, T * sizeof *tokens);
            memcpy(targets + k * T, from->ids + start + 1, T * sizeof *targets);
        }
    }
}

/* (V): whether an id is part of words. NULL, with *s STATUS_OK, where symbols are no characters. */
static bool *word_ids(const struct tokenizer *t, enum status *s, struct error *err)
{
    *s = STATUS_OK;
    if (t->kind == TOKENIZER_IDS)
        return NULL;
    bool *word = calloc(t->size, sizeof *word);
    if (!word)
        *s = no_memory(err);
    for (size_t id = 0; word && id < t->size; id++) {
        const uint32_t symbol = t->symbol ? t->symbol[id] : (uint32_t)id;
        /* bytes from 0x80 on are parts of characters, of which most are letters */
        word[id] = tokenizer_knows(t, (uint32_t)id) &&
                   (t->kind == TOKENIZER_BYTES && symbol >= 0x80 ? true : utf8_in_word(symbol));
    }
    return word;
}

static enum status add_window(struct inspection *n, const uint32_t *tokens, size_t T, const bool *word, bool *in_word,
                              struct team team, struct error *err)
{
    const struct gpt *g = &n->saved.checkpoint.model;
    struct attention_map map;
    const enum status s = attention_map_make(&map, g, tokens, T, team, err);
    if (s)
        return s;
    for (size_t i = 0; word && i < T; i++)
        in_word[i] = word[tokens[i]];
    struct head_window w = {.tokens = tokens, .in_word = word ? in_word : NULL, .T = T, .window = g->config.window};
    for (size_t k = 0; k < n->L * n->H; k++) {
        w.rule = g->rules[k];
        head_kind_add(&n->head[k].measure, attention_map_weights(&map, k / n->H, k % n->H), &w);
    }
    attention_map_free(&map);
    return s;
}

static enum status measure_kinds(struct inspection *n, const struct ablation_windows *w, struct team team,
                                 struct error *err)
{
    enum status s;
    bool *word = word_ids(&n->saved.checkpoint.tokenizer, &s, err), *in_word = calloc(w->T, sizeof *in_word);
    if (!s && !in_word)
        s = no_memory(err);
    for (size_t k = 0; k < w->n && !s; k++)
        s = add_window(n, w->tokens + k * w->T, w->T, word, in_word, team, err);
    free(word);
    free(in_word);
    return s;
}

static enum status measure_losses(struct inspection *n, const struct ablation_windows *w,
                                  const struct inspection_settings *settings, struct error *err)
{
    struct gpt *g = &n->saved.checkpoint.model;
    const size_t rows = w->T < 2048 ? 2048 / w->T : 1, some = rows < 16 ? rows : 16;
    struct work work;
    enum status s = work_create(&work, &g->config, some < w->n ? some : w->n, w->T, false, settings->team, err);
    if (s)
        return s;
    s = ablation_measure(&n->ablation, g, &work, w, settings->progress, settings->context, err);
    work_free(&work);
    return s;
}

static enum status measure_on(struct inspection *n, const struct source *from,
                              const struct inspection_settings *settings, struct error *err)
{
    const size_t room = from->end - from->begin - 1, context = n->saved.checkpoint.model.config.block_size;
    const size_t T = room < context ? room : context;
    size_t count = settings->windows ? settings->windows : SYMBOLS / T;
    if (settings->windows == 0)
        count = count < FEWEST ? FEWEST : count > MOST ? MOST : count;
    count = count < room / T ? count : room / T;
    uint32_t *tokens = malloc(2 * count * T * sizeof *tokens);
    if (!tokens)
        return no_memory(err);
    cut_windows(tokens, tokens + count * T, from, count, T);
    const struct ablation_windows w = {tokens, tokens + count * T, count, T};
    n->windows = count;
    n->window_T = T;
    enum status s = measure_kinds(n, &w, settings->team, err);
    if (!s && !settings->quick)
        s = measure_losses(n, &w, settings, err);
    free(tokens);
    return s;
}

/* On the run's validation part where there is one, else on all of the text. */
static enum status measure(struct inspection *n, const struct source *validation,
                           const struct inspection_settings *settings, struct error *err)
{
    const struct source text = {.ids = n->ids, .end = n->before + n->T};
    n->validation = validation->data && validation->end - validation->begin >= 2;
    if (validation->data && !n->validation)
        (void)fail(&n->no_validation, STATUS_RANGE, "the run has no validation part");
    enum status s = STATUS_OK;
    if (n->validation || text.end >= 2)
        s = measure_on(n, n->validation ? validation : &text, settings, err);
    for (size_t k = 0; k < n->L * n->H && !s; k++) {
        head_kind_finish(&n->head[k].measure);
        n->head[k].kind = head_kind_judge(&n->head[k].measure);
    }
    return s;
}

/* --- all of it ------------------------------------------------------------------------------------ */

static enum status make_with(struct inspection *n, const struct dataset *data,
                             const struct inspection_settings *settings, struct error *err)
{
    struct source validation = {.data = data};
    if (data)
        dataset_bounds(data, DATASET_VAL, &validation.begin, &validation.end);
    enum status s;
    if (settings->text) {
        s = encode(n, settings->text, err);
    } else {
        struct source window = validation;
        const size_t context = n->saved.checkpoint.model.config.block_size;
        if (window.end - window.begin > context)
            window.end = window.begin + context;
        s = take_beginning(n, &window, err);
    }
    if (!s)
        s = cut_and_label(n, err);
    if (!s)
        s = make_maps(n, settings->team, err);
    return s ? s : measure(n, &validation, settings, err);
}

/* The run's text has gone from where it was: any other reason not to read it is an error. */
static bool text_is_gone(const struct saved *s)
{
    for (size_t i = 0; i < s->state.n_texts; i++)
        if (access(s->state.text[i], F_OK) != 0 && errno == ENOENT)
            return true;
    return false;
}

/* *there: the run's text is open as *data. Otherwise n->no_validation says why not. */
static enum status open_data(bool *there, struct dataset *data, struct inspection *n, const char *run,
                             struct error *err)
{
    const enum status s = saved_text(data, &n->saved, run, saved_val_split(&n->saved, 0.1), NULL, &n->no_validation);
    *there = s == STATUS_OK;
    if (s == STATUS_OK || s == STATUS_USAGE || s == STATUS_FORMAT || (s == STATUS_OPEN && text_is_gone(&n->saved)))
        return STATUS_OK;
    *err = n->no_validation;
    return s;
}

enum status inspection_make(struct inspection *n, const struct inspection_settings *settings, struct error *err)
{
    *n = (struct inspection){0};
    enum status s = saved_open(&n->saved, settings->run, err);
    if (s)
        return s;
    n->L = n->saved.checkpoint.model.config.n_layer;
    n->H = n->saved.checkpoint.model.config.n_head;
    n->head = calloc(n->L * n->H, sizeof *n->head);
    struct dataset data;
    bool there = false;
    s = n->head ? open_data(&there, &data, n, settings->run, err) : no_memory(err);
    if (!s)
        s = make_with(n, there ? &data : NULL, settings, err);
    if (there)
        dataset_free(&data);
    if (s)
        inspection_free(n);
    return s;
}

void inspection_free(struct inspection *n)
{
    ablation_free(&n->ablation);
    attention_map_free(&n->map);
    free(n->row_entropy);
    free(n->head);
    free(n->label);
    free(n->ids);
    saved_close(&n->saved);
    *n = (struct inspection){0};
}

enum status inspection_verdict(const struct inspection *n, struct error *err)
{
    size_t worst = 0;
    for (size_t k = 1; k < n->L * n->H; k++)
        if (n->head[k].map.future_mass > n->head[worst].map.future_mass)
            worst = k;
    const double mass = n->head[worst].map.future_mass;
    if (mass == 0 || n->saved.checkpoint.model.config.declared == ATTENTION_FULL)
        return STATUS_OK;
    return fail(
        err, STATUS_LEAK,
        "layer %zu head %zu has %.3g of its attention on later symbols, expected exactly 0: this model sees its "
        "future; see nopeek check",
        worst / n->H, worst % n->H, mass);
}
