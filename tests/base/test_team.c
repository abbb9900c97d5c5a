#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/team.h"

enum { MOST = 5, SLOTS = 1000 };

Test(team, spans_cover_everything_once_in_order)
{
    const size_t sizes[] = {0, 1, 2, 7, 16, 17, 100, 101, 1000003};
    const size_t grains[] = {1, 2, 8, 64};
    for (size_t s = 0; s < 9; s++)
        for (size_t g = 0; g < 4; g++)
            for (int count = 1; count <= 9; count++) {
                const size_t n = sizes[s], grain = grains[g];
                size_t at = 0, smallest = (size_t)-1, largest = 0;
                for (int i = 0; i < count; i++) {
                    const struct lane lane = {i, count, NULL, ISA_PORTABLE};
                    const struct span span = lane_span(&lane, n, grain);
                    cr_assert_eq(span.begin, at, "n %zu grain %zu lane %d of %d", n, grain, i, count);
                    cr_assert(span.end >= span.begin);
                    const size_t share = span.end - span.begin;
                    /* A share that is not whole grains can only be the one that ends at n. */
                    cr_assert(share % grain == 0 || span.end == n);
                    const size_t grown = (share + grain - 1) / grain;
                    smallest = grown < smallest ? grown : smallest;
                    largest = grown > largest ? grown : largest;
                    at = span.end;
                }
                cr_assert_eq(at, n);
                cr_assert(largest - smallest <= 1, "shares of %zu to %zu grains", smallest, largest);
            }
}

Test(team, a_grain_of_nothing_is_a_bug_caught, .signal = SIGABRT)
{
    lane_span(&lane_alone, 10, 0);
}

Test(team, a_lane_alone_takes_all_and_waits_for_none)
{
    const struct span all = lane_span(&lane_alone, 11, 4);
    cr_assert(all.begin == 0 && all.end == 11);
    lane_barrier(&lane_alone);
}

struct tally {
    int runs[MOST]; /* how often each lane ran */
    int count[MOST];
    int slot[SLOTS];
    int sum[MOST];
};

static void mark(const struct lane *lane, void *context)
{
    struct tally *t = context;
    t->runs[lane->index]++;
    t->count[lane->index] = lane->count;
    const struct span mine = lane_span(lane, SLOTS, 16);
    for (size_t i = mine.begin; i < mine.end; i++)
        t->slot[i]++;
}

Test(team, every_lane_runs_once_and_the_shares_fill_the_whole)
{
    for (int threads = 1; threads <= MOST; threads++) {
        struct tally t = {0};
        team_run((struct team){threads, ISA_PORTABLE, NULL}, mark, &t);
        const int lanes = threads;
        for (int i = 0; i < MOST; i++) {
            cr_assert_eq(t.runs[i], i < lanes, "lane %d of %d ran %d times", i, lanes, t.runs[i]);
            cr_assert_eq(t.count[i], i < lanes ? lanes : 0);
        }
        for (int i = 0; i < SLOTS; i++)
            cr_assert_eq(t.slot[i], 1, "slot %d was visited %d times", i, t.slot[i]);
    }
}

/* Each lane writes its share, then reads everyone's: without the barrier a sum comes out short. */
static void write_then_read(const struct lane *lane, void *context)
{
    struct tally *t = context;
    for (int round = 1; round <= 50; round++) {
        const struct span mine = lane_span(lane, SLOTS, 1);
        for (size_t i = mine.begin; i < mine.end; i++)
            t->slot[i] = round;
        lane_barrier(lane);
        int sum = 0;
        for (int i = 0; i < SLOTS; i++)
            sum += t->slot[i];
        if (sum != round * SLOTS)
            t->sum[lane->index]++;
        lane_barrier(lane);
    }
}

Test(team, a_barrier_shows_each_lane_what_the_others_wrote)
{
    for (int threads = 2; threads <= MOST; threads++) {
        struct tally t = {0};
        team_run((struct team){threads, ISA_PORTABLE, NULL}, write_then_read, &t);
        for (int i = 0; i < MOST; i++)
            cr_assert_eq(t.sum[i], 0, "lane %d saw %d unfinished rounds", i, t.sum[i]);
    }
}

Test(team, a_pool_serves_teams_of_every_size_again_and_again)
{
    struct team_pool *pool;
    struct error err;
    cr_assert_eq(team_pool_create(&pool, MOST, &err), STATUS_OK, "%s", err.message);
    for (int round = 0; round < 300; round++) {
        const int threads = 1 + (round * 7 + round / 3) % MOST;
        struct tally t = {0};
        team_run((struct team){threads, ISA_PORTABLE, pool}, mark, &t);
        for (int i = 0; i < MOST; i++)
            cr_assert_eq(t.runs[i], i < threads, "round %d: lane %d of %d ran %d times", round, i, threads, t.runs[i]);
        for (int i = 0; i < SLOTS; i++)
            cr_assert_eq(t.slot[i], 1);
    }
    for (int round = 0; round < 20; round++) {
        struct tally t = {0};
        team_run((struct team){2 + round % (MOST - 1), ISA_PORTABLE, pool}, write_then_read, &t);
        for (int i = 0; i < MOST; i++)
            cr_assert_eq(t.sum[i], 0, "lane %d saw %d unfinished rounds", i, t.sum[i]);
    }
    team_pool_free(pool);
    team_pool_free(NULL);
}

/* Long enough for everyone to fall asleep, between jobs and at a barrier. */
static void come_late(const struct lane *lane, void *context)
{
    const struct timespec nap = {.tv_nsec = 20000000};
    if (lane->index == *(int *)context)
        nanosleep(&nap, NULL);
    lane_barrier(lane);
}

Test(team, who_sleeps_is_woken)
{
    struct team_pool *pool;
    struct error err;
    cr_assert_eq(team_pool_create(&pool, 3, &err), STATUS_OK, "%s", err.message);
    for (int late = 0; late < 3; late++) {
        const struct timespec nap = {.tv_nsec = 20000000};
        team_run((struct team){3, ISA_PORTABLE, pool}, come_late, &late);
        nanosleep(&nap, NULL);
    }
    team_pool_free(pool);
}

static void note_isa(const struct lane *lane, void *context)
{
    ((enum isa *)context)[lane->index] = lane->isa;
}

Test(team, lanes_have_the_instruction_set_of_their_team)
{
    enum isa seen[3] = {ISA_PORTABLE};
    team_run((struct team){3, ISA_AVX512, NULL}, note_isa, seen);
    cr_assert(seen[0] == ISA_AVX512 && seen[1] == ISA_AVX512 && seen[2] == ISA_AVX512);
    team_run((struct team){1, ISA_AVX2, NULL}, note_isa, seen);
    cr_assert_eq(seen[0], ISA_AVX2);
}

Test(team, a_team_larger_than_its_pool_is_a_bug_caught, .signal = SIGABRT)
{
    struct team_pool *pool;
    struct error err;
    struct tally t = {0};
    cr_assert_eq(team_pool_create(&pool, 2, &err), STATUS_OK);
    team_run((struct team){3, ISA_PORTABLE, pool}, mark, &t);
}

Test(team, no_threads_is_a_bug_caught, .signal = SIGABRT)
{
    struct tally t = {0};
    team_run((struct team){0, ISA_PORTABLE, NULL}, mark, &t);
}

Test(team, knows_its_cores)
{
    cr_assert(team_cores() >= 1);
}
