/* nopeek lab: experiments that teach, each by its name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/team.h"
#include "cli/command.h"
#include "cli/compute.h"
#include "cli/human.h"
#include "cli/interrupt.h"
#include "cli/lab_cost.h"
#include "cli/lab_heads.h"
#include "cli/lab_scaling.h"
#include "cli/lab_verdicts.h"
#include "cli/terminal.h"
#include "lab/recall.h"

#define HEADS_STEPS 600
#define VERDICTS_STEPS 300
#define VERDICTS_TRIALS 10

struct settings {
    size_t trials, configurations;
    const char *fault;
    uint64_t seed;
    size_t max_t, head_size, steps, seeds, threads;
    const char *svg;
    bool json;
};

static const struct option_spec options_table[] = {
    OPTION_SECTION("lab detectors"),
    {.name = "trials",
     .type = OPTION_SIZE,
     .offset = offsetof(struct settings, trials),
     .metavar = "N",
     .fallback = "24",
     .fallback_note = "24; verdicts 10",
     .range = OPTION_BETWEEN(0, 100000),
     .help = "models that each fault is planted in; good runs of lab verdicts"},
    {.name = "configurations",
     .type = OPTION_SIZE,
     .offset = offsetof(struct settings, configurations),
     .metavar = "N",
     .fallback = "1000",
     .range = OPTION_BETWEEN(0, 1000000),
     .help = "correct models, of which none may be blamed"},
    {.name = "fault",
     .type = OPTION_STRING,
     .offset = offsetof(struct settings, fault),
     .metavar = "NAME",
     .help = "plant this one only; `nopeek help trap` lists them"},
    OPTION_SECTION("lab cost"),
    {.name = "max-t",
     .type = OPTION_SIZE,
     .offset = offsetof(struct settings, max_t),
     .metavar = "T",
     .fallback = "32768",
     .range = OPTION_BETWEEN(256, 1048576),
     .help = "lengths are 256, 512, ... up to this"},
    {.name = "head-size",
     .type = OPTION_SIZE,
     .offset = offsetof(struct settings, head_size),
     .metavar = "N",
     .fallback = "64",
     .range = OPTION_BETWEEN(1, 4096),
     .help = "channels of a head"},
    OPTION_SECTION("lab heads"),
    {.name = "seeds",
     .type = OPTION_SIZE,
     .offset = offsetof(struct settings, seeds),
     .metavar = "N",
     .fallback = "5",
     .range = OPTION_BETWEEN(1, 16),
     .help = "trainings of each model, from --seed on"},
    OPTION_SECTION("Several"),
    {.name = "steps",
     .type = OPTION_SIZE,
     .offset = offsetof(struct settings, steps),
     .metavar = "N",
     .fallback = "400",
     .fallback_note = "400; heads 600, verdicts 300",
     .range = OPTION_BETWEEN(0, 1000000),
     .help = "of each training (scaling, where 0 is none; heads; verdicts)"},
    {.name = "seed",
     .type = OPTION_SEED,
     .offset = offsetof(struct settings, seed),
     .metavar = "N",
     .fallback = "1",
     .help = "draws everything anew (detectors, scaling, heads, verdicts)"},
    {.name = "threads",
     .type = OPTION_SIZE,
     .offset = offsetof(struct settings, threads),
     .metavar = "N",
     .fallback = "1",
     .fallback_note = "the cores there are",
     .range = OPTION_BETWEEN(1, 1024),
     .help = "threads to compute with (cost, scaling, heads, verdicts), and for cost as many heads"},
    {.name = "svg",
     .type = OPTION_PATH,
     .offset = offsetof(struct settings, svg),
     .metavar = "FILE",
     .help = "draw time and memory over the length (cost), the variance over d_k (scaling)"},
    {.name = "json",
     .type = OPTION_FLAG,
     .offset = offsetof(struct settings, json),
     .help = "print one JSON object: recall, false_alarms, correct_configurations, faults; or reference, tiled, "
             "exponents, step; or keys, trials, widths, training; or items, values, channels, steps, one_alone, "
             "models; or steps, good, good_right, spoiled, "
             "spoiled_right, margins, runs"},
    OPTION_END,
};

static const struct command_example examples[] = {
    {"Which detector finds which fault, in some minutes", "lab detectors"},
    {"What attention costs as the text grows, with a picture", "lab cost --svg cost.svg"},
    {"Why scores are divided by sqrt(d_k), in half a minute", "lab scaling"},
    {"What several heads can learn that one does not", "lab heads"},
    {"Whether training's verdicts on its heads can be trusted", "lab verdicts"},
    {"One fault in many models", "lab detectors --fault one-ahead --trials 200 --configurations 0"},
    {NULL, NULL},
};

struct view {
    struct terminal err;
    double started;
};

static bool progress(void *context, size_t done, size_t total)
{
    struct view *v = context;
    const double now = clock_seconds();
    char left[HUMAN_SIZE];
    terminal_progress(&v->err, now, false, "%zu of %zu models, %s left", done, total,
                      human_duration(left, (now - v->started) / (double)done * (double)(total - done)));
    return interrupt_pending();
}

/* A share as one character: '#' always, '.' never, '-' could not look, else tens of percent. */
static char share(size_t part, size_t of)
{
    return of == 0 ? '-' : part == 0 ? '.' : part == of ? '#' : (char)('0' + 10 * part / of);
}

static void print_table(const struct recall *r)
{
    printf("%-22s found  placed ", "fault");
    for (size_t c = 0; c < RECALL_COLUMNS; c++)
        printf(" %c", 'a' + (int)c);
    putchar('\n');
    for (size_t i = 0; i < catalogue_size; i++) {
        const struct recall_fault *f = &r->fault[i];
        if (f->models == 0)
            continue;
        printf("%-22s %3zu %%   %3zu %% ", f->entry->name, 100 * f->caught_by_any / f->models,
               100 * f->located / f->models);
        for (size_t c = 0; c < RECALL_COLUMNS; c++)
            printf(" %c", share(f->caught[c], f->trials[c]));
        putchar('\n');
    }
    printf("\nfound: by any detector. placed: it also said where. A column is a detector\n"
           "that found the fault in # all models, 1-9 so many tens of percent, . none; it\n"
           "does not apply where there is a -.\n");
    for (size_t c = 0; c < RECALL_COLUMNS; c++) {
        const bool last = c % 5 == 4 || c + 1 == RECALL_COLUMNS;
        printf("%s%c %-*s%s", c % 5 == 0 ? "  " : " ", 'a' + (int)c, last ? 0 : 11, recall_column(c), last ? "\n" : "");
    }
}

static void print_text(const struct recall *r)
{
    size_t models = 0, caught = 0, located = 0;
    for (size_t i = 0; i < catalogue_size; i++) {
        models += r->fault[i].models;
        caught += r->fault[i].caught_by_any;
        located += r->fault[i].located;
    }
    if (models) {
        print_table(r);
        printf("\nfaults   %zu of %zu found (%.2f %%), %zu placed (layer, head, operation, offset)\n", caught, models,
               100 * (double)caught / (double)models, located);
    }
    printf("correct  %zu model%s, %zu false alarm%s\n", r->correct, r->correct == 1 ? "" : "s", r->alarms,
           r->alarms == 1 ? "" : "s");
    for (size_t i = 0; i < catalogue_size; i++)
        if (r->fault[i].missed[0])
            printf("%s %s\n", r->fault[i].entry->name, r->fault[i].missed);
    if (r->alarm[0])
        printf("false alarm: %s\n", r->alarm);
}

static json_t *by_detector(const struct recall_fault *f)
{
    json_t *by = json_object();
    for (size_t c = 0; c < RECALL_COLUMNS; c++)
        json_object_set_new(by, recall_column(c),
                            f->trials[c] ? json_real((double)f->caught[c] / (double)f->trials[c]) : json_null());
    return by;
}

static enum status print_json(const struct recall *r, struct error *err)
{
    size_t models = 0, caught = 0;
    json_t *faults = json_array();
    for (size_t i = 0; i < catalogue_size; i++) {
        const struct recall_fault *f = &r->fault[i];
        if (f->models == 0)
            continue;
        models += f->models;
        caught += f->caught_by_any;
        json_array_append_new(faults, json_pack("{s:s, s:s, s:I, s:I, s:I, s:o}", "name", f->entry->name, "says",
                                                f->entry->says, "models", (json_int_t)f->models, "caught",
                                                (json_int_t)f->caught_by_any, "located", (json_int_t)f->located, "by",
                                                by_detector(f)));
    }
    json_t *object = json_pack(
        "{s:o, s:I, s:I, s:o}", "recall", models ? json_real((double)caught / (double)models) : json_null(),
        "false_alarms", (json_int_t)r->alarms, "correct_configurations", (json_int_t)r->correct, "faults", faults);
    return command_print_json(object, JSON_COMPACT, "lab", err);
}

static enum status run_detectors(const struct options *options, const struct settings *s, struct error *err)
{
    (void)options;
    if (s->fault && !catalogue_find(s->fault))
        return fail(err, STATUS_USAGE, "--fault: found \"%.60s\", expected one of those that nopeek help trap lists",
                    s->fault);
    struct view view = {.started = clock_seconds()};
    terminal_open(&view.err, stderr);
    const struct recall_options o = {.trials = s->trials,
                                     .correct = s->configurations,
                                     .seed = s->seed,
                                     .team = compute_team(2),
                                     .only = s->fault,
                                     .progress = progress,
                                     .context = &view};
    struct recall *r = malloc(sizeof *r);
    if (!r)
        return fail(err, STATUS_MEMORY, "lab: out of memory");
    interrupt_catch();
    enum status status = recall_run(r, &o, err);
    terminal_clear(&view.err);
    if (status == STATUS_OK && s->json)
        status = print_json(r, err);
    else if (status == STATUS_OK)
        print_text(r);
    free(r);
    return status;
}

static enum status run_cost(const struct options *options, const struct settings *s, struct error *err)
{
    const bool chosen = options_given(options, "threads");
    const struct lab_cost cost = {.max_t = s->max_t,
                                  .head_size = s->head_size,
                                  .team = compute_team(chosen ? s->threads : 0),
                                  .svg = s->svg,
                                  .json = s->json};
    return lab_cost_run(&cost, err);
}

static enum status run_scaling(const struct options *options, const struct settings *s, struct error *err)
{
    const bool chosen = options_given(options, "threads");
    const struct lab_scaling scaling = {.steps = s->steps,
                                        .seed = s->seed,
                                        .team = compute_team(chosen ? s->threads : 0),
                                        .svg = s->svg,
                                        .json = s->json};
    return lab_scaling_run(&scaling, err);
}

static enum status run_heads(const struct options *options, const struct settings *s, struct error *err)
{
    const bool chosen = options_given(options, "threads");
    const struct lab_heads heads = {.steps = options_given(options, "steps") ? s->steps : HEADS_STEPS,
                                    .seeds = s->seeds,
                                    .seed = s->seed,
                                    .team = compute_team(chosen ? s->threads : 0),
                                    .json = s->json};
    return lab_heads_run(&heads, err);
}

static enum status run_verdicts(const struct options *options, const struct settings *s, struct error *err)
{
    const bool chosen = options_given(options, "threads");
    const struct lab_verdicts verdicts = {.text = options->operands > 1 ? options->operand[1] : NULL,
                                          .steps = options_given(options, "steps") ? s->steps : VERDICTS_STEPS,
                                          .trials = options_given(options, "trials") ? s->trials : VERDICTS_TRIALS,
                                          .seed = s->seed,
                                          .team = compute_team(chosen ? s->threads : 0),
                                          .json = s->json};
    return lab_verdicts_run(&verdicts, err);
}

static const struct lab {
    const char *name;
    enum status (*run)(const struct options *options, const struct settings *s, struct error *err);
    bool reads; /* a TEXT */
} experiments[] = {{"detectors", run_detectors, false},
                   {"cost", run_cost, false},
                   {"scaling", run_scaling, false},
                   {"heads", run_heads, false},
                   {"verdicts", run_verdicts, true}};

static enum status run(struct options *options, void *settings, struct error *err)
{
    const char *const name = options->operand[0];
    for (size_t k = 0; k < sizeof experiments / sizeof *experiments; k++) {
        const struct lab *lab = &experiments[k];
        if (strcmp(name, lab->name) != 0)
            continue;
        if (options->operands > 1 && !lab->reads)
            return fail(err, STATUS_USAGE, "lab %s: found \"%.60s\" after it, expected no text: it makes its own", name,
                        options->operand[1]);
        return lab->run(options, settings, err);
    }
    return fail(err, STATUS_USAGE, "lab: found \"%.60s\", expected detectors, cost, scaling, heads or verdicts", name);
}

const struct command cmd_lab = {
    .name = "lab",
    .group = COMMAND_LEARN,
    .summary = "runs an experiment: detectors, cost, scaling, heads or verdicts",
    .operands = "detectors|cost|scaling|heads|verdicts [TEXT]",
    .min_operands = 1,
    .max_operands = 2,
    .about =
        "lab detectors plants every fault of the catalogue in many small models of random shape, fresh and trained, in "
        "random layers and heads, and prints which detector found how many and whether the fault was located; then it "
        "asks the same detectors about correct models and counts false alarms.\n\n"
        "lab cost measures time and memory of attention by the textbook, which keeps a weight for every pair of "
        "symbols, and tiled, which does not, forward and backward, while the length of the text doubles, as far as "
        "memory allows; then one whole training step of a small model at 16,384 symbols.\n\n"
        "lab scaling shows why scores are divided by sqrt(d_k): for random q and k of width 2 to 512 the variance of "
        "q.k, the largest weight, the entropy and the gradient that gets past the softmax to the other keys, with the "
        "division and without; then two trainings that differ in nothing else.\n\n"
        "lab heads trains one head and 2 and 4 of the same total size on a task that needs two look-ups at once, one "
        "by content and one by place, with several seeds, and prints what each got right and where its heads look.\n\n"
        "lab verdicts trains a small model with ten seeds as it should be and spoiled in three ways (learning rate 30 "
        "times too high, queries and keys frozen, softmax temperature 20), on TEXT or on a text that is made for it, "
        "and prints what training said of its heads and when. Exit status 0: all of it was right.",
    .options = options_table,
    .settings_size = sizeof(struct settings),
    .examples = examples,
    .run = run,
};
