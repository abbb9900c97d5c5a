/* Attention entropy in words. Entropy here is normalised: 1 is uniform over the visible keys, 0 one-hot. A fall of
 * entropy with a rise of the largest score goes before divergence (Zhai et al. 2023, arXiv:2303.06296). */
#ifndef DIAG_ENTROPY_H
#define DIAG_ENTROPY_H

#include <stddef.h>

enum entropy_verdict {
    ENTROPY_ORDINARY,
    ENTROPY_UNIFORM,    /* at least 0.98: the head averages, queries and keys have learnt nothing yet */
    ENTROPY_SHARP,      /* below 0.20: the head picks one or two symbols */
    ENTROPY_COLLAPSING, /* halved since the last look, to below 0.30, while the largest score doubled to above 20 */
};

/* Compares one head with what it was at the last look; before = NaN when there was none. NaN is ORDINARY (a head
 * that never sees two keys has no entropy). */
enum entropy_verdict entropy_judge(double before, double now, double max_before, double max_now);

/* "uniform", "sharp", "collapsing", or "" for ordinary. */
const char *entropy_word(enum entropy_verdict v);

#endif
