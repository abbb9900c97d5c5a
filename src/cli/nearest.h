/* "Did you mean ...?" */
#ifndef CLI_NEAREST_H
#define CLI_NEAREST_H

#include <stddef.h>

/* Edits (insert, delete, replace, swap neighbours) that turn a into b; words beyond 63 bytes count as cut there. */
size_t nearest_distance(const char *a, const char *b);

/* A running search: start with {word, NULL, 0}, offer every candidate, read `best`. A candidate counts when it
 * needs at most one edit per three bytes of the word (at least one), or when the word begins it. Ties go to the
 * one offered first; NULL when nothing is near. */
struct nearest {
    const char *word;
    const char *best;
    size_t distance;
};
void nearest_offer(struct nearest *n, const char *candidate);

#endif
