/* nopeek inspect: inside a saved model's attention. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/compute.h"
#include "cli/compute_rows.h"
#include "cli/human.h"
#include "cli/inspect_json.h"
#include "cli/inspect_page.h"
#include "cli/inspect_view.h"
#include "cli/inspection.h"
#include "cli/output_file.h"
#include "cli/reading.h"
#include "cli/terminal.h"
#include "report/heat.h"

struct settings {
    const char *text, *file, *svg, *html;
    size_t layer, head, token, from, windows, threads;
    bool quick, json, csv;
};

#define FIELD(name) .offset = offsetof(struct settings, name)

static const struct option_spec options_table[] = {
    OPTION_SECTION("Text"),
    {.name = "text",
     .type = OPTION_STRING,
     FIELD(text),
     .metavar = "TEXT",
     .fallback_note = "where the run's validation part begins",
     .help = "the text to look at; of one that is longer than the context the last window"},
    {.name = "file",
     .type = OPTION_PATH,
     FIELD(file),
     .metavar = "FILE",
     .help = "read the text from a file, byte for byte; - is standard input"},
    OPTION_SECTION("What is shown"),
    {.name = "layer",
     .type = OPTION_SIZE,
     FIELD(layer),
     .metavar = "N",
     .fallback = "0",
     .fallback_note = "all",
     .help = "this layer alone, from 0"},
    {.name = "head",
     .type = OPTION_SIZE,
     FIELD(head),
     .metavar = "N",
     .fallback = "0",
     .fallback_note = "all",
     .help = "this head alone, from 0"},
    {.name = "token",
     .type = OPTION_SIZE,
     FIELD(token),
     .metavar = "I",
     .fallback = "0",
     .fallback_note = "off",
     .help = "instead of maps, what the symbol at position I, from 0, looks at in every head"},
    {.name = "from",
     .type = OPTION_SIZE,
     FIELD(from),
     .metavar = "I",
     .fallback = "0",
     .fallback_note = "the last that fit",
     .help = "where maps of long texts begin; many maps of one show its end alone, unless this is given"},
    OPTION_SECTION("Measurements"),
    {.name = "windows",
     .type = OPTION_SIZE,
     FIELD(windows),
     .metavar = "N",
     .fallback = "0",
     .fallback_note = "for about 8000 symbols",
     .range = OPTION_BETWEEN(0, 1000000),
     .help = "windows of the run's validation text that kinds and losses are measured on, at most"},
    {.name = "quick",
     .type = OPTION_FLAG,
     FIELD(quick),
     .help = "do not measure the loss without each head, which takes a pass over the windows for each"},
    COMPUTE_ROW_THREADS(offsetof(struct settings, threads), "threads to compute with"),
    OPTION_SECTION("Output"),
    {.name = "json",
     .type = OPTION_FLAG,
     FIELD(json),
     .help = "print one JSON object instead: text, labels and layers[].heads[] with kind, evidence, entropy, "
             "future_mass, loss_without, weights and more"},
    {.name = "csv",
     .type = OPTION_FLAG,
     FIELD(csv),
     .help = "print the weights as a table instead: layer,head,query,key,weight"},
    {.name = "svg",
     .type = OPTION_PATH,
     FIELD(svg),
     .metavar = "FILE",
     .help = "write the maps as a picture too: one with labels, or a grid of all that are chosen"},
    {.name = "html",
     .type = OPTION_PATH,
     FIELD(html),
     .metavar = "FILE",
     .help = "write a page too, that needs nothing else: the table and all maps"},
    OPTION_END,
};

static const struct command_example examples[] = {
    {"Every head of a run on a sentence", "inspect run --text 'The bank of the river'"},
    {"One head", "inspect run --text 'The bank of the river' --layer 0 --head 2"},
    {"What the last letter looks at, in all heads", "inspect run --text 'The bank' --token 7"},
    {"A page to look at and pass on", "inspect run --file poem.txt --html heads.html"},
    {NULL, NULL},
};

struct job {
    const struct settings *settings;
    const struct options *options;
    struct terminal out, err;
    struct inspection inspection;
    struct inspection_choice choice;
    size_t from; /* or INSPECT_LAST */
    double began;
};

static bool show_progress(void *context, size_t done, size_t passes)
{
    struct job *j = context;
    const double now = clock_seconds(), passed = now - j->began;
    char left[HUMAN_SIZE];
    if (j->err.live)
        terminal_progress(&j->err, now, false, "heads removed one by one: %3.0f %%  %s left",
                          100 * (double)done / (double)passes,
                          human_duration(left, passed * (double)(passes - done) / (double)done));
    return false;
}

/* An index that was given: below `count`, which there are of `what`. */
static enum status check_index(const struct options *o, const char *name, size_t value, size_t count, const char *what,
                               struct error *err)
{
    if (!options_given(o, name) || value < count)
        return STATUS_OK;
    return fail(err, STATUS_USAGE, "--%s: found %zu, expected 0 to %zu, the %s", name, value, count - 1, what);
}

static enum status choose(struct job *j, struct error *err)
{
    const struct settings *s = j->settings;
    const struct inspection *n = &j->inspection;
    const struct options *o = j->options;
    enum status status = check_index(o, "layer", s->layer, n->L, "model's layers", err);
    if (!status)
        status = check_index(o, "head", s->head, n->H, "heads of a layer", err);
    if (!status)
        status = check_index(o, "token", s->token, n->T, "positions of the text", err);
    if (!status)
        status = check_index(o, "from", s->from, n->T, "positions of the text", err);
    j->choice = (struct inspection_choice){0, n->L, 0, n->H};
    if (options_given(o, "layer"))
        j->choice = (struct inspection_choice){s->layer, s->layer + 1, 0, n->H};
    if (options_given(o, "head")) {
        j->choice.head_begin = s->head;
        j->choice.head_end = s->head + 1;
    }
    j->from = options_given(o, "from") ? s->from : INSPECT_LAST;
    return status;
}

static enum status write_files(const struct job *j, struct error *err)
{
    const struct settings *s = j->settings;
    enum status status = STATUS_OK;
    if (s->svg) {
        struct buffer picture = {0};
        inspect_page_picture(&picture, &j->inspection, &j->choice, j->from);
        status = output_file_write(s->svg, &picture, err);
    }
    if (!status && s->html) {
        struct buffer page = {0};
        inspect_page(&page, &j->inspection, &j->choice, j->from);
        status = output_file_write(s->html, &page, err);
    }
    return status;
}

static void say_notes(struct job *j)
{
    const struct inspection *n = &j->inspection;
    const struct settings *s = j->settings;
    if (n->before > 0)
        terminal_entry(&j->err,
                       "note: ", "the text has %zu symbols and the context holds %zu: only the last %zu are looked at",
                       n->before + n->T, n->T, n->T);
    if (!n->validation)
        terminal_entry(&j->err, "note: ", "kinds and losses hang on this text alone: %s", n->no_validation.message);
    if ((s->svg || s->html) && n->T > HEAT_LARGEST)
        terminal_entry(&j->err, "note: ", "pictures hold %d positions of the text's %zu: --from chooses which",
                       HEAT_LARGEST, n->T);
}

static enum status show(struct job *j, struct error *err)
{
    const struct settings *s = j->settings;
    const struct inspection *n = &j->inspection;
    enum status status = s->json || s->csv ? inspect_json_check(n, &j->choice, err) : STATUS_OK;
    if (status)
        return status;
    if (s->csv) {
        inspect_json_csv(stdout, n, &j->choice);
        return STATUS_OK;
    }
    if (s->json)
        return inspect_json_print(stdout, n, &j->choice, err);
    status = options_given(j->options, "token") ? inspect_view_token(&j->out, n, &j->choice, s->token, err)
                                                : inspect_view_maps(&j->out, n, &j->choice, j->from, err);
    if (!status) {
        putchar('\n');
        inspect_view_heads(&j->out, n, &j->choice);
    }
    return status;
}

static enum status inspect(struct job *j, const struct whole_text *text, struct error *err)
{
    const struct settings *s = j->settings;
    const struct inspection_settings how = {.run = j->options->operand[0],
                                            .text = s->text || s->file ? text : NULL,
                                            .windows = s->windows,
                                            .quick = s->quick,
                                            .team = compute_team(s->threads),
                                            .progress = show_progress,
                                            .context = j};
    j->began = clock_seconds();
    enum status status = inspection_make(&j->inspection, &how, err);
    terminal_clear(&j->err);
    if (status)
        return status;
    saved_warn(&j->inspection.saved);
    status = saved_spares(&j->inspection.saved, s->svg, "svg", err);
    if (!status)
        status = saved_spares(&j->inspection.saved, s->html, "html", err);
    if (!status)
        status = choose(j, err);
    if (!status) {
        say_notes(j);
        status = show(j, err);
    }
    if (!status)
        status = command_flush(err);
    if (!status)
        status = write_files(j, err);
    if (!status)
        status = inspection_verdict(&j->inspection, err);
    inspection_free(&j->inspection);
    return status;
}

static enum status run(struct options *options, void *settings, struct error *err)
{
    struct job j = {.settings = settings, .options = options};
    if (j.settings->json && j.settings->csv)
        return fail(err, STATUS_USAGE, "inspect: --json and --csv exclude one another: give one");
    enum status s = output_file_check(j.settings->svg, "inspect", err);
    if (!s)
        s = output_file_check(j.settings->html, "inspect", err);
    if (!s)
        s = reading_spares(j.settings->svg, "svg", &j.settings->file, j.settings->file != NULL, err);
    if (!s)
        s = reading_spares(j.settings->html, "html", &j.settings->file, j.settings->file != NULL, err);
    if (s)
        return s;
    terminal_open(&j.out, stdout);
    terminal_open(&j.err, stderr);
    struct whole_text text;
    s = whole_text_read(&text, j.settings->text, "--text", j.settings->file, "--file", err);
    if (!s)
        s = inspect(&j, &text, err);
    whole_text_free(&text);
    return s;
}

const struct command cmd_inspect = {
    .name = "inspect",
    .group = COMMAND_LOOK,
    .summary = "shows what each attention head looks at, and whether it matters",
    .operands = "RUN",
    .min_operands = 1,
    .max_operands = 1,
    .about =
        "Draws the attention map of a text for every layer and head: a row is a symbol, and shows how it divides its "
        "attention among itself and those before it. A table says of each head what it mostly looks at and by which "
        "figure, how spread out its attention is, how much lies on the future (exactly 0 in a causal model; else the "
        "exit status is 3), and by how much the loss rises when the head's output is removed. RUN is a run directory, "
        "whose latest checkpoint is taken, or one checkpoint folder, such as RUN/best.\n\nWhat kind a head is and what "
        "it "
        "is worth are measured on windows of the run's own validation text where that is at hand, as one sentence "
        "proves little; otherwise on the text that is given.",
    .options = options_table,
    .settings_size = sizeof(struct settings),
    .examples = examples,
    .run = run,
};
