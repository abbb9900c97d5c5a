/* What the black-box detectors share: memory, random questions, time, and what counts as a change. */
#ifndef DIAG_BLACKBOX_SESSION_H
#define DIAG_BLACKBOX_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "diag/blackbox.h"
#include "diag/verdict.h"

#define BLACKBOX_WORTHLESS 1e-6 /* nats: a smaller change of a log-probability is rounding, not knowledge */

struct session {
    struct blackbox *b;
    struct verdict *v;
    uint64_t seed;
    bool quick;
    double seconds; /* for all questions */
    void (*progress)(void *context, const char *detector, size_t done, size_t of);
    void *context;

    /* Kept by session_*. */
    bool slow;                  /* answers take so long that only what is needed to tell anything is asked */
    uint32_t draws;             /* random sequences so far */
    size_t rows_max;            /* rows of one answer */
    bool whole;                 /* an answer may be of every row, T of them; else rows_max of them are asked for */
    uint32_t *tokens, *changed; /* (T) */
    double *before, *after;     /* (rows_max,V), log-probabilities */
    size_t *rows;               /* (T), or 3 when T is less; ascending */
    size_t *places;             /* (T) */
    double noise;               /* nats: the most by which two answers to one question differed */
    double begin, end, started; /* of the whole check; of the detector that runs */
};

/* s->b .. s->context are set. STATUS_MEMORY. */
enum status session_open(struct session *s, struct error *err);
void session_close(struct session *s);

/* What answers cost, in seconds: one of rows_max rows, and one of a single row. Sets s->slow; true when from now on
 * rows_max is smaller, because it is the numbers that take the time. */
bool session_pace(struct session *s, double all_rows, double one_row);

/* A change that rounding and the noise between identical questions do not explain. */
double session_tolerance(const struct session *s);

/* A detector begins; it may go on until `share` of all the time is spent. */
void session_begin(struct session *s, double share);
bool session_late(const struct session *s);
/* Its time is up, and it has done what it does in any case: `least`, or `slow` when answers are slow. */
bool session_enough(const struct session *s, size_t done, size_t least, size_t slow);
double session_spent(const struct session *s); /* seconds since it began */
void session_show(const struct session *s, const char *detector, size_t done, size_t of);

/* n fresh tokens that may occur. */
void session_random(struct session *s, uint32_t *tokens, size_t n);

/* A symbol other than this one. */
uint32_t session_other(struct session *s, uint32_t token);

/* changed = tokens, with every token from t on, or with `alone` the one at t, another one. */
void session_change(struct session *s, size_t n, size_t t, bool alone);

/* Fills s->places with all of first .. last, each once: one in the middle and odd, which belongs to no edge of a block;
 * those where mistakes show first (both ends, and both sides of multiples of 16 and of powers of two); then the rest
 * spread evenly. Returns how many. */
size_t session_spread(struct session *s, size_t first, size_t last);

/* Sorts s->rows[0 .. n-1] and drops doubles; returns how many are left. */
size_t session_sort_rows(struct session *s, size_t n);

/* The largest |difference| of two rows of log-probabilities, in nats. */
double session_difference(const struct session *s, const double *a, const double *b);

#endif
