/* The trap: twins that learn the same text from the same first weights, in the same order, one with its mask right and
 * one with a fault planted. Side by side they show what a leak looks like from inside training (wonderful), from
 * outside (useless), and that it could have been known before the first step. Nothing is written to disk. */
#ifndef LAB_TRAP_H
#define LAB_TRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "diag/catalogue.h"
#include "diag/verdict.h"
#include "model/gpt.h"
#include "model/optimizer.h"
#include "text/dataset.h"
#include "text/tokenizer.h"
#include "train/gpt_learner.h"
#include "train/schedule.h"

enum trap_side { TRAP_RIGHT, TRAP_LEAKY, TRAP_SIDES };

struct trap_settings {
    struct config config;
    struct schedule schedule;
    size_t batch_size;
    double weight_decay, beta1, beta2, grad_clip;
    uint64_t seed;
    struct team team;
    size_t eval_interval; /* steps between evaluations; 0: only before the first step and after the last */
    size_t eval_windows; /* windows of each part that an evaluation reads, evenly spread, as far as there are so many */
    size_t sample_size;  /* symbols that each twin writes at the end; on the way at most 40 */
    const struct catalogue_entry *fault; /* what is planted in the second twin: see trap_fault */
};

/* What an evaluation finds of one twin. Losses in nats per symbol. */
struct trap_look {
    double train_loss, val_loss; /* whole windows at once, as everybody measures it */
    double generation_loss;      /* the same validation targets, each predicted with no future present */
    double *entropy;             /* (L,H): normalised, NaN where a head never sees two keys */
    double *future;              /* (L,H): attention weight on later positions, mean over all rows */
};

struct trap_point {
    size_t step;
    struct trap_look look[TRAP_SIDES];
};

/* A detector, and the step at which it first raised the alarm: 0 or the last, see trap_twin.verdict. */
struct trap_catch {
    const char *detector;
    size_t step;
};

struct trap_twin {
    struct gpt model;
    struct dataset data;        /* the text as this twin reads it: t->data, unless the fault lies there */
    uint32_t *tokens, *targets; /* (windows, T): the validation windows as this twin reads them */
    struct optimizer optimizer;
    struct gpt_learner learner;
    double loss;            /* of the last training batch */
    struct verdict verdict; /* the quick detectors before the first step, all of them after the last */
    size_t catches;
    struct trap_catch caught[VERDICT_LINES];
    char *sample; /* UTF-8 */
    size_t sample_bytes;
    double *maps; /* (L,H,S,S): attention weights over the first S symbols of the first validation window */
};

#define TRAP_SNIPPET 32
#define TRAP_NEVER ((size_t)-1)

struct trap;
struct trap_events {
    void *context;
    void (*step)(void *context, const struct trap *t); /* after an update of both twins: t->step */
    void (*look)(void *context, const struct trap *t); /* after an evaluation: t->point[t->points - 1] */
    bool (*interrupted)(void *context);                /* asked after each update */
};

/* The first four are the caller's, set before trap_create and alive until trap_free. */
struct trap {
    struct trap_settings settings;
    const struct dataset *data;
    const struct tokenizer *tokenizer;
    struct trap_events events;

    struct trap_twin twin[TRAP_SIDES];
    struct work work;
    struct arena arena;
    struct fault fault; /* planted in the leaky twin */
    size_t windows;
    size_t snippet; /* S: the smaller of TRAP_SNIPPET and the context */
    size_t step;    /* updates done */
    struct trap_point *point;
    size_t points;
    size_t fooled_at; /* the first evaluation after step 0 at which the leaky twin looks better (its validation loss is
                         below the right twin's) and writes worse (its generation loss is above); or TRAP_NEVER */
    double seconds;   /* that trap_run took */
};

/* Checks settings and text, makes both twins, takes all memory. STATUS_USAGE, STATUS_RANGE (a text too short for a
 * window in each part, or a number of evaluations that overflows), STATUS_MEMORY. On failure nothing is left
 * allocated. */
enum status trap_create(struct trap *t, struct error *err);
void trap_free(struct trap *t);

/* Trains both to the end. STATUS_NONFINITE (names twin and step), STATUS_INTERRUPTED, STATUS_MEMORY. */
enum status trap_run(struct trap *t, struct error *err);

/* The fault of this name, for training twins of this shape. STATUS_USAGE: unknown (the message lists those there are),
 * or one that would not show: it acts only while writing, or asks for dropout or for more layers, positions or rows. */
enum status trap_fault(const struct catalogue_entry **fault, const char *name, const struct config *c,
                       size_t batch_size, struct error *err);

#endif
