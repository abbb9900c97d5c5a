#include "store/hf_config.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct config sample(void)
{
    struct config c = config_make(3, 2, 8, 16, 11);
    c.dropout = 0.2;
    return c;
}

static bool same(const struct config *a, const struct config *b)
{
    return a->n_layer == b->n_layer && a->n_head == b->n_head && a->n_embd == b->n_embd &&
           a->head_size == b->head_size && a->block_size == b->block_size && a->vocab_size == b->vocab_size &&
           a->bias == b->bias && a->tied == b->tied && a->dropout == b->dropout && a->norm_epsilon == b->norm_epsilon &&
           a->declared == b->declared && a->trained == b->trained && a->window == b->window;
}

Test(hf_config, every_setting_survives_being_written_and_read)
{
    struct error err;
    for (unsigned bits = 0; bits < 32; bits++) {
        struct config c = sample(), read;
        c.bias = bits & 1;
        c.tied = bits & 2;
        c.declared = bits & 4 ? ATTENTION_FULL : ATTENTION_CAUSAL;
        c.trained = bits & 8 ? ATTENTION_FULL : ATTENTION_CAUSAL;
        if (bits & 16) {
            c.declared = ATTENTION_WINDOW;
            c.window = 5;
        }
        c.norm_epsilon = 1e-5 + bits * 1e-7;
        json_t *json = hf_config_make(&c);
        char *text = json_dumps(json, JSON_INDENT(2));
        json_decref(json);
        json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        free(text);
        cr_assert_eq(hf_config_read(&read, json, "config.json", &err), STATUS_OK, "%s", err.message);
        cr_assert(same(&c, &read), "combination %u", bits);
        json_decref(json);
    }
}

Test(hf_config, says_what_gpt2_says)
{
    const struct config c = sample();
    json_t *json = hf_config_make(&c);
    cr_assert_str_eq(json_string_value(json_object_get(json, "model_type")), "gpt2");
    cr_assert_str_eq(json_string_value(json_object_get(json, "activation_function")), "gelu_new");
    cr_assert_eq(json_integer_value(json_object_get(json, "n_positions")), 16);
    cr_assert(json_is_null(json_object_get(json, "bos_token_id")));
    cr_assert(json_is_null(json_object_get(json, "eos_token_id")));
    cr_assert(json_is_true(json_object_get(json, "tie_word_embeddings")));
    cr_assert_eq(json_real_value(json_object_get(json, "attn_pdrop")), 0.2);
    json_decref(json);
}

Test(hf_config, file_of_another_program_is_read_with_gpt2s_defaults)
{
    struct error err;
    struct config c;
    json_t *json =
        json_loads("{\"model_type\":\"gpt2\",\"n_layer\":2,\"n_head\":2,\"n_embd\":8,\"n_positions\":16,"
                   "\"vocab_size\":11,\"n_inner\":32,\"transformers_version\":\"5.0\",\"summary_type\":null}",
                   0, NULL);
    cr_assert_eq(hf_config_read(&c, json, "config.json", &err), STATUS_OK, "%s", err.message);
    cr_assert(c.bias && c.tied && c.head_size == 4 && c.dropout == 0.1 && c.norm_epsilon == 1e-5);
    cr_assert(c.declared == ATTENTION_CAUSAL && c.trained == ATTENTION_CAUSAL);
    json_decref(json);
}

/* A key to change ("nopeek.KEY" inside), the JSON to put there (NULL removes it), what the message must say. */
struct change {
    const char *key, *value, *part;
};

static const struct change refused[] = {
    {"model_type", "\"llama\"", "model_type is \"llama\""},
    {"model_type", NULL, "model_type is missing"},
    {"architectures", "[\"GPT2ForSequenceClassification\"]", "\"GPT2ForSequenceClassification\""},
    {"architectures", "[]", "architectures is a list"},
    {"architectures", "\"GPT2LMHeadModel\"", "architectures is"},
    {"activation_function", "\"relu\"", "activation_function is \"relu\", \"gelu_new\" expected"},
    {"activation_function", "\"gelu\"", "\"gelu\""},
    {"activation_function", "null", "activation_function is null"},
    {"scale_attn_weights", "false", "scale_attn_weights is false"},
    {"scale_attn_by_inverse_layer_idx", "true", "scale_attn_by_inverse_layer_idx is true"},
    {"add_cross_attention", "true", "add_cross_attention"},
    {"n_layer", NULL, "n_layer is missing"},
    {"n_layer", "2.0", "n_layer is 2.0, a whole number"},
    {"n_layer", "\"2\"", "n_layer is \"2\""},
    {"n_layer", "-1", "n_layer is -1"},
    {"n_layer", "2147483648", "n_layer is 2147483648"},
    {"n_layer", "0", "n_layer is 0"},
    {"n_head", "0", "n_head is 0"},
    {"n_head", "3", "n_head"},
    {"n_embd", "0", "n_embd is 0"},
    {"n_embd", "1e2", "n_embd"},
    {"n_positions", "1099511627776", "n_ctx"},
    {"n_ctx", "17", "n_ctx is 17, the same as n_positions"},
    {"vocab_size", "null", "vocab_size is null"},
    {"vocab_size", "9223372036854775807", "vocab_size"},
    {"n_inner", "16", "n_inner is 16"},
    {"n_inner", "-32", "n_inner is -32"},
    {"n_inner", "32.0", "n_inner"},
    {"attn_pdrop", "0.1", "differ"},
    {"attn_pdrop", "\"0\"", "attn_pdrop"},
    {"layer_norm_epsilon", "0", "layer_norm_epsilon"},
    {"layer_norm_epsilon", "true", "layer_norm_epsilon is true"},
    {"initializer_range", "[]", "initializer_range is a list"},
    {"tie_word_embeddings", "1", "tie_word_embeddings is 1, true or false"},
    {"nopeek", "3", "nopeek is 3"},
    {"nopeek.version", "2", "nopeek.version is 2, this nopeek reads version 1"},
    {"nopeek.version", "1.0", "nopeek.version is 1.0"},
    {"nopeek.bias", NULL, "nopeek.bias is missing"},
    {"nopeek.bias", "0", "nopeek.bias is 0"},
    {"nopeek.head_size", "3", "head_size is 3"},
    {"nopeek.attention", "\"window\"", "window is 0: choose 1 to block_size, 16"},
    {"nopeek.attention", "\"blocks\"", "nopeek.attention is \"blocks\""},
    {"nopeek.trained", "{}", "nopeek.trained is an object"},
    {"nopeek.window", "8", "window is 8, but no rule"},
    {"nopeek.window", "-1", "nopeek.window is -1"},
    {"nopeek.windows", "8", "unknown key \"windows\""},
};

Test(hf_config, what_nopeek_does_not_compute_is_refused_by_name)
{
    const struct config c = sample();
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct error err = {.message = ""};
        struct config read;
        json_t *json = hf_config_make(&c), *object = json;
        const char *key = refused[i].key;
        if (strncmp(key, "nopeek.", 7) == 0) {
            object = json_object_get(json, "nopeek");
            key += 7;
        }
        if (refused[i].value)
            json_object_set_new(object, key, json_loads(refused[i].value, JSON_DECODE_ANY, NULL));
        else
            json_object_del(object, key);
        const enum status s = hf_config_read(&read, json, "x/config.json", &err);
        cr_assert(s == STATUS_FORMAT || s == STATUS_RANGE, "%s: status %d", refused[i].key, (int)s);
        cr_assert_not_null(strstr(err.message, refused[i].part), "'%s' lacks '%s'", err.message, refused[i].part);
        cr_assert_eq(strncmp(err.message, "x/config.json: ", 15), 0, "%s", err.message);
        json_decref(json);
    }
}

Test(hf_config, long_or_odd_values_stay_one_short_line)
{
    struct error err;
    struct config read;
    char word[600];
    memset(word, 'x', sizeof word);
    word[100] = '\n';
    word[sizeof word - 1] = '\0';
    const struct config c = sample();
    json_t *json = hf_config_make(&c);
    json_object_set_new(json, "activation_function", json_string(word));
    cr_assert_eq(hf_config_read(&read, json, "config.json", &err), STATUS_FORMAT);
    cr_assert(strlen(err.message) < 200 && !strchr(err.message, '\n'), "%s", err.message);
    json_decref(json);
    json = json_array();
    cr_assert_eq(hf_config_read(&read, json, "config.json", &err), STATUS_FORMAT);
    json_decref(json);
}

Test(hf_config, a_foreign_file_is_read_as_transformers_reads_it)
{
    struct error err;
    struct config c;
    struct hf_config_foreign found;
    json_t *json = json_pack("{s:s, s:[s], s:f, s:i, s:i, s:i}", "model_type", "gpt2", "architectures", "GPT2Model",
                             "resid_pdrop", 0.3, "n_embd", 24, "n_layer", 2, "n_ctx", 77);
    cr_assert_eq(hf_config_read(&c, json, "f", &err), STATUS_FORMAT, "ours are stricter");
    cr_assert_eq(hf_config_read_foreign(&c, &found, json, "f", &err), STATUS_OK, "%s", err.message);
    cr_assert(c.n_layer == 2 && c.n_head == 12 && c.n_embd == 24 && c.head_size == 2);
    cr_assert(c.block_size == 1024 && c.vocab_size == 50257 && c.tied && c.bias);
    cr_assert(c.dropout == 0.3 && found.resid_pdrop == 0.3 && found.embd_pdrop == 0.1 && found.attn_pdrop == 0.1);
    cr_assert_eq(c.norm_epsilon, 1e-5);
    json_decref(json);
}
