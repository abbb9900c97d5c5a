/* The thread team. Work is written once, for every lane: all lanes of a team run the same function,
 * each does its own share of every operation (lane_span), and a barrier stands wherever one lane reads
 * what another wrote. The division is static, so results depend on the number of lanes only.
 *
 * The only place in nopeek that knows OpenMP; without OpenMP a team has one lane. */
#ifndef BASE_TEAM_H
#define BASE_TEAM_H

#include <stddef.h>

#include "base/isa.h"

/* Who computes: so many threads, with the kernels of one instruction set. */
struct team {
    int threads;
    enum isa isa;
};

/* One lane of a running team: who I am among how many. */
struct team_barrier;
struct lane {
    int index; /* 0 .. count-1 */
    int count;
    struct team_barrier *barrier; /* the team's; NULL for a lane that is alone */
    enum isa isa;                 /* the team's */
};

/* A lane that does everything itself, in plain C: for serial use of a kernel. */
extern const struct lane lane_alone;

struct span {
    size_t begin, end;
};

/* This lane's share of 0..n-1: contiguous, in order, sizes differing by at most `grain`; every share
 * but the last is a multiple of grain. grain > 0 (asserted). */
struct span lane_span(const struct lane *lane, size_t n, size_t grain);

/* Waits for every lane of the team: a few microseconds awake, then asleep, so that other programs get the core. All
 * lanes must call it the same number of times. */
void lane_barrier(const struct lane *lane);

/* Runs work(lane, context) once per lane, on team.threads threads at once; returns when all are done.
 * At least one thread (asserted). Without OpenMP the one lane has count 1, and OpenMP's own limits (OMP_THREAD_LIMIT)
 * are kept: see team_lanes. Not to be nested. */
void team_run(struct team team, void (*work)(const struct lane *lane, void *context), void *context);

/* Lets the threads that wait for more work go: for the end of a program, so that nothing is left held. */
void team_end(void);

/* How many lanes a team of so many threads really runs. */
int team_lanes(int threads);

/* Cores this process may use: affinity mask and cgroup quota are respected. At least 1. */
int team_cores(void);

/* "OpenMP 201511" or "none (built without OpenMP)". */
const char *team_runtime(void);

#endif
