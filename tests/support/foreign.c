#include "support/foreign.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/hf_config.h"
#include "support/scratch.h"

static const char *const type_names[] = {"F32", "F16", "BF16", "F64", "I8"};
static const size_t type_sizes[] = {4, 2, 2, 8, 1};

void foreign_model(struct gpt *g, const struct config *c)
{
    struct error err;
    cr_assert_eq(gpt_create(g, c, &err), STATUS_OK, "%s", err.message);
    /* Seven significant bits: the mantissa of bf16 has eight. */
    for (size_t i = 0; i < g->table.size; i++)
        g->params[i] = (real)((int)(i * 37 % 127) - 63) / 64;
}

static void put_number(uint8_t *out, double x, enum foreign_type type)
{
    const float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (type == FOREIGN_F64) {
        memcpy(out, &x, sizeof x);
    } else if (type == FOREIGN_F32) {
        memcpy(out, &bits, sizeof bits);
    } else if (type == FOREIGN_I8) {
        *out = 1;
    } else {
        uint32_t half = bits >> 16;
        cr_assert_eq(bits & 0xFFFFu, 0u, "bf16 holds it");
        if (type == FOREIGN_F16) /* a normal number: its exponent's bias is 15 instead of 127 */
            half = x == 0 ? 0 : (bits >> 16 & 0x8000u) | (((bits >> 23 & 0xFFu) - 112) << 10) | (bits >> 13 & 0x3FFu);
        out[0] = (uint8_t)half;
        out[1] = (uint8_t)(half >> 8);
    }
}

/* A file in the making. */
struct file {
    json_t *header;
    uint8_t *data;
    size_t size;
};

static void add_tensor(struct file *f, const char *name, size_t rows, size_t cols, bool vector, const real *values,
                       enum foreign_type type)
{
    const size_t n = rows * cols, bytes = n * type_sizes[type];
    json_t *shape =
        vector ? json_pack("[I]", (json_int_t)cols) : json_pack("[I,I]", (json_int_t)rows, (json_int_t)cols);
    json_object_set_new(f->header, name,
                        json_pack("{s:s, s:o, s:[I,I]}", "dtype", type_names[type], "shape", shape, "data_offsets",
                                  (json_int_t)f->size, (json_int_t)(f->size + bytes)));
    f->data = realloc(f->data, f->size + bytes);
    for (size_t i = 0; i < n; i++)
        put_number(f->data + f->size + i * type_sizes[type], values ? (double)values[i] : 0, type);
    f->size += bytes;
}

static void write_file(const char *path, struct file *f)
{
    char *text = json_dumps(f->header, JSON_COMPACT);
    const size_t n = strlen(text);
    uint8_t *bytes = calloc(1, 8 + n + f->size);
    for (size_t i = 0; i < 8; i++)
        bytes[i] = (uint8_t)((uint64_t)n >> (8 * i));
    memcpy(bytes + 8, text, n);
    memcpy(bytes + 8 + n, f->data, f->size);
    scratch_write(path, bytes, 8 + n + f->size);
    free(bytes);
    free(text);
    free(f->data);
    json_decref(f->header);
}

static void write_json(const char *path, json_t *json)
{
    char *text = json_dumps(json, JSON_INDENT(2));
    scratch_write(path, text, strlen(text));
    free(text);
    json_decref(json);
}

static const char *name_of(const struct foreign *f, const char *name)
{
    return f->bare && strncmp(name, "transformer.", 12) == 0 ? name + 12 : name;
}

static void write_weights(const struct foreign *f, const struct gpt *g)
{
    const size_t files = f->shards ? f->shards : 1;
    struct file *file = calloc(files, sizeof *file);
    json_t *map = json_object();
    size_t total = 0, next = 0;
    for (size_t i = 0; i < files; i++)
        file[i].header = json_pack("{s:{s:s}}", "__metadata__", "format", "pt");
    for (size_t i = 0; i < g->table.count + f->with_head + f->with_masks; i++, next = (next + 1) % files) {
        const struct params_tensor *p = &g->table.tensor[i < g->table.count ? i : 0];
        const char *name = i < g->table.count                    ? p->name
                           : f->with_head && i == g->table.count ? "lm_head.weight"
                                                                 : "transformer.h.0.attn.bias";
        char shard[64];
        snprintf(shard, sizeof shard, "model-%05zu-of-%05zu.safetensors", next + 1, files);
        const size_t before = file[next].size;
        if (strcmp(name, "transformer.h.0.attn.bias") == 0)
            add_tensor(&file[next], name_of(f, name), 3, 3, false, NULL, f->type);
        else
            add_tensor(&file[next], name_of(f, name), p->rows, p->cols, p->vector,
                       p->present ? g->params + p->offset : NULL, f->type);
        total += file[next].size - before;
        json_object_set_new(map, name_of(f, name), json_string(shard));
    }
    for (size_t i = 0; i < files; i++) {
        if (f->shards)
            write_file(scratch_path("%s/model-%05zu-of-%05zu.safetensors", f->dir, i + 1, files), &file[i]);
        else
            write_file(scratch_path("%s/model.safetensors", f->dir), &file[i]);
    }
    if (f->shards)
        write_json(scratch_path("%s/model.safetensors.index.json", f->dir),
                   json_pack("{s:{s:I}, s:O}", "metadata", "total_size", (json_int_t)total, "weight_map", map));
    json_decref(map);
    free(file);
}

void foreign_write(const struct foreign *f, const struct gpt *g)
{
    mkdir(scratch_path("%s", f->dir), 0777);
    json_t *config = hf_config_make(&g->config);
    json_object_del(config, "nopeek");
    json_object_del(config, "n_ctx");
    if (f->bare)
        json_object_set_new(config, "architectures", json_pack("[s]", "GPT2Model"));
    write_json(scratch_path("%s/config.json", f->dir), config);
    if (f->tokenizer)
        scratch_write(scratch_path("%s/tokenizer.json", f->dir), f->tokenizer, strlen(f->tokenizer));
    write_weights(f, g);
}

void foreign_change(const char *file, const char *path, json_t *value)
{
    const char *full = scratch_path("%s", file);
    char *text = scratch_read(full, NULL), keys[128];
    json_t *json = json_loads(text, 0, NULL), *at = json;
    cr_assert_not_null(json, "%s", text);
    snprintf(keys, sizeof keys, "%s", path);
    char *key = strtok(keys, " ");
    for (char *after; (after = strtok(NULL, " ")); key = after)
        at = json_object_get(at, key);
    cr_assert(json_is_object(at), "%s", path);
    cr_assert_eq(value ? json_object_set_new(at, key, value) : json_object_del(at, key), 0, "%s", path);
    write_json(full, json);
    free(text);
}

const char *foreign_chars(const char *const *characters, size_t n, const char *other)
{
    static char text[4096];
    json_t *vocab = json_object();
    for (size_t i = 0; i < n; i++)
        json_object_set_new(vocab, characters[i], json_integer((json_int_t)i));
    char *members = json_dumps(vocab, JSON_COMPACT);
    snprintf(
        text, sizeof text,
        "{\"version\":\"1.0\",\"added_tokens\":[],\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\"},"
        "\"behavior\":\"Isolated\",\"invert\":false},\"post_processor\":{\"type\":\"TemplateProcessing\","
        "\"single\":[{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],\"special_tokens\":{}},\"model\":{\"type\":"
        "\"WordLevel\",\"vocab\":%.*s%s},\"unk_token\":\"<unk>\"}}",
        (int)strlen(members) - 1, members, other);
    free(members);
    json_decref(vocab);
    return text;
}
