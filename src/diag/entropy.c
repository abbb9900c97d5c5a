#include "diag/entropy.h"

#include <math.h>

enum entropy_verdict entropy_judge(double before, double now, double max_before, double max_now)
{
    if (isnan(now))
        return ENTROPY_ORDINARY;
    if (!isnan(before) && now <= before / 2 && now < 0.30 && max_now > 20 && max_now >= 2 * max_before)
        return ENTROPY_COLLAPSING;
    if (now >= 0.98)
        return ENTROPY_UNIFORM;
    if (now < 0.20)
        return ENTROPY_SHARP;
    return ENTROPY_ORDINARY;
}

const char *entropy_word(enum entropy_verdict v)
{
    switch (v) {
    case ENTROPY_UNIFORM:
        return "uniform";
    case ENTROPY_SHARP:
        return "sharp";
    case ENTROPY_COLLAPSING:
        return "collapsing";
    default:
        return "";
    }
}
