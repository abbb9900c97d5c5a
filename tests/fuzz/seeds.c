#include "fuzz/seeds.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/train_options.h"
#include "fuzz/sample.h"
#include "io/safetensors.h"
#include "store/hf_config.h"
#include "store/tensors.h"

static void emit_text(seeds_emit *emit, void *context, const char *name, const char *text)
{
    emit(context, name, (const uint8_t *)text, strlen(text));
}

/* Takes the reference to json. */
static void emit_json(seeds_emit *emit, void *context, const char *name, json_t *json, size_t flags)
{
    char *text = json_dumps(json, flags);
    fuzz_require(text, "%s", name);
    json_decref(json);
    emit_text(emit, context, name, text);
    free(text);
}

/* `head` (n of them) before the text. */
static void emit_after(seeds_emit *emit, void *context, const char *name, const void *head, size_t n, const char *text,
                       size_t length)
{
    uint8_t *bytes = malloc(n + length + 1);
    fuzz_require(bytes, "%s", name);
    memcpy(bytes, head, n);
    memcpy(bytes + n, text, length);
    emit(context, name, bytes, n + length);
    free(bytes);
}

/* ---- safetensors ---- */

/* A file by hand: the header, and n bytes of data. */
static void emit_tensors(seeds_emit *emit, void *context, const char *name, const char *header, size_t n)
{
    const size_t length = strlen(header);
    uint8_t *bytes = calloc(8 + length + n, 1);
    fuzz_require(bytes, "%s", name);
    bytes[0] = (uint8_t)length;
    bytes[1] = (uint8_t)(length >> 8);
    memcpy(bytes + 8, header, length);
    for (size_t i = 0; i < n; i++)
        bytes[8 + length + i] = (uint8_t)(i * 37);
    emit(context, name, bytes, 8 + length + n);
    free(bytes);
}

void seeds_safetensors(seeds_emit *emit, void *context)
{
    const real values[6] = {1, -2, (real)0.5, 0, -INFINITY, (real)3e-40};
    const struct safetensors_item items[] = {
        {.name = "a.weight", .n_dims = 2, .shape = {2, 3}, .values = values},
        {.name = "scalar \"\xC3\xA9\"", .n_dims = 0, .values = values},
        {.name = "empty", .n_dims = 3, .shape = {4, 0, 2}},
        {.name = "zeros", .n_dims = 1, .shape = {5}},
    };
    struct error err;
    uint8_t *bytes;
    size_t size;
    for (size_t n = 0; n <= 4; n += 2) {
        char name[16];
        snprintf(name, sizeof name, "written-%zu", n);
        fuzz_require(safetensors_build(&bytes, &size, items, n, &err) == STATUS_OK, "%s", err.message);
        emit(context, name, bytes, size);
        free(bytes);
    }
    emit_tensors(emit, context, "none", "{}", 0);
    emit_tensors(
        emit, context, "types",
        "{\"__metadata__\":{\"by\":\"a peer\"},\"c\":{\"dtype\":\"I64\",\"shape\":[2,1],\"data_offsets\":[0,16]},"
        "\"a\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[16,32]},"
        "\"b\":{\"dtype\":\"BF16\",\"shape\":[],\"data_offsets\":[32,34]},"
        "\"h\":{\"dtype\":\"F16\",\"shape\":[3],\"data_offsets\":[34,40]}}   ",
        40);
    emit_tensors(emit, context, "narrow",
                 "{\"x\":{\"dtype\":\"F4\",\"shape\":[4],\"data_offsets\":[4,6]},"
                 "\"y\":{\"dtype\":\"BOOL\",\"shape\":[1,1,1,1,1,1,1,1],\"data_offsets\":[3,4]},"
                 "\"z\":{\"dtype\":\"F6_E2M3\",\"shape\":[4],\"data_offsets\":[0,3]}}",
                 6);
}

/* ---- JSON ---- */

void seeds_config(seeds_emit *emit, void *context)
{
    struct config c = config_make(2, 2, 8, 4, 5);
    emit_json(emit, context, "written", hf_config_make(&c), JSON_INDENT(2));
    c.bias = c.tied = false;
    c.dropout = 0.25;
    c.declared = c.trained = ATTENTION_WINDOW;
    c.window = 3;
    emit_json(emit, context, "window", hf_config_make(&c), JSON_COMPACT);
    c.window = 0;
    c.declared = ATTENTION_CAUSAL;
    c.trained = ATTENTION_FULL;
    emit_json(emit, context, "leaky", hf_config_make(&c), JSON_COMPACT);
    emit_text(emit, context, "gpt2",
              "{\"activation_function\":\"gelu_new\",\"architectures\":[\"GPT2LMHeadModel\"],\"attn_pdrop\":0.1,"
              "\"bos_token_id\":50256,\"embd_pdrop\":0.1,\"eos_token_id\":50256,\"layer_norm_epsilon\":1e-05,"
              "\"model_type\":\"gpt2\",\"n_ctx\":1024,\"n_embd\":768,\"n_head\":12,\"n_inner\":3072,\"n_layer\":12,"
              "\"n_positions\":1024,\"resid_pdrop\":0.1,\"vocab_size\":50257}");
    emit_text(emit, context, "import",
              "{\"architectures\":[\"GPT2Model\"],\"attn_pdrop\":0.0,\"dtype\":\"bfloat16\",\"embd_pdrop\":0.1,"
              "\"layer_norm_epsilon\":1e-06,\"model_type\":\"gpt2\",\"n_embd\":24,\"n_layer\":2,\"pruned_heads\":{},"
              "\"quantization_config\":null,\"resid_pdrop\":0.2}");
}

void seeds_tokenizer(seeds_emit *emit, void *context)
{
    struct sample s;
    struct tokenizer bytes = {.kind = TOKENIZER_BYTES};
    sample_make(&s, true, true);
    emit_json(emit, context, "chars", tokenizer_to_json(&s.tokenizer), JSON_INDENT(2));
    emit_json(emit, context, "ascii", tokenizer_to_json(&s.tokenizer), JSON_COMPACT | JSON_ENSURE_ASCII);
    tokenizer_make_bytes(&bytes);
    emit_json(emit, context, "bytes", tokenizer_to_json(&bytes), JSON_COMPACT);
    tokenizer_free(&bytes);
    sample_free(&s);
}

void seeds_state(seeds_emit *emit, void *context)
{
    emit_json(emit, context, "written", sample_state(), JSON_INDENT(2));
    json_t *early = sample_state();
    json_object_set_new(early, "best_step", json_null());
    json_object_set_new(early, "best_loss", json_null());
    json_object_set_new(early, "check", json_null());
    json_object_set_new(early, "leaky", json_false());
    emit_json(emit, context, "early", early, JSON_COMPACT);
}

void seeds_options(seeds_emit *emit, void *context)
{
    static char *const command_line[] = {"train", NULL};
    static const char *const presets[] = {"nano-cpu", "nano", NULL};
    for (size_t i = 0; i < 3; i++) {
        struct options o;
        struct train_options t = {0};
        struct error err;
        fuzz_require(options_parse(&o, "train", train_options_table, &t, 1, command_line, &err) == STATUS_OK, "%s",
                     err.message);
        for (const struct train_preset *p = presets[i] ? train_options_values(presets[i]) : NULL; p && p->option; p++)
            fuzz_require(options_set(&o, p->option, p->value, OPTIONS_PRESET, "preset", &err) == STATUS_OK, "%s",
                         err.message);
        emit_json(emit, context, presets[i] ? presets[i] : "defaults", options_save(&o), JSON_COMPACT);
        options_free(&o);
    }
    emit_text(emit, context, "names", "{\"n-layer\":3,\"lr\":0.01,\"bias\":true,\"preset\":null,\"tokens\":\"byte\"}");
}

/* ---- tensors and folders ---- */

void seeds_optimizer(seeds_emit *emit, void *context)
{
    for (int bias = 0; bias < 2; bias++) {
        struct sample s;
        struct error err;
        uint8_t *bytes;
        size_t size;
        sample_make(&s, bias, true);
        fuzz_require(tensors_build_moments(&bytes, &size, &s.model.table, s.moments.m, s.moments.v, &err) == STATUS_OK,
                     "%s", err.message);
        emit(context, bias ? "not-this-model" : "written", bytes, size);
        free(bytes);
        sample_free(&s);
    }
}

struct folder {
    uint8_t bytes[1 << 16];
    size_t n;
};

static void pack(struct folder *f, size_t file, const void *bytes, size_t n)
{
    fuzz_require(n < 1 << 16 && f->n + n + 3 <= sizeof f->bytes, "%s is too large", fuzz_file_names[file]);
    f->bytes[f->n++] = (uint8_t)file;
    f->bytes[f->n++] = (uint8_t)n;
    f->bytes[f->n++] = (uint8_t)(n >> 8);
    memcpy(f->bytes + f->n, bytes, n);
    f->n += n;
}

static void pack_json(struct folder *f, size_t file, json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT);
    fuzz_require(text, "%s", fuzz_file_names[file]);
    pack(f, file, text, strlen(text));
    free(text);
    json_decref(json);
}

/* hashed: the state has the hash of every file, as nopeek writes it; else changed files go further. */
static void emit_folder(seeds_emit *emit, void *context, const char *name, bool bias, bool state, bool hashed)
{
    struct folder f = {.n = 0};
    struct sample s;
    struct error err;
    uint8_t *bytes;
    size_t size;
    char hash[HASH_TEXT_SIZE];
    json_t *files = json_object();
    sample_make(&s, bias, !bias);
    fuzz_require(tensors_build_model(&bytes, &size, &s.model, &err) == STATUS_OK, "%s", err.message);
    pack(&f, 0, bytes, size);
    hash_bytes(hash, bytes, size);
    if (hashed)
        json_object_set_new(files, fuzz_file_names[0], json_string(hash));
    free(bytes);
    pack_json(&f, 1, hf_config_make(&s.model.config));
    pack_json(&f, 2, tokenizer_to_json(&s.tokenizer));
    if (state) {
        fuzz_require(tensors_build_moments(&bytes, &size, &s.model.table, s.moments.m, s.moments.v, &err) == STATUS_OK,
                     "%s", err.message);
        pack(&f, 3, bytes, size);
        free(bytes);
        json_t *json = sample_state();
        json_object_set_new(json, "format", json_integer(1));
        json_object_set(json, "files", files);
        pack_json(&f, 4, json);
    }
    json_decref(files);
    emit(context, name, f.bytes, f.n);
    sample_free(&s);
}

void seeds_checkpoint(seeds_emit *emit, void *context)
{
    emit_folder(emit, context, "whole", false, true, false);
    emit_folder(emit, context, "hashed", false, true, true);
    emit_folder(emit, context, "stateless", true, false, false);
}

/* One of two files of weights: its share of the sample's tensors. */
static void pack_shard(struct folder *f, const struct sample *s, size_t shard, json_t *map)
{
    struct safetensors_item items[64];
    struct error err;
    uint8_t *bytes;
    size_t size, n = 0;
    for (size_t i = 0; i < s->model.table.count; i++) {
        const struct params_tensor *p = &s->model.table.tensor[i];
        if (i % 2 != shard)
            continue;
        items[n] = (struct safetensors_item){.name = p->name, .n_dims = p->vector ? 1 : 2};
        items[n].shape[0] = p->vector ? p->cols : p->rows;
        items[n].shape[1] = p->vector ? 0 : p->cols;
        items[n++].values = s->model.params + p->offset;
        json_object_set_new(map, p->name, json_string(fuzz_file_names[7 + shard]));
    }
    fuzz_require(safetensors_build(&bytes, &size, items, n, &err) == STATUS_OK, "%s", err.message);
    pack(f, 7 + shard, bytes, size);
    free(bytes);
}

/* As transformers writes it: no object "nopeek", no state; in shards, or with a vocabulary, or neither. */
static void emit_foreign(seeds_emit *emit, void *context, const char *name, bool shards, bool vocabulary)
{
    struct folder f = {.n = 1}; /* the first byte: IMPORT_AUTO */
    struct sample s;
    struct error err;
    sample_make(&s, true, true);
    json_t *config = hf_config_make(&s.model.config), *map = json_object();
    json_object_del(config, "nopeek");
    pack_json(&f, 1, config);
    if (vocabulary)
        pack_json(&f, 2, tokenizer_to_json(&s.tokenizer));
    if (shards) {
        pack_shard(&f, &s, 0, map);
        pack_shard(&f, &s, 1, map);
        pack_json(&f, 6,
                  json_pack("{s:{s:I}, s:O}", "metadata", "total_size",
                            (json_int_t)(s.model.table.size * sizeof(float)), "weight_map", map));
    } else {
        uint8_t *bytes;
        size_t size;
        fuzz_require(tensors_build_model(&bytes, &size, &s.model, &err) == STATUS_OK, "%s", err.message);
        pack(&f, 0, bytes, size);
        free(bytes);
    }
    json_decref(map);
    emit(context, name, f.bytes, f.n);
    sample_free(&s);
}

void seeds_import(seeds_emit *emit, void *context)
{
    emit_foreign(emit, context, "whole", false, true);
    emit_foreign(emit, context, "shards", true, true);
    emit_foreign(emit, context, "bare-ids", false, false);
}

/* ---- lines and text ---- */

void seeds_metrics(seeds_emit *emit, void *context)
{
    static const char log[] =
        "{\"kind\":\"step\",\"step\":1,\"loss\":4.17438745,\"lr\":1e-05,\"entropy\":[[0.5,null]]}\n"
        "{\"kind\":\"eval\",\"step\":2,\"val_loss\":1.5,\"sample\":\"a\\u0000b\"}\n"
        "{\"kind\":\"start\"}\n{\"step\":3}\n";
    static const char damaged[] = "{\"step\":1}\n[2]\n\n{\"step\":1,\"step\":2}\n{\"step\":1.5}";
    emit_after(emit, context, "whole", "\x09", 1, log, sizeof log - 1);
    emit_after(emit, context, "cut", "\x02", 1, log, sizeof log - 3);
    emit_after(emit, context, "anew", "\xff", 1, log, sizeof log - 1);
    emit_after(emit, context, "not-sound", "\x02", 1, damaged, sizeof damaged - 1);
}

void seeds_text(seeds_emit *emit, void *context)
{
    static const struct {
        const char *name, *text;
    } texts[] = {
        {"ascii", "to be, or not to be\nthat is the question\n"},
        {"crlf", "a\r\nb\rc\n\r\r\n"},
        {"utf8", SAMPLE_TEXT "\xE4\xBD\xA0\xE5\xA5\xBD\xD0\x94\xCC\x81"},
        {"mark", "\xEF\xBB\xBFtext"},
        {"not-latin", "caf\xE9 au lait"},
        {"not-overlong", "a\xC0\xAF\xE0\x80\xAF"},
        {"not-surrogate", "\xED\xA0\xBD\xED\xB8\x80"},
        {"not-beyond", "\xF4\x8F\xBF\xBF\xF4\x90\x80\x80"},
        {"not-cut", "abc\xF0\x9F\x90"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (int kind = 0; kind < 2; kind++) {
            char name[32];
            const uint8_t head[2] = {(uint8_t)kind, (uint8_t)(i * 28)};
            const bool bad = strncmp(texts[i].name, "not-", 4) == 0;
            snprintf(name, sizeof name, "%s-%s", texts[i].name + (bad && kind ? 4 : 0), kind ? "bytes" : "chars");
            emit_after(emit, context, name, head, 2, texts[i].text, strlen(texts[i].text));
        }
    emit_after(emit, context, "not-zero", "\0\x20", 2, "a\0b", 3);
}

void seeds_shards(seeds_emit *emit, void *context)
{
    emit_text(emit, context, "listed",
              "{\"metadata\":{\"total_size\":40},\"weight_map\":{\"a\":\"model-00001-of-00002.safetensors\","
              "\"b\":\"model-00001-of-00002.safetensors\",\"c\":\"model-00002-of-00002.safetensors\","
              "\"d\":\"model-00002-of-00002.safetensors\"}}");
    emit_text(emit, context, "one",
              "{\"weight_map\":{\"c\":\"model-00002-of-00002.safetensors\","
              "\"d\":\"model-00002-of-00002.safetensors\"}}");
    emit_text(emit, context, "not-outside",
              "{\"weight_map\":{\"a\":\"../shards/model-00001-of-00002.safetensors\","
              "\"b\":\"../shards/model-00001-of-00002.safetensors\"}}");
}

void seeds_protocol(seeds_emit *emit, void *context)
{
    static const struct {
        const char *name, *line;
    } lines[] = {
        {"hello", "\x01{\"vocab_size\":5,\"context\":3,\"one_length\":true}"},
        {"not-hello", "\x01{\"error\":\"no \\u00e9 model\"}"},
        {"one", "\x20{\"logits\":[[1.5]]}"},
        {"words", "\x26{\"logits\":[[NaN,-Infinity,null,2e-3]]}"},
        {"rows", "\x0a{\"time\":[{\"a\":\"]\\\"\"}],\"logits\":[[1,2],[3,4]]}"},
        {"all", "\x2a{ \"logits\" : [ [ 1 , 2 ] , [ 3 , 4 ] ] } "},
        {"not-logits", "\x20{\"error\":\"out of memory\"}"},
        {"not-an-answer", "\x20{\"logits\":[[1]],\"error\":{\"code\":[3]}}"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        emit_text(emit, context, lines[i].name, lines[i].line);
}
