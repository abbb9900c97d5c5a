#include "store/import.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/checkpoint.h"
#include "store/run.h"
#include "support/foreign.h"
#include "support/scratch.h"

/* Ids that do not ascend, a character beyond the basic plane, a line end. */
static const char *const characters[] = {"b", "\xF0\x9F\x98\x80", "\n", "a", "\xC3\xA9"};
#define V (sizeof characters / sizeof characters[0])

static struct gpt model;

static void make_model(bool tied, size_t vocab_size)
{
    struct config c = config_make(2, 1, 7, 4, vocab_size);
    c.tied = tied;
    c.norm_epsilon = 1e-6;
    gpt_free(&model);
    foreign_model(&model, &c);
}

static void make(void)
{
    scratch_make();
    make_model(true, V);
    foreign_write(&(struct foreign){.dir = "m", .tokenizer = foreign_chars(characters, V, "")}, &model);
}

static void drop(void)
{
    gpt_free(&model);
    scratch_remove();
}

TestSuite(import, .init = make, .fini = drop);

static struct import read_well(enum import_tokens tokens)
{
    struct error err;
    struct import m;
    cr_assert_eq(import_read(&m, scratch_path("m"), tokens, &err), STATUS_OK, "%s", err.message);
    return m;
}

static void expect_refusal(enum import_tokens tokens, enum status expected, const char *says)
{
    struct error err = {.message = ""};
    struct import m;
    cr_assert_eq(import_read(&m, scratch_path("m"), tokens, &err), expected, "\"%s\", not: %s", err.message, says);
    cr_assert(strstr(err.message, says), "\"%s\" lacks \"%s\"", err.message, says);
    cr_assert_null(strchr(err.message, '\n'));
    cr_assert(!m.folder && !m.model.params && !m.tokenizer.symbol && !m.unknown, "left empty");
}

static void expect_model(const struct import *m)
{
    cr_assert_eq(m->model.table.size, model.table.size);
    cr_assert_arr_eq(m->model.params, model.params, model.table.size * sizeof(real));
    cr_assert_eq(m->model.config.tied, model.config.tied);
    cr_assert_eq(m->model.config.norm_epsilon, 1e-6);
    cr_assert(m->model.config.bias && m->model.config.declared == ATTENTION_CAUSAL);
}

Test(import, every_type_name_and_number_of_files_gives_the_same_bits)
{
    static const char *const types[] = {"F32", "F16", "BF16", "F64"};
    for (int type = FOREIGN_F32; type < FOREIGN_I8; type++)
        for (int form = 0; form < 16; form++) {
            const struct foreign f = {.dir = "m",
                                      .type = (enum foreign_type)type,
                                      .bare = form & 1,
                                      .with_head = form & 2,
                                      .with_masks = form & 4,
                                      .shards = form & 8 ? 3 : 0};
            if (form == 8) /* one file would be taken before a list */
                unlink(scratch_path("m/model.safetensors"));
            foreign_write(&f, &model);
            struct import m = read_well(IMPORT_AUTO);
            expect_model(&m);
            cr_assert_str_eq(m.types, types[type]);
            cr_assert(m.bare == f.bare && m.shards == (f.shards ? f.shards : 1));
            import_free(&m);
            unlink(scratch_path("m/model.safetensors"));
        }
    make_model(false, V);
    foreign_write(&(struct foreign){.dir = "m", .shards = 2}, &model);
    struct import m = read_well(IMPORT_AUTO);
    expect_model(&m);
    import_free(&m);
}

Test(import, becomes_a_run_that_reads_as_it_was)
{
    struct error err;
    struct checkpoint c;
    char *folder;
    struct import m = read_well(IMPORT_AUTO);
    const char *run = scratch_path("run");
    cr_assert_eq(import_write(&m, run, false, &err), STATUS_OK, "%s", err.message);
    cr_assert(scratch_exists(scratch_path("run/latest/config.json")));
    cr_assert(scratch_exists(scratch_path("run/best/config.json")));
    cr_assert_eq(run_find(&folder, run, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(checkpoint_read(&c, folder, false, &err), STATUS_OK, "%s", err.message);
    cr_assert_arr_eq(c.model.params, model.params, model.table.size * sizeof(real));
    cr_assert_arr_eq(c.tokenizer.symbol, m.tokenizer.symbol, V * sizeof(uint32_t));
    cr_assert_str_eq(json_string_value(json_object_get(json_object_get(c.state, "imported"), "from")),
                     scratch_path("m"));
    checkpoint_free(&c);
    cr_assert_eq(checkpoint_read(&c, folder, true, &err), STATUS_FORMAT, "nothing to resume from");
    cr_assert(strstr(err.message, "--init-from"), "%s", err.message);
    free(folder);
    cr_assert_eq(import_write(&m, run, false, &err), STATUS_USAGE);
    cr_assert(strstr(err.message, "holds a run already"), "%s", err.message);
    cr_assert_eq(import_write(&m, run, true, &err), STATUS_OK, "%s", err.message);
    cr_assert(scratch_exists(scratch_path("run/old-1/step-000000")));
    import_free(&m);
}

Test(import, rows_beyond_the_vocabulary_stand_for_nothing)
{
    make_model(true, V + 3);
    foreign_write(&(struct foreign){.dir = "m", .tokenizer = foreign_chars(characters, V, ",\"<unk>\":6")}, &model);
    struct import m = read_well(IMPORT_AUTO);
    cr_assert_eq(m.tokenizer.size, V + 3);
    cr_assert_eq(tokenizer_count(&m.tokenizer), V);
    cr_assert_str_eq(m.unknown, "<unk>");
    import_free(&m);
    make_model(true, V - 1);
    foreign_write(&(struct foreign){.dir = "m"}, &model);
    expect_refusal(IMPORT_AUTO, STATUS_FORMAT, "the model has only the ids 0 to 3");
}

Test(import, the_vocabulary_is_what_tokenizer_json_or_the_user_says)
{
    struct import m = read_well(IMPORT_CHARS);
    import_free(&m);
    expect_refusal(IMPORT_BYTES, STATUS_FORMAT, "one of characters, not of bytes as --tokens byte says");
    m = read_well(IMPORT_IDS);
    cr_assert(m.tokenizer.kind == TOKENIZER_IDS && m.tokenizer.size == V && m.has_tokenizer);
    import_free(&m);
    unlink(scratch_path("m/tokenizer.json"));
    m = read_well(IMPORT_AUTO);
    cr_assert(m.tokenizer.kind == TOKENIZER_IDS && m.tokenizer.size == V && !m.has_tokenizer);
    import_free(&m);
    expect_refusal(IMPORT_CHARS, STATUS_OPEN, "has no tokenizer.json to say which characters");
    expect_refusal(IMPORT_BYTES, STATUS_FORMAT, "the model has only the ids 0 to 4");
    make_model(true, 260);
    foreign_write(&(struct foreign){.dir = "m"}, &model);
    m = read_well(IMPORT_BYTES);
    cr_assert(m.tokenizer.kind == TOKENIZER_BYTES && m.tokenizer.size == 260 && tokenizer_count(&m.tokenizer) == 256);
    import_free(&m);
}

Test(import, dropouts_need_not_agree_and_other_keys_are_let_be)
{
    foreign_change("m/config.json", "resid_pdrop", json_real(0.25));
    foreign_change("m/config.json", "embd_pdrop", json_real(0.5));
    foreign_change("m/config.json", "n_ctx", json_integer(9999));
    foreign_change("m/config.json", "dtype", json_string("bfloat16"));
    foreign_change("m/config.json", "reorder_and_upcast_attn", json_true());
    foreign_change("m/config.json", "task_specific_params", json_object());
    foreign_change("m/config.json", "activation_function", json_string("gelu_pytorch_tanh"));
    struct import m = read_well(IMPORT_AUTO);
    expect_model(&m);
    cr_assert_eq(m.model.config.dropout, 0.25);
    cr_assert_eq(m.config.embd_pdrop, 0.5);
    import_free(&m);
}

Test(import, what_would_change_the_numbers_is_refused_by_name)
{
    static const struct {
        const char *key, *value, *says;
    } cases[] = {
        {"activation_function", "\"relu\"", "activation_function is \"relu\""},
        {"activation_function", "\"gelu\"", "activation_function is \"gelu\""},
        {"layer_norm_epsilon", "0", "layer_norm_epsilon is 0"},
        {"layer_norm_epsilon", "-1e-5", "layer_norm_epsilon is -1e-05"},
        {"layer_norm_epsilon", "1e9", "layer_norm_epsilon is 1e+09"},
        {"layer_norm_epsilon", "\"1e-5\"", "layer_norm_epsilon is \"1e-5\", a number expected"},
        {"scale_attn_weights", "false", "scale_attn_weights is false"},
        {"scale_attn_by_inverse_layer_idx", "true", "scale_attn_by_inverse_layer_idx is true"},
        {"add_cross_attention", "true", "add_cross_attention is true"},
        {"quantization_config", "{\"bits\": 4}", "quantization_config is an object"},
        {"pruned_heads", "{\"0\": [1]}", "pruned_heads is an object"},
        {"model_type", "\"gptj\"", "model_type is \"gptj\""},
        {"architectures", "[\"GPT2DoubleHeadsModel\"]", "architectures names \"GPT2DoubleHeadsModel\""},
        {"n_inner", "27", "n_inner is 27"},
        {"n_head", "2", "n_embd is 7 and n_head 2"},
        {"n_layer", "3", "'transformer.h.2.ln_1.weight' is missing"},
        {"n_layer", "1", "is no part of the model"},
        {"n_positions", "8", "'transformer.wpe.weight' has shape [4,7]"},
        {"tie_word_embeddings", "false",
         "'lm_head.weight' is missing, and tie_word_embeddings in config.json is false"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        foreign_write(&(struct foreign){.dir = "m"}, &model);
        foreign_change("m/config.json", cases[i].key, json_loads(cases[i].value, JSON_DECODE_ANY, NULL));
        struct error err;
        struct import m;
        const enum status s = import_read(&m, scratch_path("m"), IMPORT_AUTO, &err);
        cr_assert(s == STATUS_FORMAT || s == STATUS_RANGE, "accepted: %s", cases[i].says);
        cr_assert(strstr(err.message, cases[i].says), "\"%s\" lacks \"%s\"", err.message, cases[i].says);
    }
    /* A size that is missing is GPT-2's own, as transformers has it: then the tensors do not fit. */
    foreign_write(&(struct foreign){.dir = "m"}, &model);
    foreign_change("m/config.json", "n_positions", NULL);
    expect_refusal(IMPORT_AUTO, STATUS_FORMAT, "the sizes in config.json give [1024,7]");
}

Test(import, weights_that_are_no_numbers_or_not_tied_are_refused)
{
    foreign_write(&(struct foreign){.dir = "m", .type = FOREIGN_I8}, &model);
    expect_refusal(IMPORT_AUTO, STATUS_FORMAT, "'transformer.wte.weight'");
    model.params[3] = INFINITY;
    foreign_write(&(struct foreign){.dir = "m"}, &model);
    expect_refusal(IMPORT_AUTO, STATUS_NONFINITE, "'transformer.wte.weight' holds inf at place 3");
    make_model(false, V);
    foreign_write(&(struct foreign){.dir = "m"}, &model);
    foreign_change("m/config.json", "tie_word_embeddings", json_true());
    expect_refusal(IMPORT_AUTO, STATUS_FORMAT, "'lm_head.weight' differs from 'transformer.wte.weight'");
}

/* What nopeek wrote without biases, and another program has trained on: to it they are parameters like the others. */
Test(import, biases_that_another_program_trained_are_taken_along)
{
    struct config c = config_make(1, 1, 8, 4, V);
    c.bias = false;
    gpt_free(&model);
    foreign_model(&model, &c);
    struct error err;
    struct import m = read_well(IMPORT_AUTO);
    const struct tokenizer chars = m.tokenizer;
    cr_assert_eq(checkpoint_write(scratch_folder(), 1, &model, &chars, NULL, NULL, &err), STATUS_OK, "%s", err.message);
    import_free(&m);
    cr_assert_eq(import_read(&m, scratch_path("step-000001"), IMPORT_AUTO, &err), STATUS_OK, "%s", err.message);
    cr_assert(!m.model.config.bias && !m.grown_biases);
    import_free(&m);

    /* The same folder with biases that are not zero. */
    struct gpt grown;
    c.bias = true;
    foreign_model(&grown, &c);
    foreign_write(&(struct foreign){.dir = "step-000001"}, &grown);
    foreign_change("step-000001/config.json", "nopeek",
                   json_pack("{s:i, s:b, s:i, s:s, s:s}", "version", 1, "bias", 0, "head_size", 8, "attention",
                             "causal", "trained", "causal"));
    cr_assert_eq(import_read(&m, scratch_path("step-000001"), IMPORT_AUTO, &err), STATUS_OK, "%s", err.message);
    cr_assert(m.model.config.bias && m.grown_biases);
    cr_assert_arr_eq(m.model.params, grown.params, grown.table.size * sizeof(real));
    import_free(&m);
    gpt_free(&grown);
}

Test(import, folders_that_are_none_are_told_apart)
{
    struct error err;
    struct import m;
    cr_assert_eq(import_read(&m, scratch_path("nowhere"), IMPORT_AUTO, &err), STATUS_OPEN);
    cr_assert(strstr(err.message, "a folder with config.json and weights was expected"), "%s", err.message);
    cr_assert_eq(import_read(&m, scratch_path("m/config.json"), IMPORT_AUTO, &err), STATUS_OPEN);
    cr_assert(strstr(err.message, "is a file"), "%s", err.message);
    unlink(scratch_path("m/config.json"));
    expect_refusal(IMPORT_AUTO, STATUS_OPEN, "config.json");
}
