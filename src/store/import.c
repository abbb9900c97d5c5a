#include "store/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/commit.h"
#include "io/json_file.h"
#include "store/checkpoint.h"
#include "store/run.h"
#include "store/run_lock.h"
#include "store/state.h"
#include "store/tensors.h"

#define CONFIG_FILE "config.json"
#define TOKENIZER_FILE "tokenizer.json"

static enum status fail_memory(struct error *err, const char *what)
{
    return fail(err, STATUS_MEMORY, "%s: memory was refused", what);
}

/* ---- config.json ---- */

static enum status read_config(struct import *m, struct config *c, struct error *err)
{
    json_t *json;
    char *path = commit_join(m->folder, CONFIG_FILE);
    if (!path)
        return fail_memory(err, CONFIG_FILE);
    enum status s = json_file_read(&json, path, &checkpoint_config_limits, err);
    if (s == STATUS_OK)
        s = hf_config_read_foreign(c, &m->config, json, path, err);
    json_decref(json);
    free(path);
    return s;
}

/* ---- tokenizer.json ---- */

/* What the library takes an unknown character for, when that is an id of the model's. */
static enum status read_unknown(struct import *m, const json_t *json, struct error *err)
{
    const json_t *model = json_object_get(json, "model");
    const char *unknown = json_string_value(json_object_get(model, "unk_token"));
    if (!unknown || !json_object_get(json_object_get(model, "vocab"), unknown))
        return STATUS_OK;
    m->unknown = strdup(unknown);
    return m->unknown ? STATUS_OK : fail_memory(err, TOKENIZER_FILE);
}

static enum status parse_tokenizer(struct import *m, const char *path, enum import_tokens tokens, struct error *err)
{
    static const enum tokenizer_kind asked[] = {[IMPORT_CHARS] = TOKENIZER_CHARS, [IMPORT_BYTES] = TOKENIZER_BYTES};
    json_t *json;
    enum status s = json_file_read(&json, path, &checkpoint_tokenizer_limits, err);
    if (s == STATUS_OK)
        s = tokenizer_from_json(&m->tokenizer, json, path, err);
    if (s == STATUS_OK)
        s = read_unknown(m, json, err);
    json_decref(json);
    if (s == STATUS_OK && tokens != IMPORT_AUTO && m->tokenizer.kind != asked[tokens])
        s = fail(err, STATUS_FORMAT, "%s: the vocabulary is one of %s, not of %s as --tokens %s says", path,
                 tokenizer_units(m->tokenizer.kind), tokenizer_units(asked[tokens]), tokenizer_option(asked[tokens]));
    return s;
}

/* A folder without tokenizer.json, or one whose tokenizer.json is to be passed over. */
static enum status assume_tokenizer(struct import *m, enum import_tokens tokens, size_t V, struct error *err)
{
    if (tokens == IMPORT_CHARS)
        return fail(err, STATUS_OPEN,
                    "%s: has no " TOKENIZER_FILE
                    " to say which characters its ids are: --tokens ids takes them as bare "
                    "ids, --tokens byte as bytes",
                    m->folder);
    if (tokens == IMPORT_BYTES)
        tokenizer_make_bytes(&m->tokenizer);
    else
        tokenizer_make_ids(&m->tokenizer, V);
    return STATUS_OK;
}

static enum status read_tokenizer(struct import *m, enum import_tokens tokens, size_t V, struct error *err)
{
    struct stat st;
    char *path = commit_join(m->folder, TOKENIZER_FILE);
    if (!path)
        return fail_memory(err, TOKENIZER_FILE);
    m->has_tokenizer = lstat(path, &st) == 0;
    enum status s = m->has_tokenizer && tokens != IMPORT_IDS ? parse_tokenizer(m, path, tokens, err)
                                                             : assume_tokenizer(m, tokens, V, err);
    if (s == STATUS_OK)
        s = tokenizer_resize(&m->tokenizer, V, m->has_tokenizer ? path : m->folder, err);
    free(path);
    return s;
}

/* ---- the weights ---- */

static enum status read_weights(struct import *m, struct config *c, const struct tensors_set *set, struct error *err)
{
    m->shards = set->count;
    m->bare = set->bare;
    enum status s = tensors_check_set(set, c, err);
    /* To another program the biases that nopeek left at zero are parameters like any other. */
    bool zero = true;
    if (s == STATUS_OK && !c->bias)
        s = tensors_absent_zero(&zero, set, c, err);
    m->grown_biases = !zero;
    c->bias = c->bias || !zero;
    if (s == STATUS_OK)
        s = gpt_create(&m->model, c, err);
    return s == STATUS_OK ? tensors_read_set(&m->model, set, err) : s;
}

static enum status read_model(struct import *m, struct config *c, struct error *err)
{
    struct shards shards;
    enum status s = shards_open(&shards, m->folder, err);
    if (s != STATUS_OK)
        return s;
    const struct tensors_set set = shards_set(&shards);
    shards_types(m->types, &shards);
    s = read_weights(m, c, &set, err);
    shards_close(&shards);
    return s;
}

/* ---- all of it ---- */

static enum status read_folder(struct import *m, enum import_tokens tokens, struct error *err)
{
    struct stat st;
    struct config c = {0};
    if (stat(m->folder, &st) != 0)
        return fail(err, STATUS_OPEN, "%s: %s; a folder with config.json and weights was expected", m->folder,
                    strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return fail(err, STATUS_OPEN, "%s: is a file, a folder with config.json and weights was expected", m->folder);
    enum status s = read_config(m, &c, err);
    if (s == STATUS_OK)
        s = read_tokenizer(m, tokens, c.vocab_size, err);
    return s == STATUS_OK ? read_model(m, &c, err) : s;
}

enum status import_read(struct import *m, const char *folder, enum import_tokens tokens, struct error *err)
{
    *m = (struct import){.folder = strdup(folder)};
    const enum status s = m->folder ? read_folder(m, tokens, err) : fail_memory(err, folder);
    if (s != STATUS_OK)
        import_free(m);
    return s;
}

void import_free(struct import *m)
{
    gpt_free(&m->model);
    tokenizer_free(&m->tokenizer);
    free(m->unknown);
    free(m->folder);
    *m = (struct import){0};
}

/* Locked first: a run that another process trains in is nobody's to move aside. */
static enum status write_run(const struct import *m, const char *dir, bool force, const json_t *state,
                             struct error *err)
{
    struct run_lock lock = {0};
    enum status s = run_lock_take(&lock, dir, err);
    if (s != STATUS_OK)
        return s;
    s = run_create(dir, force, err);
    if (s == STATUS_OK)
        s = checkpoint_write(dir, 0, &m->model, &m->tokenizer, NULL, state, err);
    if (s == STATUS_OK)
        s = run_link(dir, 0, 0, err);
    run_lock_release(&lock);
    return s;
}

enum status import_write(const struct import *m, const char *dir, bool force, struct error *err)
{
    json_t *state = json_pack("{s:{s:o, s:s, s:I}}", "imported", "from", state_path_json(m->folder), "types", m->types,
                              "shards", (json_int_t)m->shards);
    if (!state)
        return fail_memory(err, dir);
    enum status s = run_make_folder(dir, err);
    if (s == STATUS_OK)
        s = write_run(m, dir, force, state, err);
    json_decref(state);
    return s;
}
