#include "cli/lab_heads.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/human.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"
#include "lab/lookups.h"

static bool progress(void *context, size_t done, size_t total)
{
    terminal_progress(context, clock_seconds(), false, "%zu of %zu steps of all trainings", done, total);
    return interrupt_pending();
}

static void print_task(const struct lookups *r, const struct lab_heads *s)
{
    char parameters[HUMAN_SIZE];
    printf("A text is %d items, each a key with a value, and then a key. The answer is a\n"
           "pair: the value of the item with that key (found by content) and the value of\n"
           "the item two back (found by place). One layer of attention without its MLP, %d\n"
           "channels in all heads together, %s parameters, the same first weights and\n"
           "texts; %zu steps. Who knows one value and guesses the other is right in %.1f %%.\n\n",
           LOOKUPS_ITEMS, LOOKUPS_CHANNELS, human_count(parameters, r->model[0].parameters), s->steps,
           100 * LOOKUPS_ONE_ALONE);
}

static void print_model(const struct lookups *r, const struct lookups_model *m, uint64_t first)
{
    for (size_t k = 0; k < r->seeds; k++) {
        const struct lookups_result *x = &m->seed[k];
        if (k == 0)
            printf("%3zu of %-2zu", m->heads, LOOKUPS_CHANNELS / m->heads);
        else
            printf("%9s", "");
        printf("%6" PRIu64 " %6.1f %% %7.3f ", first + k, 100 * x->accuracy, x->loss);
        for (size_t h = 0; h < m->heads; h++)
            printf("  %4.2f %4.2f", x->head[h].by_content, x->head[h].by_place);
        putchar('\n');
    }
    printf("%9s%6s %6.1f %% %7.3f   solved with %zu of %zu seeds\n\n", "", "median", 100 * m->accuracy, m->loss,
           m->solved, r->seeds);
}

static void print_text(const struct lookups *r, const struct lab_heads *s)
{
    print_task(r, s);
    printf("%9s%6s %8s %7s   %s\n", "", "", "", "", "each head's weight on the item with the key");
    printf("%9s%6s %8s %7s   %s\n", " heads  ", "seed", "right", "loss", "and on the one two back, where they differ");
    for (size_t i = 0; i < LOOKUPS_MODELS; i++)
        print_model(r, &r->model[i], s->seed);
    const struct lookups_model *one = &r->model[0], *most = &r->model[LOOKUPS_MODELS - 1];
    printf("A head has one set of weights and gives one mean; half of one item and half of\n"
           "another do not tell which value is which. One head alone solved it with %zu of\n"
           "%zu seeds (it has to split its weight unequally, or stays with one look-up), %zu\n"
           "heads of the same total size with %zu.\n",
           one->solved, r->seeds, most->heads, most->solved);
}

static json_t *training_json(const struct lookups_result *x, size_t heads, uint64_t seed)
{
    json_t *list = json_array();
    for (size_t h = 0; h < heads; h++)
        json_array_append_new(list, json_pack("{s:f, s:f, s:f}", "by_content", x->head[h].by_content, "by_place",
                                              x->head[h].by_place, "entropy", x->head[h].entropy));
    return json_pack("{s:I, s:f, s:f, s:o}", "seed", (json_int_t)seed, "accuracy", x->accuracy, "loss", x->loss,
                     "heads", list);
}

static json_t *model_json(const struct lookups *r, const struct lookups_model *m, uint64_t first)
{
    json_t *list = json_array();
    for (size_t k = 0; k < r->seeds; k++)
        json_array_append_new(list, training_json(&m->seed[k], m->heads, first + k));
    return json_pack("{s:I, s:I, s:f, s:f, s:I, s:o}", "heads", (json_int_t)m->heads, "parameters",
                     (json_int_t)m->parameters, "accuracy", m->accuracy, "loss", m->loss, "solved",
                     (json_int_t)m->solved, "trainings", list);
}

static enum status print_json(const struct lookups *r, const struct lab_heads *s, struct error *err)
{
    json_t *models = json_array();
    for (size_t i = 0; i < LOOKUPS_MODELS; i++)
        json_array_append_new(models, model_json(r, &r->model[i], s->seed));
    json_t *o =
        json_pack("{s:i, s:i, s:i, s:I, s:f, s:o}", "items", LOOKUPS_ITEMS, "values", LOOKUPS_VALUES, "channels",
                  LOOKUPS_CHANNELS, "steps", (json_int_t)s->steps, "one_alone", LOOKUPS_ONE_ALONE, "models", models);
    return command_print_json(o, JSON_COMPACT, "lab", err);
}

enum status lab_heads_run(const struct lab_heads *s, struct error *err)
{
    if (s->steps == 0)
        return fail(err, STATUS_USAGE, "--steps: found 0, expected at least 1: this experiment is its trainings");
    struct terminal notes;
    terminal_open(&notes, stderr);
    struct lookups *r = malloc(sizeof *r);
    if (!r)
        return fail(err, STATUS_MEMORY, "lab: out of memory");
    const struct lookups_options o = {.seeds = s->seeds,
                                      .steps = (uint32_t)s->steps,
                                      .seed = s->seed,
                                      .team = s->team,
                                      .progress = progress,
                                      .context = &notes};
    interrupt_catch();
    enum status status = lookups_run(r, &o, err);
    terminal_clear(&notes);
    if (!status && s->json)
        status = print_json(r, s, err);
    else if (!status)
        print_text(r, s);
    free(r);
    return status;
}
