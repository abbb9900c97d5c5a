#if defined(__linux__)
#define _GNU_SOURCE /* sched_getaffinity, CPU_COUNT */
#endif

#include "base/team.h"

#include <assert.h>
#include <stdio.h>
#include <unistd.h>

#ifdef __linux__
#include <sched.h>
#endif
#ifdef _OPENMP
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
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

#ifdef _OPENMP
/* OpenMP's own barriers stay awake for milliseconds, which halves the speed where another program wants the core. */
struct team_barrier {
    int count;
    atomic_int arrived;
    atomic_uint phase; /* barriers passed */
    pthread_mutex_t lock;
    pthread_cond_t passed;
};

/* Looks at the phase before going to sleep: some 20 microseconds. */
#define LOOKS 2000

static void look_away(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

void lane_barrier(const struct lane *lane)
{
    if (lane->count == 1)
        return;
    struct team_barrier *b = lane->barrier;
    const unsigned phase = atomic_load_explicit(&b->phase, memory_order_acquire);
    if (atomic_fetch_add_explicit(&b->arrived, 1, memory_order_acq_rel) + 1 == b->count) {
        atomic_store_explicit(&b->arrived, 0, memory_order_relaxed);
        pthread_mutex_lock(&b->lock);
        atomic_store_explicit(&b->phase, phase + 1, memory_order_release);
        pthread_cond_broadcast(&b->passed);
        pthread_mutex_unlock(&b->lock);
        return;
    }
    for (int look = 0; look < LOOKS; look++) {
        if (atomic_load_explicit(&b->phase, memory_order_acquire) != phase)
            return;
        look_away();
    }
    pthread_mutex_lock(&b->lock);
    while (atomic_load_explicit(&b->phase, memory_order_acquire) == phase)
        pthread_cond_wait(&b->passed, &b->lock);
    pthread_mutex_unlock(&b->lock);
}
#else
void lane_barrier(const struct lane *lane)
{
    assert(lane->count == 1);
}
#endif

int team_lanes(int threads)
{
#ifdef _OPENMP
    /* OMP_THREAD_LIMIT and OMP_MAX_ACTIVE_LEVELS=0 are a person's word: OpenMP would give no more. */
    const int limit = omp_get_max_active_levels() < 1 ? 1 : omp_get_thread_limit();
    return threads < limit ? threads : limit;
#else
    (void)threads;
    return 1;
#endif
}

void team_run(struct team team, void (*work)(const struct lane *lane, void *context), void *context)
{
    assert(team.threads >= 1);
#ifdef _OPENMP
    const int lanes = team_lanes(team.threads);
    if (lanes > 1) {
        /* The count is stated at each region: OpenBLAS's OpenMP build changes OpenMP's own maximum,
         * and OMP_DYNAMIC could hand out fewer threads than there are shares. */
        omp_set_dynamic(0);
        struct team_barrier barrier = {
            .count = lanes, .lock = PTHREAD_MUTEX_INITIALIZER, .passed = PTHREAD_COND_INITIALIZER};
#pragma omp parallel num_threads(lanes)
        {
            assert(omp_get_num_threads() == lanes);
            const struct lane lane = {omp_get_thread_num(), lanes, &barrier, team.isa};
            work(&lane, context);
        }
        pthread_cond_destroy(&barrier.passed);
        pthread_mutex_destroy(&barrier.lock);
        return;
    }
#endif
    const struct lane lane = {0, 1, NULL, team.isa};
    work(&lane, context);
}

void team_end(void)
{
#if defined(_OPENMP) && (defined(__clang__) || __GNUC__ >= 9) /* older runtimes have no such call */
    omp_pause_resource_all(omp_pause_hard);
#endif
}

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

const char *team_runtime(void)
{
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#ifdef _OPENMP
    return "OpenMP " TEXT(_OPENMP);
#else
    return "none (built without OpenMP)";
#endif
}
