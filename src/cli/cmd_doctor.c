/* nopeek doctor: what an expert looks at before training. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/doctor_view.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"
#include "cli/train_options.h"
#include "cli/train_plan.h"
#include "cli/train_rows.h"
#include "cli/train_session.h"
#include "lab/doctor.h"

/* `train` comes first: its rows are train's own. */
struct settings {
    struct train_options train;
    double max_time;
    bool json;
};

/* clang-format off */
static const struct option_spec options_table[] = {
    OPTION_SECTION("Doctor"),
    {.name = "max-time", .type = OPTION_NUMBER, .offset = offsetof(struct settings, max_time), .metavar = "SECONDS",
     .fallback = "120", .range = OPTION_AT_LEAST(0),
     .help = "how long the short runs may take together, about; 0 is no limit. What is cut says so, and what is not "
             "gives the same figures each time"},
    {.name = "json", .type = OPTION_FLAG, .offset = offsetof(struct settings, json),
     .help = "print one JSON object: text, leak, failed, checks (check, outcome, found, expected), vocab_size, "
             "train_symbols, uniform_loss, ngram_loss, best_order, bar, copied, first_loss, batch_loss, batch_floor, "
             "blinded_loss, symbol_entropy, rates (lr, loss), lr, memory_bytes, step_seconds, run_seconds, seconds"},
    TRAIN_ROW_PRESET,
    TRAIN_ROW_INIT_FROM,

    OPTION_SECTION("Model"),
    TRAIN_ROWS_MODEL,

    OPTION_SECTION("Text"),
    TRAIN_ROWS_TEXT,

    OPTION_SECTION("Optimisation"),
    TRAIN_ROWS_OPTIMISATION,

    OPTION_SECTION("Work"),
    TRAIN_ROWS_COMPUTE,
    TRAIN_ROWS_EVALUATION,
    TRAIN_ROW_SAMPLE,
    OPTION_END,
};
/* clang-format on */

static const struct command_example examples[] = {
    {"What to expect of a text, before training on it", "doctor book.txt"},
    {"The same for a model of your choice", "doctor book.txt --n-layer 6 --n-embd 192 --block-size 128"},
    {NULL, NULL},
};

static bool show_check(void *context, const char *check, size_t done, size_t total)
{
    terminal_progress(context, clock_seconds(), false, "examining: %s, %zu of %zu", check, done, total);
    return interrupt_pending();
}

/* The trainer, as train would make it, with its memory taken; nothing is written anywhere. */
static enum status prepare(struct train_session *s, struct error *err)
{
    const struct trainer_settings settings = train_options_settings(s->t);
    enum status status = trainer_check_settings(&settings, err);
    if (!status)
        status = dataset_check(&s->data, s->from.model.config.block_size, err);
    if (!status)
        status = train_plan_show(s, &settings, err);
    if (status)
        return status;
    s->trainer.settings = settings;
    s->trainer.data = &s->data;
    s->trainer.tokenizer = &s->from.tokenizer;
    s->trainer.model = &s->from.model;
    s->trainer.state = &s->state;
    return trainer_create(&s->trainer, err);
}

/* What was found decides the exit status: a hopeless text is a diagnosis, a fault of the program is not. */
static enum status conclude(const struct doctor *d, struct error *err)
{
    char names[120] = "";
    size_t used = 0;
    for (size_t c = 0; c < DOCTOR_CHECKS && used < sizeof names; c++)
        if (d->line[c].outcome == VERDICT_FOUND)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", doctor_names[c]);
    if (!d->leak && !d->failed)
        return STATUS_OK;
    return fail(err, d->leak ? STATUS_LEAK : STATUS_FORMAT,
                "doctor: a fault was found by: %s; no loss is to be trusted before that is mended", names);
}

static enum status show(const struct doctor *d, const struct train_session *s, const struct settings *chosen,
                        double seconds, struct error *err)
{
    struct terminal out;
    terminal_open(&out, stdout);
    enum status status = STATUS_OK;
    if (chosen->json)
        status = command_print_json(doctor_view_json(d, seconds), JSON_COMPACT, "doctor", err);
    else
        doctor_view_print(&out, d, tokenizer_units(s->from.tokenizer.kind));
    return status ? status : conclude(d, err);
}

static enum status examine(struct train_session *s, const struct settings *chosen, struct error *err)
{
    struct terminal progress;
    terminal_open(&progress, stderr);
    struct doctor *d = calloc(1, sizeof *d);
    if (!d)
        return fail(err, STATUS_MEMORY, "doctor: out of memory");
    d->trainer = &s->trainer;
    d->known_start = s->t->init_from != NULL;
    d->max_time = chosen->max_time;
    d->stop = show_check;
    d->context = &progress;
    interrupt_catch();
    const double began = clock_seconds();
    enum status status = doctor_run(d, err);
    terminal_clear(&progress);
    if (!status)
        status = show(d, s, chosen, clock_seconds() - began, err);
    free(d);
    return status;
}

static enum status run(struct options *options, void *settings, struct error *err)
{
    struct settings *chosen = settings;
    struct train_session s = {.options = options, .t = &chosen->train};
    terminal_open(&s.notes, stderr);
    enum status status = train_session_load(&s, err);
    if (!status)
        status = prepare(&s, err);
    if (!status)
        status = examine(&s, chosen, err);
    train_session_free(&s);
    return status;
}

const struct command cmd_doctor = {
    .name = "doctor",
    .group = COMMAND_TEST,
    .summary = "examines a text and a model before training, as an expert would",
    .operands = "TEXT ...",
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .about =
        "Looks at TEXT and at the model that train would train on it with the same options: is the program sound "
        "for it (first loss, gradients, rows of a batch, leaks, windows), does it learn (one batch by heart, blinded "
        "input, a sweep of learning rates), and is there anything to be learnt (n-grams of order 1 to 5, copies of "
        "the training part in the validation part). Then it says what that means: what to expect, which loss is the "
        "bar to beat, which learning rate, and what the run will take. Nothing is written.\n\n"
        "N-grams are interpolated after Witten and Bell (1991), made from the training part and read over the "
        "validation part; of a part of more than a million symbols a sample is taken, and that is said.\n\n"
        "The exit status is 0 when all checks pass, whatever the text is worth; 1 when one fails; 3 for a leak.",
    .options = options_table,
    .settings_size = sizeof(struct settings),
    .examples = examples,
    .run = run,
};
