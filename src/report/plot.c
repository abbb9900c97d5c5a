#include "report/plot.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/picture.h"

#define LEFT 46.0
#define RIGHT 14.0
#define BOTTOM 38.0
#define LINE 17.0   /* of the title and the legend */
#define LETTER 6.4  /* how wide one is, on average */
#define DIGIT 8.0   /* how wide one is at most */
#define SAMPLE 26.0 /* a piece of the series' line, in the legend */

static const char *const dash_patterns[] = {"", "7 4", "2 4", "8 3 2 3"};

/* An axis: from a value to a place. */
struct axis {
    double min, max; /* of the values; of their logarithms on a log axis */
    double from, to; /* places of min and max */
    bool logarithmic;
};

static double place(const struct axis *a, double value)
{
    const double v = a->logarithmic ? log10(value) : value;
    return a->from + (v - a->min) / (a->max - a->min) * (a->to - a->from);
}

static bool shown(const struct axis *a, double value)
{
    return isfinite(value) && (!a->logarithmic || value > 0);
}

/* 1, 2 or 5 times a power of ten: the distance of about `count` ticks over a range. */
static double tick_distance(double range, double count)
{
    const double rough = range / count, power = pow(10, floor(log10(rough)));
    const double digit = rough / power;
    return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

static void widen(struct axis *a, double value)
{
    if (!shown(a, value))
        return;
    const double v = a->logarithmic ? log10(value) : value;
    a->min = fmin(a->min, v);
    a->max = fmax(a->max, v);
}

static double value_at(const struct plot_series *s, size_t i)
{
    return s->y[i * (s->stride ? s->stride : 1)];
}

/* Never empty, and with whole ticks at both ends of a linear one. */
static struct axis y_axis(const struct plot *p, double from, double to)
{
    struct axis a = {(double)INFINITY, -(double)INFINITY, from, to, p->log_y};
    for (size_t s = 0; s < p->n_series; s++)
        for (size_t i = 0; i < p->n; i++)
            widen(&a, value_at(&p->series[s], i));
    for (size_t l = 0; l < p->n_levels; l++)
        widen(&a, p->levels[l].y);
    if (p->y_min < p->y_max) {
        widen(&a, p->y_min);
        widen(&a, p->y_max);
    }
    if (!(a.min <= a.max))
        a.min = a.max = 0;
    if (a.max - a.min < 1e-9 * fmax(1, fabs(a.max))) {
        a.min -= 0.5;
        a.max += 0.5;
    }
    if (!a.logarithmic) {
        const double d = tick_distance(a.max - a.min, 5);
        a.min = floor(a.min / d + 1e-9) * d;
        a.max = ceil(a.max / d - 1e-9) * d;
    }
    return a;
}

static void y_tick(struct buffer *b, const struct plot *p, const struct axis *y, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%g", value);
    const double at = place(y, value);
    buffer_print(b, "<path class=\"grid\" d=\"M%g %.1fH%g\"/>\n", LEFT, at, p->width - RIGHT);
    picture_text(b, LEFT - 6, at + 4, "end faint", text);
}

static void y_ticks(struct buffer *b, const struct plot *p, const struct axis *y)
{
    if (!y->logarithmic) {
        const double d = tick_distance(y->max - y->min, 5);
        for (long k = lround(ceil(y->min / d - 1e-9)); (double)k * d <= y->max + 1e-9 * d; k++)
            y_tick(b, p, y, (double)k * d);
        return;
    }
    static const double steps[] = {1, 2, 5};
    const size_t count = y->max - y->min > 2.5 ? 1 : 3;
    for (int power = (int)floor(y->min); power <= (int)ceil(y->max); power++)
        for (size_t i = 0; i < count; i++) {
            const double value = steps[i] * pow(10, power);
            if (log10(value) >= y->min - 1e-9 && log10(value) <= y->max + 1e-9)
                y_tick(b, p, y, value);
        }
}

/* The number stands below its tick, or beside it where the picture ends. */
static void x_tick(struct buffer *b, const struct plot *p, const struct axis *x, double value, double bottom)
{
    const double at = place(x, value);
    char text[32];
    const int digits = snprintf(text, sizeof text, "%g", value);
    buffer_print(b, "<path class=\"grid\" d=\"M%.1f %.1fv4\"/>\n", at, bottom);
    if (at + DIGIT * digits / 2 > p->width)
        picture_text(b, p->width - 1, bottom + 16, "end faint", text);
    else
        picture_text(b, at, bottom + 16, "mid faint", text);
}

static void x_ticks(struct buffer *b, const struct plot *p, const struct axis *x, double bottom)
{
    const double d = x->logarithmic ? 1 : tick_distance(x->max - x->min, 6);
    for (size_t i = 0; x->logarithmic && i < p->n; i++)
        x_tick(b, p, x, p->x[i], bottom);
    for (long k = lround(ceil(x->min / d - 1e-9)); !x->logarithmic && (double)k * d <= x->max + 1e-9 * d; k++)
        x_tick(b, p, x, (double)k * d, bottom);
    picture_text(b, (x->from + x->to) / 2, bottom + 32, "mid faint", p->x_label);
}

static void stroke(struct buffer *b, const struct plot_series *s)
{
    buffer_print(b, "<path class=\"line%s\" style=\"stroke:var(--s%u)\"", s->thin ? " thin" : "",
                 s->look % PICTURE_COLOURS);
    if (s->dashes % 4)
        buffer_print(b, " stroke-dasharray=\"%s\"", dash_patterns[s->dashes % 4]);
    buffer_text(b, " d=\"");
}

static void draw_series(struct buffer *b, const struct plot *p, const struct plot_series *s, const struct axis *x,
                        const struct axis *y)
{
    bool pen = false;
    stroke(b, s);
    for (size_t i = 0; i < p->n; i++) {
        const double v = value_at(s, i);
        if (shown(y, v)) /* a point alone is a dot: the line goes nowhere, its round ends are seen */
            buffer_print(b, pen ? "L%.1f %.1f" : "M%.1f %.1fh0", place(x, p->x[i]), place(y, v));
        pen = shown(y, v);
    }
    buffer_text(b, "\"/>\n");
}

/* Entries in a row, then in the next where there is no room; returns the height. Without a buffer it only measures. */
static double legend(struct buffer *b, const struct plot *p, double top)
{
    double at = LEFT, height = 0;
    for (size_t i = 0; i < p->n_series; i++) {
        const struct plot_series *s = &p->series[i];
        if (!s->label)
            continue;
        const double width = SAMPLE + 6 + LETTER * (double)strlen(s->label) + 12;
        if (height == 0 || at + width > p->width) {
            at = LEFT;
            height += LINE;
        }
        if (b) {
            stroke(b, s);
            buffer_print(b, "M%.1f %.1fh%g\"/>\n", at, top + height - 9, SAMPLE);
            picture_text(b, at + SAMPLE + 6, top + height - 5, "", s->label);
        }
        at += width;
    }
    return height;
}

void plot_svg(struct buffer *b, const struct plot *p)
{
    assert(p->n > 0);
    const double head = 8 + LINE, top = head + legend(NULL, p, head) + LINE + 4, bottom = p->height - BOTTOM;
    struct axis x = {p->x[0], p->x[p->n - 1], LEFT, p->width - RIGHT, p->log_x};
    if (p->log_x) {
        assert(x.min > 0);
        x.min = log10(x.min);
        x.max = log10(x.max);
    }
    if (!(x.max > x.min))
        x.max = x.min + 1;
    const struct axis y = y_axis(p, bottom, top);
    picture_begin(b, p->width, p->height, p->alone, p->title, p->description);
    picture_text(b, LEFT - 34, 18, "b", p->title);
    legend(b, p, head);
    picture_text(b, LEFT - 34, top - 10, "faint", p->y_label);
    y_ticks(b, p, &y);
    x_ticks(b, p, &x, bottom);
    for (size_t i = 0; i < p->n_levels; i++) {
        if (!shown(&y, p->levels[i].y))
            continue;
        const double at = place(&y, p->levels[i].y);
        buffer_print(b, "<path class=\"ref\" d=\"M%g %.1fH%g\"/>\n", LEFT, at, p->width - RIGHT);
        picture_text(b, p->width - RIGHT, at - 4, "end faint", p->levels[i].label);
    }
    for (size_t i = 0; i < p->n_series; i++)
        draw_series(b, p, &p->series[i], &x, &y);
    picture_end(b);
}
