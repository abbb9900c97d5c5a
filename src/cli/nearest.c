#include "cli/nearest.h"

#include <string.h>

#define LONGEST 63

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment: Levenshtein's table with one more move, a swap of neighbours. */
size_t nearest_distance(const char *a, const char *b)
{
    const size_t n = strnlen(a, LONGEST), m = strnlen(b, LONGEST);
    size_t rows[3][LONGEST + 1]; /* of i-2, i-1, i */
    size_t *older = rows[0], *old = rows[1], *now = rows[2];
    for (size_t j = 0; j <= m; j++)
        old[j] = j;
    for (size_t i = 1; i <= n; i++) {
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = old[j - 1] + (a[i - 1] != b[j - 1]);
            best = smaller(best, smaller(old[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = smaller(best, older[j - 2] + 1);
            now[j] = best;
        }
        size_t *const freed = older;
        older = old;
        old = now;
        now = freed;
    }
    return old[m];
}

void nearest_offer(struct nearest *n, const char *candidate)
{
    const size_t length = strlen(n->word), allowed = length < 6 ? 1 : length / 3;
    size_t distance = nearest_distance(n->word, candidate);
    if (distance > allowed) {
        /* The start of a longer word: near, but after any slip of the finger. */
        if (length < 3 || strncmp(n->word, candidate, length) != 0)
            return;
        distance = LONGEST + strlen(candidate);
    }
    if (!n->best || distance < n->distance) {
        n->best = candidate;
        n->distance = distance;
    }
}
