#if defined(__linux__)
#define _GNU_SOURCE /* sched_getaffinity, CPU_COUNT */
#endif

#include "base/team.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <sched.h>
#endif

const struct lane lane_alone = {0, 1, NULL, ISA_PORTABLE};

struct span lane_span(const struct lane *lane, size_t n, size_t grain)
{
    assert(grain > 0 && lane->count > 0 && lane->index >= 0 && lane->index < lane->count);
    const size_t index = (size_t)lane->index, count = (size_t)lane->count;
    const size_t grains = n / grain + (n % grain != 0);
    const size_t share = grains / count, extra = grains % count;
    const size_t first = index * share + (index < extra ? index : extra);
    const size_t last = first + share + (index < extra ? 1 : 0);
    struct span s = {first * grain, last * grain};
    if (s.begin > n)
        s.begin = n;
    if (s.end > n)
        s.end = n;
    return s;
}

/* ---- waiting ---- */

/* Looks before going to sleep: some 20 microseconds, longer than lanes usually wait for each other. */
#define LOOKS 2000

static void look_away(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Whether *value becomes another than `old` while we look. */
static bool changes_soon(atomic_uint *value, unsigned old)
{
    for (int look = 0; look < LOOKS; look++) {
        if (atomic_load_explicit(value, memory_order_acquire) != old)
            return true;
        look_away();
    }
    return false;
}

struct team_barrier {
    int count;
    atomic_int arrived;
    atomic_uint phase; /* barriers passed */
    pthread_mutex_t lock;
    pthread_cond_t passed;
};

static void barrier_start(struct team_barrier *b)
{
    *b = (struct team_barrier){.lock = PTHREAD_MUTEX_INITIALIZER, .passed = PTHREAD_COND_INITIALIZER};
}

static void barrier_end(struct team_barrier *b)
{
    pthread_cond_destroy(&b->passed);
    pthread_mutex_destroy(&b->lock);
}

void lane_barrier(const struct lane *lane)
{
    if (lane->count == 1)
        return;
    struct team_barrier *b = lane->barrier;
    /* Both are read before arriving: once all have, the next team may begin, of another size. */
    const int count = b->count;
    const unsigned phase = atomic_load_explicit(&b->phase, memory_order_acquire);
    if (atomic_fetch_add_explicit(&b->arrived, 1, memory_order_acq_rel) + 1 == count) {
        atomic_store_explicit(&b->arrived, 0, memory_order_relaxed);
        pthread_mutex_lock(&b->lock);
        atomic_store_explicit(&b->phase, phase + 1, memory_order_release);
        pthread_cond_broadcast(&b->passed);
        pthread_mutex_unlock(&b->lock);
        return;
    }
    if (changes_soon(&b->phase, phase))
        return;
    pthread_mutex_lock(&b->lock);
    while (atomic_load_explicit(&b->phase, memory_order_acquire) == phase)
        pthread_cond_wait(&b->passed, &b->lock);
    pthread_mutex_unlock(&b->lock);
}

/* ---- threads ---- */

/* What all lanes of one team_run do. */
struct job {
    void (*work)(const struct lane *lane, void *context);
    void *context;
    int lanes;
    enum isa isa;
};

struct worker {
    struct team_pool *pool;
    int index;
    pthread_t thread;
};

struct team_pool {
    int threads; /* the caller's included */
    struct worker *worker;
    struct team_barrier barrier;
    atomic_uint jobs; /* given out so far */
    pthread_mutex_t lock;
    pthread_cond_t given;
    struct job job; /* under the lock */
    bool stop;      /* likewise */
};

/* An OpenBLAS that was built on OpenMP asks that runtime, thread by thread, how many threads a product may take. Nobody
 * else here needs the runtime, so it is asked for by name: where it is not loaded there is nothing to keep. */
static void keep_library_to_one_thread(void)
{
    void (*set_threads)(int) = NULL;
    void *found = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    memcpy(&set_threads, &found, sizeof found);
    if (set_threads)
        set_threads(1);
}

/* One lane of a job; the end of it is a barrier too. */
static void do_lane(const struct job *job, int index, struct team_barrier *barrier)
{
    const struct lane lane = {index, job->lanes, barrier, job->isa};
    job->work(&lane, job->context);
    lane_barrier(&lane);
}

static void *serve(void *context)
{
    const struct worker *w = context;
    struct team_pool *pool = w->pool;
    keep_library_to_one_thread();
    for (unsigned done = 0;;) {
        const bool soon = changes_soon(&pool->jobs, done);
        pthread_mutex_lock(&pool->lock);
        while (!soon && !pool->stop && atomic_load_explicit(&pool->jobs, memory_order_acquire) == done)
            pthread_cond_wait(&pool->given, &pool->lock);
        const struct job job = pool->job;
        const bool stop = pool->stop;
        done = atomic_load_explicit(&pool->jobs, memory_order_acquire);
        pthread_mutex_unlock(&pool->lock);
        if (stop)
            return NULL;
        if (w->index < job.lanes)
            do_lane(&job, w->index, &pool->barrier);
    }
}

void team_pool_free(struct team_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    atomic_fetch_add_explicit(&pool->jobs, 1, memory_order_release);
    pthread_cond_broadcast(&pool->given);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 1; i < pool->threads; i++)
        pthread_join(pool->worker[i].thread, NULL);
    pthread_cond_destroy(&pool->given);
    pthread_mutex_destroy(&pool->lock);
    barrier_end(&pool->barrier);
    free(pool->worker);
    free(pool);
}

enum status team_pool_create(struct team_pool **pool, int threads, struct error *err)
{
    assert(threads >= 1 && threads <= 65536);
    *pool = NULL;
    struct team_pool *p = calloc(1, sizeof *p);
    struct worker *workers = calloc((size_t)threads, sizeof *workers);
    if (!p || !workers) {
        free(workers);
        free(p);
        return fail(err, STATUS_MEMORY, "memory for %d threads was refused", threads);
    }
    p->worker = workers;
    p->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    p->given = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    barrier_start(&p->barrier);
    for (p->threads = 1; p->threads < threads; p->threads++) {
        struct worker *w = &workers[p->threads];
        *w = (struct worker){.pool = p, .index = p->threads};
        const int refused = pthread_create(&w->thread, NULL, serve, w);
        if (refused) {
            const int have = p->threads;
            team_pool_free(p);
            return fail(err, STATUS_MEMORY, "%d threads: the system gives no more than %d (%s)", threads, have,
                        strerror(refused));
        }
    }
    keep_library_to_one_thread(); /* the caller computes too */
    *pool = p;
    return STATUS_OK;
}

static void run_in_pool(struct team_pool *pool, const struct job *job)
{
    assert(job->lanes <= pool->threads);
    pthread_mutex_lock(&pool->lock);
    pool->job = *job;
    pool->barrier.count = job->lanes;
    atomic_fetch_add_explicit(&pool->jobs, 1, memory_order_release);
    pthread_cond_broadcast(&pool->given);
    pthread_mutex_unlock(&pool->lock);
    do_lane(job, 0, &pool->barrier);
}

void team_run(struct team team, void (*work)(const struct lane *lane, void *context), void *context)
{
    assert(team.threads >= 1);
    const struct job job = {work, context, team.threads, team.isa};
    if (team.threads == 1) {
        const struct lane lane = {0, 1, NULL, team.isa};
        work(&lane, context);
    } else if (team.pool) {
        run_in_pool(team.pool, &job);
    } else {
        struct error err;
        struct team_pool *pool;
        const enum status s = team_pool_create(&pool, team.threads, &err);
        assert(s == STATUS_OK && pool);
        (void)s;
        run_in_pool(pool, &job);
        team_pool_free(pool);
    }
}

/* ---- cores ---- */

#ifdef __linux__
/* A container's CPU quota (cgroup v2, then v1), rounded up; 0 when there is none. */
static int cgroup_cores(void)
{
    long long quota = -1, period = 0;
    FILE *f = fopen("/sys/fs/cgroup/cpu.max", "r");
    if (f) {
        if (fscanf(f, "%lld %lld", &quota, &period) != 2)
            quota = -1; /* "max 100000": no limit */
        fclose(f);
    } else if ((f = fopen("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "r"))) {
        if (fscanf(f, "%lld", &quota) != 1)
            quota = -1;
        fclose(f);
        f = fopen("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "r");
        if (f) {
            if (fscanf(f, "%lld", &period) != 1)
                period = 0;
            fclose(f);
        }
    }
    return quota > 0 && period > 0 ? (int)((quota + period - 1) / period) : 0;
}
#endif

int team_cores(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        cores = CPU_COUNT(&set);
    const int quota = cgroup_cores();
    if (quota > 0 && quota < cores)
        cores = quota;
#endif
    return cores < 1 ? 1 : (int)cores;
}
