#include "report/heat.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "report/picture.h"

#define STEPS 16

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

void heat_svg(struct buffer *b, const struct heat *h)
{
    assert(h->T > 0);
    const size_t n = h->T < HEAT_LARGEST ? h->T : HEAT_LARGEST;
    const double cell = h->size / (double)n, left = h->labels ? 34 : 2, top = h->labels ? 44 : 18;
    const double below = n < h->T ? 18 : 2;
    picture_begin(b, left + h->size + 2, top + h->size + below, h->alone, h->title, h->description);
    picture_text(b, 2, 13, "b", h->title);
    for (size_t i = 0; h->labels && i < n; i++) {
        const double middle = ((double)i + 0.5) * cell;
        picture_text(b, left - 3, top + middle + 3, "cell end", h->labels[i]);
        picture_text(b, left + middle, top - 4 - (i % 2 ? 9 : 0), "cell mid", h->labels[i]);
    }
    buffer_print(b, "<g transform=\"translate(%g %g) scale(%.6g)\">\n", left, top, cell);
    for (int step = 1; step <= STEPS; step++)
        for (int future = 0; future <= 1; future++)
            draw_step(b, h, n, step, future);
    buffer_print(b, "</g>\n<path class=\"edge\" d=\"M%g %gh%gv%gh-%gzL%g %g\"/>\n", left, top, h->size, h->size,
                 h->size, left + h->size, top + h->size);
    if (n < h->T) {
        char text[80];
        snprintf(text, sizeof text, "the first %zu of %zu positions", n, h->T);
        picture_text(b, left, top + h->size + 14, "faint", text);
    }
    picture_end(b);
}
