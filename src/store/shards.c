#include "store/shards.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/checked.h"
#include "io/commit.h"
#include "io/json_file.h"

#define MODEL_FILE "model.safetensors"
#define LIST_FILE "model.safetensors.index.json"

static enum status fail_memory(struct error *err, const char *what)
{
    return fail(err, STATUS_MEMORY, "%s: memory was refused", what);
}

static bool is_there(const char *folder, const char *file)
{
    struct stat st;
    char *path = commit_join(folder, file);
    const bool found = path && stat(path, &st) == 0;
    free(path);
    return found;
}

/* Text from a file, made fit for a one-line message. */
struct shown {
    char text[81];
};

static struct shown show(const char *s)
{
    struct shown out;
    size_t n = 0;
    for (; s[n] && n < sizeof out.text - 1; n++)
        out.text[n] = (unsigned char)s[n] < 0x20 || s[n] == 0x7F ? '?' : s[n];
    while (s[n] && n > 0 && ((unsigned char)s[n] & 0xC0u) == 0x80u) /* not inside a UTF-8 character */
        n--;
    out.text[n] = '\0';
    return out;
}

/* A file's name, in this folder and no other. */
static bool is_plain(const char *name)
{
    return name[0] != '\0' && !strchr(name, '/') && !strchr(name, '\\') && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

static enum status open_file(struct shards *s, const char *folder, const char *name, struct error *err)
{
    char *path = commit_join(folder, name);
    if (!path)
        return fail_memory(err, name);
    const enum status status = safetensors_open(&s->file[s->count], path, err);
    free(path);
    if (status == STATUS_OK)
        s->count++;
    return status;
}

/* ---- the list ---- */

static int by_text(const void *left, const void *right)
{
    const char *const *a = left, *const *b = right;
    return strcmp(*a, *b);
}

/* The distinct files that the map names, sorted; `names` has room for one a tensor. */
static enum status list_files(const char **names, size_t *count, const json_t *map, const char *path, struct error *err)
{
    const char *tensor;
    json_t *value;
    size_t n = 0;
    json_object_foreach((json_t *)map, tensor, value)
    {
        if (!json_is_string(value) || !is_plain(json_string_value(value)))
            return fail(err, STATUS_FORMAT, "%s: weight_map: '%s' is in \"%s\", the plain name of a file expected",
                        path, show(tensor).text,
                        json_is_string(value) ? show(json_string_value(value)).text : "no string");
        names[n++] = json_string_value(value);
    }
    qsort(names, n, sizeof *names, by_text);
    *count = 0;
    for (size_t i = 0; i < n; i++)
        if (*count == 0 || strcmp(names[*count - 1], names[i]) != 0)
            names[(*count)++] = names[i];
    return STATUS_OK;
}

/* Every tensor of every file is where the map says. Then no two files have the same one. */
static enum status check_files(const struct shards *s, const char *const *names, const json_t *map, struct error *err)
{
    for (size_t f = 0; f < s->count; f++)
        for (size_t i = 0; i < s->file[f].count; i++) {
            const char *tensor = s->file[f].entry[i].name;
            const char *home = json_string_value(json_object_get(map, tensor));
            if (!home)
                return fail(err, STATUS_FORMAT, "%s: tensor '%s' is not in the weight_map of %s", s->file[f].path,
                            show(tensor).text, s->path);
            if (strcmp(home, names[f]) != 0)
                return fail(err, STATUS_FORMAT, "%s: tensor '%s' is here, but %s says that it is in \"%s\"",
                            s->file[f].path, show(tensor).text, s->path, show(home).text);
        }
    return STATUS_OK;
}

/* ... and every tensor of the map is there. */
static enum status check_map(const struct shards *s, const char *const *names, const json_t *map, struct error *err)
{
    const char *tensor;
    json_t *value;
    json_object_foreach((json_t *)map, tensor, value)
    {
        const char *home = json_string_value(value);
        const char *const *name = bsearch(&home, names, s->count, sizeof *names, by_text);
        if (!name || !safetensors_find(&s->file[name - names], tensor))
            return fail(err, STATUS_FORMAT, "%s: weight_map: tensor '%s' is not in \"%s\"", s->path, show(tensor).text,
                        show(home).text);
    }
    return STATUS_OK;
}

static enum status check_total(const struct shards *s, const json_t *list, struct error *err)
{
    const json_t *total = json_object_get(json_object_get(list, "metadata"), "total_size");
    size_t sum = 0;
    if (!total || json_is_null(total))
        return STATUS_OK;
    bool fits = json_is_number(total);
    for (size_t f = 0; f < s->count; f++)
        for (size_t i = 0; i < s->file[f].count; i++)
            fits = fits && checked_add(&sum, sum, s->file[f].entry[i].size);
    /* Some writers have it as 1234.0. */
    if (fits && json_number_value(total) == (double)sum)
        return STATUS_OK;
    return fail(err, STATUS_FORMAT,
                "%s: metadata.total_size is %.0f, but the files hold tensors of %zu bytes: some of "
                "them are of another model, or cut",
                s->path, json_number_value(total), sum);
}

static enum status open_files(struct shards *s, const char *folder, const char *const *names, size_t count,
                              const json_t *map, struct error *err)
{
    s->file = calloc(count + 1, sizeof *s->file);
    if (!s->file)
        return fail_memory(err, s->path);
    for (size_t i = 0; i < count; i++) {
        const enum status status = open_file(s, folder, names[i], err);
        if (status != STATUS_OK)
            return status;
    }
    const enum status status = check_files(s, names, map, err);
    return status == STATUS_OK ? check_map(s, names, map, err) : status;
}

static enum status open_listed(struct shards *s, const char *folder, const json_t *list, struct error *err)
{
    const json_t *map = json_object_get(list, "weight_map");
    const size_t tensors = json_object_size(map);
    if (tensors == 0)
        return fail(err, STATUS_FORMAT, "%s: weight_map is missing, empty or no object of tensor and file names",
                    s->path);
    const char **names = calloc(tensors, sizeof *names);
    size_t count = 0;
    if (!names)
        return fail_memory(err, s->path);
    enum status status = list_files(names, &count, map, s->path, err);
    if (status == STATUS_OK)
        status = open_files(s, folder, names, count, map, err);
    if (status == STATUS_OK)
        status = check_total(s, list, err);
    free(names);
    return status;
}

/* ---- all of it ---- */

/* What else the weights may be in, so that the message can say how to go on. */
static enum status fail_missing(const char *folder, struct error *err)
{
    static const char *const others[] = {"pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5",
                                         "flax_model.msgpack"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (is_there(folder, others[i]))
            return fail(err, STATUS_OPEN,
                        "%s: has its weights in %s, which nopeek does not read: load it with transformers and save it "
                        "with save_pretrained(FOLDER, safe_serialization=True)",
                        folder, others[i]);
    return fail(err, STATUS_OPEN, "%s: has no weights: neither %s nor %s is there", folder, MODEL_FILE, LIST_FILE);
}

/* A name for each tensor, of which a file has no more than safetensors.h allows. */
static const struct json_limits list_limits = {.bytes = (size_t)16 << 20, .depth = 4, .values = (size_t)1 << 18};

static enum status open_all(struct shards *s, const char *folder, struct error *err)
{
    const bool listed = !is_there(folder, MODEL_FILE);
    if (listed && !is_there(folder, LIST_FILE))
        return fail_missing(folder, err);
    s->path = commit_join(folder, listed ? LIST_FILE : MODEL_FILE);
    if (!s->path)
        return fail_memory(err, folder);
    if (listed) {
        json_t *list;
        enum status status = json_file_read(&list, s->path, &list_limits, err);
        if (status == STATUS_OK)
            status = open_listed(s, folder, list, err);
        json_decref(list);
        return status;
    }
    s->file = calloc(1, sizeof *s->file);
    return s->file ? open_file(s, folder, MODEL_FILE, err) : fail_memory(err, s->path);
}

enum status shards_open(struct shards *s, const char *folder, struct error *err)
{
    *s = (struct shards){0};
    const enum status status = open_all(s, folder, err);
    if (status != STATUS_OK)
        shards_close(s);
    return status;
}

void shards_close(struct shards *s)
{
    for (size_t i = 0; i < s->count; i++)
        safetensors_close(&s->file[i]);
    free(s->file);
    free(s->path);
    *s = (struct shards){0};
}

struct tensors_set shards_set(const struct shards *s)
{
    bool bare = true;
    for (size_t f = 0; f < s->count; f++)
        for (size_t i = 0; i < s->file[f].count; i++)
            bare = bare && strncmp(s->file[f].entry[i].name, "transformer.", strlen("transformer.")) != 0;
    return (struct tensors_set){.file = s->file, .count = s->count, .bare = bare, .name = s->path};
}

void shards_types(char text[SHARDS_TYPES_SIZE], const struct shards *s)
{
    static const struct {
        enum safetensors_type type;
        const char *name;
    } known[] = {
        {SAFETENSORS_F16, "F16"}, {SAFETENSORS_BF16, "BF16"}, {SAFETENSORS_F32, "F32"}, {SAFETENSORS_F64, "F64"}};
    size_t used = 0;
    text[0] = '\0';
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        bool seen = false;
        for (size_t f = 0; f < s->count; f++)
            for (size_t i = 0; i < s->file[f].count; i++)
                seen = seen || s->file[f].entry[i].type == known[k].type;
        if (seen)
            used += (size_t)snprintf(text + used, SHARDS_TYPES_SIZE - used, "%s%s", used ? " and " : "", known[k].name);
    }
}
