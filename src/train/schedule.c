#include "train/schedule.h"

#include <math.h>

enum status schedule_check(const struct schedule *s, struct error *err)
{
    if (!(isfinite(s->lr) && s->lr > 0))
        return fail(err, STATUS_USAGE, "the learning rate is %g: choose a number above 0", s->lr);
    if (!(isfinite(s->min_lr) && s->min_lr >= 0 && s->min_lr <= s->lr))
        return fail(err, STATUS_USAGE, "min-lr is %g: choose a number from 0 to the learning rate, %g", s->min_lr,
                    s->lr);
    if (s->warmup > s->steps)
        return fail(err, STATUS_USAGE, "warmup is %zu steps and the whole run %zu: choose a shorter warm-up", s->warmup,
                    s->steps);
    return STATUS_OK;
}

double schedule_rate(const struct schedule *s, size_t step)
{
    const double pi = 3.14159265358979323846;
    if (step < s->warmup)
        return s->lr * (double)(step + 1) / (double)(s->warmup + 1);
    if (step >= s->steps)
        return s->min_lr;
    /* From 0 at the end of the warm-up to 1 at the last step; a decay of one step has no way to go. */
    const size_t length = s->steps - 1 - s->warmup;
    const double done = length ? (double)(step - s->warmup) / (double)length : 0;
    return s->min_lr + 0.5 * (1 + cos(pi * done)) * (s->lr - s->min_lr);
}
