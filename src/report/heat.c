#include "report/heat.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "report/picture.h"

#define STEPS 16
#define FONT 8.0        /* the largest, of labels */
#define LETTER 0.64     /* how wide one is at most, in heights of the font */
#define LETTERS_APART 3 /* so many fit above two columns */

static int step_of(const struct heat *h, size_t i, size_t j)
{
    const double w = h->weights[i * h->T + j];
    return isfinite(w) && w > 0 ? (int)lround(sqrt(fmin(w, 1)) * STEPS) : 0;
}

/* All cells of one step on one side of the diagonal are one path; neighbours in a row are one box of it. */
static void draw_step(struct buffer *b, const struct heat *h, size_t n, int step, bool future)
{
    bool open = false;
    for (size_t i = 0; i < n; i++) {
        const size_t end = future ? n : i + 1;
        for (size_t j = future ? i + 1 : 0; j < end;) {
            size_t run = 0;
            while (j + run < end && step_of(h, i, j + run) == step)
                run++;
            if (run > 0) {
                if (!open)
                    buffer_print(b, "<path class=\"%s\" fill-opacity=\"%.3g\" d=\"", future ? "future" : "past",
                                 (double)step / STEPS);
                open = true;
                buffer_print(b, "M%zu %zuh%zuv1h-%zuz", j, i, run, run);
            }
            j += run ? run : 1;
        }
    }
    if (open)
        buffer_text(b, "\"/>\n");
}

/* Letters of the longest label: bytes that begin a character. */
static size_t longest_label(const struct heat *h, size_t n)
{
    size_t longest = 0;
    for (size_t i = 0; i < n; i++) {
        size_t letters = 0;
        for (const char *c = h->labels[i]; *c; c++)
            letters += (*c & 0xC0) != 0x80;
        longest = letters > longest ? letters : longest;
    }
    return longest;
}

/* Where the map begins, and how large the font of its labels is. */
struct frame {
    double left, top, cell, font;
    bool upright; /* the columns' labels, which are too long to lie above them */
};

static struct frame frame_of(const struct heat *h, size_t n)
{
    struct frame f = {.left = 2, .top = 18, .cell = h->size / (double)n};
    if (!h->labels)
        return f;
    f.font = fmin(FONT, 0.9 * f.cell);
    const size_t letters = longest_label(h, n);
    const double longest = LETTER * f.font * (double)letters;
    f.upright = letters > LETTERS_APART;
    f.left = fmax(34, longest + 6);
    f.top = 22 + (f.upright ? fmax(22, longest + 4) : 22);
    return f;
}

static void draw_labels(struct buffer *b, const struct heat *h, size_t n, const struct frame *f)
{
    buffer_print(b, "<g style=\"font-size:%.3gpx\">\n", f->font);
    for (size_t i = 0; i < n; i++) {
        const double middle = ((double)i + 0.5) * f->cell, half = 0.36 * f->font;
        picture_text(b, f->left - 3, f->top + middle + half, "cell end", h->labels[i]);
        if (!f->upright) {
            picture_text(b, f->left + middle, f->top - 4 - (i % 2 ? 9 : 0), "cell mid", h->labels[i]);
            continue;
        }
        buffer_print(b, "<g transform=\"translate(%.1f %.1f) rotate(-90)\">", f->left + middle + half, f->top - 4);
        picture_text(b, 0, 0, "cell", h->labels[i]);
        buffer_text(b, "</g>\n");
    }
    buffer_text(b, "</g>\n");
}

void heat_svg(struct buffer *b, const struct heat *h)
{
    assert(h->T > 0);
    const size_t n = h->T < HEAT_LARGEST ? h->T : HEAT_LARGEST;
    const struct frame f = frame_of(h, n);
    const double below = n < h->T ? 18 : 2;
    picture_begin(b, f.left + h->size + 2, f.top + h->size + below, h->alone, h->title, h->description);
    picture_text(b, 2, 13, "b", h->title);
    if (h->labels)
        draw_labels(b, h, n, &f);
    buffer_print(b, "<g transform=\"translate(%g %g) scale(%.6g)\">\n", f.left, f.top, f.cell);
    for (int step = 1; step <= STEPS; step++)
        for (int future = 0; future <= 1; future++)
            draw_step(b, h, n, step, future);
    buffer_print(b, "</g>\n<path class=\"edge\" d=\"M%g %gh%gv%gh-%gzL%g %g\"/>\n", f.left, f.top, h->size, h->size,
                 h->size, f.left + h->size, f.top + h->size);
    if (n < h->T) {
        char text[80];
        snprintf(text, sizeof text, "the first %zu of %zu positions", n, h->T);
        picture_text(b, f.left, f.top + h->size + 14, "faint", text);
    }
    picture_end(b);
}
