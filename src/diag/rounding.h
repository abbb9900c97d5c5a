/* What a model's matrix products take their factors for, so that a check in double sees the same ones. */
#ifndef DIAG_ROUNDING_H
#define DIAG_ROUNDING_H

#include "kernels/bf16.h"
#include "model/config.h"

/* x itself, or as a bf16 holds it. */
static inline double rounding_factor(enum precision precision, double x)
{
    return precision == PRECISION_BF16 ? (double)bf16_round((real)x) : x;
}

#endif
