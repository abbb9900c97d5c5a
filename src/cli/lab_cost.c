#include "cli/lab_cost.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/human.h"
#include "cli/interrupt.h"
#include "cli/output_file.h"
#include "cli/terminal.h"
#include "lab/cost.h"
#include "report/plot.h"

#define STEP_T 16384 /* a training step that the reference has no room for */

static bool progress(void *context, const char *what, size_t T)
{
    terminal_progress(context, clock_seconds(), false, "%s at length %zu", what, T);
    return interrupt_pending();
}

/* After the point of so many milliseconds: three in all. */
static int digits(double seconds)
{
    return seconds < 9.995e-3 ? 2 : seconds < 99.95e-3 ? 1 : 0;
}

/* A figure of the textbook and the tiled one, or of what there is of them. */
static void print_row(const struct cost *c, size_t k)
{
    const struct cost_point *tiled = &c->point[COST_TILED][k], *ref = &c->point[COST_REFERENCE][k];
    char a[HUMAN_SIZE], b[HUMAN_SIZE];
    printf("%7zu", tiled->T);
    if (k < c->n[COST_REFERENCE])
        printf("  %11.*f ms %9s", digits(ref->seconds), 1e3 * ref->seconds, human_bytes(a, ref->bytes));
    else
        printf("  %11s    %9s", "-", "-");
    printf("  %11.*f ms %9s", digits(tiled->seconds), 1e3 * tiled->seconds, human_bytes(b, tiled->bytes));
    if (k < c->n[COST_REFERENCE])
        printf("  %7.2f %7.3f", tiled->seconds / ref->seconds, (double)tiled->bytes / (double)ref->bytes);
    putchar('\n');
}

static void print_exponents(const struct cost *c)
{
    static const char *const names[COST_KINDS] = {[COST_REFERENCE] = "reference", [COST_TILED] = "tiled"};
    const size_t most = c->n[COST_TILED];
    printf("\ngrows as the length to the power of (fitted over the last %zu lengths)\n",
           most < COST_FIT ? most : COST_FIT);
    for (int kind = 0; kind < COST_KINDS; kind++)
        if (c->n[kind] > 1)
            printf("  %-9s  time %.2f, memory %.2f\n", names[kind], c->time_exponent[kind], c->memory_exponent[kind]);
        else
            printf("  %-9s  no telling from %zu length%s\n", names[kind], c->n[kind], c->n[kind] == 1 ? "" : "s");
}

static void print_step(struct terminal *out, const struct cost *c)
{
    char parameters[HUMAN_SIZE], time[HUMAN_SIZE], memory[HUMAN_SIZE], most[HUMAN_SIZE], peak[64] = "";
    if (!c->step.T)
        return;
    if (c->step.resident)
        snprintf(peak, sizeof peak, " (peak of the process %s)", human_bytes(most, c->step.resident));
    terminal_entry(out, "",
                   "one training step at length %zu (%zu layers, %zu heads, %zu channels, %s parameters, batch 1): %s, "
                   "%s%s",
                   c->step.T, c->step.n_layer, c->step.n_head, c->step.n_embd,
                   human_count(parameters, c->step.parameters), human_duration(time, c->step.seconds),
                   human_bytes(memory, c->step.bytes), peak);
}

static void print_text(const struct cost *c, const struct lab_cost *s)
{
    char a[HUMAN_SIZE], b[HUMAN_SIZE];
    printf("causal attention, forward and backward: batch 1, %zu head%s of %zu, %d thread%s\n\n", c->heads,
           c->heads == 1 ? "" : "s", s->head_size, s->team.threads, s->team.threads == 1 ? "" : "s");
    printf("%7s  %24s  %24s  %15s\n", "", "reference", "tiled", "tiled/reference");
    printf("%7s  %14s %9s  %14s %9s  %7s %7s\n", "length", "time", "memory", "time", "memory", "time", "memory");
    for (size_t k = 0; k < c->n[COST_TILED]; k++)
        print_row(c, k);
    print_exponents(c);
    struct terminal out;
    terminal_open(&out, stdout);
    if (c->refused_T)
        terminal_entry(
            &out, "",
            "the reference stops before length %zu: it would take %s, more than three quarters of the memory that is "
            "left (%s)",
            c->refused_T, human_bytes(a, c->refused_bytes),
            c->available ? human_bytes(b, c->available) : "the system does not say how much");
    print_step(&out, c);
}

static json_t *number_or_null(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *series(const struct cost *c, enum cost_kind kind)
{
    json_t *list = json_array();
    for (size_t k = 0; k < c->n[kind]; k++) {
        const struct cost_point *p = &c->point[kind][k];
        json_array_append_new(list, json_pack("{s:I, s:f, s:I, s:o}", "T", (json_int_t)p->T, "seconds", p->seconds,
                                              "peak_bytes", (json_int_t)p->bytes, "resident_bytes",
                                              p->resident ? json_integer((json_int_t)p->resident) : json_null()));
    }
    return list;
}

static json_t *exponents(const struct cost *c, enum cost_kind kind)
{
    return json_pack("{s:o, s:o}", "time", number_or_null(c->time_exponent[kind]), "memory",
                     number_or_null(c->memory_exponent[kind]));
}

static enum status print_json(const struct cost *c, const struct lab_cost *s, struct error *err)
{
    json_t *o = json_pack("{s:I, s:I, s:i, s:o, s:o, s:{s:o, s:o}}", "head_size", (json_int_t)s->head_size, "heads",
                          (json_int_t)c->heads, "threads", s->team.threads, "reference", series(c, COST_REFERENCE),
                          "tiled", series(c, COST_TILED), "exponents", "reference", exponents(c, COST_REFERENCE),
                          "tiled", exponents(c, COST_TILED));
    if (o && c->step.T)
        json_object_set_new(o, "step",
                            json_pack("{s:I, s:f, s:I, s:I}", "T", (json_int_t)c->step.T, "seconds", c->step.seconds,
                                      "peak_bytes", (json_int_t)c->step.bytes, "resident_bytes",
                                      (json_int_t)c->step.resident));
    return command_print_json(o, JSON_COMPACT, "lab", err);
}

/* Time and memory over the length, all axes logarithmic: a power of the length is a straight line. */
static enum status draw(const struct cost *c, const char *path, struct error *err)
{
    enum { SERIES = 2 * COST_KINDS };
    double x[COST_LENGTHS], y[SERIES][COST_LENGTHS];
    const size_t n = c->n[COST_TILED];
    for (size_t i = 0; i < n; i++) {
        x[i] = (double)c->point[COST_TILED][i].T;
        for (int kind = 0; kind < COST_KINDS; kind++) {
            const bool there = i < c->n[kind];
            y[kind][i] = there ? c->point[kind][i].seconds : (double)NAN;
            y[COST_KINDS + kind][i] = there ? (double)c->point[kind][i].bytes / 1e9 : (double)NAN;
        }
    }
    const struct plot_series all[SERIES] = {{.label = "reference, seconds", .y = y[COST_REFERENCE], .look = 1},
                                            {.label = "tiled, seconds", .y = y[COST_TILED], .look = 0},
                                            {.label = "reference, GB", .y = y[2], .look = 1, .dashes = 1},
                                            {.label = "tiled, GB", .y = y[3], .look = 0, .dashes = 1}};
    const struct plot p = {.title = "Attention, forward and backward",
                           .description = "Time and memory of reference and tiled attention over the length of the "
                                          "text, on logarithmic axes.",
                           .x_label = "length of the text, symbols",
                           .y_label = "seconds, and GB of memory",
                           .x = x,
                           .n = n,
                           .series = all,
                           .n_series = SERIES,
                           .log_x = true,
                           .log_y = true,
                           .width = 640,
                           .height = 400,
                           .alone = true};
    struct buffer figure = {0};
    plot_svg(&figure, &p);
    return output_file_write(path, &figure, err);
}

enum status lab_cost_run(const struct lab_cost *s, struct error *err)
{
    struct terminal notes;
    terminal_open(&notes, stderr);
    struct cost *c = malloc(sizeof *c);
    if (!c)
        return fail(err, STATUS_MEMORY, "lab: out of memory");
    const struct cost_options o = {.most = s->max_t,
                                   .head_size = s->head_size,
                                   .step = s->max_t < STEP_T ? s->max_t : STEP_T,
                                   .team = s->team,
                                   .progress = progress,
                                   .context = &notes};
    interrupt_catch();
    enum status status = cost_run(c, &o, err);
    terminal_clear(&notes);
    if (!status && s->svg)
        status = draw(c, s->svg, err);
    if (!status && s->json)
        status = print_json(c, s, err);
    else if (!status)
        print_text(c, s);
    free(c);
    return status;
}
