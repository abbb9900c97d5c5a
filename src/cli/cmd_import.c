/* nopeek import: a model of another program becomes a run. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/human.h"
#include "cli/shell_word.h"
#include "cli/terminal.h"
#include "store/import.h"

struct settings {
    const char *out;
    bool force;
    int tokens; /* enum import_tokens */
};

static const char *const tokens[] = {"auto", "char", "byte", "ids", NULL};

static const struct option_spec options_table[] = {
    {.name = "out",
     .letter = 'o',
     .type = OPTION_PATH,
     .offset = offsetof(struct settings, out),
     .metavar = "RUN",
     .fallback = "run",
     .help = "directory to write the run into"},
    {.name = "force",
     .type = OPTION_FLAG,
     .offset = offsetof(struct settings, force),
     .help = "if RUN holds a run already, move that one aside (into RUN/old-1)"},
    {.name = "tokens",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct settings, tokens),
     .metavar = "KIND",
     .fallback = "auto",
     .choices = tokens,
     .help =
         "what a symbol is: auto reads it from tokenizer.json and takes bare ids where there is none; char and byte "
         "insist on it (byte, without tokenizer.json: id = byte); ids takes bare ids whatever tokenizer.json says, "
         "so that texts are whole numbers separated by white space"},
    OPTION_END,
};

static const struct command_example examples[] = {
    {"A folder that save_pretrained wrote", "import folder -o run"},
    {"The same in place of a run that is there", "import folder -o run --force"},
    {"A model with a vocabulary of its own, as numbers", "import folder -o run --tokens ids"},
    {NULL, NULL},
};

static void show_model(struct terminal *t, const struct import *m)
{
    const struct config *c = &m->model.config;
    char parameters[HUMAN_SIZE];
    terminal_entry(t, "model    ", "%zu layer%s, %zu head%s of %zu, %zu channels, context %zu: %s parameters",
                   c->n_layer, c->n_layer == 1 ? "" : "s", c->n_head, c->n_head == 1 ? "" : "s", c->head_size,
                   c->n_embd, c->block_size, human_count(parameters, m->model.table.size));
    terminal_entry(t, "weights  ", "%s, in %zu file%s%s; %s output matrix; LayerNorm's epsilon %g", m->types, m->shards,
                   m->shards == 1 ? "" : "s", m->bare ? ", names without \"transformer.\"" : "",
                   c->tied ? "tied" : "separate", c->norm_epsilon);
}

static void show_vocabulary(struct terminal *t, const struct import *m)
{
    const struct tokenizer *v = &m->tokenizer;
    const size_t known = tokenizer_count(v);
    terminal_entry(t, "symbols  ", "%zu %s%s", known, tokenizer_units(v->kind),
                   v->kind == TOKENIZER_IDS && !m->has_tokenizer ? " (there is no tokenizer.json: a text is the ids)"
                                                                 : "");
    if (known < v->size)
        terminal_entry(t, "         ",
                       "%zu more ids stand for no single %s: no text is read as them, and generate never draws them",
                       v->size - known, tokenizer_unit(v->kind));
    if (m->unknown && v->kind != TOKENIZER_IDS)
        terminal_entry(t, "         ", "a %s that is not among them is an error here; others read it as \"%.40s\"",
                       tokenizer_unit(v->kind), m->unknown);
}

/* What is not as a reader of config.json might expect. */
static void show_notes(struct terminal *t, const struct import *m)
{
    const struct config *c = &m->model.config;
    const struct hf_config_foreign *f = &m->config;
    if (f->embd_pdrop != f->resid_pdrop || f->attn_pdrop != f->resid_pdrop)
        terminal_entry(t, "note     ",
                       "one dropout for all: %g, of resid_pdrop (embd_pdrop is %g, attn_pdrop %g); it matters in "
                       "training only, where --dropout sets it",
                       f->resid_pdrop, f->embd_pdrop, f->attn_pdrop);
    if (m->grown_biases)
        terminal_entry(t, "note     ",
                       "nopeek wrote it without biases; they are no longer zero, so the model has them");
    if (c->window)
        terminal_entry(t, "note     ",
                       "attention sees a window of %zu symbols, as nopeek wrote in config.json; transformers knows "
                       "nothing of that and computes without it",
                       c->window);
}

/* The command is to be copied into a shell. */
static enum status show_next(struct terminal *notes, const char *out, struct error *err)
{
    char *word = shell_word_make(out);
    if (!word)
        return fail(err, STATUS_MEMORY, "import: out of memory");
    terminal_note(notes, "written to %s; next: nopeek generate %s", out, word);
    free(word);
    return STATUS_OK;
}

static enum status run(struct options *options, void *settings, struct error *err)
{
    const struct settings *chosen = settings;
    struct import m;
    enum status s = import_read(&m, options->operand[0], (enum import_tokens)chosen->tokens, err);
    if (s != STATUS_OK)
        return s;
    /* Told when it is done: a refusal is one line. */
    s = import_write(&m, chosen->out, chosen->force, err);
    if (s == STATUS_OK) {
        struct terminal notes;
        terminal_open(&notes, stderr);
        show_model(&notes, &m);
        show_vocabulary(&notes, &m);
        show_notes(&notes, &m);
        s = show_next(&notes, chosen->out, err);
    }
    import_free(&m);
    return s;
}

const struct command cmd_import = {
    .name = "import",
    .group = COMMAND_MAKE,
    .summary = "takes over a GPT-2-shaped model of another program",
    .operands = "DIR",
    .min_operands = 1,
    .max_operands = 1,
    .about =
        "Reads a folder that transformers' save_pretrained wrote, with weights in safetensors files (fp32, fp16, bf16 "
        "or fp64, one file or several), and makes it a run that generate, eval, check and train --init-from take. DIR "
        "holds config.json, the weights and, where there is a vocabulary, tokenizer.json.\n"
        "\n"
        "A vocabulary is one of characters, of bytes or, without tokenizer.json, of bare ids; tokens that stand for "
        "more than one character, as merges make them, can be taken as bare ids only. What nopeek cannot compute "
        "exactly (another activation, another scaling of attention, quantised weights) is refused by its name.",
    .options = options_table,
    .settings_size = sizeof(struct settings),
    .examples = examples,
    .no_products = true,
    .run = run,
};
