/* A GPT-2-shaped folder of another program, as transformers' save_pretrained writes it, made into a run. */
#ifndef STORE_IMPORT_H
#define STORE_IMPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "model/gpt.h"
#include "store/hf_config.h"
#include "store/shards.h"
#include "text/tokenizer.h"

/* What the vocabulary is to be taken for. */
enum import_tokens {
    IMPORT_AUTO, /* as tokenizer.json has it; bare ids where there is none */
    IMPORT_CHARS,
    IMPORT_BYTES, /* without tokenizer.json: id = byte */
    IMPORT_IDS,   /* bare ids, whatever tokenizer.json says */
};

struct import {
    char *folder;
    struct gpt model;
    struct tokenizer tokenizer;
    /* what it was read from, for whoever tells of it */
    char types[SHARDS_TYPES_SIZE]; /* of the numbers: "F32", "F16 and F32" */
    size_t shards;
    bool bare;                       /* tensors' names lack "transformer." */
    bool has_tokenizer;              /* there is a tokenizer.json */
    bool grown_biases;               /* nopeek wrote it without biases, another program has trained some since */
    char *unknown;                   /* what unknown characters become to others, but not here; NULL: nothing */
    struct hf_config_foreign config; /* the dropouts */
};

/* Reads all of a folder and trusts nothing in it. STATUS_OPEN, STATUS_FORMAT naming file, key or tensor, what was found
 * and what was expected; STATUS_RANGE, STATUS_NONFINITE, STATUS_MEMORY. On failure m is left empty. */
enum status import_read(struct import *m, const char *folder, enum import_tokens tokens, struct error *err);
void import_free(struct import *m);

/* Makes it the run DIR, as run_create does, with the one checkpoint step-000000, to which latest and best point; there
 * is no optimizer to resume. trainer_state.json says under "imported" where it comes from. A run that another process
 * trains in is left alone (STATUS_OPEN). STATUS_USAGE, STATUS_WRITE, STATUS_MEMORY, STATUS_RANGE. */
enum status import_write(const struct import *m, const char *dir, bool force, struct error *err);

#endif
