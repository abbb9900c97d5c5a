#include "cli/lab_scaling.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/human.h"
#include "cli/interrupt.h"
#include "cli/output_file.h"
#include "cli/terminal.h"
#include "lab/scaling.h"
#include "report/plot.h"

#define TRIALS 256 /* for a standard error of 1.2 % of the variance at d_k = 2, less above */

static bool progress(void *context, const char *what, size_t done, size_t total)
{
    terminal_progress(context, clock_seconds(), false, "%s: %zu of %zu", what, done, total);
    return interrupt_pending();
}

static void print_widths(const struct scaling *r)
{
    printf("q and k from N(0,1), %d queries and as many keys, %d trials. Plain is q.k,\n"
           "scaled is q.k / sqrt(d_k). Gradient: of 1000 that arrive at the weights, what\n"
           "the softmax lets through to all keys but the favourite (median of the rows).\n\n",
           SCALING_KEYS, TRIALS);
    printf("%4s%30s%16s%12s%16s\n", "", "variance (standard error)", "largest weight", "entropy", "gradient");
    printf("%4s %14s %14s  %6s %6s  %6s %6s  %6s %6s\n", "d_k", "plain", "scaled", "plain", "scaled", "plain", "scaled",
           "plain", "scaled");
    for (size_t i = 0; i < SCALING_WIDTHS; i++) {
        const struct scaling_look *a = &r->point[i].look[SCALING_PLAIN], *b = &r->point[i].look[SCALING_SCALED];
        printf("%4zu %7.2f (%4.2f) %6.3f (%5.3f)  %6.3f %6.3f  %6.3f %6.3f  %6.2f %6.2f\n", r->point[i].d_k,
               a->variance, a->variance_error, b->variance, b->variance_error, a->largest, b->largest, a->entropy,
               b->entropy, 1e3 * a->others_median, 1e3 * b->others_median);
    }
}

static void print_lesson(const struct scaling *r)
{
    const struct scaling_point *p = &r->point[SCALING_WIDTHS - 1];
    const struct scaling_look *plain = &p->look[SCALING_PLAIN], *scaled = &p->look[SCALING_SCALED];
    printf("\nPlain, the variance is d_k, and a wide head has made up its mind before it has\n"
           "learnt anything: at d_k = %zu one key has %.2f of the weight, and the others get\n"
           "%.0f times less gradient than with the scale. Divided by sqrt(d_k), the variance\n"
           "is 1 at any width, and so the rest hardly changes.\n",
           p->d_k, plain->largest, scaled->others_median / plain->others_median);
}

static void print_training(const struct scaling *r)
{
    const struct scaling_training *a = &r->training[SCALING_PLAIN], *b = &r->training[SCALING_SCALED];
    char parameters[HUMAN_SIZE];
    printf("\nOne model trained twice (%d layers, each a head of %d; %s parameters)\n"
           "from the same first weights on the same batches; only the scale differs, 1 or\n"
           "1 / sqrt(%d):\n\n",
           SCALING_LAYERS, SCALING_HEAD_SIZE, human_count(parameters, r->parameters), SCALING_HEAD_SIZE);
    printf("%6s%18s%31s\n", "", "validation loss", "entropy of layers 0 and 1");
    printf("%6s  %7s %8s  %14s %14s\n", "step", "plain", "scaled", "plain", "scaled");
    for (size_t k = 0; k < a->looks; k++)
        printf("%6zu  %7.3f %8.3f  %9.2f %4.2f %9.2f %4.2f\n", a->step[k], a->val_loss[k], b->val_loss[k],
               a->entropy[k][0], a->entropy[k][1], b->entropy[k][0], b->entropy[k][1]);
}

static json_t *look_json(const struct scaling_look *l)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "variance", l->variance, "variance_error",
                     l->variance_error, "largest_weight", l->largest, "largest_weight_error", l->largest_error,
                     "entropy", l->entropy, "entropy_error", l->entropy_error, "gradient_median", l->others_median,
                     "gradient_mean", l->others_mean, "query_gradient_median", l->query_median);
}

static json_t *training_json(const struct scaling_training *t)
{
    json_t *list = json_array();
    for (size_t k = 0; k < t->looks; k++) {
        json_t *entropy = json_array();
        for (size_t layer = 0; layer < SCALING_LAYERS; layer++)
            json_array_append_new(entropy, json_real(t->entropy[k][layer]));
        json_array_append_new(list, json_pack("{s:I, s:f, s:o}", "step", (json_int_t)t->step[k], "val_loss",
                                              t->val_loss[k], "entropy", entropy));
    }
    return list;
}

static enum status print_json(const struct scaling *r, const struct lab_scaling *s, struct error *err)
{
    json_t *points = json_array();
    for (size_t i = 0; i < SCALING_WIDTHS; i++)
        json_array_append_new(points, json_pack("{s:I, s:o, s:o}", "d_k", (json_int_t)r->point[i].d_k, "plain",
                                                look_json(&r->point[i].look[SCALING_PLAIN]), "scaled",
                                                look_json(&r->point[i].look[SCALING_SCALED])));
    json_t *o =
        json_pack("{s:i, s:i, s:I, s:o, s:{s:o, s:o}}", "keys", SCALING_KEYS, "trials", TRIALS, "seed",
                  (json_int_t)s->seed, "widths", points, "training", "plain",
                  training_json(&r->training[SCALING_PLAIN]), "scaled", training_json(&r->training[SCALING_SCALED]));
    return command_print_json(o, JSON_COMPACT, "lab", err);
}

/* Variance over width, both axes logarithmic: one line with slope 1, one flat. */
static enum status draw(const struct scaling *r, const char *path, struct error *err)
{
    double x[SCALING_WIDTHS], y[SCALING_SIDES][SCALING_WIDTHS];
    for (size_t i = 0; i < SCALING_WIDTHS; i++) {
        x[i] = (double)r->point[i].d_k;
        for (int side = 0; side < SCALING_SIDES; side++)
            y[side][i] = r->point[i].look[side].variance;
    }
    const struct plot_series all[SCALING_SIDES] = {{.label = "q . k", .y = y[SCALING_PLAIN], .look = 1},
                                                   {.label = "q . k / sqrt(d_k)", .y = y[SCALING_SCALED], .look = 0}};
    const struct plot p = {.title = "Variance of attention scores",
                           .description = "Variance of q . k, and of q . k divided by the root of d_k, over d_k, for "
                                          "standard normal q and k, on logarithmic axes.",
                           .x_label = "d_k",
                           .y_label = "variance",
                           .x = x,
                           .n = SCALING_WIDTHS,
                           .series = all,
                           .n_series = SCALING_SIDES,
                           .log_x = true,
                           .log_y = true,
                           .width = 640,
                           .height = 400,
                           .alone = true};
    struct buffer figure = {0};
    plot_svg(&figure, &p);
    return output_file_write(path, &figure, err);
}

static void print_text(const struct scaling *r)
{
    print_widths(r);
    print_lesson(r);
    if (r->training[SCALING_PLAIN].looks)
        print_training(r);
}

enum status lab_scaling_run(const struct lab_scaling *s, struct error *err)
{
    if (s->steps > 0 && s->steps < SCALING_LOOKS - 1)
        return fail(err, STATUS_USAGE, "--steps: found %zu, expected 0 (no trainings) or at least %d", s->steps,
                    SCALING_LOOKS - 1);
    struct terminal notes;
    terminal_open(&notes, stderr);
    struct scaling *r = malloc(sizeof *r);
    if (!r)
        return fail(err, STATUS_MEMORY, "lab: out of memory");
    const struct scaling_options o = {.trials = TRIALS,
                                      .steps = (uint32_t)s->steps,
                                      .seed = s->seed,
                                      .team = s->team,
                                      .progress = progress,
                                      .context = &notes};
    interrupt_catch();
    enum status status = scaling_run(r, &o, err);
    terminal_clear(&notes);
    if (!status && s->svg)
        status = draw(r, s->svg, err);
    if (!status && s->json)
        status = print_json(r, s, err);
    else if (!status)
        print_text(r);
    free(r);
    return status;
}
