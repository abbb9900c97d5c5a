/* The thread team. Work is written once, for every lane: all lanes of a team run the same function,
 * each does its own share of every operation (lane_span), and a barrier stands wherever one lane reads
 * what another wrote. The division is static, so results depend on the number of lanes only.
 *
 * Threads are POSIX threads of our own: kept in a pool, awake for a few microseconds after their work and then asleep,
 * so that other programs get the core. */
#ifndef BASE_TEAM_H
#define BASE_TEAM_H

#include <stddef.h>

#include "base/isa.h"
#include "base/status.h"

/* Threads that wait for work. */
struct team_pool;

/* Who computes: so many threads, with the kernels of one instruction set. */
struct team {
    int threads;
    enum isa isa;
    struct team_pool *pool; /* NULL: threads are made anew for each call, which is slow, and for tests */
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

/* Waits for every lane of the team: a few microseconds awake, then asleep. All lanes must call it the same number of
 * times. */
void lane_barrier(const struct lane *lane);

/* A pool for teams of up to `threads` (1 .. 65536, asserted), the caller's own thread being one. STATUS_MEMORY when the
 * system gives no more threads; *pool is NULL then. Free it before the process ends. */
enum status team_pool_create(struct team_pool **pool, int threads, struct error *err);
void team_pool_free(struct team_pool *pool);

/* Runs work(lane, context) once per lane, on team.threads threads at once, the caller's being lane 0; returns when all
 * are done. At least one thread, and no more than the pool has (asserted). Not to be nested, and a pool is used by one
 * thread at a time. */
void team_run(struct team team, void (*work)(const struct lane *lane, void *context), void *context);

/* Cores this process may use: affinity mask and cgroup quota are respected. At least 1. */
int team_cores(void);

#endif
