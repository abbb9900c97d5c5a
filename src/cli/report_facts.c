#include "cli/report_facts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/option.h"
#include "cli/shell_word.h"
#include "io/file.h"
#include "text/bank.h"
#include "text/corpus.h"

/* A text that takes more than a few seconds to go through is no small corpus. */
#define LARGEST_TEXT ((size_t)32 << 20)

static enum status no_memory(struct error *err)
{
    return fail(err, STATUS_MEMORY, "report: out of memory");
}

/* --- the true entropy ------------------------------------------------------------------------------ */

/* All files of the text, one after another. *had is false, with the reason, when they cannot be had as they were. */
static enum status read_text(struct buffer *text, bool *had, struct report_entropy *e, const struct saved *s,
                             struct error *err)
{
    const struct state *state = &s->state;
    *had = false;
    for (size_t i = 0; i < state->n_texts; i++) {
        uint8_t *bytes;
        size_t n;
        struct error why;
        const enum status status = file_load(&bytes, &n, state->text[i], LARGEST_TEXT, &why);
        if (status == STATUS_MEMORY)
            return no_memory(err);
        if (status) {
            snprintf(e->why_not, sizeof e->why_not, "the text could not be read again");
            e->unread = true;
            return STATUS_OK;
        }
        buffer_put(text, bytes, n);
        free(bytes);
    }
    if (text->failed)
        return no_memory(err);
    char hash[HASH_TEXT_SIZE];
    hash_bytes(hash, text->bytes, text->count);
    *had = text->count > 0 && strcmp(hash, state->text_hash) == 0;
    if (!*had)
        snprintf(e->why_not, sizeof e->why_not, "the text has changed since the run was trained");
    return STATUS_OK;
}

static double mean(const double *x, size_t begin, size_t end)
{
    double sum = 0;
    for (size_t i = begin; i < end; i++)
        sum += x[i];
    return end > begin ? sum / (double)(end - begin) : (double)NAN;
}

static enum status measure(struct report_entropy *e, const struct buffer *text, double val_split, struct error *err)
{
    struct grammar grammar;
    double *nats = malloc(text->count * sizeof *nats);
    if (!nats)
        return no_memory(err);
    enum status s = grammar_make(&grammar, &bank_source, err);
    if (s) {
        free(nats);
        return s;
    }
    struct error why;
    s = corpus_information(nats, &grammar, text->bytes, text->count, &why);
    e->known = s == STATUS_OK;
    if (e->known) {
        const size_t train = text->count - (size_t)floor((double)text->count * val_split);
        e->train = mean(nats, 0, train);
        e->validation = mean(nats, train, text->count);
    } else {
        snprintf(e->why_not, sizeof e->why_not, "the text was not written by nopeek corpus");
    }
    grammar_free(&grammar);
    free(nats);
    return s == STATUS_MEMORY ? no_memory(err) : STATUS_OK;
}

enum status report_entropy_find(struct report_entropy *e, const struct saved *s, struct error *err)
{
    *e = (struct report_entropy){.train = (double)NAN, .validation = (double)NAN};
    const struct state *state = &s->state;
    if (!s->has_state || state->n_texts == 0 || strcmp(state->text[0], "-") == 0) {
        snprintf(e->why_not, sizeof e->why_not, "the run does not say where its text is");
        return STATUS_OK;
    }
    /* Such texts are ASCII, where symbols are bytes. */
    if (s->checkpoint.tokenizer.kind == TOKENIZER_IDS || state->text_symbols != state->text_bytes ||
        state->text_bytes > LARGEST_TEXT) {
        snprintf(e->why_not, sizeof e->why_not, "the text was not written by nopeek corpus");
        return STATUS_OK;
    }
    struct buffer text = {0};
    bool had;
    enum status status = read_text(&text, &had, e, s, err);
    if (!status && had)
        status = measure(e, &text, saved_val_split(s, 0.1), err);
    buffer_free(&text);
    return status;
}

/* --- the command ----------------------------------------------------------------------------------- */

static void put_number(struct buffer *b, const json_t *value)
{
    if (json_is_integer(value))
        buffer_print(b, " %lld", (long long)json_integer_value(value));
    else
        buffer_print(b, " %.15g", json_number_value(value));
}

static void put_setting(struct buffer *b, const struct option_spec *spec, const json_t *value)
{
    if (json_is_null(value) || strcmp(spec->name, "preset") == 0) /* what it chose is all there by name */
        return;
    if (spec->type != OPTION_FLAG) {
        buffer_print(b, " --%s", spec->name);
        if (json_is_string(value))
            shell_word_put(b, json_string_value(value));
        else
            put_number(b, value);
    } else if (json_is_true(value)) {
        buffer_print(b, " --%s", spec->name);
    } else if (option_negatable(spec) && spec->fallback) {
        buffer_print(b, " --no-%s", spec->name);
    }
}

bool report_command(struct buffer *b, const struct saved *s)
{
    const char *from = json_string_value(json_object_get(json_object_get(s->checkpoint.state, "imported"), "from"));
    if (from) {
        buffer_text(b, "nopeek import");
        shell_word_put(b, from);
        return true;
    }
    if (!s->has_state || !s->state.settings || s->state.n_texts == 0)
        return false;
    buffer_text(b, "nopeek train");
    for (size_t i = 0; i < s->state.n_texts; i++)
        shell_word_put(b, s->state.text[i]);
    for (const struct option_spec *spec = cmd_train.options; !option_is_end(spec); spec++) {
        const json_t *value = spec->saved ? json_object_get(s->state.settings, spec->saved) : NULL;
        if (value)
            put_setting(b, spec, value);
    }
    buffer_text(b, " -o again");
    return true;
}
