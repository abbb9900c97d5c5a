#include "cli/inspect_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/buffer.h"
#include "report/shades.h"

#define FEWEST_POSITIONS 8 /* are shown however narrow the terminal is */
#define NOTE_SIZE 96

/* A label between left-to-right marks, which take no column, where its script runs the other way: a terminal that sets
 * such scripts in their direction would turn the row round, or the columns. */
#define ISOLATED_SIZE (TOKENIZER_LABEL_SIZE + 6)
static void isolate(char out[ISOLATED_SIZE], const char *label)
{
    uint32_t code = 0;
    (void)utf8_decode(&code, (const uint8_t *)label, strlen(label));
    const char *mark = utf8_right_to_left(code) ? "\u200e" : "";
    snprintf(out, ISOLATED_SIZE, "%s%s%s", mark, label, mark);
}

/* A grid of shades in the making: labels as strings of known width, and numbers. The first column is what lies before
 * the window, when there is anything. */
struct grid {
    size_t rows, cols, first; /* cols includes the one before */
    bool before;
    unsigned cell, margin;
    double *weights;
    size_t *past;
    char (*label)[64], (*mark)[ISOLATED_SIZE + 2], (*note)[NOTE_SIZE];
    const char **labels, **marks, **notes;
};

static void grid_free(struct grid *g)
{
    free(g->weights);
    free(g->past);
    free(g->label);
    free(g->mark);
    free(g->note);
    free(g->labels);
    free(g->marks);
    free(g->notes);
}

static bool grid_make(struct grid *g, size_t rows, const struct inspect_window *w)
{
    *g = (struct grid){.rows = rows, .first = w->first, .before = w->first > 0, .cell = w->cell};
    g->cols = w->n + g->before;
    g->weights = calloc(rows * g->cols, sizeof *g->weights);
    g->past = calloc(rows, sizeof *g->past);
    g->label = calloc(rows, sizeof *g->label);
    g->note = calloc(rows, sizeof *g->note);
    g->mark = calloc(g->cols, sizeof *g->mark);
    g->labels = calloc(rows, sizeof *g->labels);
    g->notes = calloc(rows, sizeof *g->notes);
    g->marks = calloc(g->cols, sizeof *g->marks);
    if (!g->weights || !g->past || !g->label || !g->note || !g->mark || !g->labels || !g->notes || !g->marks)
        return false;
    for (size_t i = 0; i < rows; i++) {
        g->labels[i] = g->label[i];
        g->notes[i] = g->note[i];
    }
    for (size_t j = 0; j < g->cols; j++)
        g->marks[j] = g->mark[j];
    return true;
}

/* Pads to `columns`. */
static void pad(char *text, size_t room, size_t columns)
{
    size_t length = strlen(text);
    for (size_t have = utf8_columns(text); have < columns && length + 1 < room; have++)
        text[length++] = ' ';
    text[length] = '\0';
}

/* What stands for a symbol above a cell: itself or its escape where there is room, else a sign for it. */
static void make_mark(char out[ISOLATED_SIZE + 2], const char *label, unsigned cell)
{
    const char *text = label;
    if (utf8_columns(label) > cell)
        text = strcmp(label, "\\n") == 0   ? "\u21b5"
               : strcmp(label, "\\t") == 0 ? "\u21e5"
               : strcmp(label, "\\r") == 0 ? "\u240d"
                                           : "\u25a1";
    isolate(out, text);
    pad(out, ISOLATED_SIZE + 2, cell);
}

static void make_marks(struct grid *g, const struct inspection *n)
{
    if (g->before)
        make_mark(g->mark[0], "\u2026", g->cell);
    for (size_t j = g->before; j < g->cols; j++)
        make_mark(g->mark[j], n->label[g->first + j - g->before], g->cell);
}

/* Row r of the grid: what position i of a head looks at. */
static void set_row(struct grid *g, size_t r, const struct inspection *n, size_t layer, size_t head, size_t i)
{
    const real *p = attention_map_weights(&n->map, layer, head) + i * n->T;
    double *row = g->weights + r * g->cols;
    for (size_t j = 0; j < g->first; j++)
        row[0] += (double)p[j];
    for (size_t j = g->before; j < g->cols; j++)
        row[j] = (double)p[g->first + j - g->before];
    const size_t past = i + 1 + g->before; /* columns, were they to begin at position 0 */
    g->past[r] = past > g->first ? past - g->first : 0;
}

static void grid_print(struct buffer *b, const struct grid *g, bool colour)
{
    const struct shades s = {.weights = g->weights,
                             .rows = g->rows,
                             .cols = g->cols,
                             .past = g->past,
                             .cell = g->cell,
                             .margin = g->margin,
                             .row_label = g->labels,
                             .col_mark = g->marks,
                             .row_note = g->notes,
                             .colour = colour};
    shades_print(b, &s);
}

static enum status put(struct terminal *out, struct buffer *b, struct error *err)
{
    const enum status s = buffer_check(b, "inspect", err);
    if (!s && b->count > 0)
        fwrite(b->bytes, 1, b->count, out->stream);
    buffer_free(b);
    return s;
}

static size_t digits(size_t n)
{
    size_t d = 1;
    for (; n >= 10; n /= 10)
        d++;
    return d;
}

static size_t widest_label(const struct inspection *n)
{
    size_t most = 1;
    for (size_t i = 0; i < n->T; i++) {
        const size_t columns = utf8_columns(n->label[i]);
        most = columns > most ? columns : most;
    }
    return most;
}

/* An emoji or an ideograph takes two columns of a terminal. */
static bool has_wide(const struct inspection *n)
{
    for (size_t i = 0; i < n->T; i++)
        if (utf8_columns(n->label[i]) == 2 && n->label[i][0] != '\\' && n->label[i][0] != '#')
            return true;
    return false;
}

struct inspect_window inspect_view_fit(const struct inspection *n, size_t width, size_t reserved, size_t from,
                                       size_t end)
{
    const size_t room = width > reserved + FEWEST_POSITIONS ? width - reserved : FEWEST_POSITIONS;
    const bool last = from == INSPECT_LAST;
    const size_t wanted = last ? end : end - from;
    struct inspect_window w = {.cell = has_wide(n) || 2 * (wanted + (!last && from > 0)) <= room ? 2 : 1};
    size_t fits = room / w.cell;
    if (last ? wanted > fits : from > 0)
        fits--; /* the column of what lies before */
    w.n = wanted < fits ? wanted : fits;
    w.first = last ? end - w.n : from;
    return w;
}

static void make_position_labels(struct grid *g, const struct inspection *n, const struct inspect_window *w)
{
    const size_t number = digits(n->T), label = widest_label(n);
    g->margin = (unsigned)(number + label + 2);
    for (size_t r = 0; r < w->n; r++) {
        char symbol[ISOLATED_SIZE];
        isolate(symbol, n->label[w->first + r]);
        snprintf(g->label[r], sizeof g->label[r], "%*zu %s", (int)number, w->first + r, symbol);
        pad(g->label[r], sizeof g->label[r], g->margin);
    }
}

static void fill_map(struct grid *g, const struct inspection *n, size_t layer, size_t head)
{
    const double *entropy = n->row_entropy + (layer * n->H + head) * n->T;
    memset(g->weights, 0, g->rows * g->cols * sizeof *g->weights);
    for (size_t r = 0; r < g->rows; r++) {
        const size_t i = g->first + r;
        set_row(g, r, n, layer, head, i);
        if (isnan(entropy[i]))
            snprintf(g->note[r], NOTE_SIZE, "    -");
        else
            snprintf(g->note[r], NOTE_SIZE, " %.2f", entropy[i]);
    }
}

#define TITLE_SIZE 64

/* "previous-character, entropy 0.58" */
static void say_kind(char out[TITLE_SIZE], const struct inspection_head *h)
{
    if (isnan(h->map.entropy))
        snprintf(out, TITLE_SIZE, "%s", head_kind_name(h->kind));
    else
        snprintf(out, TITLE_SIZE, "%s, entropy %.2f", head_kind_name(h->kind), h->map.entropy);
}

static void one_map(struct buffer *b, struct grid *g, const struct inspection *n, size_t layer, size_t head,
                    bool colour)
{
    char kind[TITLE_SIZE];
    say_kind(kind, &n->head[layer * n->H + head]);
    buffer_print(b, "\nlayer %zu head %zu: %s\n", layer, head, kind);
    fill_map(g, n, layer, head);
    grid_print(b, g, colour);
}

/* Columns right of the cells: " 0.43", and one that stays free. */
#define ENTROPY_COLUMNS 6

/* --- maps side by side --- */

#define GAP 2
#define MOST_ACROSS 16

/* How many heads of a layer a screen has room for, and in *width the columns of each, with the gap. */
static size_t heads_across(size_t *width, const struct terminal *out, const struct grid *g, const struct inspection *n,
                           const struct inspection_choice *c)
{
    size_t widest = g->margin + g->cols * g->cell + ENTROPY_COLUMNS - 1;
    for (size_t layer = c->layer_begin; layer < c->layer_end; layer++)
        for (size_t head = c->head_begin; head < c->head_end; head++) {
            char kind[TITLE_SIZE];
            say_kind(kind, &n->head[layer * n->H + head]);
            widest = strlen(kind) > widest ? strlen(kind) : widest;
        }
    *width = widest + GAP;
    const size_t heads = c->head_end - c->head_begin, room = out->screen ? (out->width + GAP) / *width : 1;
    const size_t across = room < heads ? room : heads;
    return across < 1 ? 1 : across < MOST_ACROSS ? across : MOST_ACROSS;
}

/* A title over each map, in two lines: what it is, and its kind. */
static void put_titles(struct buffer *b, const struct inspection *n, size_t layer, size_t head, size_t maps,
                       size_t width)
{
    char text[TITLE_SIZE];
    for (size_t line = 0; line < 2; line++)
        for (size_t m = 0; m < maps; m++) {
            if (line == 0)
                snprintf(text, sizeof text, "layer %zu head %zu", layer, head + m);
            else
                say_kind(text, &n->head[layer * n->H + head + m]);
            buffer_print(b, "%-*s%s", m + 1 < maps ? (int)width : 0, text, m + 1 < maps ? "" : "\n");
        }
}

/* Maps of the same grid, line by line: one of marks, then the rows with their notes. */
static void join(struct buffer *b, const struct buffer *map, size_t maps, const struct grid *g, size_t width)
{
    const char *at[MOST_ACROSS];
    for (size_t m = 0; m < maps; m++) {
        at[m] = map[m].bytes ? map[m].bytes : "";
        b->failed |= map[m].failed;
    }
    for (size_t line = 0; line <= g->rows; line++) {
        const size_t used = g->margin + g->cols * g->cell + (line > 0 ? ENTROPY_COLUMNS - 1 : 0);
        for (size_t m = 0; m < maps; m++) {
            const size_t length = strcspn(at[m], "\n");
            buffer_put(b, at[m], length);
            at[m] += length + (at[m][length] != '\0');
            if (m + 1 < maps)
                buffer_print(b, "%*s", (int)(width - used), "");
        }
        buffer_text(b, "\n");
    }
}

static void maps_beside(struct buffer *b, struct grid *g, const struct inspection *n, size_t layer, size_t head,
                        size_t maps, size_t width, bool colour)
{
    struct buffer map[MOST_ACROSS] = {{0}};
    buffer_text(b, "\n");
    put_titles(b, n, layer, head, maps, width);
    for (size_t m = 0; m < maps; m++) {
        fill_map(g, n, layer, head + m);
        grid_print(&map[m], g, colour);
    }
    join(b, map, maps, g, width);
    for (size_t m = 0; m < maps; m++)
        buffer_free(&map[m]);
}

static enum status show_maps(struct terminal *out, struct grid *g, const struct inspection *n,
                             const struct inspection_choice *c, struct error *err)
{
    size_t width;
    const size_t across = heads_across(&width, out, g, n, c);
    enum status s = STATUS_OK;
    for (size_t layer = c->layer_begin; layer < c->layer_end; layer++)
        for (size_t head = c->head_begin, maps; head < c->head_end && !s; head += maps) {
            struct buffer b = {0};
            maps = c->head_end - head < across ? c->head_end - head : across;
            if (across == 1)
                one_map(&b, g, n, layer, head, out->many);
            else
                maps_beside(&b, g, n, layer, head, maps, width, out->many);
            s = put(out, &b, err);
        }
    return s;
}

#define MOST_LINES 500 /* of all maps on a screen, unless a place or one head was asked for */
#define FEWEST_ROWS 16

/* Thirty-six maps of a long text would run through the screen for minutes: they show its end. */
static struct inspect_window window_of(const struct terminal *out, const struct inspection *n,
                                       const struct inspection_choice *c, size_t from)
{
    const size_t reserved = digits(n->T) + widest_label(n) + 2 + ENTROPY_COLUMNS;
    const struct inspect_window w = inspect_view_fit(n, out->width, reserved, from, n->T);
    const size_t maps = (c->layer_end - c->layer_begin) * (c->head_end - c->head_begin);
    const size_t rows = MOST_LINES / maps > FEWEST_ROWS ? MOST_LINES / maps : FEWEST_ROWS;
    if (!out->screen || from != INSPECT_LAST || maps == 1 || w.n <= rows)
        return w;
    return inspect_view_fit(n, out->width, reserved, n->T - rows, n->T);
}

enum status inspect_view_maps(struct terminal *out, const struct inspection *n, const struct inspection_choice *c,
                              size_t from, struct error *err)
{
    const struct inspect_window w = window_of(out, n, c, from);
    struct grid g;
    enum status s = STATUS_OK;
    if (!grid_make(&g, w.n, &w))
        s = fail(err, STATUS_MEMORY, "inspect: out of memory");
    if (!s) {
        struct buffer b = {0};
        make_marks(&g, n);
        make_position_labels(&g, n, &w);
        buffer_text(&b, "rows look at columns; right of each its entropy (1: all alike, 0: one alone)\n");
        shades_legend(&b, out->many);
        s = put(out, &b, err);
    }
    if (!s)
        s = show_maps(out, &g, n, c, err);
    if (!s && w.n < n->T) {
        fputc('\n', out->stream);
        terminal_entry(out, "shown: ",
                       "positions %zu to %zu of 0 to %zu, and under \u2026 what lies before them; --from shows others, "
                       "--layer and --head more of one map",
                       w.first, w.first + w.n - 1, n->T - 1);
    }
    grid_free(&g);
    return s;
}

/* --- one token ------------------------------------------------------------------------------------- */

#define LOOKED_AT 3 /* symbols that are named, with their weights */

/* The largest weights of the row: positions, largest first; of equals the earlier. */
static size_t largest(size_t out[LOOKED_AT], const real *p, size_t T)
{
    size_t found = 0;
    for (size_t j = 0; j < T; j++) {
        size_t at = found;
        while (at > 0 && p[j] > p[out[at - 1]])
            at--;
        if (p[j] <= 0 || at == LOOKED_AT)
            continue;
        found += found < LOOKED_AT;
        for (size_t k = found - 1; k > at; k--)
            out[k] = out[k - 1];
        out[at] = j;
    }
    return found;
}

static void note_largest(char note[NOTE_SIZE], const struct inspection *n, const real *p)
{
    size_t top[LOOKED_AT], length = 0;
    const size_t found = largest(top, p, n->T);
    for (size_t k = 0; k < found && length < NOTE_SIZE; k++) {
        char symbol[ISOLATED_SIZE];
        isolate(symbol, n->label[top[k]]);
        length +=
            (size_t)snprintf(note + length, NOTE_SIZE - length, "  %zu:%s %.2f", top[k], symbol, (double)p[top[k]]);
    }
}

enum status inspect_view_token(struct terminal *out, const struct inspection *n, const struct inspection_choice *c,
                               size_t token, struct error *err)
{
    const size_t notes = LOOKED_AT * (8 + digits(n->T) + widest_label(n)), margin = 10;
    const struct inspect_window w = inspect_view_fit(n, out->width, margin + notes, INSPECT_LAST, token + 1);
    struct grid g;
    enum status s = STATUS_OK;
    if (!grid_make(&g, (c->layer_end - c->layer_begin) * (c->head_end - c->head_begin), &w))
        s = fail(err, STATUS_MEMORY, "inspect: out of memory");
    struct buffer b = {0};
    if (!s) {
        make_marks(&g, n);
        g.margin = (unsigned)margin;
        size_t r = 0;
        for (size_t layer = c->layer_begin; layer < c->layer_end; layer++)
            for (size_t head = c->head_begin; head < c->head_end; head++, r++) {
                snprintf(g.label[r], sizeof g.label[r], "%zu.%zu", layer, head);
                pad(g.label[r], sizeof g.label[r], margin);
                set_row(&g, r, n, layer, head, token);
                note_largest(g.note[r], n, attention_map_weights(&n->map, layer, head) + token * n->T);
            }
        char symbol[ISOLATED_SIZE];
        isolate(symbol, n->label[token]);
        buffer_print(&b, "what %s at position %zu looks at, by layer.head; right of it the largest weights\n", symbol,
                     token);
        shades_legend(&b, out->many);
        grid_print(&b, &g, out->many);
        s = put(out, &b, err);
    }
    if (!s && w.first > 0)
        terminal_entry(out, "shown: ", "positions %zu to %zu, and under \u2026 what lies before them", w.first,
                       w.first + w.n - 1);
    grid_free(&g);
    return s;
}

/* --- the table --------------------------------------------------------------------------------------- */

static void print_head(struct terminal *out, const struct inspection *n, size_t layer, size_t head)
{
    const struct inspection_head *h = &n->head[layer * n->H + head];
    char name[48], more[40] = "", evidence[HEAD_KIND_EVIDENCE];
    snprintf(name, sizeof name, "%zu.%zu", layer, head);
    if (n->ablation.head) {
        const struct ablation_head *a = &n->ablation.head[layer * n->H + head];
        if (isnan(a->error))
            snprintf(more, sizeof more, "  %+.4f", a->more);
        else
            snprintf(more, sizeof more, "  %+.4f \u00b1 %.4f", a->more, a->error);
    }
    head_kind_evidence(evidence, &h->measure, h->kind);
    char entropy[16] = "-";
    if (!isnan(h->map.entropy))
        snprintf(entropy, sizeof entropy, "%.2f", h->map.entropy);
    fprintf(out->stream, "%-7s %-22s %7s %9.3g%s\n", name, head_kind_name(h->kind), entropy, h->map.future_mass, more);
    terminal_entry(out, "        ", "%s", evidence);
}

static bool is_there(enum head_kind kind, const struct inspection *n, const struct inspection_choice *c)
{
    for (size_t layer = c->layer_begin; layer < c->layer_end; layer++)
        for (size_t head = c->head_begin; head < c->head_end; head++)
            if (n->head[layer * n->H + head].kind == kind)
                return true;
    return false;
}

static void print_meanings(struct terminal *out, const struct inspection *n, const struct inspection_choice *c)
{
    int widest = 0;
    for (int kind = 0; kind < HEAD_KINDS; kind++) {
        const int length = (int)strlen(head_kind_name((enum head_kind)kind));
        if (is_there((enum head_kind)kind, n, c) && length > widest)
            widest = length;
    }
    for (int kind = 0; kind < HEAD_KINDS; kind++) {
        char label[48];
        snprintf(label, sizeof label, "%-*s  ", widest, head_kind_name((enum head_kind)kind));
        if (is_there((enum head_kind)kind, n, c))
            terminal_entry(out, label, "%s", head_kind_says((enum head_kind)kind));
    }
}

void inspect_view_heads(struct terminal *out, const struct inspection *n, const struct inspection_choice *c)
{
    fprintf(out->stream, "%-7s %-22s %7s %9s%s\n", "head", "kind", "entropy", "on future",
            n->ablation.head ? "  loss without it" : "");
    for (size_t layer = c->layer_begin; layer < c->layer_end; layer++)
        for (size_t head = c->head_begin; head < c->head_end; head++)
            print_head(out, n, layer, head);
    fputc('\n', out->stream);
    print_meanings(out, n, c);
    const char *where = n->validation ? "of the run's validation part" : "of the text";
    if (n->ablation.head)
        terminal_entry(out, "", "kinds and losses: %zu window%s of %zu symbols %s; loss with all heads %.4f",
                       n->windows, n->windows == 1 ? "" : "s", n->window_T, where, n->ablation.loss);
    else if (n->windows > 0)
        terminal_entry(out, "", "kinds: %zu window%s of %zu symbols %s", n->windows, n->windows == 1 ? "" : "s",
                       n->window_T, where);
}
