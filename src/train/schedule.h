/* The learning rate as a function of the step: linear warm-up, then half a cosine down to a floor (Loshchilov and
 * Hutter 2016, arXiv:1608.03983). */
#ifndef TRAIN_SCHEDULE_H
#define TRAIN_SCHEDULE_H

#include <stddef.h>

#include "base/status.h"

struct schedule {
    double lr;     /* the peak */
    double min_lr; /* the floor, reached by the last step */
    size_t warmup; /* steps of warm-up */
    size_t steps;  /* of the whole run */
};

/* STATUS_USAGE: lr or min_lr negative or not finite, lr 0, min_lr above lr, more warm-up than steps. */
enum status schedule_check(const struct schedule *s, struct error *err);

/* Rate of update `step`, 0 .. steps - 1 (later steps get the floor). Never 0 unless min_lr is: the first of W warm-up
 * steps has lr / (W + 1), and step W the peak. */
double schedule_rate(const struct schedule *s, size_t step);

#endif
