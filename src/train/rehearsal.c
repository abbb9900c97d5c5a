#include "train/rehearsal.h"

#include "base/clock.h"
#include "base/timings.h"
#include "train/sample_text.h"

#define UPDATES_AT_MOST 1000
#define EVALUATED 8192 /* symbols of each part */

/* The first update is not counted: it meets memory that was never touched. */
static enum status time_updates(struct timings *times, struct trainer *t, const struct learner *learner, double seconds,
                                struct error *err)
{
    const double begin = clock_seconds();
    const size_t first = t->state->step, left = t->settings.schedule.steps - first;
    for (size_t i = 0; i <= UPDATES_AT_MOST && (i < 3 || clock_seconds() - begin < seconds); i++) {
        struct trainer_step step;
        const double start = clock_seconds();
        t->state->step = first + i % left;
        const enum status s = trainer_update(t, learner, &step, err);
        if (s != STATUS_OK)
            return s;
        if (i > 0)
            timings_add(times, clock_seconds() - start);
    }
    return STATUS_OK;
}

static enum status measure_updates(struct rehearsal *r, struct trainer *t, const struct learner *learner,
                                   double seconds, struct error *err)
{
    struct timings times;
    enum status s = timings_create(&times, UPDATES_AT_MOST, err);
    if (s == STATUS_OK)
        s = time_updates(&times, t, learner, seconds, err);
    if (s == STATUS_OK) {
        r->measured = times.count;
        r->step = timings_quantile(&times, 0.5);
    }
    timings_free(&times);
    return s;
}

/* Seconds of the loss of a part: of a few of its windows, and as much longer as there are more of them. */
static enum status time_loss(double *seconds, struct trainer *t, const struct learner *learner, enum dataset_part part,
                             struct error *err)
{
    struct gpt_learner *l = &t->learner;
    const size_t T = t->work.T, asked = l->eval_windows;
    size_t begin, end;
    double loss;
    dataset_bounds(t->data, part, &begin, &end);
    const size_t there = end > begin ? (end - begin - 1) / T : 0, all = there < asked ? there : asked;
    const size_t few = EVALUATED / T > 1 ? EVALUATED / T : 1;
    if (all > few)
        l->eval_windows = few;
    const double start = clock_seconds();
    const enum status s = learner->evaluate(learner->self, part, &loss, err);
    *seconds = (clock_seconds() - start) * (all > few ? (double)all / (double)few : 1);
    l->eval_windows = asked;
    return s;
}

static enum status measure_evaluation(struct rehearsal *r, struct trainer *t, const struct learner *learner,
                                      struct error *err)
{
    const struct trainer_settings *settings = &t->settings;
    double train, val = 0;
    size_t bytes;
    enum status s = time_loss(&train, t, learner, DATASET_TRAIN, err);
    if (s == STATUS_OK)
        s = time_loss(&val, t, learner, DATASET_VAL, err);
    const double start = clock_seconds();
    if (s == STATUS_OK)
        s = leak_check(&t->leak, t->model, &t->work, LEAK_QUICK, settings->seed, (uint32_t)t->state->step, err);
    if (s == STATUS_OK)
        s = sample_text(t->sample, &bytes, t->model, t->tokenizer, settings->sample_size, settings->seed,
                        settings->team, err);
    r->evaluation = train + val + clock_seconds() - start;
    return s;
}

enum status rehearsal_run(struct rehearsal *r, struct trainer *t, double seconds, struct error *err)
{
    const size_t first = t->state->step, end = trainer_last_step(&t->settings);
    *r = (struct rehearsal){.steps = end > first ? end - first : 0, .evaluations = t->resumed ? 0 : 1};
    if (r->steps == 0)
        return STATUS_OK;
    for (size_t step = first + 1; step <= end; step++)
        r->evaluations += trainer_evaluates(&t->settings, step);
    const struct learner learner = gpt_learner_interface(&t->learner);
    enum status s = measure_evaluation(r, t, &learner, err);
    if (s == STATUS_OK)
        s = measure_updates(r, t, &learner, seconds, err);
    r->seconds = (double)r->steps * r->step + (double)r->evaluations * r->evaluation;
    return s;
}
