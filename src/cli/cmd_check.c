/* nopeek check: does a model look at its own future? */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cli/check_run.h"
#include "cli/command.h"
#include "cli/compute.h"
#include "cli/compute_rows.h"
#include "cli/exec_model.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"
#include "cli/verdict_view.h"
#include "diag/blackbox_check.h"

struct settings {
    const char *exec;
    bool quick, json;
    double timeout, max_time;
    size_t threads;
    int precision; /* enum precision */
    uint64_t seed;
};

static const struct option_spec options_table[] = {
    {.name = "exec",
     .type = OPTION_STRING,
     .offset = offsetof(struct settings, exec),
     .metavar = "CMD",
     .help = "check the model in another program: a command that answers questions line by line"},
    {.name = "quick",
     .type = OPTION_FLAG,
     .offset = offsetof(struct settings, quick),
     .help = "try less: under a second for a small model"},
    {.name = "timeout",
     .type = OPTION_NUMBER,
     .offset = offsetof(struct settings, timeout),
     .metavar = "SECONDS",
     .fallback = "60",
     .range = OPTION_ABOVE(0),
     .help = "with --exec: the longest that the program may take for one answer"},
    {.name = "max-time",
     .type = OPTION_NUMBER,
     .offset = offsetof(struct settings, max_time),
     .metavar = "SECONDS",
     .fallback = "60",
     .range = OPTION_ABOVE(0),
     .help = "with --exec: how long to go on asking; a few questions of each kind, 27 or so, are asked in any case"},
    {.name = "seed",
     .type = OPTION_SEED,
     .offset = offsetof(struct settings, seed),
     .metavar = "N",
     .fallback = "0",
     .help = "chooses the random tokens"},
    COMPUTE_ROW_THREADS(offsetof(struct settings, threads), "threads to compute with; no matter with --exec"),
    COMPUTE_ROW_PRECISION(
        offsetof(struct settings, precision),
        "what matrix products compute with; every path of a model trained in bf16 is checked with it"),
    {.name = "json",
     .type = OPTION_FLAG,
     .offset = offsetof(struct settings, json),
     .help = "print one JSON object: leak, nats, findings, detectors; leak is null and error says why when the check "
             "could not be finished"},
    OPTION_END,
};

static const struct command_example examples[] = {
    {"A run, with the text that it was trained on if that is still there", "check run"},
    {"The same in under a second, for scripts", "check --quick --json run"},
    {"The function build() in a Python file, which returns a PyTorch module",
     "check --exec 'python3 scripts/check_torch.py my_model.py:build --context 64 --vocab 65'"},
    {"A model that the transformers library loads", "check --exec 'python3 scripts/check_transformers.py my_folder'"},
    {"A program of your own, in a script", "check --json --exec ./my_model"},
    {NULL, NULL},
};

static void show_progress(void *context, const char *detector, size_t done, size_t of)
{
    struct terminal *const t = context;
    if (t->live)
        terminal_progress(t, clock_seconds(), false, "%s: %zu of %zu", detector, done, of);
}

static bool show_detector(void *context, const char *detector, size_t done, size_t total)
{
    show_progress(context, detector, done, total);
    return interrupt_pending();
}

static enum status print_json(const struct verdict *v, const char *error, struct error *err)
{
    return command_print_json(verdict_json(v, error), JSON_COMPACT, "check", err);
}

/* Shows what was found; `checked` is how the check itself went, with its message in err. */
static enum status report(const struct verdict *v, const struct settings *chosen, enum status checked,
                          struct error *err)
{
    if (chosen->json) {
        struct error refused;
        if (print_json(v, checked == STATUS_OK ? NULL : err->message, &refused) != STATUS_OK) {
            *err = refused;
            return STATUS_MEMORY;
        }
    } else if (checked == STATUS_OK) {
        struct terminal out;
        terminal_open(&out, stdout);
        verdict_print(&out, v);
    }
    if (checked != STATUS_OK || v->findings == 0)
        return checked;
    return fail(err, STATUS_LEAK, "check: %zu finding%s: what this model's losses say is not to be trusted",
                v->findings, v->findings == 1 ? "" : "s");
}

static enum status check_exec(struct verdict *v, const struct settings *chosen, struct error *err)
{
    struct terminal notes;
    terminal_open(&notes, stderr);
    interrupt_catch();
    struct exec_model model;
    enum status s = exec_model_start(&model, chosen->exec, chosen->timeout, interrupt_pending, err);
    if (s != STATUS_OK)
        return fail_within(err, s, "check --exec");
    const struct blackbox_options o = {.seconds = chosen->max_time,
                                       .quick = chosen->quick,
                                       .seed = chosen->seed,
                                       .progress = show_progress,
                                       .context = &notes};
    s = blackbox_check(v, &model.blackbox, &o, err);
    terminal_clear(&notes);
    exec_model_stop(&model);
    return s == STATUS_OK ? s : fail_within(err, s, "check --exec");
}

static enum status run(struct options *options, void *settings, struct error *err)
{
    const struct settings *const chosen = settings;
    if (options->operands > 0 && chosen->exec)
        return fail(err, STATUS_USAGE, "check: found both RUN and --exec, expected one of them");
    if (options->operands == 0 && !chosen->exec)
        return fail(err, STATUS_USAGE, "check: expected a RUN, or --exec CMD: see nopeek help check");
    struct verdict *const v = calloc(1, sizeof *v);
    if (!v)
        return fail(err, STATUS_MEMORY, "check: out of memory");
    v->nats = (double)NAN;
    struct terminal notes;
    terminal_open(&notes, stderr);
    const struct check_run of_run = {.run = options->operand[0],
                                     .texts = options->operand + 1,
                                     .n_texts = options->operands ? options->operands - 1 : 0,
                                     .threads = chosen->threads,
                                     .precision = (enum precision)chosen->precision,
                                     .seed = chosen->seed,
                                     .quick = chosen->quick,
                                     .stop = show_detector,
                                     .context = &notes};
    if (!chosen->exec)
        interrupt_catch();
    enum status s = chosen->exec ? check_exec(v, chosen, err) : check_run(v, &of_run, err);
    terminal_clear(&notes);
    s = s == STATUS_INTERRUPTED ? s : report(v, chosen, s, err);
    free(v);
    return s;
}

const struct command cmd_check = {
    .name = "check",
    .group = COMMAND_TEST,
    .summary = "looks for positions that see their own future",
    .operands = "[RUN [TEXT ...]]",
    .min_operands = 0,
    .max_operands = SIZE_MAX,
    .about =
        "Asks a trained model's every operation whether anything later than itself can be seen in it: symbols are "
        "changed, "
        "gradients sent back, operations worked out again, the cache compared with whole windows, losses with what is "
        "possible. A line per detector says what was tried and what it cost; findings name layer, head, operation and "
        "which later positions are seen, what that is worth in nats a symbol, and what to do.\n\n"
        "TEXT stands in for the text that the run remembers, if that has moved.\n\n"
        "With --exec, checks anyone's model, in any language. CMD is run by the shell; it reads one JSON object a line "
        "and answers each with one.\n\n"
        "{\"hello\":1} is answered by {\"vocab_size\":V,\"context\":T}.\n\n"
        "{\"tokens\":[...]} is answered by {\"logits\":[[...],...]}, a row of V numbers for each token: the scores of "
        "the "
        "token after it. Tokens are numbers from 0 to V - 1, 1 to T of them.\n\n"
        "{\"tokens\":[...],\"rows\":[...]} asks for the logits of those rows only; to answer all is allowed, and "
        "slower."
        "\n\n"
        "A program that cannot answer may say {\"error\":\"why\"}. A symbol that can never come may have -Infinity in "
        "every "
        "row. A program whose dropout is on adds \"one_length\":true to its sizes, and its answers to different "
        "lengths are "
        "not compared. scripts/check_torch.py and scripts/check_transformers.py are such programs.\n\n"
        "The exit status is 0 when nothing was found, 3 when something was, and 1 when the program could not be "
        "checked: "
        "it crashed, hung, answered nonsense, NaN, or something else each time.",
    .options = options_table,
    .settings_size = sizeof(struct settings),
    .examples = examples,
    .run = run,
};
