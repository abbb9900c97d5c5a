#include "cli/inspect_page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/inspect_view.h"
#include "report/escape.h"
#include "report/heat.h"
#include "report/page.h"
#include "report/picture.h"

/* The positions that are drawn, and room for one map of them. */
struct part {
    size_t first, n;
    double *weights;     /* (n,n) */
    const char **labels; /* (n) */
};

static bool part_make(struct part *p, const struct inspection *n, size_t from)
{
    const size_t wanted = from == INSPECT_LAST ? n->T : n->T - from;
    p->n = wanted < HEAT_LARGEST ? wanted : HEAT_LARGEST;
    p->first = from == INSPECT_LAST ? n->T - p->n : from;
    p->weights = malloc(p->n * p->n * sizeof *p->weights);
    p->labels = malloc(p->n * sizeof *p->labels);
    for (size_t i = 0; p->labels && i < p->n; i++)
        p->labels[i] = n->label[p->first + i];
    return p->weights && p->labels;
}

static void part_free(struct part *p)
{
    free(p->weights);
    free(p->labels);
}

static void draw_map(struct buffer *b, struct part *p, const struct inspection *n, size_t layer, size_t head,
                     bool labels, double size, bool alone)
{
    const struct inspection_head *h = &n->head[layer * n->H + head];
    const real *w = attention_map_weights(&n->map, layer, head) + p->first * n->T + p->first;
    char title[80], about[200];
    for (size_t i = 0; i < p->n * p->n; i++)
        p->weights[i] = (double)w[i / p->n * n->T + i % p->n];
    snprintf(title, sizeof title, "%zu.%zu %s", layer, head, head_kind_name(h->kind));
    snprintf(about, sizeof about,
             "Attention map of layer %zu head %zu, positions %zu to %zu of 0 to %zu: rows look at columns. It %s.",
             layer, head, p->first, p->first + p->n - 1, n->T - 1, head_kind_says(h->kind));
    const struct heat heat = {.title = title,
                              .description = about,
                              .weights = p->weights,
                              .T = p->n,
                              .labels = labels ? p->labels : NULL,
                              .size = size,
                              .alone = alone};
    heat_svg(b, &heat);
}

static size_t heads_of(const struct inspection_choice *c)
{
    return (c->layer_end - c->layer_begin) * (c->head_end - c->head_begin);
}

/* --- the picture ----------------------------------------------------------------------------------- */

#define SMALL 190.0 /* a map of the grid, in units */

/* A row a layer, a column a head. */
static void draw_grid(struct buffer *b, struct part *p, const struct inspection *n, const struct inspection_choice *c)
{
    const double step = SMALL + 14, top = 24;
    const size_t columns = c->head_end - c->head_begin;
    size_t rows = c->layer_end - c->layer_begin;
    if (rows * columns > INSPECT_MOST_MAPS)
        rows = columns < INSPECT_MOST_MAPS ? INSPECT_MOST_MAPS / columns : 1;
    char title[160];
    snprintf(title, sizeof title, "Attention, layer.head; positions %zu to %zu of 0 to %zu%s", p->first,
             p->first + p->n - 1, n->T - 1, rows * columns < heads_of(c) ? "; not all layers are drawn" : "");
    picture_begin(b, (double)columns * step + 10, (double)rows * (step + 18) + top, true, title,
                  "Rows look at columns; the stronger the colour the more, on a scale of square roots.");
    picture_text(b, 8, 15, "faint", title);
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < columns; k++) {
            buffer_print(b, "<g transform=\"translate(%g %g)\">\n", 6 + (double)k * step,
                         top + (double)r * (step + 18));
            draw_map(b, p, n, c->layer_begin + r, c->head_begin + k, false, SMALL, false);
            buffer_text(b, "</g>\n");
        }
    picture_end(b);
}

void inspect_page_picture(struct buffer *b, const struct inspection *n, const struct inspection_choice *c, size_t from)
{
    struct part p = {0};
    if (!part_make(&p, n, from))
        b->failed = true;
    else if (heads_of(c) == 1)
        draw_map(b, &p, n, c->layer_begin, c->head_begin, true, 640, true);
    else
        draw_grid(b, &p, n, c);
    part_free(&p);
}

/* --- the page -------------------------------------------------------------------------------------- */

static void put_text(struct buffer *b, const char *text)
{
    escape_text(b, text, strlen(text));
}

/* Labels one after another; a line end is seen, and ends the line. */
static void text_section(struct buffer *b, const struct inspection *n)
{
    buffer_print(b, "<h2>The text</h2>\n<p>%zu symbols, each by the name it has below", n->T);
    if (n->before > 0)
        buffer_print(b, "; the context holds no more, so %zu before them are left out", n->before);
    buffer_text(b, ".</p>\n<pre>");
    for (size_t i = 0; i < n->T; i++) {
        put_text(b, n->label[i]);
        if (strcmp(n->label[i], "\\n") == 0)
            buffer_text(b, "\n");
        else if (n->saved.checkpoint.tokenizer.kind == TOKENIZER_IDS)
            buffer_text(b, " ");
    }
    buffer_text(b, "</pre>\n");
}

static void table_row(struct buffer *b, const struct inspection *n, size_t layer, size_t head)
{
    const struct inspection_head *h = &n->head[layer * n->H + head];
    char evidence[HEAD_KIND_EVIDENCE];
    head_kind_evidence(evidence, &h->measure, h->kind);
    buffer_print(b, "<tr><td>%zu.%zu</td><td class=\"text\"><b>%s</b>: %s; ", layer, head, head_kind_name(h->kind),
                 head_kind_says(h->kind));
    put_text(b, evidence);
    buffer_text(b, "</td>");
    if (isnan(h->map.entropy))
        buffer_text(b, "<td>&ndash;</td>");
    else
        buffer_print(b, "<td>%.2f</td>", h->map.entropy);
    buffer_print(b, "<td class=\"%s\">%.3g</td>", h->map.future_mass > 0 ? "bad" : "good", h->map.future_mass);
    if (n->ablation.head) {
        const struct ablation_head *a = &n->ablation.head[layer * n->H + head];
        buffer_print(b, "<td>%+.4f", a->more);
        if (!isnan(a->error))
            buffer_print(b, " &plusmn; %.4f", a->error);
        buffer_text(b, "</td>");
    }
    buffer_text(b, "</tr>\n");
}

static void table_section(struct buffer *b, const struct inspection *n, const struct inspection_choice *c)
{
    buffer_text(b, "<h2>The heads</h2>\n<div class=\"wide\"><table>\n<tr><th>head</th><th class=\"text\">kind</th>"
                   "<th>entropy</th><th>on the future</th>");
    buffer_text(b, n->ablation.head ? "<th>loss without it</th></tr>\n" : "</tr>\n");
    for (size_t layer = c->layer_begin; layer < c->layer_end; layer++)
        for (size_t head = c->head_begin; head < c->head_end; head++)
            table_row(b, n, layer, head);
    buffer_print(b,
                 "</table></div>\n<p class=\"faint\">Entropy and weight on the future are of this text: 1 looks at all "
                 "symbols alike, 0 at one alone. ");
    if (n->windows > 0)
        buffer_print(b, "Kinds%s are measured on %zu windows of %zu symbols of %s. ",
                     n->ablation.head ? " and losses" : "", n->windows, n->window_T,
                     n->validation ? "the run's validation part" : "the text");
    if (n->ablation.head)
        buffer_print(b,
                     "Loss without it: nats per symbol above the %.4f of the whole model when the head's output is "
                     "removed, with its standard error. ",
                     n->ablation.loss);
    buffer_text(b, "</p>\n");
}

static void maps_section(struct buffer *b, const struct inspection *n, const struct inspection_choice *c, size_t from)
{
    struct part p = {0};
    if (!part_make(&p, n, from)) {
        b->failed = true;
        part_free(&p);
        return;
    }
    buffer_text(b,
                "<h2>Who looks at whom</h2>\n<p>A row is the symbol that looks, a column the one that is looked at; "
                "the stronger the colour the more, on a scale of square roots; less than a thousandth is not drawn.");
    if (p.n < n->T)
        buffer_print(b, " Positions %zu to %zu of 0 to %zu are drawn: <code>--from</code> chooses others.", p.first,
                     p.first + p.n - 1, n->T - 1);
    buffer_text(b, "</p>\n<div class=\"grid\">\n");
    size_t drawn = 0;
    for (size_t layer = c->layer_begin; layer < c->layer_end; layer++)
        for (size_t head = c->head_begin; head < c->head_end && drawn < INSPECT_MOST_MAPS; head++, drawn++)
            draw_map(b, &p, n, layer, head, true, 340, false);
    buffer_text(b, "</div>\n");
    if (drawn < heads_of(c))
        buffer_print(b, "<p class=\"faint\">The first %zu of %zu heads: <code>--layer</code> chooses others.</p>\n",
                     drawn, heads_of(c));
    part_free(&p);
}

void inspect_page(struct buffer *b, const struct inspection *n, const struct inspection_choice *c, size_t from)
{
    page_begin(b, "Inside the attention");
    const struct config *m = &n->saved.checkpoint.model.config;
    buffer_text(b, "<p class=\"faint\">");
    put_text(b, n->saved.checkpoint.path);
    buffer_print(b, ": %zu layers, %zu heads, %zu channels, context %zu</p>\n", m->n_layer, m->n_head, m->n_embd,
                 m->block_size);
    text_section(b, n);
    table_section(b, n, c);
    maps_section(b, n, c, from);
    page_end(b);
}
