#include "store/checkpoint.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "io/commit.h"
#include "io/file.h"
#include "io/json_text.h"
#include "io/safetensors.h"
#include "store/hf_config.h"
#include "store/run.h"
#include "store/state.h"
#include "store/tensors.h"

#define STATE_FORMAT 1
#define MODEL_FILE "model.safetensors"
#define OPTIMIZER_FILE "optimizer.safetensors"
#define CONFIG_FILE "config.json"
#define TOKENIZER_FILE "tokenizer.json"
#define STATE_FILE "trainer_state.json"
#define STATE_HASH "hash"
#define FILES_AT_MOST 64 /* that trainer_state.json may name */

/* A vocabulary of every code point is 36 MB of JSON in transformers' spelling. */
const struct json_limits checkpoint_config_limits = {.bytes = (size_t)1 << 20, .depth = 32, .values = (size_t)1 << 16};
const struct json_limits checkpoint_tokenizer_limits = {
    .bytes = (size_t)64 << 20, .depth = 32, .values = (size_t)3 << 20};
const struct json_limits checkpoint_state_limits = {.bytes = (size_t)16 << 20, .depth = 32, .values = (size_t)1 << 18};

static enum status fail_memory(struct error *err, const char *what)
{
    return fail(err, STATUS_MEMORY, "%s: memory was refused", what);
}

/* ---- writing ---- */

/* One file of the folder; its hash goes into `files`. */
static enum status write_file(struct commit *c, json_t *files, const char *file, const void *bytes, size_t n,
                              struct error *err)
{
    char hash[HASH_TEXT_SIZE];
    hash_bytes(hash, bytes, n);
    if (json_object_set_new(files, file, json_string(hash)) != 0)
        return fail_memory(err, file);
    return commit_write(c, file, bytes, n, err);
}

/* Takes the reference to json, which may be NULL: memory was refused then. */
static enum status write_json(struct commit *c, json_t *files, const char *file, json_t *json, struct error *err)
{
    size_t n;
    char *text = json_text_make(json, JSON_INDENT(2), &n);
    json_decref(json);
    if (!text)
        return fail_memory(err, file);
    text[n] = '\n'; /* in place of the terminating zero */
    const enum status s = write_file(c, files, file, text, n + 1, err);
    free(text);
    return s;
}

static enum status write_model(struct commit *c, json_t *files, const struct gpt *model, struct error *err)
{
    uint8_t *bytes;
    size_t size;
    enum status s = tensors_build_model(&bytes, &size, model, err);
    if (s != STATUS_OK)
        return s;
    s = write_file(c, files, MODEL_FILE, bytes, size, err);
    free(bytes);
    return s;
}

static enum status write_optimizer(struct commit *c, json_t *files, const struct params_table *table,
                                   const struct checkpoint_moments *moments, struct error *err)
{
    uint8_t *bytes;
    size_t size;
    enum status s = tensors_build_moments(&bytes, &size, table, moments->m, moments->v, err);
    if (s != STATUS_OK)
        return s;
    s = write_file(c, files, OPTIMIZER_FILE, bytes, size, err);
    free(bytes);
    return s;
}

/* The fingerprint of all that trainer_state.json says but this very key, whatever its blanks and order. False when
 * memory is refused. */
static bool hash_state(char hash[HASH_TEXT_SIZE], const json_t *state)
{
    json_t *rest = json_copy((json_t *)state);
    if (rest)
        json_object_del(rest, STATE_HASH);
    size_t n;
    char *text = json_text_make(rest, JSON_COMPACT | JSON_SORT_KEYS, &n);
    json_decref(rest);
    if (!text)
        return false;
    hash_bytes(hash, text, n);
    free(text);
    return true;
}

/* The caller's keys between ours; NULL when memory is refused. */
static json_t *state_json(const json_t *state, size_t step, const json_t *files)
{
    json_t *out = json_pack("{s:i, s:I}", "format", STATE_FORMAT, "step", (json_int_t)step);
    char hash[HASH_TEXT_SIZE];
    if (out && (!state || json_object_update_missing(out, (json_t *)state) == 0) &&
        json_object_set_new(out, "files", json_deep_copy(files)) == 0 && hash_state(hash, out) &&
        json_object_set_new(out, STATE_HASH, json_string(hash)) == 0)
        return out;
    json_decref(out);
    return NULL;
}

static enum status write_files(struct commit *c, json_t *files, size_t step, const struct gpt *model,
                               const struct tokenizer *tokenizer, const struct checkpoint_moments *moments,
                               const json_t *state, struct error *err)
{
    enum status s = write_json(c, files, CONFIG_FILE, hf_config_make(&model->config), err);
    if (s == STATUS_OK)
        s = write_json(c, files, TOKENIZER_FILE, tokenizer_to_json(tokenizer), err);
    if (s == STATUS_OK)
        s = write_json(c, files, "tokenizer_config.json", tokenizer_config_json(model->config.block_size), err);
    if (s == STATUS_OK)
        s = write_model(c, files, model, err);
    if (s == STATUS_OK && moments)
        s = write_optimizer(c, files, &model->table, moments, err);
    if (s == STATUS_OK)
        s = write_json(c, files, STATE_FILE, state_json(state, step, files), err);
    return s;
}

enum status checkpoint_write(const char *dir, size_t step, const struct gpt *model, const struct tokenizer *tokenizer,
                             const struct checkpoint_moments *moments, const json_t *state, struct error *err)
{
    char name[RUN_STEP_NAME_SIZE];
    run_step_name(name, step);
    json_t *files = json_object();
    if (!files)
        return fail_memory(err, name);
    struct commit c;
    enum status s = commit_begin(&c, dir, name, err);
    if (s == STATUS_OK) {
        s = write_files(&c, files, step, model, tokenizer, moments, state, err);
        if (s == STATUS_OK)
            s = commit_finish(&c, err);
        else
            commit_abort(&c);
    }
    json_decref(files);
    return s;
}

/* ---- reading: the JSON files ---- */

/* The hash that trainer_state.json has for a file, or NULL. */
static const char *saved_hash(const struct checkpoint *c, const char *file)
{
    return json_string_value(json_object_get(json_object_get(c->state, "files"), file));
}

static enum status compare_hash(const char *path, const char *found, const char *expected, struct error *err)
{
    if (!expected || strcmp(found, expected) == 0)
        return STATUS_OK;
    return fail(err, STATUS_FORMAT,
                "%s: not the bytes that were saved (hash %s, %.40s expected): restore it, use another step, or delete "
                "trainer_state.json to take the folder as it is",
                path, found, expected);
}

/* The bytes that are parsed are those that were hashed. */
static enum status load_json(json_t **out, const char *path, const char *expected, const struct json_limits *limits,
                             struct error *err)
{
    uint8_t *bytes;
    size_t n;
    char hash[HASH_TEXT_SIZE];
    enum status s = file_load(&bytes, &n, path, limits->bytes, err);
    if (s != STATUS_OK)
        return s;
    hash_bytes(hash, bytes, n);
    s = compare_hash(path, hash, expected, err);
    if (s == STATUS_OK)
        s = json_text_parse(out, path, bytes, n, 0, limits, err);
    free(bytes);
    return s;
}

/* *path is the file's own, allocated, for later messages. */
static enum status read_json(json_t **out, char **path, const struct checkpoint *c, const char *file,
                             const struct json_limits *limits, struct error *err)
{
    *out = NULL;
    *path = commit_join(c->path, file);
    if (!*path)
        return fail_memory(err, file);
    return load_json(out, *path, saved_hash(c, file), limits, err);
}

/* Closing slashes aside. */
static bool ends_with(const char *path, const char *name)
{
    size_t n = strlen(path);
    const size_t m = strlen(name);
    while (n > 0 && path[n - 1] == '/')
        n--;
    return n >= m && memcmp(path + n - m, name, m) == 0;
}

/* The name of a file right in the folder. */
static bool is_plain_name(const char *name)
{
    return name[0] != '\0' && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static enum status check_files(const json_t *files, const char *path, struct error *err)
{
    const char *file;
    json_t *hash;
    if (!json_is_object(files))
        return fail(err, STATUS_FORMAT, "%s: \"files\" is no object of file names and hashes", path);
    if (json_object_size(files) > FILES_AT_MOST)
        return fail(err, STATUS_FORMAT, "%s: \"files\" names %zu files, at most %d expected", path,
                    json_object_size(files), FILES_AT_MOST);
    json_object_foreach((json_t *)files, file, hash)
    {
        if (!is_plain_name(file))
            return fail(err, STATUS_FORMAT, "%s: \"files\" names '%.80s', the name of a file in the folder expected",
                        path, file);
        const char *text = json_string_value(hash);
        if (!text || !hash_is_text(text))
            return fail(err, STATUS_FORMAT, "%s: \"files\" has no hash of 32 hex digits for '%.80s'", path, file);
    }
    return STATUS_OK;
}

/* Runs that were saved before there was such a key have none. */
static enum status check_state_hash(const json_t *state, const char *path, struct error *err)
{
    const json_t *expected = json_object_get(state, STATE_HASH);
    char found[HASH_TEXT_SIZE];
    if (!expected)
        return STATUS_OK;
    if (!hash_state(found, state))
        return fail_memory(err, path);
    if (json_is_string(expected) && strcmp(json_string_value(expected), found) == 0)
        return STATUS_OK;
    return fail(err, STATUS_FORMAT,
                "%s: not what was saved (its \"" STATE_HASH "\" is of other content): restore it, use another step, or "
                "delete it to take the folder as it is",
                path);
}

static enum status check_state(const json_t *state, const char *path, const char *folder, struct error *err)
{
    const json_t *format = json_object_get(state, "format"), *step = json_object_get(state, "step"),
                 *files = json_object_get(state, "files");
    if (!json_is_integer(format))
        return fail(err, STATUS_FORMAT, "%s: \"format\" is no whole number: not written by nopeek, or damaged", path);
    if (json_integer_value(format) != STATE_FORMAT)
        return fail(err, STATUS_FORMAT,
                    "%s: format %lld, this nopeek reads format %d: use the nopeek that wrote it, or a newer one", path,
                    (long long)json_integer_value(format), STATE_FORMAT);
    if (!json_is_integer(step) || json_integer_value(step) < 0 ||
        (uintmax_t)json_integer_value(step) > STATE_MOST_STEPS)
        return fail(err, STATUS_FORMAT, "%s: \"step\" is no whole number from 0 to %zu", path, STATE_MOST_STEPS);
    enum status s = check_files(files, path, err);
    if (s == STATUS_OK)
        s = check_state_hash(state, path, err);
    if (s != STATUS_OK)
        return s;
    char name[RUN_STEP_NAME_SIZE];
    run_step_name(name, (size_t)json_integer_value(step));
    /* A renamed step would be taken for another by everything that looks at names. */
    char *run;
    s = run_of_checkpoint(&run, folder, err);
    if (run && !ends_with(folder, name))
        s = fail(err, STATUS_FORMAT, "%s: this is step %lld, the folder's name says otherwise: call it %s", path,
                 (long long)json_integer_value(step), name);
    free(run);
    return s;
}

static enum status read_state(struct checkpoint *c, struct error *err)
{
    struct stat st;
    char *path = commit_join(c->path, STATE_FILE);
    if (!path)
        return fail_memory(err, STATE_FILE);
    const bool missing = lstat(path, &st) != 0 && errno == ENOENT;
    free(path);
    if (missing)
        return STATUS_OK;
    enum status s = read_json(&c->state, &path, c, STATE_FILE, &checkpoint_state_limits, err);
    if (s == STATUS_OK)
        s = check_state(c->state, path, c->path, err);
    free(path);
    return s;
}

static enum status read_config(struct config *config, const struct checkpoint *c, struct error *err)
{
    json_t *json;
    char *path;
    enum status s = read_json(&json, &path, c, CONFIG_FILE, &checkpoint_config_limits, err);
    if (s == STATUS_OK)
        s = hf_config_read(config, json, path, err);
    json_decref(json);
    free(path);
    return s;
}

static enum status read_tokenizer(struct checkpoint *c, const struct config *config, struct error *err)
{
    json_t *json;
    char *path;
    struct tokenizer read = {0};
    enum status s = read_json(&json, &path, c, TOKENIZER_FILE, &checkpoint_tokenizer_limits, err);
    if (s == STATUS_OK)
        s = tokenizer_from_json(&read, json, path, err);
    if (s == STATUS_OK) {
        c->tokenizer = read;
        if (read.size != config->vocab_size)
            s = fail(err, STATUS_FORMAT, "%s: %zu symbols, but vocab_size in config.json is %zu", path, read.size,
                     config->vocab_size);
    }
    json_decref(json);
    free(path);
    return s;
}

/* Is this file's hash compared where the file is used? */
static bool is_read(const char *file)
{
    static const char *const names[] = {MODEL_FILE, OPTIMIZER_FILE, CONFIG_FILE, TOKENIZER_FILE};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(file, names[i]) == 0)
            return true;
    return false;
}

/* The files that nopeek writes for other programs. Those that are gone pass: a folder may be stripped to what sampling
 * takes. */
static enum status verify_others(const struct checkpoint *c, struct error *err)
{
    const char *file;
    json_t *hash;
    json_object_foreach(json_object_get(c->state, "files"), file, hash)
    {
        struct stat st;
        char found[HASH_TEXT_SIZE];
        if (is_read(file))
            continue;
        char *path = commit_join(c->path, file);
        if (!path)
            return fail_memory(err, file);
        enum status s = STATUS_OK;
        if (stat(path, &st) == 0) {
            s = file_hash(found, path, err);
            if (s == STATUS_OK)
                s = compare_hash(path, found, json_string_value(hash), err);
        }
        free(path);
        if (s != STATUS_OK)
            return s;
    }
    return STATUS_OK;
}

/* ---- reading: the tensors ---- */

/* After reading, with what that said: a file whose bytes are not those that were saved is told as that, whatever else
 * its numbers are. The hash is of the bytes in memory (safetensors_hash), so that a file changed meanwhile is noticed
 * too. */
static enum status verify_tensors(enum status read, struct safetensors *s, const char *expected, struct error *err)
{
    if (!expected || (read != STATUS_OK && read != STATUS_FORMAT && read != STATUS_NONFINITE))
        return read;
    char hash[HASH_TEXT_SIZE];
    struct error mine;
    enum status status = safetensors_hash(hash, s, &mine);
    if (status == STATUS_OK)
        status = compare_hash(s->path, hash, expected, &mine);
    if (status == STATUS_OK)
        return read;
    *err = mine;
    return status;
}

static enum status read_weights(struct checkpoint *c, const struct config *config, struct safetensors *s,
                                struct error *err)
{
    /* Shapes before memory, and before the hash: a file that is cut off or of another model is told by its sizes. */
    enum status status = tensors_check_model(s, config, err);
    if (status == STATUS_OK)
        status = gpt_create(&c->model, config, err);
    if (status == STATUS_OK)
        status = verify_tensors(tensors_read_model(&c->model, s, err), s, saved_hash(c, MODEL_FILE), err);
    return status;
}

static enum status read_model(struct checkpoint *c, const struct config *config, struct error *err)
{
    struct safetensors s;
    char *path = commit_join(c->path, MODEL_FILE);
    if (!path)
        return fail_memory(err, MODEL_FILE);
    enum status status = safetensors_open(&s, path, err);
    free(path);
    if (status != STATUS_OK)
        return status;
    status = read_weights(c, config, &s, err);
    safetensors_close(&s);
    return status;
}

static enum status read_moments(struct checkpoint *c, const char *path, struct error *err)
{
    struct safetensors s;
    enum status status = safetensors_open(&s, path, err);
    if (status != STATUS_OK)
        return status;
    const size_t n = c->model.table.size;
    c->moments.m = calloc(n, sizeof *c->moments.m);
    c->moments.v = calloc(n, sizeof *c->moments.v);
    if (c->moments.m && c->moments.v)
        status = verify_tensors(tensors_read_moments(c->moments.m, c->moments.v, &c->model.table, &s, err), &s,
                                saved_hash(c, OPTIMIZER_FILE), err);
    else
        status = fail_memory(err, path);
    safetensors_close(&s);
    return status;
}

static enum status read_optimizer(struct checkpoint *c, struct error *err)
{
    struct stat st;
    char *path = commit_join(c->path, OPTIMIZER_FILE);
    if (!path)
        return fail_memory(err, OPTIMIZER_FILE);
    enum status s;
    if (!c->state || stat(path, &st) != 0)
        s = fail(err, STATUS_FORMAT,
                 "%s: has no %s: it can be sampled from, but not resumed; train on from its weights with --init-from",
                 c->path, c->state ? OPTIMIZER_FILE : STATE_FILE);
    else
        s = read_moments(c, path, err);
    free(path);
    return s;
}

static enum status read_folder(struct checkpoint *c, bool with_optimizer, struct error *err)
{
    struct config config;
    enum status s = read_state(c, err);
    if (s == STATUS_OK)
        s = read_config(&config, c, err);
    if (s == STATUS_OK)
        s = read_tokenizer(c, &config, err);
    if (s == STATUS_OK)
        s = verify_others(c, err);
    if (s == STATUS_OK)
        s = read_model(c, &config, err);
    if (s == STATUS_OK && with_optimizer)
        s = read_optimizer(c, err);
    return s;
}

enum status checkpoint_read(struct checkpoint *c, const char *folder, bool with_optimizer, struct error *err)
{
    *c = (struct checkpoint){.path = strdup(folder)};
    const enum status s = c->path ? read_folder(c, with_optimizer, err) : fail_memory(err, folder);
    if (s != STATUS_OK)
        checkpoint_free(c);
    return s;
}

void checkpoint_free(struct checkpoint *c)
{
    free(c->path);
    gpt_free(&c->model);
    tokenizer_free(&c->tokenizer);
    json_decref(c->state);
    free(c->moments.m);
    free(c->moments.v);
    *c = (struct checkpoint){0};
}
