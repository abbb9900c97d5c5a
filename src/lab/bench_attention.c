#include "lab/bench_attention.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/timings.h"

#define TURNS 200 /* the most in one bout */

double bench_attention_flops(const struct bench_attention_options *o)
{
    return 6 * (double)o->T * (double)(o->H * o->hs) * (double)o->B * (double)o->T;
}

/* What is measured of one kernel. */
struct trial {
    struct lone_attention attention;
    struct timings forward, backward;
};

static enum status measure(struct trial trial[LONE_KINDS], const struct bench_attention_options *o, struct error *err)
{
    const size_t total = o->repeats * LONE_KINDS;
    for (size_t turn = 0; turn < total; turn++) {
        struct trial *t = &trial[turn % LONE_KINDS];
        if (turn < LONE_KINDS) { /* once for warmth */
            lone_attention_forward(&t->attention);
            lone_attention_backward(&t->attention);
        }
        const double start = clock_seconds();
        for (size_t i = 0; i == 0 || (i < TURNS && clock_seconds() - start < o->bout); i++) {
            timings_add(&t->forward, lone_attention_forward(&t->attention));
            timings_add(&t->backward, lone_attention_backward(&t->attention));
        }
        if (o->progress && o->progress(o->context, turn + 1, total))
            return fail(err, STATUS_INTERRUPTED, "interrupted");
    }
    return STATUS_OK;
}

enum status bench_attention_run(struct bench_attention out[BENCH_ATTENTION_KERNELS],
                                const struct bench_attention_options *o, struct error *err)
{
    assert(o->B > 0 && o->H > 0 && o->hs > 0 && o->T > 0 && o->team.threads > 0 && o->repeats > 0);
    const struct lone_size size = {o->B, o->H, o->hs, o->T};
    struct trial trial[LONE_KINDS];
    memset(trial, 0, sizeof trial);
    enum status s = STATUS_OK;
    for (int k = 0; !s && k < LONE_KINDS; k++) {
        s = lone_attention_create(&trial[k].attention, (enum lone_kind)k, &size, o->team, err);
        if (!s)
            s = timings_create(&trial[k].forward, o->repeats * TURNS, err);
        if (!s)
            s = timings_create(&trial[k].backward, o->repeats * TURNS, err);
    }
    if (!s)
        s = measure(trial, o, err);
    for (int k = 0; k < LONE_KINDS; k++) {
        if (!s)
            out[k] = (struct bench_attention){.name = lone_attention_name((enum lone_kind)k),
                                              .forward = timings_quantile(&trial[k].forward, 0.5),
                                              .backward = timings_quantile(&trial[k].backward, 0.5),
                                              .bytes = trial[k].attention.arena.size};
        timings_free(&trial[k].forward);
        timings_free(&trial[k].backward);
        lone_attention_free(&trial[k].attention);
    }
    return s;
}
