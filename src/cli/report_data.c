#include "cli/report_data.h"

#include <math.h>
#include <string.h>

#include "cli/command.h"
#include "cli/option.h"
#include "cli/version.h"
#include "io/metrics.h"

/* Bytes of one sample, and of one sentence about heads or leaks: none that nopeek says is longer (base/status.h). */
#define SAMPLE_BYTES ((size_t)4000)
#define LINE_BYTES sizeof(((struct error *)NULL)->message)

/* --- building ------------------------------------------------------------------------------------- */

/* Takes the reference to value; an object or array that cannot hold it is given up, and stays so. */
static void put(json_t **o, const char *key, json_t *value)
{
    if (json_object_set_new(*o, key, value) == 0)
        return;
    json_decref(*o);
    *o = NULL;
}

static void add(json_t **list, json_t *value)
{
    if (json_array_append_new(*list, value) == 0)
        return;
    json_decref(*list);
    *list = NULL;
}

/* With so many digits after the first: what a curve cannot show is left out. */
static json_t *rounded(double x, int digits)
{
    if (!isfinite(x) || x == 0)
        return metrics_number(x);
    const double unit = pow(10, digits - floor(log10(fabs(x))));
    const double value = isfinite(unit) && unit > 0 ? round(x * unit) / unit : x;
    return metrics_number(value);
}

static json_t *whole(size_t n)
{
    return json_integer((json_int_t)n);
}

/* Text that may be missing, or not be UTF-8. */
static json_t *words(const char *text)
{
    return text ? state_path_json(text) : json_null();
}

/* --- curves --------------------------------------------------------------------------------------- */

/* [[x, ...], [y, ...]] */
static json_t *curve(const struct thin *t, size_t series)
{
    json_t *xs = json_array(), *ys = json_array();
    for (size_t b = 0; b < t->bins; b++) {
        double x[2], y[2];
        const size_t n = thin_points(x, y, t, b, series);
        for (size_t k = 0; k < n; k++) {
            add(&xs, json_integer((json_int_t)x[k]));
            add(&ys, rounded(y[k], 6));
        }
    }
    return json_pack("[o, o]", xs, ys);
}

static json_t *curves(const struct thin *t, const char *const *names)
{
    json_t *o = json_object();
    for (size_t k = 0; k < t->series; k++)
        put(&o, names[k], curve(t, k));
    return o;
}

/* Entropy of every head, a column a bin; two, its extremes in their order, where a bin holds several records. */
static json_t *heads(const struct thin *t)
{
    const size_t columns = t->width > 1 ? 2 : 1;
    json_t *first = json_array(), *last = json_array(), *values = json_array();
    for (size_t b = 0; b < t->bins; b++) {
        add(&first, json_integer((json_int_t)t->first[b]));
        add(&last, json_integer((json_int_t)t->end[b]));
    }
    for (size_t s = 0; s < t->series; s++) {
        json_t *row = json_array();
        for (size_t b = 0; b < t->bins; b++) {
            double x[2], y[2];
            const size_t n = thin_points(x, y, t, b, s);
            for (size_t k = 0; k < columns; k++)
                add(&row, isfinite(y[k < n ? k : 0]) ? json_real(round(y[k < n ? k : 0] * 1e4) / 1e4) : json_null());
        }
        add(&values, row);
    }
    return json_pack("{s:I, s:o, s:o, s:o}", "columns", (json_int_t)columns, "first", first, "last", last, "values",
                     values);
}

/* --- texts of the log ------------------------------------------------------------------------------- */

/* A beginning of whole characters. */
static size_t cut(const char *text, size_t n, size_t most)
{
    if (n <= most)
        return n;
    size_t end = most;
    while (end > 0 && ((unsigned char)text[end] & 0xC0) == 0x80)
        end--;
    return end;
}

/* A text of a record, cut to what a line needs; "" where there is none. */
static json_t *line_of(const json_t *record, const char *key)
{
    const json_t *text = json_object_get(record, key);
    const char *bytes = json_is_string(text) ? json_string_value(text) : "";
    return json_stringn(bytes, cut(bytes, json_string_length(text), LINE_BYTES));
}

/* --- what the run is ------------------------------------------------------------------------------- */

static json_t *model_of(const struct saved *s)
{
    const struct config *c = &s->checkpoint.model.config;
    const struct tokenizer *t = &s->checkpoint.tokenizer;
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:f, s:s, s:s}", "n_layer",
                     (json_int_t)c->n_layer, "n_head", (json_int_t)c->n_head, "n_embd", (json_int_t)c->n_embd,
                     "head_size", (json_int_t)c->head_size, "block_size", (json_int_t)c->block_size, "window",
                     (json_int_t)c->window, "vocab_size", (json_int_t)c->vocab_size, "parameters",
                     (json_int_t)s->checkpoint.model.table.size, "bias", c->bias, "tied", c->tied, "dropout",
                     c->dropout, "units", tokenizer_units(t->kind), "unit", tokenizer_unit(t->kind));
}

static json_t *text_of(const struct state *state)
{
    json_t *paths = json_array();
    for (size_t i = 0; i < state->n_texts; i++)
        add(&paths, words(state->text[i]));
    return json_pack("{s:o, s:o, s:o, s:s}", "paths", paths, "symbols", whole(state->text_symbols), "bytes",
                     whole(state->text_bytes), "hash", state->text_hash);
}

static json_t *run_of(const struct report_data *d)
{
    const struct saved *s = d->saved;
    const struct state *state = &s->state;
    const bool best = s->has_state && state->best_step != STATE_NO_STEP;
    json_t *o =
        json_pack("{s:o, s:o, s:b, s:b, s:o}", "name", words(d->name), "checkpoint", words(s->checkpoint.path),
                  "watching", d->watching, "leaky", saved_leaky(s), "imported",
                  words(json_string_value(json_object_get(json_object_get(s->checkpoint.state, "imported"), "from"))));
    put(&o, "last_step", json_integer((json_int_t)d->log->last_step));
    put(&o, "step", s->has_state ? whole(state->step) : json_null());
    put(&o, "seconds", metrics_number(s->has_state ? state->seconds : (double)NAN));
    put(&o, "best_step", best ? whole(state->best_step) : json_null());
    put(&o, "best_loss", metrics_number(best ? state->best_loss : (double)NAN));
    json_t *steps = json_object_get(s->has_state ? state->settings : NULL, "steps");
    put(&o, "steps", steps ? json_incref(steps) : json_null());
    /* The log's last word is later than the checkpoint's while training goes on. */
    const json_t *last = json_object_get(d->log->last_eval, "check");
    put(&o, "check",
        json_is_string(last) ? line_of(d->log->last_eval, "check") : words(s->has_state ? state->check : NULL));
    put(&o, "check_step",
        json_is_string(last) ? json_incref(json_object_get(d->log->last_eval, "step"))
        : s->has_state       ? whole(state->step)
                             : json_null());
    if (s->has_state)
        put(&o, "text", text_of(state));
    return o;
}

static json_t *settings_of(const struct saved *s)
{
    json_t *list = json_array(), *saved = s->has_state ? s->state.settings : NULL, *value;
    const char *key;
    json_object_foreach(saved, key, value)
    {
        const char *help = "";
        for (const struct option_spec *spec = cmd_train.options; !option_is_end(spec); spec++)
            if (spec->saved && strcmp(spec->saved, key) == 0)
                help = spec->help;
        add(&list, json_pack("[s, O, s]", key, value, help));
    }
    return list;
}

static json_t *reproduce_of(const struct saved *s)
{
    struct buffer b = {0};
    json_t *line = report_command(&b, s) && !b.failed ? words(b.bytes) : b.failed ? NULL : json_null();
    buffer_free(&b);
    return line;
}

/* --- samples, entropy, heads' kinds, film ----------------------------------------------------------- */

static json_t *samples_of(const struct report_sift *samples)
{
    json_t *list = json_array();
    for (size_t i = 0; i < samples->count; i++) {
        const json_t *record = samples->record[i], *text = json_object_get(record, "sample");
        const size_t n = json_string_length(text), shown = cut(json_string_value(text), n, SAMPLE_BYTES);
        add(&list, json_pack("{s:O, s:o, s:I}", "step", json_object_get(record, "step"), "text",
                             json_stringn(json_string_value(text), shown), "left_out", (json_int_t)(n - shown)));
    }
    return json_pack("{s:I, s:o}", "seen", (json_int_t)samples->seen, "shown", list);
}

/* Heads of the model's own, as numbers among all of them: layer n_head + head. */
static json_t *verdict_heads(const json_t *record, const struct config *c)
{
    json_t *list = json_array();
    const json_int_t layer = json_integer_value(json_object_get(record, "layer"));
    size_t i;
    json_t *head;
    json_array_foreach(json_object_get(record, "heads"), i, head)
    {
        const json_int_t h = json_integer_value(head);
        if (json_is_integer(head) && layer >= 0 && layer < (json_int_t)c->n_layer && h >= 0 &&
            h < (json_int_t)c->n_head)
            add(&list, json_integer(layer * (json_int_t)c->n_head + h));
    }
    return list;
}

/* What training said of the heads. */
static json_t *verdicts_of(const struct report_sift *verdicts, const struct config *c)
{
    json_t *list = json_array();
    for (size_t i = 0; i < verdicts->count; i++) {
        const json_t *record = verdicts->record[i];
        add(&list, json_pack("{s:O, s:o, s:o, s:o, s:o}", "step", json_object_get(record, "step"), "verdict",
                             line_of(record, "verdict"), "says", line_of(record, "says"), "advice",
                             line_of(record, "advice"), "heads", verdict_heads(record, c)));
    }
    return json_pack("{s:I, s:o}", "seen", (json_int_t)verdicts->seen, "shown", list);
}

static json_t *entropy_of(const struct report_entropy *e)
{
    return json_pack("{s:b, s:o, s:o, s:s}", "known", e->known, "train", metrics_number(e->train), "validation",
                     metrics_number(e->validation), "why_not", e->why_not);
}

static json_t *kinds_of(const struct report_data *d)
{
    if (!d->kinds)
        return json_pack("{s:n, s:s}", "heads", "why_not", d->no_kinds ? d->no_kinds : "");
    json_t *list = json_array();
    for (size_t k = 0; k < d->kinds->L * d->kinds->H; k++) {
        const struct inspection_head *h = &d->kinds->head[k];
        char evidence[HEAD_KIND_EVIDENCE];
        head_kind_evidence(evidence, &h->measure, h->kind);
        add(&list, json_pack("{s:s, s:s, s:s}", "kind", head_kind_name(h->kind), "says", head_kind_says(h->kind),
                             "evidence", evidence));
    }
    return json_pack("{s:o, s:o, s:o, s:b}", "heads", list, "windows", whole(d->kinds->windows), "window_length",
                     whole(d->kinds->window_T), "validation", d->kinds->validation);
}

static json_t *film_of(const struct report_film *f)
{
    json_t *labels = json_array(), *frames = json_array();
    for (size_t i = 0; i < f->T; i++)
        add(&labels, json_string(f->label[i]));
    for (size_t k = 0; k < f->count; k++)
        add(&frames, json_pack("{s:o, s:b}", "step", whole(f->frame[k].step), "square", f->frame[k].square));
    return json_pack("{s:o, s:o, s:b, s:o, s:o, s:s}", "labels", labels, "frames", frames, "from_log", f->from_log,
                     "steps", whole(f->steps), "before", whole(f->before), "why_not", f->why_not);
}

static json_t *frames_of(const struct report_film *f)
{
    json_t *list = json_array();
    for (size_t k = 0; k < f->count; k++)
        add(&list, json_string(f->frame[k].weights));
    return list;
}

enum status report_data_make(json_t **data, json_t **frames, const struct report_data *d, struct error *err)
{
    static const char *const step_names[] = {"loss", "lr", "grad_norm", "tokens_per_s"}, *const eval_names[] = {
                                                                                             "train", "validation",
                                                                                             "generation", "parallel"};
    const struct report_log *l = d->log;
    json_t *o = json_pack("{s:s, s:o, s:o}", "program", "nopeek " NOPEEK_VERSION, "run", run_of(d), "model",
                          model_of(d->saved));
    put(&o, "curves", curves(&l->steps, step_names));
    put(&o, "evals", curves(&l->evals, eval_names));
    put(&o, "heads", heads(&l->heads));
    put(&o, "thinned",
        json_pack("{s:I, s:I, s:I}", "steps", (json_int_t)l->steps.width, "evals", (json_int_t)l->evals.width, "heads",
                  (json_int_t)l->heads.width));
    put(&o, "log", json_pack("{s:I, s:I}", "records", (json_int_t)l->records, "unsound", (json_int_t)l->unsound));
    put(&o, "entropy", entropy_of(d->entropy));
    put(&o, "uniform", metrics_number(log((double)d->saved->checkpoint.model.config.vocab_size)));
    put(&o, "verdicts", verdicts_of(&l->verdicts, &d->saved->checkpoint.model.config));
    put(&o, "samples", samples_of(&l->samples));
    put(&o, "settings", settings_of(d->saved));
    put(&o, "reproduce", reproduce_of(d->saved));
    put(&o, "kinds", kinds_of(d));
    put(&o, "film", film_of(d->film));
    *data = o;
    *frames = frames_of(d->film);
    if (*data && *frames)
        return STATUS_OK;
    json_decref(*data);
    json_decref(*frames);
    *data = *frames = NULL;
    return fail(err, STATUS_MEMORY, "report: out of memory");
}
