#include "cli/lab_verdicts.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/human.h"
#include "cli/interrupt.h"
#include "cli/reading.h"
#include "cli/terminal.h"
#include "diag/head_watch.h"
#include "io/metrics.h"
#include "lab/spoiled.h"

#define SPOILT 3 /* seeds of each spoiled kind */

struct view {
    struct terminal err;
    double started;
};

static bool progress(void *context, size_t done, size_t total)
{
    struct view *v = context;
    const double now = clock_seconds();
    char left[HUMAN_SIZE];
    if (done > 0)
        terminal_progress(&v->err, now, false, "%zu of %zu steps of all runs, %s left", done, total,
                          human_duration(left, (now - v->started) / (double)done * (double)(total - done)));
    return interrupt_pending();
}

/* ---- as a table ---- */

static void print_intro(const struct spoiled *r, const struct lab_verdicts *s)
{
    printf("A model of %d layers and %d heads is trained for %zu steps on %s:\n"
           "with %zu seeds as it should be (learning rate %g), and spoiled in three ways.\n"
           "Verdicts on its heads, each said once, where the run stood then:\n\n",
           SPOILED_LAYERS, SPOILED_HEADS, s->steps, s->text ? "your text" : "a text that is made for it", r->good,
           SPOILED_RATE);
}

static void print_run(struct terminal *out, const struct spoiled_training *t)
{
    printf("%-14s seed %-4" PRIu64 " %-5s  loss %.3f to ", spoiled_name(t->kind), t->seed, t->right ? "right" : "WRONG",
           t->first_loss);
    if (t->nonfinite)
        printf("none: not finite at step %zu", t->nonfinite);
    else
        printf("%.3f", t->last_loss);
    if (t->above)
        printf(", a spike at step %zu", t->above);
    printf(t->verdicts ? "\n" : "; told nothing\n");
    for (size_t k = 0; k < t->verdicts && k < SPOILED_VERDICTS; k++) {
        const struct spoiled_verdict *v = &t->verdict[k];
        char label[64];
        snprintf(label, sizeof label, "  step %-4zu ", v->step);
        terminal_entry(out, label, "loss %.3f: %s: %s", v->loss, head_finding_name(v->kind), v->says);
    }
}

/* The extreme of a figure over runs of the kinds from `first` to `last`: the largest, or the smallest. */
static double extreme(const struct spoiled *r, enum spoiled_kind first, enum spoiled_kind last, size_t offset,
                      bool largest)
{
    double x = (double)NAN;
    for (size_t i = 0; i < r->runs; i++) {
        const struct spoiled_training *t = &r->run[i];
        const double y = *(const double *)(const void *)((const char *)&t->margins + offset);
        if (t->kind >= first && t->kind <= last)
            x = largest ? fmax(x, y) : fmin(x, y);
    }
    return x;
}

/* A figure that a rule compares: the good runs' worst, the limit, the least of the kind that is spoiled that way. */
static const struct margin {
    const char *name, *key;
    size_t offset;
    double limit;
    enum spoiled_kind kind; /* SPOILED_NOT: none of them */
    bool above;             /* what is spoiled lies above the limit */
} margins[] = {
    {"largest score of a head that narrowed", "score", offsetof(struct spoiled_margins, score), HEAD_WATCH_SCORE,
     SPOILED_FAST, true},
    {"softmax temperature", "temperature", offsetof(struct spoiled_margins, temperature), HEAD_WATCH_HOT, SPOILED_HOT,
     true},
    {"turn while all heads are uniform", "turn", offsetof(struct spoiled_margins, turn), HEAD_WATCH_TURN, SPOILED_HOT,
     true},
    {"turn over what was due, least", "moved", offsetof(struct spoiled_margins, moved), HEAD_WATCH_STILL,
     SPOILED_FROZEN, false},
    {"what a head adds, least share", "share", offsetof(struct spoiled_margins, share), HEAD_WATCH_DEAD, SPOILED_NOT,
     false},
    {"distance between two heads, least", "distance", offsetof(struct spoiled_margins, distance), HEAD_WATCH_SAME,
     SPOILED_NOT, false},
};
#define MARGINS (sizeof margins / sizeof *margins)

static double of_good(const struct spoiled *r, const struct margin *m)
{
    return extreme(r, SPOILED_NOT, SPOILED_NOT, m->offset, m->above);
}

static double of_spoiled(const struct spoiled *r, const struct margin *m)
{
    return m->kind == SPOILED_NOT ? (double)NAN : extreme(r, m->kind, m->kind, m->offset, !m->above);
}

static void print_margins(const struct spoiled *r)
{
    printf("\n%-38s %10s %8s %s\n", "", "worst good", "limit", "least spoiled");
    for (size_t k = 0; k < MARGINS; k++) {
        const struct margin *m = &margins[k];
        printf("%-38s %10.3g %8.3g ", m->name, of_good(r, m), m->limit);
        if (m->kind == SPOILED_NOT)
            printf("-\n");
        else
            printf("%.3g (%s)\n", of_spoiled(r, m), spoiled_name(m->kind));
    }
    printf("\n%zu of %zu good runs were told nothing, %zu of %zu spoiled ones what is wrong\n", r->good_right, r->good,
           r->bad_right, r->bad);
}

static void print_text(const struct spoiled *r, const struct lab_verdicts *s)
{
    struct terminal out;
    terminal_open(&out, stdout);
    print_intro(r, s);
    for (size_t i = 0; i < r->runs; i++)
        print_run(&out, &r->run[i]);
    print_margins(r);
}

/* ---- as JSON ---- */

static json_t *verdicts_json(const struct spoiled_training *t)
{
    json_t *list = json_array();
    for (size_t k = 0; k < t->verdicts && k < SPOILED_VERDICTS; k++) {
        const struct spoiled_verdict *v = &t->verdict[k];
        json_array_append_new(list, json_pack("{s:I, s:o, s:s, s:s}", "step", (json_int_t)v->step, "loss",
                                              metrics_number(v->loss), "verdict", head_finding_name(v->kind), "says",
                                              v->says));
    }
    return list;
}

static json_t *run_json(const struct spoiled_training *t)
{
    return json_pack("{s:s, s:I, s:b, s:o, s:o, s:o, s:o, s:o}", "run", spoiled_name(t->kind), "seed",
                     (json_int_t)t->seed, "right", t->right, "first_loss", metrics_number(t->first_loss), "last_loss",
                     metrics_number(t->last_loss), "above_first_at",
                     t->above ? json_integer((json_int_t)t->above) : json_null(), "nonfinite_at",
                     t->nonfinite ? json_integer((json_int_t)t->nonfinite) : json_null(), "verdicts", verdicts_json(t));
}

static enum status print_json(const struct spoiled *r, const struct lab_verdicts *s, struct error *err)
{
    json_t *runs = json_array(), *list = json_object();
    for (size_t i = 0; i < r->runs; i++)
        json_array_append_new(runs, run_json(&r->run[i]));
    for (size_t k = 0; k < MARGINS; k++)
        json_object_set_new(list, margins[k].key,
                            json_pack("{s:o, s:f, s:o}", "good", metrics_number(of_good(r, &margins[k])), "limit",
                                      margins[k].limit, "spoiled", metrics_number(of_spoiled(r, &margins[k]))));
    json_t *o = json_pack("{s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "steps", (json_int_t)s->steps, "good",
                          (json_int_t)r->good, "good_right", (json_int_t)r->good_right, "spoiled", (json_int_t)r->bad,
                          "spoiled_right", (json_int_t)r->bad_right, "margins", list, "runs", runs);
    return command_print_json(o, JSON_COMPACT, "lab", err);
}

/* ---- the experiment ---- */

static enum status run_on(struct spoiled *r, const struct lab_verdicts *s, const struct dataset *data, size_t V,
                          struct error *err)
{
    struct view view = {.started = clock_seconds()};
    terminal_open(&view.err, stderr);
    const struct spoiled_options o = {.data = data,
                                      .vocab_size = V,
                                      .trials = s->trials,
                                      .spoilt = s->trials < SPOILT ? s->trials : SPOILT,
                                      .steps = (uint32_t)s->steps,
                                      .seed = s->seed,
                                      .team = s->team,
                                      .progress = progress,
                                      .context = &view};
    interrupt_catch();
    const enum status status = spoiled_run(r, &o, err);
    terminal_clear(&view.err);
    return status;
}

static enum status run_on_text(struct spoiled *r, const struct lab_verdicts *s, struct error *err)
{
    struct dataset data;
    struct tokenizer tokenizer = {.kind = TOKENIZER_CHARS};
    enum status status = reading_open(&data, &tokenizer, &s->text, 1, 0.1, err);
    if (status)
        return status;
    status = run_on(r, s, &data, tokenizer.size, err);
    dataset_free(&data);
    tokenizer_free(&tokenizer);
    return status;
}

enum status lab_verdicts_run(const struct lab_verdicts *s, struct error *err)
{
    if (s->steps < SPOILED_LEAST)
        return fail(err, STATUS_USAGE, "--steps: found %zu, expected at least %d: a run must have time to learn",
                    s->steps, SPOILED_LEAST);
    if (s->trials == 0)
        return fail(err, STATUS_USAGE, "--trials: found 0, expected at least 1");
    struct spoiled r;
    enum status status = s->text ? run_on_text(&r, s, err) : run_on(&r, s, NULL, 0, err);
    if (status)
        return status;
    if (s->json)
        status = print_json(&r, s, err);
    else
        print_text(&r, s);
    if (!status && r.good_right + r.bad_right < r.runs)
        status =
            fail(err, STATUS_FORMAT, "%zu of %zu runs were told what is not so, or not what is: the runs marked WRONG",
                 r.runs - r.good_right - r.bad_right, r.runs);
    spoiled_free(&r);
    return status;
}
