#include "lab/trap_page.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/escape.h"
#include "report/heat.h"
#include "report/page.h"
#include "report/plot.h"
#include "text/tokenizer.h"

static const char *const side_names[] = {"mask right", "leaky"};

static const struct trap_look *last_look(const struct trap *t, size_t side)
{
    return &t->point[t->points - 1].look[side];
}

static void text(struct buffer *b, const char *s)
{
    escape_text(b, s, strlen(s));
}

/* The points' steps, then for each what `get` reads off a look: (points) each, right then leaky. NULL when memory is
 * refused. */
static double *steps_of(const struct trap *t)
{
    double *x = malloc(t->points * sizeof *x);
    for (size_t i = 0; x && i < t->points; i++)
        x[i] = (double)t->point[i].step;
    return x;
}

enum { CURVE_TRAIN, CURVE_VAL, CURVE_GENERATION, CURVE_GAP };
#define CURVES ((size_t)4)

static double curve_value(const struct trap_look *l, int curve)
{
    switch (curve) {
    case CURVE_TRAIN:
        return l->train_loss;
    case CURVE_VAL:
        return l->val_loss;
    case CURVE_GENERATION:
        return l->generation_loss;
    default:
        return l->generation_loss - l->val_loss;
    }
}

/* (sides, curves, points) */
static double *curves_of(const struct trap *t)
{
    double *y = malloc(TRAP_SIDES * CURVES * t->points * sizeof *y);
    for (size_t k = 0; y && k < TRAP_SIDES * CURVES; k++)
        for (size_t i = 0; i < t->points; i++)
            y[k * t->points + i] = curve_value(&t->point[i].look[k / CURVES], (int)(k % CURVES));
    return y;
}

static struct plot_series curve(const struct trap *t, const double *y, size_t side, int which, const char *label,
                                unsigned look, unsigned dashes)
{
    return (struct plot_series){
        .label = label, .y = y + (side * CURVES + (size_t)which) * t->points, .look = look, .dashes = dashes};
}

static void plot_losses(struct buffer *b, const struct trap *t, const double *x, const double *y, bool alone)
{
    const struct plot_series series[] = {
        curve(t, y, TRAP_LEAKY, CURVE_GENERATION, "leaky, as it writes", 1, 0),
        curve(t, y, TRAP_LEAKY, CURVE_VAL, "leaky, validation", 1, 1),
        curve(t, y, TRAP_LEAKY, CURVE_TRAIN, "leaky, training", 1, 2),
        curve(t, y, TRAP_RIGHT, CURVE_GENERATION, "right, as it writes", 0, 0),
        curve(t, y, TRAP_RIGHT, CURVE_VAL, "right, validation", 0, 1),
        curve(t, y, TRAP_RIGHT, CURVE_TRAIN, "right, training", 0, 2),
    };
    char name[64], about[400];
    const size_t V = t->settings.config.vocab_size;
    snprintf(name, sizeof name, "ln %zu: guessing", V);
    const struct plot_level levels[] = {{name, log((double)V)}};
    const struct trap_look *right = last_look(t, TRAP_RIGHT), *leaky = last_look(t, TRAP_LEAKY);
    snprintf(about, sizeof about,
             "After %zu steps: leaky twin (%s): training loss %.3f, validation %.3f, as it writes %.3f. Right twin: "
             "%.3f, %.3f, %.3f.",
             t->step, t->settings.fault->name, leaky->train_loss, leaky->val_loss, leaky->generation_loss,
             right->train_loss, right->val_loss, right->generation_loss);
    const struct plot p = {.title = "Same model, same text, same seed: one peeks",
                           .description = about,
                           .x_label = "steps",
                           .y_label = "loss, nats per symbol",
                           .x = x,
                           .n = t->points,
                           .series = series,
                           .n_series = sizeof series / sizeof *series,
                           .levels = levels,
                           .n_levels = 1,
                           .y_min = 0,
                           .y_max = 1,
                           .width = alone ? 640 : 520,
                           .height = alone ? 380 : 340,
                           .alone = alone};
    plot_svg(b, &p);
}

void trap_figure(struct buffer *b, const struct trap *t)
{
    double *x = steps_of(t), *y = curves_of(t);
    if (x && y)
        plot_losses(b, t, x, y, true);
    else
        b->failed = true;
    free(x);
    free(y);
}

static void plot_gap(struct buffer *b, const struct trap *t, const double *x, const double *y)
{
    const struct plot_series series[] = {
        curve(t, y, TRAP_LEAKY, CURVE_GAP, side_names[TRAP_LEAKY], 1, 0),
        curve(t, y, TRAP_RIGHT, CURVE_GAP, side_names[TRAP_RIGHT], 0, 1),
    };
    const struct plot p = {.title = "The gap: what was only peeked at",
                           .description = "Loss as it writes less validation loss, for both twins.",
                           .x_label = "steps",
                           .y_label = "nats per symbol",
                           .x = x,
                           .n = t->points,
                           .series = series,
                           .n_series = 2,
                           .y_min = 0,
                           .y_max = 1,
                           .width = 420,
                           .height = 300};
    plot_svg(b, &p);
}

/* One line a head, a colour and a dash a layer. */
static void plot_heads(struct buffer *b, const struct trap *t, const double *x, size_t side, bool future)
{
    const struct config *c = &t->settings.config;
    const size_t heads = c->n_layer * c->n_head;
    struct plot_series *series = calloc(heads, sizeof *series);
    double *y = malloc(heads * t->points * sizeof *y);
    char(*label)[32] = malloc(c->n_layer * sizeof *label), title[80];
    if (series && y && label) {
        for (size_t h = 0; h < heads; h++) {
            const size_t layer = h / c->n_head;
            snprintf(label[layer], sizeof *label, "layer %zu", layer);
            for (size_t i = 0; i < t->points; i++) {
                const struct trap_look *l = &t->point[i].look[side];
                y[h * t->points + i] = future ? l->future[h] : l->entropy[h];
            }
            series[h] = (struct plot_series){.label = h % c->n_head == 0 ? label[layer] : NULL,
                                             .y = y + h * t->points,
                                             .look = (unsigned)layer,
                                             .dashes = (unsigned)layer,
                                             .thin = true};
        }
        snprintf(title, sizeof title, "%s, %s", future ? "Weight on the future" : "Entropy", side_names[side]);
        const struct plot p = {.title = title,
                               .description = future ? "Share of each head's attention that lies on later symbols."
                                                     : "Entropy of each head: 1 looks at all symbols alike, 0 at one.",
                               .x_label = "steps",
                               .y_label =
                                   future ? "share of attention, one line a head" : "normalised, one line a head",
                               .x = x,
                               .n = t->points,
                               .series = series,
                               .n_series = heads,
                               .y_min = 0,
                               .y_max = 1,
                               .width = 420,
                               .height = 280};
        plot_svg(b, &p);
    } else {
        b->failed = true;
    }
    free(series);
    free(y);
    free(label);
}

/* --- attention maps ----------------------------------------------------------------------------- */

/* The head of the leaky twin that looks at the future most. */
static size_t worst_head(const struct trap *t)
{
    const struct config *c = &t->settings.config;
    const double *future = last_look(t, TRAP_LEAKY)->future;
    size_t worst = 0;
    for (size_t h = 1; h < c->n_layer * c->n_head; h++)
        if (future[h] > future[worst])
            worst = h;
    return worst;
}

static void draw_map(struct buffer *b, const struct trap *t, size_t side, size_t head, const char *const *labels,
                     double size)
{
    char title[80], about[160];
    const size_t S = t->snippet, H = t->settings.config.n_head;
    const double future = last_look(t, side)->future[head];
    if (labels)
        snprintf(title, sizeof title, "%s: layer %zu head %zu", side_names[side], head / H, head % H);
    else
        snprintf(title, sizeof title, "%zu.%zu", head / H, head % H);
    snprintf(about, sizeof about, "Attention map of layer %zu head %zu, %s; mean weight on the future %.2f.", head / H,
             head % H, side_names[side], future);
    const struct heat h = {.title = title,
                           .description = about,
                           .weights = t->twin[side].maps + head * S * S,
                           .T = S,
                           .labels = labels,
                           .size = size};
    heat_svg(b, &h);
}

/* More maps than this are not drawn. */
#define MOST_MAPS 64

static void maps_section(struct buffer *b, const struct trap *t)
{
    const size_t S = t->snippet, heads = t->settings.config.n_layer * t->settings.config.n_head;
    const struct trap_twin *right = &t->twin[TRAP_RIGHT];
    char(*label)[TOKENIZER_LABEL_SIZE] = malloc(S * sizeof *label);
    const char **labels = malloc(S * sizeof *labels);
    buffer_text(b, "<h2>Who looks at whom</h2>\n<p>A row is the symbol that looks, a column the one that is looked at; "
                   "darker is more, on a scale of square roots. <b style=\"border-bottom:.2em solid "
                   "var(--s1)\">Orange</b> lies in the "
                   "future. The head of the leaky twin that looks there most, on the first symbols of the validation "
                   "text, and the same head of the right twin:</p>\n<div class=\"grid\">\n");
    if (label && labels) {
        for (size_t i = 0; i < S; i++) {
            tokenizer_label(t->tokenizer, right->tokens[i], label[i]);
            labels[i] = label[i];
        }
        for (size_t side = 0; side < TRAP_SIDES; side++)
            draw_map(b, t, side, worst_head(t), labels, 340);
    } else {
        b->failed = true;
    }
    free(label);
    free(labels);
    buffer_text(b, "</div>\n<p>Every head, layer.head:</p>\n<div class=\"grid\">\n");
    const size_t shown = heads < MOST_MAPS ? heads : MOST_MAPS;
    for (size_t side = 0; side < TRAP_SIDES; side++) {
        buffer_print(b, "<div><h3>%s</h3><div class=\"heads\">\n", side_names[side]);
        for (size_t h = 0; h < shown; h++)
            draw_map(b, t, side, h, NULL, 100);
        buffer_text(b, "</div></div>\n");
    }
    buffer_text(b, "</div>\n");
    if (shown < heads)
        buffer_print(b, "<p class=\"faint\">The first %zu of %zu heads.</p>\n", shown, heads);
}

/* --- the rest ------------------------------------------------------------------------------------ */

static void table_section(struct buffer *b, const struct trap *t)
{
    buffer_text(b, "<div class=\"wide\"><table>\n<tr><th></th><th>training loss</th><th>validation loss</th>"
                   "<th>loss as it writes</th><th>gap</th></tr>\n");
    for (size_t side = 0; side < TRAP_SIDES; side++) {
        const struct trap_look *l = last_look(t, side);
        const double gap = l->generation_loss - l->val_loss;
        buffer_print(b, "<tr><td>%s</td><td>%.3f</td><td>%.3f</td><td>%.3f</td><td class=\"%s\">%+.4f</td></tr>\n",
                     side_names[side], l->train_loss, l->val_loss, l->generation_loss,
                     fabs(gap) > 0.01 ? "bad" : "good", fabs(gap) < 5e-5 ? 0 : gap);
    }
    buffer_text(b, "</table></div>\n");
}

static void lesson_section(struct buffer *b, const struct trap *t)
{
    const struct trap_look *right = last_look(t, TRAP_RIGHT), *leaky = last_look(t, TRAP_LEAKY);
    const size_t V = t->settings.config.vocab_size;
    buffer_print(
        b,
        "<p>Two models with the same first weights read the same text in the same order for %zu steps. One has "
        "its mask right. The other has a fault: <b>%s</b> (",
        t->step, t->settings.fault->name);
    text(b, t->settings.fault->says);
    buffer_text(b, ").</p>\n");
    table_section(b, t);
    buffer_text(b, "<p>");
    if (t->fooled_at != TRAP_NEVER)
        buffer_print(
            b,
            "At step %zu the leaky twin first looks better and writes worse. At the end its validation loss is %.3f "
            "against %.3f%s. ",
            t->fooled_at, leaky->val_loss, right->val_loss,
            leaky->val_loss < right->val_loss ? ": judged by that, it is the one to keep" : "");
    buffer_print(b,
                 "With no future to look at, as when it writes, its loss is %.3f; guessing all %zu symbols alike would "
                 "give ln&nbsp;%zu&nbsp;=&nbsp;%.3f. The right twin has %.3f either way.</p>\n",
                 leaky->generation_loss, V, V, log((double)V), right->generation_loss);
}

/* Line feeds are seen; those that follow one another take no line each, for a leaky twin may write nothing else. */
static void write_sample(struct buffer *b, const struct trap_twin *twin)
{
    const char *at = twin->sample, *end = at + twin->sample_bytes;
    while (at < end) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        escape_text(b, at, (size_t)((feed ? feed : end) - at));
        at = feed ? feed + 1 : end;
        if (feed)
            buffer_text(b, at < end && *at == '\n' ? "\u21b5" : "\u21b5\n");
    }
}

static void samples_section(struct buffer *b, const struct trap *t)
{
    buffer_text(b, "<h2>What they write</h2>\n<div class=\"grid\">\n");
    for (size_t side = 0; side < TRAP_SIDES; side++) {
        buffer_print(b, "<div><h3>%s</h3><pre>", side_names[side]);
        write_sample(b, &t->twin[side]);
        buffer_text(b, "</pre></div>\n");
    }
    buffer_text(b, "</div>\n");
}

static void verdict_cell(struct buffer *b, const struct trap_twin *twin, const struct verdict_line *line)
{
    for (size_t i = 0; i < twin->catches; i++)
        if (strcmp(twin->caught[i].detector, line->detector) == 0) {
            buffer_print(b, "<td class=\"bad\">step %zu</td>", twin->caught[i].step);
            return;
        }
    const bool looked = line->outcome != VERDICT_SKIPPED;
    buffer_print(b, "<td class=\"%s\">%s</td>", looked ? "good" : "faint", looked ? "clean" : "skipped");
}

static void verdicts_section(struct buffer *b, const struct trap *t)
{
    const struct trap_twin *right = &t->twin[TRAP_RIGHT], *leaky = &t->twin[TRAP_LEAKY];
    buffer_text(b,
                "<h2>Who noticed, and when</h2>\n<p>The quick detectors look before the first step, all of them after "
                "the last.</p>\n<div class=\"wide\"><table>\n<tr><th>detector</th><th>mask right</th><th>leaky</th>"
                "<th class=\"text\">what it saw in the leaky twin</th></tr>\n");
    for (size_t i = 0; i < leaky->verdict.lines && i < right->verdict.lines; i++) {
        const struct verdict_line *line = &leaky->verdict.line[i];
        buffer_print(b, "<tr><td>%s</td>", line->detector);
        verdict_cell(b, right, &right->verdict.line[i]);
        verdict_cell(b, leaky, line);
        buffer_text(b, "<td class=\"text\">");
        text(b, line->evidence);
        buffer_text(b, "</td></tr>\n");
    }
    buffer_text(b, "</table></div>\n");
}

static void again_section(struct buffer *b, const struct trap *t, const char *command)
{
    const struct trap_settings *s = &t->settings;
    const struct config *c = &s->config;
    buffer_text(b, "<h2>See it yourself</h2>\n<pre>");
    text(b, command);
    buffer_print(
        b,
        "</pre>\n<p class=\"faint\">%zu layers, %zu heads, %zu channels, context %zu: %zu parameters; %zu steps "
        "of %zu windows, learning rate %g to %g; seed %llu, %d threads. The text has %zu symbols, %zu distinct, "
        "and the fingerprint %s. Losses are in nats per symbol, means over %zu windows of each part of the text. "
        "Loss as it writes: on the same validation symbols, each predicted from what stands before it "
        "alone.</p>\n",
        c->n_layer, c->n_head, c->n_embd, c->block_size, t->twin[0].model.table.size, s->schedule.steps, s->batch_size,
        s->schedule.lr, s->schedule.min_lr, (unsigned long long)s->seed, s->team.threads, t->data->count, c->vocab_size,
        t->data->hash, t->windows);
}

void trap_page(struct buffer *b, const struct trap *t, const char *command)
{
    double *x = steps_of(t), *y = curves_of(t);
    if (!x || !y) {
        b->failed = true;
    } else {
        page_begin(b, "The trap: a model that peeks");
        lesson_section(b, t);
        buffer_text(b, "<div style=\"max-width:44rem\">\n");
        plot_losses(b, t, x, y, false);
        buffer_text(b, "</div>\n");
        samples_section(b, t);
        verdicts_section(b, t);
        buffer_text(b, "<h2>What the heads do</h2>\n<div class=\"grid\">\n");
        plot_gap(b, t, x, y);
        plot_heads(b, t, x, TRAP_LEAKY, true);
        plot_heads(b, t, x, TRAP_RIGHT, false);
        plot_heads(b, t, x, TRAP_LEAKY, false);
        buffer_text(b, "</div>\n");
        maps_section(b, t);
        again_section(b, t, command);
        page_end(b);
    }
    free(x);
    free(y);
}
