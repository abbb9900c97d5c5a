/* Ways to share a kernel's work among lanes, each of which must give the right result. */
#ifndef SUPPORT_DIVISION_H
#define SUPPORT_DIVISION_H

#include <stdbool.h>

#include "base/team.h"

struct division {
    int lanes;
    bool threads; /* really at once; else one lane after the other, the last first */
    enum isa isa; /* or the best that this machine has, when it has not this one */
};

/* Teams of 1, 2, 3 and 5 threads, and 64 lanes in turn: more lanes than most tests have rows. Every instruction set. */
#define DIVISIONS 9
#define DIVISION_TEAMS 8 /* the first of them run at once: they may hold barriers */
extern const struct division divisions[DIVISIONS];

/* work(lane, context) for every lane. Without threads, work must not hold a barrier. */
void division_run(const struct division *d, void (*work)(const struct lane *lane, void *context), void *context);

#endif
