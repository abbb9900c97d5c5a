#include "cli/verdict_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/human.h"
#include "io/metrics.h"

static const char *const outcomes[] = {"clean", "found", "noted", "skipped"}; /* as enum verdict_outcome */

/* What to do about findings that are about no later positions, by the detector. */
static const struct {
    const char *detector, *advice;
} by_detector[] = {
    {"definition", "compare the operation with its formula in the header of src/kernels that declares it"},
    {"backward", "the gradient check tells which numbers are off: make test TEST_FILTER='gradcheck/*'"},
    {"batch", "look for a norm over the batch, or for a reshape or stride that confuses rows with positions"},
    {"decode", "compare what the cache holds with a pass over the same symbols, position by position"},
    {"generation", "losses of whole windows are not those of writing: find what differs between the two passes"},
    {"stress", "hide positions with -INFINITY, or leave them out, instead of adding a large negative number"},
    {"targets", "the target of position t is symbol t + 1: look at how windows are cut"},
    {"overlap", "split the text once, before windows are drawn"},
};

/* Findings beyond these say much the same. */
#define SHOWN 8

const char *verdict_offset(char out[VERDICT_OFFSET_SIZE], const struct chart_shape *s)
{
    switch (s->pattern) {
    case CHART_CAUSAL:
        return NULL;
    case CHART_ALL_FUTURE:
        snprintf(out, VERDICT_OFFSET_SIZE, "all");
        break;
    case CHART_ONE_AHEAD:
        snprintf(out, VERDICT_OFFSET_SIZE, "+%zu", s->number);
        break;
    case CHART_UP_TO_AHEAD:
        snprintf(out, VERDICT_OFFSET_SIZE, "up to +%zu", s->number);
        break;
    case CHART_WITHIN_BLOCK:
        snprintf(out, VERDICT_OFFSET_SIZE, "block %zu", s->number);
        break;
    case CHART_SOME:
        snprintf(out, VERDICT_OFFSET_SIZE, "some");
        break;
    }
    return out;
}

/* Where each pattern comes from, as a rule. */
static const char *advice(const struct chart_shape *s)
{
    switch (s->pattern) {
    case CHART_CAUSAL:
        return NULL;
    case CHART_ALL_FUTURE:
        return "look for attention without its causal mask (is_causal, or a mask that is built and not used, applied "
               "after "
               "the softmax, or transposed), and for a mean or a norm taken over time";
    case CHART_ONE_AHEAD:
    case CHART_UP_TO_AHEAD:
        return "the mask's diagonal is off: what is hidden is torch.triu(ones, diagonal=1), what is kept "
               "torch.tril(ones); "
               "or inputs are shifted against their targets, or a convolution is padded on the right";
    case CHART_WITHIN_BLOCK:
        return "look for what is computed block by block: a mask by blocks, a chunk's mean or norm, a tile on the "
               "diagonal "
               "that is not masked";
    case CHART_SOME:
        return "look for what differs from one position to another: a mask of the wrong length or shape, padding, "
               "tokens "
               "routed or sorted together";
    }
    return NULL;
}

static void print_line(struct terminal *out, const struct verdict_line *line, size_t width)
{
    char label[96], time[HUMAN_SIZE];
    snprintf(label, sizeof label, "%-*s  %-7s  %7s  ", (int)width, line->detector, outcomes[line->outcome],
             human_duration(time, line->seconds));
    terminal_entry(out, label, "%s", line->evidence);
}

static bool alike(const struct verdict_finding *a, const struct verdict_finding *b)
{
    return strcmp(a->detector, b->detector) == 0 && strcmp(a->operation, b->operation) == 0 &&
           strcmp(a->what, b->what) == 0 && a->backward == b->backward &&
           (a->layer == VERDICT_NOWHERE) == (b->layer == VERDICT_NOWHERE) &&
           (a->head == VERDICT_NOWHERE) == (b->head == VERDICT_NOWHERE);
}

/* "layer 3 ", "layers 0-3 ", "" */
static size_t put_range(char *out, size_t size, const char *name, size_t first, size_t last)
{
    if (first == VERDICT_NOWHERE)
        return 0;
    return (size_t)(first == last ? snprintf(out, size, "%s %zu ", name, first)
                                  : snprintf(out, size, "%ss %zu-%zu ", name, first, last));
}

/* Prints findings [first, ...) that differ in their place only and together fill a rectangle of layers and heads;
 * returns how many they are. */
static size_t print_findings(struct terminal *out, const struct verdict *v, size_t first, size_t kept)
{
    const struct verdict_finding *const f = &v->finding[first];
    size_t n = 1, whole = 1;
    for (size_t heads = 0; first + n < kept && alike(f, f + n); n++) {
        if (heads == 0 && f[n].layer != f->layer)
            heads = n; /* of the first layer */
        const size_t row = heads ? n / heads : 0, column = heads ? n % heads : n;
        if (f[n].layer != f->layer + row || f[n].head != (f->head == VERDICT_NOWHERE ? f->head : f->head + column))
            break;
        if (!heads || column + 1 == heads)
            whole = n + 1;
    }
    const struct verdict_finding *const last = f + whole - 1;
    char place[192] = ""; /* two ranges of twenty digits and the longest operation */
    size_t used = put_range(place, sizeof place, "layer", f->layer, last->layer);
    used += put_range(place + used, sizeof place - used, "head", f->head, last->head);
    if (f->operation[0])
        used +=
            (size_t)snprintf(place + used, sizeof place - used, "%s%s", f->operation, f->backward ? " backward" : "");
    terminal_entry(out, "  ", "%s: %s%s%s", f->detector, place, used ? ": " : "", f->what);
    return whole;
}

/* One piece of advice for each pattern among the findings. */
static void print_advice(struct terminal *out, const struct verdict *v, size_t kept)
{
    bool given[CHART_SOME + 1] = {false};
    for (size_t k = 0; k < kept; k++) {
        const struct chart_shape *s = &v->finding[k].shape;
        const char *const words = advice(s);
        if (words && !given[s->pattern])
            terminal_entry(out, "what to do: ", "%s", words);
        given[s->pattern] = true;
    }
    for (size_t n = 0; n < sizeof by_detector / sizeof *by_detector; n++)
        for (size_t k = 0; k < kept; k++)
            if (v->finding[k].shape.pattern == CHART_CAUSAL && !given[CHART_ALL_FUTURE] &&
                strcmp(v->finding[k].detector, by_detector[n].detector) == 0) {
                terminal_entry(out, "what to do: ", "%s", by_detector[n].advice);
                break;
            }
}

void verdict_print(struct terminal *out, const struct verdict *v)
{
    size_t width = strlen("detector");
    for (size_t k = 0; k < v->lines; k++) {
        const size_t n = strlen(v->line[k].detector);
        width = n > width ? n : width;
    }
    fprintf(out->stream, "%-*s  outcome     time  evidence\n", (int)width, "detector");
    for (size_t k = 0; k < v->lines; k++)
        print_line(out, &v->line[k], width);
    if (v->findings == 0) {
        fputs("\nNo leak found.\n", out->stream);
        return;
    }
    fprintf(out->stream, "\n%sLEAK%s\n", terminal_style(out, TERMINAL_RED), terminal_style(out, TERMINAL_PLAIN));
    const size_t kept = v->findings < VERDICT_FINDINGS ? v->findings : VERDICT_FINDINGS;
    size_t at = 0;
    for (size_t shown = 0; at < kept && shown < SHOWN; shown++)
        at += print_findings(out, v, at, kept);
    if (v->findings > at)
        fprintf(out->stream, "  and %zu more (--json lists them)\n", v->findings - at);
    bool priced = false; /* where the finding that says it is not shown */
    for (size_t k = at; k < kept; k++)
        priced |= strcmp(v->finding[k].detector, "generation") == 0;
    if (priced && isfinite(v->nats))
        fprintf(out->stream, "  what comes later is worth %.4f nats a symbol\n", v->nats);
    print_advice(out, v, kept);
}

static json_t *place(size_t at)
{
    return at == VERDICT_NOWHERE ? json_null() : json_integer((json_int_t)at);
}

static json_t *text_or_null(const char *text)
{
    return text && text[0] ? json_string(text) : json_null();
}

json_t *verdict_json(const struct verdict *v, const char *error)
{
    json_t *const findings = json_array(), *const detectors = json_array();
    char offset[VERDICT_OFFSET_SIZE];
    for (size_t k = 0; k < v->findings && k < VERDICT_FINDINGS; k++) {
        const struct verdict_finding *const f = &v->finding[k];
        json_array_append_new(findings, json_pack("{s:s, s:o, s:o, s:o, s:b, s:o, s:o, s:s}", "detector", f->detector,
                                                  "layer", place(f->layer), "head", place(f->head), "operation",
                                                  text_or_null(f->operation), "backward", f->backward, "offset",
                                                  text_or_null(verdict_offset(offset, &f->shape)), "nats",
                                                  metrics_number(f->nats), "what", f->what));
    }
    for (size_t k = 0; k < v->lines; k++) {
        const struct verdict_line *const line = &v->line[k];
        json_array_append_new(detectors, json_pack("{s:s, s:s, s:o, s:s}", "name", line->detector, "outcome",
                                                   outcomes[line->outcome], "seconds", metrics_number(line->seconds),
                                                   "evidence", line->evidence));
    }
    json_t *const o = json_pack("{s:o, s:o, s:o, s:o}", "leak", error ? json_null() : json_boolean(v->findings > 0),
                                "nats", metrics_number(v->nats), "findings", findings, "detectors", detectors);
    if (o && error)
        json_object_set_new(o, "error", json_string(error));
    return o;
}
