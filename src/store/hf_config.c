#include "store/hf_config.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define VERSION 1
#define INITIALIZER_RANGE 0.02
/* What transformers assumes when a key is missing. */
#define DEFAULT_DROPOUT 0.1
#define DEFAULT_EPSILON 1e-5

static const char *const rule_names[] = {
    [ATTENTION_CAUSAL] = "causal", [ATTENTION_FULL] = "full", [ATTENTION_WINDOW] = "window"};

json_t *hf_config_make(const struct config *c)
{
    /* bos and eos are null because transformers' default, 50256, lies outside a small vocabulary. */
    json_t *json = json_pack(
        "{s:[s], s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:n, s:s, s:f, s:f, s:f, s:f, s:f, s:b, s:b, s:b, s:b, s:b, s:b,"
        " s:n, s:n, s:s, s:{s:i, s:b, s:I, s:s, s:s}}",
        "architectures", "GPT2LMHeadModel", "model_type", "gpt2", "n_layer", (json_int_t)c->n_layer, "n_head",
        (json_int_t)c->n_head, "n_embd", (json_int_t)c->n_embd, "n_positions", (json_int_t)c->block_size, "n_ctx",
        (json_int_t)c->block_size, "vocab_size", (json_int_t)c->vocab_size, "n_inner", "activation_function",
        "gelu_new", "layer_norm_epsilon", c->norm_epsilon, "initializer_range", INITIALIZER_RANGE, "embd_pdrop",
        c->dropout, "attn_pdrop", c->dropout, "resid_pdrop", c->dropout, "scale_attn_weights", 1,
        "scale_attn_by_inverse_layer_idx", 0, "reorder_and_upcast_attn", 0, "add_cross_attention", 0,
        "tie_word_embeddings", (int)c->tied, "use_cache", 1, "bos_token_id", "eos_token_id", "torch_dtype", "float32",
        "nopeek", "version", VERSION, "bias", (int)c->bias, "head_size", (json_int_t)c->head_size, "attention",
        rule_names[c->declared], "trained", rule_names[c->trained]);
    if (json && c->window > 0 &&
        json_object_set_new(json_object_get(json, "nopeek"), "window", json_integer((json_int_t)c->window)) != 0) {
        json_decref(json);
        return NULL;
    }
    return json;
}

/* ---- reading ---- */

/* One JSON object of the file, and how to speak of its keys. */
struct object {
    const json_t *json;
    const char *name;   /* the file */
    const char *prefix; /* "" or "nopeek." */
    bool foreign;       /* hf_config_read_foreign's rules */
    struct error *err;
};

/* What stands at a key, for a message: numbers and words as they are. */
struct found {
    char text[64];
};

static struct found describe(const json_t *value)
{
    struct found f;
    if (!value)
        snprintf(f.text, sizeof f.text, "missing");
    else if (json_is_object(value) || json_is_array(value))
        snprintf(f.text, sizeof f.text, "%s", json_is_object(value) ? "an object" : "a list");
    else {
        const size_t n = json_dumpb(value, f.text, sizeof f.text - 1, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
        const size_t cut = n < sizeof f.text - 1 ? n : sizeof f.text - 1;
        f.text[cut] = '\0';
    }
    return f;
}

static enum status refuse(const struct object *o, const char *key, const char *expected)
{
    return fail(o->err, STATUS_FORMAT, "%s: %s%s is %s, %s expected", o->name, o->prefix, key,
                describe(json_object_get(o->json, key)).text, expected);
}

/* Missing keys are refused, unless there is something to fall back on. */
static enum status read_size(size_t *out, const struct object *o, const char *key, const size_t *fallback)
{
    const json_t *value = json_object_get(o->json, key);
    if (!value && fallback) {
        *out = *fallback;
        return STATUS_OK;
    }
    const json_int_t x = json_integer_value(value);
    if (!json_is_integer(value) || x < 0 || (uintmax_t)x > SIZE_MAX)
        return refuse(o, key, "a whole number >= 0");
    *out = (size_t)x;
    return STATUS_OK;
}

static enum status read_number(double *out, const struct object *o, const char *key, double fallback)
{
    const json_t *value = json_object_get(o->json, key);
    if (value && !json_is_number(value))
        return refuse(o, key, "a number");
    *out = value ? json_number_value(value) : fallback;
    return STATUS_OK;
}

static enum status read_bool(bool *out, const struct object *o, const char *key, const bool *fallback)
{
    const json_t *value = json_object_get(o->json, key);
    if (value ? !json_is_boolean(value) : !fallback)
        return refuse(o, key, "true or false");
    *out = value ? json_is_true(value) : *fallback;
    return STATUS_OK;
}

/* A key that may be missing but, where it is, must have the one value that nopeek computes with. */
static enum status require_bool(const struct object *o, const char *key, bool expected)
{
    bool value = false;
    const enum status s = read_bool(&value, o, key, &expected);
    if (s != STATUS_OK || value == expected)
        return s;
    return refuse(o, key, expected ? "true (nopeek computes nothing else)" : "false (nopeek computes nothing else)");
}

static bool is_word(const json_t *value, const char *word)
{
    return json_is_string(value) && strcmp(json_string_value(value), word) == 0;
}

/* A key that changes what the weights are, in a way that nopeek knows nothing of. */
static enum status require_nothing(const struct object *o, const char *key)
{
    const json_t *value = json_object_get(o->json, key);
    const bool nothing = !value || json_is_null(value) || (json_is_object(value) && json_object_size(value) == 0) ||
                         (json_is_array(value) && json_array_size(value) == 0);
    return nothing ? STATUS_OK : refuse(o, key, "none (nopeek computes with plain weights)");
}

static enum status check_architecture(const struct object *o)
{
    const json_t *architectures = json_object_get(o->json, "architectures");
    if (!is_word(json_object_get(o->json, "model_type"), "gpt2"))
        return refuse(o, "model_type", "\"gpt2\"");
    if (architectures && !json_is_null(architectures)) {
        const json_t *first = json_array_get(architectures, 0);
        if (json_array_size(architectures) != 1 || !json_is_string(first))
            return refuse(o, "architectures", "[\"GPT2LMHeadModel\"]");
        if (!is_word(first, "GPT2LMHeadModel") && !(o->foreign && is_word(first, "GPT2Model")))
            return fail(o->err, STATUS_FORMAT, "%s: architectures names %s, \"GPT2LMHeadModel\" expected", o->name,
                        describe(first).text);
    }
    /* Two names of the tanh form of GELU. */
    const json_t *activation = json_object_get(o->json, "activation_function");
    if (activation && !is_word(activation, "gelu_new") && !is_word(activation, "gelu_pytorch_tanh"))
        return refuse(o, "activation_function", "\"gelu_new\"");
    enum status s = require_bool(o, "scale_attn_weights", true);
    if (s == STATUS_OK)
        s = require_bool(o, "scale_attn_by_inverse_layer_idx", false);
    if (s == STATUS_OK)
        s = require_bool(o, "add_cross_attention", false);
    if (s == STATUS_OK)
        s = require_nothing(o, "quantization_config");
    if (s == STATUS_OK)
        s = require_nothing(o, "pruned_heads");
    return s;
}

static enum status read_sizes(struct config *c, const struct object *o)
{
    /* The first GPT-2's, which transformers assumes. */
    static const size_t layers = 12, heads = 12, channels = 768, positions = 1024, symbols = 50257;
    size_t context = 0;
    enum status s = read_size(&c->n_layer, o, "n_layer", o->foreign ? &layers : NULL);
    if (s == STATUS_OK)
        s = read_size(&c->n_head, o, "n_head", o->foreign ? &heads : NULL);
    if (s == STATUS_OK)
        s = read_size(&c->n_embd, o, "n_embd", o->foreign ? &channels : NULL);
    if (s == STATUS_OK)
        s = read_size(&c->vocab_size, o, "vocab_size", o->foreign ? &symbols : NULL);
    if (s == STATUS_OK)
        s = read_size(&c->block_size, o, "n_positions", o->foreign ? &positions : NULL);
    if (s == STATUS_OK && !o->foreign)
        s = read_size(&context, o, "n_ctx", &c->block_size);
    if (s != STATUS_OK)
        return s;
    if (!o->foreign && context != c->block_size)
        return refuse(o, "n_ctx", "the same as n_positions");
    const json_t *inner = json_object_get(o->json, "n_inner");
    const json_int_t width = json_integer_value(inner);
    if (inner && !json_is_null(inner) && !(width > 0 && width % 4 == 0 && (uintmax_t)width / 4 == c->n_embd))
        return refuse(o, "n_inner", "null or 4 times n_embd");
    return STATUS_OK;
}

static enum status read_numbers(struct config *c, struct hf_config_foreign *found, const struct object *o)
{
    double unused = 0;
    enum status s = read_number(&found->resid_pdrop, o, "resid_pdrop", DEFAULT_DROPOUT);
    if (s == STATUS_OK)
        s = read_number(&found->embd_pdrop, o, "embd_pdrop", DEFAULT_DROPOUT);
    if (s == STATUS_OK)
        s = read_number(&found->attn_pdrop, o, "attn_pdrop", DEFAULT_DROPOUT);
    if (s == STATUS_OK)
        s = read_number(&c->norm_epsilon, o, "layer_norm_epsilon", DEFAULT_EPSILON);
    if (s == STATUS_OK)
        s = read_number(&unused, o, "initializer_range", INITIALIZER_RANGE);
    if (s != STATUS_OK)
        return s;
    c->dropout = found->resid_pdrop;
    if (!o->foreign && (found->embd_pdrop != c->dropout || found->attn_pdrop != c->dropout))
        return fail(
            o->err, STATUS_FORMAT,
            "%s: embd_pdrop %g, attn_pdrop %g and resid_pdrop %g differ, one dropout for all expected: make them "
            "equal, or take the folder over with nopeek import",
            o->name, found->embd_pdrop, found->attn_pdrop, c->dropout);
    return STATUS_OK;
}

static enum status read_rule(enum attention_rule *out, const struct object *o, const char *key)
{
    const json_t *value = json_object_get(o->json, key);
    for (size_t i = 0; i < sizeof rule_names / sizeof rule_names[0]; i++)
        if (is_word(value, rule_names[i])) {
            *out = (enum attention_rule)i;
            return STATUS_OK;
        }
    return refuse(o, key, "\"causal\", \"full\" or \"window\"");
}

/* A key that we do not know could change what the model is, so it is no more ignored than a wrong value. */
static enum status check_own_keys(const struct object *o)
{
    static const char *const known[] = {"version", "bias", "head_size", "attention", "trained", "window"};
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)o->json, key, value)
    {
        bool found = false;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            found = found || strcmp(key, known[i]) == 0;
        if (!found) {
            json_t *name = json_string(key);
            const struct found shown = describe(name);
            json_decref(name);
            return fail(o->err, STATUS_FORMAT, "%s: unknown key %s in nopeek: use the nopeek that wrote it", o->name,
                        shown.text);
        }
    }
    return STATUS_OK;
}

static enum status read_own(struct config *c, const struct object *o)
{
    size_t version = 0;
    if (!json_is_object(o->json))
        return fail(o->err, STATUS_FORMAT, "%s: nopeek is %s, an object expected", o->name, describe(o->json).text);
    enum status s = read_size(&version, o, "version", NULL);
    if (s != STATUS_OK)
        return s;
    if (version != VERSION)
        return fail(o->err, STATUS_FORMAT,
                    "%s: nopeek.version is %zu, this nopeek reads version %d: use the nopeek that wrote it, or a newer "
                    "one",
                    o->name, version, VERSION);
    s = check_own_keys(o);
    if (s == STATUS_OK)
        s = read_bool(&c->bias, o, "bias", NULL);
    if (s == STATUS_OK)
        s = read_size(&c->head_size, o, "head_size", NULL);
    if (s == STATUS_OK)
        s = read_rule(&c->declared, o, "attention");
    if (s == STATUS_OK)
        s = read_rule(&c->trained, o, "trained");
    const size_t no_window = 0;
    if (s == STATUS_OK)
        s = read_size(&c->window, o, "window", &no_window);
    return s;
}

static enum status read_config(struct config *c, struct hf_config_foreign *found, const json_t *json, bool foreign,
                               const char *name, struct error *err)
{
    const bool tied_by_default = true;
    const struct object o = {.json = json, .name = name, .prefix = "", .foreign = foreign, .err = err};
    if (!json_is_object(json))
        return fail(err, STATUS_FORMAT, "%s: is %s, an object expected", name, describe(json).text);
    struct config read = {.bias = true, .declared = ATTENTION_CAUSAL, .trained = ATTENTION_CAUSAL};
    enum status s = check_architecture(&o);
    if (s == STATUS_OK)
        s = read_sizes(&read, &o);
    if (s == STATUS_OK)
        s = read_numbers(&read, found, &o);
    if (s == STATUS_OK)
        s = read_bool(&read.tied, &o, "tie_word_embeddings", &tied_by_default);
    if (s != STATUS_OK)
        return s;
    const struct object own = {.json = json_object_get(json, "nopeek"), .name = name, .prefix = "nopeek.", .err = err};
    if (own.json)
        s = read_own(&read, &own);
    else if (read.n_head > 0)
        read.head_size = read.n_embd / read.n_head;
    if (s != STATUS_OK)
        return s;
    s = config_check(&read, err);
    if (s != STATUS_OK)
        return fail_within(err, s, "%s", name);
    *c = read;
    return STATUS_OK;
}

enum status hf_config_read(struct config *c, const json_t *json, const char *name, struct error *err)
{
    struct hf_config_foreign ignored;
    return read_config(c, &ignored, json, false, name, err);
}

enum status hf_config_read_foreign(struct config *c, struct hf_config_foreign *found, const json_t *json,
                                   const char *name, struct error *err)
{
    return read_config(c, found, json, true, name, err);
}
