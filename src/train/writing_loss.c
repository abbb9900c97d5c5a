#include "train/writing_loss.h"

#include <math.h>

enum status writing_loss(struct generation *r, const struct gpt *g, struct work *w, const struct dataset *data,
                         struct error *err)
{
    uint32_t tokens[WRITING_LOSS_WINDOWS * WRITING_LOSS_SYMBOLS], targets[WRITING_LOSS_WINDOWS * WRITING_LOSS_SYMBOLS];
    size_t begin, end;
    dataset_bounds(data, DATASET_VAL, &begin, &end);
    *r = (struct generation){(double)NAN, (double)NAN};
    if (end - begin < 2)
        return STATUS_OK;
    const size_t room = end - begin - 1; /* targets */
    size_t T = w->T < WRITING_LOSS_SYMBOLS ? w->T : WRITING_LOSS_SYMBOLS;
    T = T < room ? T : room;
    const size_t n = room / T < WRITING_LOSS_WINDOWS ? room / T : WRITING_LOSS_WINDOWS;
    for (size_t k = 0; k < n; k++)
        dataset_window(data, tokens + k * T, targets + k * T, begin + (n > 1 ? k * (room - T) / (n - 1) : 0), T);
    return generation_loss(r, g, w, tokens, targets, n, T, err);
}
