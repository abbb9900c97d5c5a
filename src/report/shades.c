#include "report/shades.h"

#include <assert.h>
#include <math.h>

/* From dark to bright, in the order of viridis (van der Walt and Smith 2015), which is told apart in grey too: numbers
 * of the 6 x 6 x 6 cube of 256 colours. All are backgrounds, so that the map looks alike on light and dark terminals.
 */
static const unsigned char colour_of[] = {53, 54, 60, 24, 30, 36, 71, 113, 148, 226};
static const char *const shade_of[] = {"\u00b7", "\u2591", "\u2592", "\u2593", "\u2588"};
#define COLOURS (sizeof colour_of)
#define SHADES (sizeof shade_of / sizeof *shade_of)
#define ALARM 196 /* red */
#define PLAIN 0   /* no background: not a colour of the scale */

/* 0 for nothing, 1 .. steps for more and more. */
static size_t step_of(double w, size_t steps)
{
    if (!isfinite(w) || w <= 0)
        return 0;
    const size_t step = (size_t)ceil(sqrt(fmin(w, 1)) * (double)steps);
    return step > 0 ? step : 1;
}

/* Neighbours of one colour share a sequence. */
static void set_colour(struct buffer *b, unsigned *now, unsigned wanted)
{
    if (wanted == *now)
        return;
    if (wanted == PLAIN)
        buffer_text(b, "\033[0m");
    else
        buffer_print(b, "\033[48;5;%um", wanted);
    *now = wanted;
}

static void repeat(struct buffer *b, const char *text, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        buffer_text(b, text);
}

static void print_cell(struct buffer *b, const struct shades *s, double w, bool future, unsigned *colour)
{
    const size_t step = step_of(w, s->colour ? COLOURS : SHADES);
    if (s->colour) {
        set_colour(b, colour, step == 0 ? PLAIN : future ? ALARM : colour_of[step - 1]);
        repeat(b, step > 0 && future ? "!" : " ", s->cell);
    } else {
        repeat(b, step == 0 ? " " : future ? "!" : shade_of[step - 1], s->cell);
    }
}

void shades_print(struct buffer *b, const struct shades *s)
{
    assert(s->rows > 0 && s->cols > 0 && (s->cell == 1 || s->cell == 2));
    repeat(b, " ", s->margin);
    for (size_t j = 0; j < s->cols; j++)
        buffer_text(b, s->col_mark[j]);
    buffer_text(b, "\n");
    for (size_t i = 0; i < s->rows; i++) {
        unsigned colour = PLAIN;
        buffer_text(b, s->row_label[i]);
        for (size_t j = 0; j < s->cols; j++)
            print_cell(b, s, s->weights[i * s->cols + j], j >= s->past[i], &colour);
        set_colour(b, &colour, PLAIN);
        if (s->row_note)
            buffer_text(b, s->row_note[i]);
        buffer_text(b, "\n");
    }
}

void shades_legend(struct buffer *b, bool colour)
{
    const size_t steps = colour ? COLOURS : SHADES;
    buffer_text(b, "weight: ");
    for (size_t k = 0; k < steps; k++) {
        if (colour)
            buffer_print(b, "%s\033[48;5;%um ", k == 0 ? "0 " : "", (unsigned)colour_of[k]);
        else
            buffer_print(b, "%s to %.2g, ", shade_of[k], pow((double)(k + 1) / (double)steps, 2));
    }
    buffer_text(b, colour ? "\033[0m 1, by its square root; blank is exactly 0\n" : "blank is exactly 0\n");
}
