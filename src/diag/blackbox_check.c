#include "diag/blackbox_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "diag/blackbox_chart.h"
#include "diag/blackbox_loss.h"
#include "diag/blackbox_session.h"
#include "diag/blackbox_suffix.h"

#define RANDOM_NOISE 1e-3 /* nats: answers further apart than this tell nothing about leaks */
/* Of the strength of earlier tokens. PyTorch GPTs of 1 to 4 layers and 2 to 8 heads, fresh and trained for 60 to 300
 * steps, gave 0.91 to 1.1 without any mask, and 0.02 to 0.68 with one head or one of several layers without. */
#define PARTIAL_BELOW 0.8

/* One answer of every row, or of the last `most`. */
static enum status ask_end(struct session *s, double *logp, const uint32_t *tokens, size_t n, size_t most,
                           struct error *err)
{
    const size_t n_rows = n < most ? n : most;
    for (size_t k = 0; k < n_rows; k++)
        s->rows[k] = n - n_rows + k;
    return blackbox_ask(s->b, logp, tokens, n, n_rows == n ? NULL : s->rows, n_rows, err);
}

/* Of the answer in s->after from this one, both of rows_max rows. */
static double largest_difference(const struct session *s, const double *answer)
{
    double most = 0;
    for (size_t k = 0; k < s->rows_max; k++)
        most = fmax(most, session_difference(s, answer + k * s->b->V, s->after + k * s->b->V));
    return most;
}

/* --- can it be asked, and is it the same every time? --------------------------------------------------------- */

/* one_row: the seconds that the shortest answer to a long question took. */
static enum status check_lengths(struct session *s, double *one_row, struct error *err)
{
    const size_t T = s->b->T, lengths[] = {T, T - 1, 2, 1};
    session_begin(s, 1);
    for (size_t k = 0; k < 4; k++) {
        const size_t n = lengths[k];
        if (n == 0 || n > T)
            continue;
        session_random(s, s->tokens, n);
        const double asked = clock_seconds();
        const enum status status = ask_end(s, s->before, s->tokens, n, k == 0 ? s->rows_max : 1, err);
        if (k == 1)
            *one_row = clock_seconds() - asked;
        if (status != STATUS_OK && (k == 0 || status != STATUS_FORMAT))
            return status;
        if (status != STATUS_OK)
            return fail_within(err, status,
                               "a question of all %zu tokens was answered, a shorter one was not, though a model takes "
                               "any number up to its context",
                               T);
    }
    if (T > 2)
        verdict_say(s->v, "lengths", VERDICT_CLEAN, session_spent(s), "1, 2, %zu and %zu tokens are answered", T - 1,
                    T);
    else
        verdict_say(s->v, "lengths", VERDICT_CLEAN, session_spent(s), "1 to %zu tokens are answered", T);
    return STATUS_OK;
}

static enum status depends_on_others(double change, struct error *err)
{
    return fail(err, STATUS_FORMAT,
                "the answer depends on earlier questions (it changed by up to %.2g nats when the same question came "
                "again after others), so nothing can be said about leaks: a cache or another state is kept between "
                "questions; start each from a fresh one",
                change);
}

/* kept becomes the answer to `first`. Random answers differ every time; a state that the question before has left shows
 * in the first answer alone. By now the program has warmed up: what an answer costs decides how many are asked for. */
static enum status check_repeat(struct session *s, const uint32_t *first, double *kept, double one_row,
                                struct error *err)
{
    const size_t T = s->b->T;
    double apart[2];
    session_begin(s, 1);
    enum status status = ask_end(s, kept, first, T, s->rows_max, err);
    if (status == STATUS_OK && session_pace(s, session_spent(s), one_row))
        status = ask_end(s, kept, first, T, s->rows_max, err);
    for (int k = 0; k < 2 && status == STATUS_OK; k++) {
        status = ask_end(s, s->after, first, T, s->rows_max, err);
        if (status != STATUS_OK)
            break;
        apart[k] = largest_difference(s, kept);
        memcpy(kept, s->after, s->rows_max * s->b->V * sizeof *kept);
    }
    if (status != STATUS_OK)
        return status;
    s->noise = fmax(apart[0], apart[1]);
    if (s->noise > BLACKBOX_WORTHLESS && apart[1] == 0)
        return depends_on_others(s->noise, err);
    if (s->noise > RANDOM_NOISE)
        return fail(err, STATUS_FORMAT,
                    "answers differ between identical questions, by up to %.2g nats, so nothing can be said about "
                    "leaks: switch the model to evaluation mode (model.eval() turns dropout off), fix its seed, and "
                    "keep no cache from one question to the next",
                    s->noise);
    if (s->noise > 0)
        verdict_say(s->v, "repeat", VERDICT_NOTED, session_spent(s),
                    "one question three times: the answers differ by up to %.1g nats; ten times that is allowed for",
                    s->noise);
    else
        verdict_say(s->v, "repeat", VERDICT_CLEAN, session_spent(s), "one question three times: identical answers");
    return STATUS_OK;
}

/* The first question again: its answer must be the one that was kept. */
static enum status ask_again(struct session *s, const uint32_t *first, const double *kept, struct error *err)
{
    const enum status status = ask_end(s, s->after, first, s->b->T, s->rows_max, err);
    if (status != STATUS_OK)
        return status;
    const double change = largest_difference(s, kept);
    return change > session_tolerance(s) ? depends_on_others(change, err) : STATUS_OK;
}

/* The first question again, after questions of the same and of other lengths. */
static enum status check_order(struct session *s, const uint32_t *first, const double *kept, struct error *err)
{
    const size_t T = s->b->T, between[] = {T, T / 2, 1};
    session_begin(s, 0.2);
    for (size_t k = 0; k < 3 && !session_enough(s, k, 3, 1); k++) {
        if (between[k] == 0)
            continue;
        session_random(s, s->tokens, between[k]);
        enum status status = ask_end(s, s->after, s->tokens, between[k], s->rows_max, err);
        if (status == STATUS_OK)
            status = ask_again(s, first, kept, err);
        if (status != STATUS_OK)
            return status;
    }
    verdict_say(s->v, "order", VERDICT_CLEAN, session_spent(s),
                "the first question again after others: the same answer");
    return STATUS_OK;
}

/* --- what the future changes ------------------------------------------------------------------------------------ */

static void say_suffix(const struct blackbox_suffix *f, const struct session *s, double seconds)
{
    if (f->change > session_tolerance(s))
        verdict_say(
            s->v, "suffix", VERDICT_FOUND, seconds,
            "changing the tokens from position %zu on moves the answer at position %zu by %.2g nats (%zu of %zu "
            "positions tried)",
            f->place, f->row, f->change, f->tried, f->possible);
    else if (f->change > s->noise)
        verdict_say(
            s->v, "suffix", VERDICT_NOTED, seconds,
            "numerical dependence only: later tokens move answers by up to %.1g nats, worth nothing (%zu of %zu "
            "positions tried)",
            f->change, f->tried, f->possible);
    else
        verdict_say(s->v, "suffix", VERDICT_CLEAN, seconds,
                    "%zu of %zu positions%s: no answer before the change moved%s", f->tried, f->possible,
                    f->shorter ? ", and short windows" : "", s->noise > 0 ? " by more than the noise" : "");
}

/* What the strength suggests: a model of which only answers are seen shows no heads and no layers. */
static void strength_words(char *out, size_t size, const struct blackbox_chart *c)
{
    const bool all = c->shape.pattern == CHART_ALL_FUTURE;
    out[0] = '\0';
    if (c->backwards)
        snprintf(out, size, "; no earlier token moves anything, as when the mask is transposed");
    else if (c->strength < PARTIAL_BELOW)
        snprintf(out, size,
                 "; partial: a later token moves the answer %.2g times as much as an earlier one, as when one head or "
                 "one layer %s and the others are right",
                 c->strength, all ? "has no mask" : "has the mistake");
    else if (all && c->strength >= PARTIAL_BELOW)
        snprintf(
            out, size,
            "; a later token moves the answer %.2g times as much as an earlier one, as when the mask is missing as "
            "a whole",
            c->strength);
    else if (c->chained)
        snprintf(out, size, "; fainter, up to %zu ahead, as when each of several layers looks one ahead", c->chained);
}

static void find_in_chart(const struct blackbox_chart *c, const struct blackbox_suffix *f, const struct session *s)
{
    char words[CHART_WORDS_SIZE], strength[180];
    chart_words(words, &c->shape);
    strength_words(strength, sizeof strength, c);
    if (c->largest > session_tolerance(s))
        verdict_find(s->v, "chart", "each position sees %s%s", words, strength)->shape = c->shape;
    if (f->change > session_tolerance(s))
        verdict_find(s->v, "suffix", "tokens from position %zu on move the answer at position %zu by %.2g nats",
                     f->place, f->row, f->change)
            ->shape = c->shape;
}

static void say_chart(const struct blackbox_chart *c, const struct session *s, double seconds)
{
    char words[CHART_WORDS_SIZE];
    chart_words(words, &c->shape);
    const enum verdict_outcome outcome = c->largest > session_tolerance(s) ? VERDICT_FOUND
                                         : c->largest > 10 * s->noise      ? VERDICT_NOTED
                                                                           : VERDICT_CLEAN;
    if (outcome == VERDICT_FOUND)
        verdict_say(s->v, "chart", outcome, seconds,
                    "one token at a time, %zu of %zu: positions see %s, by up to %.2g nats (%zu of %zu pairs)",
                    c->questions, c->n, words, c->largest, c->seen, c->cells);
    else
        verdict_say(s->v, "chart", outcome, seconds, "one token at a time, %zu of %zu: %s", c->questions, c->n,
                    outcome == VERDICT_NOTED ? "numerical dependence only" : "no earlier answer moved");
}

/* --- all of them ----------------------------------------------------------------------------------------- */

static enum status look_for_leaks(struct session *s, struct error *err)
{
    struct blackbox_suffix suffix;
    struct blackbox_chart chart;
    session_begin(s, 0.4);
    enum status status = blackbox_suffix(&suffix, s, err);
    if (status != STATUS_OK)
        return status;
    say_suffix(&suffix, s, session_spent(s));
    session_begin(s, 0.65);
    status = blackbox_chart(&chart, s, err);
    if (status != STATUS_OK)
        return status;
    say_chart(&chart, s, session_spent(s));
    find_in_chart(&chart, &suffix, s);
    session_begin(s, 0.7);
    status = blackbox_rows(s, err);
    if (status != STATUS_OK)
        return status;
    session_begin(s, 0.9);
    status = blackbox_generation(s, &chart.shape, err);
    if (status != STATUS_OK)
        return status;
    session_begin(s, 1);
    return blackbox_uniform(s, err);
}

static enum status check(struct session *s, uint32_t *first, double *kept, struct error *err)
{
    double one_row = 0;
    enum status status = check_lengths(s, &one_row, err);
    session_random(s, first, s->b->T);
    if (status == STATUS_OK)
        status = check_repeat(s, first, kept, one_row, err);
    if (status == STATUS_OK)
        status = check_order(s, first, kept, err);
    if (status != STATUS_OK)
        return status;
    if (s->b->T < 2 || s->b->n_allowed < 2) {
        verdict_say(s->v, "suffix", VERDICT_SKIPPED, 0, "%s",
                    s->b->T < 2 ? "a context of one token has no future" : "with one symbol no token can be changed");
        return STATUS_OK;
    }
    status = look_for_leaks(s, err);
    return status == STATUS_OK ? ask_again(s, first, kept, err) : status;
}

enum status blackbox_check(struct verdict *v, struct blackbox *b, const struct blackbox_options *o, struct error *err)
{
    *v = (struct verdict){.nats = (double)NAN};
    struct session s = {.b = b,
                        .v = v,
                        .seed = o->seed,
                        .quick = o->quick,
                        .seconds = o->seconds,
                        .progress = o->progress,
                        .context = o->context};
    enum status status = session_open(&s, err);
    if (status != STATUS_OK)
        return status;
    uint32_t *const first = calloc(b->T, sizeof *first);
    double *const kept = calloc(s.rows_max * b->V, sizeof *kept);
    status = first && kept ? check(&s, first, kept, err) : fail(err, STATUS_MEMORY, "out of memory for an answer");
    free(first);
    free(kept);
    session_close(&s);
    return status;
}
