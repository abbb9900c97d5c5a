#include "store/checkpoint.h"

#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/run.h"
#include "support/scratch.h"

TestSuite(checkpoint, .init = scratch_make, .fini = scratch_remove);

/* Five symbols: a newline, a quote, a backslash, U+2028 and a character outside the basic plane. */
static const char text[] = "\n\"\\\xE2\x80\xA8\xF0\x9F\x90\x81";

struct sample {
    struct gpt model;
    struct tokenizer tokenizer;
    struct checkpoint_moments moments;
    json_t *state;
};

static struct sample make_sample(bool bias, bool tied)
{
    struct error err;
    struct sample s = {.tokenizer = {.kind = TOKENIZER_CHARS}};
    cr_assert_eq(tokenizer_make_chars(&s.tokenizer, (const uint8_t *)text, sizeof text - 1, "text", &err), STATUS_OK,
                 "%s", err.message);
    struct config c = config_make(2, 2, 8, 4, s.tokenizer.size);
    c.bias = bias;
    c.tied = tied;
    c.dropout = 0.25;
    cr_assert_eq(gpt_create(&s.model, &c, &err), STATUS_OK, "%s", err.message);
    params_init(s.model.params, &s.model.table, &c, 7);
    const size_t n = s.model.table.size;
    s.moments.m = calloc(n, sizeof(real));
    s.moments.v = calloc(n, sizeof(real));
    for (size_t i = 0; i < n; i++) {
        s.model.params[i] = (real)(float)s.model.params[i];
        s.moments.m[i] = (real)i / 4096;
        s.moments.v[i] = (real)i / 8192;
    }
    s.state = json_pack("{s:f, s:s, s:i}", "best_loss", 0.1 + 0.2, "text", "a b.txt", "step", 3);
    return s;
}

static void free_sample(struct sample *s)
{
    gpt_free(&s->model);
    tokenizer_free(&s->tokenizer);
    free(s->moments.m);
    free(s->moments.v);
    json_decref(s->state);
}

static void write_sample(size_t step, bool bias, bool tied)
{
    struct error err;
    struct sample s = make_sample(bias, tied);
    cr_assert_eq(checkpoint_write(scratch_folder(), step, &s.model, &s.tokenizer, &s.moments, s.state, &err), STATUS_OK,
                 "%s", err.message);
    free_sample(&s);
}

static void expect_refusal(bool with_optimizer, enum status expected, const char *part)
{
    struct error err = {.message = ""};
    struct checkpoint c;
    const enum status s = checkpoint_read(&c, scratch_path("step-000010"), with_optimizer, &err);
    cr_assert_eq(s, expected, "status %d: %s, '%s'", (int)s, err.message, part);
    cr_assert_not_null(strstr(err.message, part), "'%s' lacks '%s'", err.message, part);
    cr_assert_null(strchr(err.message, '\n'), "%s", err.message);
    cr_assert(!c.path && !c.state && !c.model.params && !c.moments.m, "left empty");
}

static void expect_readable(bool with_optimizer)
{
    struct error err;
    struct checkpoint c;
    cr_assert_eq(checkpoint_read(&c, scratch_path("step-000010"), with_optimizer, &err), STATUS_OK, "%s", err.message);
    checkpoint_free(&c);
}

/* Replaces the first `from` in a file of the checkpoint. */
static void edit(const char *file, const char *from, const char *to)
{
    size_t n;
    const char *path = scratch_path("step-000010/%s", file);
    char *old = scratch_read(path, &n), *at = strstr(old, from);
    cr_assert_not_null(at, "%s has no %s", file, from);
    char *new = malloc(n + strlen(to) + 1);
    const size_t before = (size_t)(at - old), after = n - before - strlen(from);
    memcpy(new, old, before);
    memcpy(new + before, to, strlen(to));
    memcpy(new + before + strlen(to), at + strlen(from), after);
    scratch_write(path, new, before + strlen(to) + after);
    free(old);
    free(new);
}

static void drop(const char *file)
{
    cr_assert_eq(unlink(scratch_path("step-000010/%s", file)), 0);
}

Test(checkpoint, everything_comes_back_bit_for_bit)
{
    struct error err;
    for (int kind = 0; kind < 4; kind++) {
        struct sample s = make_sample(kind & 1, kind & 2);
        struct checkpoint c;
        cr_assert_eq(
            checkpoint_write(scratch_folder(), (size_t)kind, &s.model, &s.tokenizer, &s.moments, s.state, &err),
            STATUS_OK, "%s", err.message);
        cr_assert_eq(checkpoint_read(&c, scratch_path("step-00000%d", kind), true, &err), STATUS_OK, "%s", err.message);
        const size_t n = s.model.table.size;
        cr_assert_eq(c.model.table.size, n);
        cr_assert_eq(memcmp(c.model.params, s.model.params, n * sizeof(real)), 0);
        cr_assert_eq(memcmp(c.moments.m, s.moments.m, n * sizeof(real)), 0);
        cr_assert_eq(memcmp(c.moments.v, s.moments.v, n * sizeof(real)), 0);
        cr_assert(c.model.config.bias == (kind & 1) && c.model.config.tied == !!(kind & 2));
        cr_assert_eq(c.model.config.dropout, 0.25);
        cr_assert_eq(tokenizer_same(&c.tokenizer, "read", &s.tokenizer, "written", &err), STATUS_OK, "%s", err.message);
        cr_assert_eq(json_real_value(json_object_get(c.state, "best_loss")), 0.1 + 0.2);
        cr_assert_str_eq(json_string_value(json_object_get(c.state, "text")), "a b.txt");
        cr_assert_eq(json_integer_value(json_object_get(c.state, "step")), kind, "the step written is the step given");
        cr_assert_eq(json_integer_value(json_object_get(s.state, "step")), 3, "the caller's object is untouched");
        checkpoint_free(&c);
        free_sample(&s);
    }
}

Test(checkpoint, same_state_gives_the_same_bytes)
{
    const char *const files[] = {"model.safetensors", "optimizer.safetensors", "config.json",
                                 "tokenizer.json",    "tokenizer_config.json", "trainer_state.json"};
    write_sample(10, true, true);
    write_sample(10, true, true);
    cr_assert_eq(scratch_count(scratch_folder()), 2, "the first was moved aside");
    cr_assert_eq(scratch_count(scratch_path("step-000010")), 6);
    for (size_t i = 0; i < 6; i++) {
        size_t n, m;
        char *a = scratch_read(scratch_path("step-000010/%s", files[i]), &n);
        char *b = scratch_read(scratch_path("step-000010.old/%s", files[i]), &m);
        cr_assert(n == m && memcmp(a, b, n) == 0, "%s", files[i]);
        free(a);
        free(b);
    }
}

Test(checkpoint, bytes_are_symbols_too)
{
    struct error err;
    struct checkpoint c;
    struct sample s = {.model = {.params = NULL}};
    tokenizer_make_bytes(&s.tokenizer);
    const struct config config = config_make(1, 1, 4, 2, 256);
    cr_assert_eq(gpt_create(&s.model, &config, &err), STATUS_OK);
    cr_assert_eq(checkpoint_write(scratch_folder(), 10, &s.model, &s.tokenizer, NULL, NULL, &err), STATUS_OK, "%s",
                 err.message);
    cr_assert_eq(checkpoint_read(&c, scratch_path("step-000010"), false, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(c.tokenizer.kind, TOKENIZER_BYTES);
    checkpoint_free(&c);
    expect_refusal(true, STATUS_FORMAT, "has no optimizer.safetensors: it can be sampled from, but not resumed");
    free_sample(&s);
}

Test(checkpoint, folder_without_optimizer_or_state_is_sampled_from_but_not_resumed)
{
    write_sample(10, true, true);
    drop("optimizer.safetensors");
    expect_readable(false);
    expect_refusal(true, STATUS_FORMAT, "has no optimizer.safetensors: it can be sampled from, but not resumed");
    drop("trainer_state.json");
    drop("tokenizer_config.json");
    expect_readable(false);
    expect_refusal(true, STATUS_FORMAT, "has no trainer_state.json");
}

Test(checkpoint, folder_of_another_program_is_read_when_it_fits)
{
    struct error err;
    struct checkpoint c;
    write_sample(10, false, true);
    drop("trainer_state.json");
    edit("config.json", "\"nopeek\"", "\"other\"");
    cr_assert_eq(checkpoint_read(&c, scratch_path("step-000010"), false, &err), STATUS_OK, "%s", err.message);
    cr_assert(c.model.config.bias, "zeros are biases like others");
    cr_assert_null(c.state);
    checkpoint_free(&c);
}

Test(checkpoint, any_damaged_byte_is_noticed)
{
    write_sample(10, true, true);
    const char *const files[] = {"model.safetensors", "optimizer.safetensors", "config.json", "tokenizer.json",
                                 "tokenizer_config.json"};
    for (size_t i = 0; i < 5; i++) {
        size_t n;
        const char *path = scratch_path("step-000010/%s", files[i]);
        char *bytes = scratch_read(path, &n);
        const size_t stride = n / 23 + 1;
        for (size_t at = 0; at < n; at += stride) {
            struct error err = {.message = ""};
            struct checkpoint c;
            bytes[at] ^= 1;
            scratch_write(path, bytes, n);
            bytes[at] ^= 1;
            cr_assert_neq(checkpoint_read(&c, scratch_path("step-000010"), true, &err), STATUS_OK, "%s byte %zu",
                          files[i], at);
            cr_assert_not_null(strstr(err.message, "step-000010"), "%s", err.message);
        }
        scratch_write(path, bytes, n);
        free(bytes);
    }
    expect_readable(true);
}

Test(checkpoint, cut_file_is_refused_with_its_size)
{
    write_sample(10, true, true);
    const char *const files[] = {"model.safetensors", "optimizer.safetensors"};
    for (size_t i = 0; i < 2; i++) {
        size_t n;
        const char *path = scratch_path("step-000010/%s", files[i]);
        char *bytes = scratch_read(path, &n);
        for (size_t k = 0; k < 50; k++) {
            scratch_write(path, bytes, n * k / 50);
            expect_refusal(true, STATUS_FORMAT, i == 0 ? "bytes long" : "optimizer.safetensors");
        }
        scratch_write(path, bytes, n);
        free(bytes);
    }
}

Test(checkpoint, files_of_two_checkpoints_do_not_mix)
{
    struct error err;
    struct sample s = make_sample(true, true);
    write_sample(10, true, true);
    s.model.params[0] += 1;
    cr_assert_eq(checkpoint_write(scratch_folder(), 20, &s.model, &s.tokenizer, &s.moments, s.state, &err), STATUS_OK);
    cr_assert_eq(rename(scratch_path("step-000020/model.safetensors"), scratch_path("step-000010/model.safetensors")),
                 0);
    expect_refusal(false, STATUS_FORMAT, "model.safetensors: not the bytes that were saved");
    drop("trainer_state.json");
    expect_readable(false);
    free_sample(&s);
}

Test(checkpoint, renamed_step_is_refused)
{
    write_sample(20, true, true);
    cr_assert_eq(rename(scratch_path("step-000020"), scratch_path("step-000010")), 0);
    expect_refusal(false, STATUS_FORMAT, "call it step-000020");
}

Test(checkpoint, other_formats_are_refused_with_the_remedy)
{
    write_sample(10, true, true);
    edit("trainer_state.json", "\"format\": 1", "\"format\": 2");
    expect_refusal(false, STATUS_FORMAT, "format 2, this nopeek reads format 1: use");
    edit("trainer_state.json", "\"format\": 2", "\"format\": \"1\"");
    expect_refusal(false, STATUS_FORMAT, "\"format\" is no whole number");
    edit("trainer_state.json", "\"format\": \"1\"", "\"format\": 1");
    edit("trainer_state.json", "\"step\": 10", "\"step\": -10");
    expect_refusal(false, STATUS_FORMAT, "\"step\" is no whole number from 0 to 4294967295");
    edit("trainer_state.json", "\"step\": -10", "\"step\": 10");
    edit("trainer_state.json", "\"files\"", "\"flies\"");
    expect_refusal(false, STATUS_FORMAT, "\"files\" is no object");
    edit("trainer_state.json", "\"flies\"", "\"files\"");
    expect_readable(true);
}

/* Names that would lead out of the folder, or nowhere; hashes that are none; more than a checkpoint has. */
Test(checkpoint, refuses_file_names_that_lead_out_of_the_folder_and_hashes_that_are_none)
{
    const struct {
        const char *entry, *part;
    } cases[] = {
        {"\"../x\": \"0123456789abcdef0123456789abcdef\"", "names '../x', the name of a file in the folder expected"},
        {"\"..\": \"0123456789abcdef0123456789abcdef\"", "names '..'"},
        {"\".\": \"0123456789abcdef0123456789abcdef\"", "names '.'"},
        {"\"\": \"0123456789abcdef0123456789abcdef\"", "names ''"},
        {"\"/etc/passwd\": \"0123456789abcdef0123456789abcdef\"", "names '/etc/passwd'"},
        {"\"a\\nb/\": \"0123456789abcdef0123456789abcdef\"", "names 'a?b/'"},
        {"\"x\": \"0123456789abcdef0123456789abcde\"", "no hash of 32 hex digits for 'x'"},
        {"\"x\": 7", "no hash of 32 hex digits for 'x'"},
        {"\"a\\u0000b\": \"0123456789abcdef0123456789abcdef\"", "no valid JSON"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char line[200];
        snprintf(line, sizeof line, "\"files\": {%s, ", cases[i].entry);
        write_sample(10, true, true);
        edit("trainer_state.json", "\"files\": {", line);
        expect_refusal(false, STATUS_FORMAT, cases[i].part);
    }
    char many[8000], *at = many + sprintf(many, "\"files\": {");
    for (int i = 0; i < 64; i++)
        at += sprintf(at, "\"f%d\": \"0123456789abcdef0123456789abcdef\",", i);
    write_sample(10, true, true);
    edit("trainer_state.json", "\"files\": {", many);
    expect_refusal(false, STATUS_FORMAT, "\"files\" names 69 files, at most 64 expected");
}

/* Holes take no room on the disk; a reader that took memory for them would be refused it. */
Test(checkpoint, refuses_json_files_of_gigabytes_by_their_size)
{
    const struct {
        const char *file, *part;
    } cases[] = {{"trainer_state.json", "at most 16777216 expected"},
                 {"config.json", "at most 1048576 expected"},
                 {"tokenizer.json", "at most 67108864 expected"}};
    for (size_t i = 0; i < 3; i++) {
        write_sample(10, true, true);
        if (i > 0)
            drop("trainer_state.json");
        cr_assert_eq(truncate(scratch_path("step-000010/%s", cases[i].file), (off_t)8 << 30), 0);
        expect_refusal(false, STATUS_FORMAT, cases[i].part);
    }
}

Test(checkpoint, a_pipe_or_folder_in_place_of_any_file_is_refused_without_waiting, .timeout = 20)
{
    static const char *const files[] = {"trainer_state.json", "config.json",           "tokenizer.json",
                                        "model.safetensors",  "optimizer.safetensors", "tokenizer_config.json"};
    for (size_t i = 0; i < 6; i++)
        for (int folder = 0; folder < 2; folder++) {
            const char *path = scratch_path("step-000010/%s", files[i]);
            write_sample(10, true, true);
            cr_assert_eq(unlink(path), 0);
            cr_assert_eq(folder ? mkdir(path, 0777) : mkfifo(path, 0666), 0);
            expect_refusal(true, STATUS_OPEN, folder ? "is a folder" : "is a pipe or device");
        }
}

/* A link in place of a file is followed, as a model may be kept elsewhere; its bytes are held to the same hash. */
Test(checkpoint, a_link_to_other_bytes_is_refused_by_their_hash)
{
    write_sample(10, true, true);
    cr_assert_eq(rename(scratch_path("step-000010/config.json"), scratch_path("config")), 0);
    cr_assert_eq(symlink(scratch_path("config"), scratch_path("step-000010/config.json")), 0);
    expect_readable(true);
    char *bytes = scratch_read(scratch_path("config"), NULL);
    bytes[strlen(bytes) - 1] = ' ';
    scratch_write(scratch_path("config"), bytes, strlen(bytes));
    free(bytes);
    expect_refusal(false, STATUS_FORMAT, "config.json: not the bytes that were saved");
}

Test(checkpoint, refuses_deep_nesting_in_every_json_file)
{
    static const char *const files[] = {"trainer_state.json", "config.json", "tokenizer.json"};
    char *deep = malloc(1000000);
    memset(deep, '[', 1000000);
    for (size_t i = 0; i < 3; i++) {
        write_sample(10, true, true);
        if (i > 0)
            drop("trainer_state.json");
        scratch_write(scratch_path("step-000010/%s", files[i]), deep, 1000000);
        expect_refusal(false, STATUS_FORMAT, "nested more than 32 deep");
    }
    free(deep);
}

Test(checkpoint, takes_a_vocabulary_of_every_character_there_is)
{
    struct error err;
    struct checkpoint c;
    struct charset *set = calloc(1, sizeof *set);
    struct sample s = {.tokenizer = {.kind = TOKENIZER_CHARS}};
    for (uint32_t code = 1; code < UTF8_CODE_POINTS; code++)
        if (code < 0xD800 || code > 0xDFFF)
            set->bits[code / 64] |= UINT64_C(1) << code % 64;
    cr_assert_eq(tokenizer_make_set(&s.tokenizer, set, "all", &err), STATUS_OK, "%s", err.message);
    const struct config config = config_make(1, 1, 1, 2, s.tokenizer.size);
    cr_assert_eq(gpt_create(&s.model, &config, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(checkpoint_write(scratch_folder(), 10, &s.model, &s.tokenizer, NULL, NULL, &err), STATUS_OK, "%s",
                 err.message);
    cr_assert_eq(checkpoint_read(&c, scratch_path("step-000010"), false, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(c.tokenizer.size, 0x110000 - 0x800 - 1);
    checkpoint_free(&c);
    free_sample(&s);
    free(set);
}

Test(checkpoint, a_layer_count_of_2_to_the_31_takes_no_memory)
{
    const struct {
        const char *from, *to, *part;
        enum status status;
    } cases[] = {
        {"\"n_layer\": 2", "\"n_layer\": 2147483648", "n_layer is 2147483648: choose 1 to 4095", STATUS_RANGE},
        {"\"n_layer\": 2", "\"n_layer\": 4095", "'transformer.h.2.ln_1.weight' is missing", STATUS_FORMAT},
        {"\"n_embd\": 8", "\"n_embd\": 0", "n_embd is 0", STATUS_RANGE},
        {"\"n_head\": 2", "\"n_head\": 0", "n_head is 0", STATUS_RANGE},
        {"\"n_head\": 2", "\"n_head\": 3", "n_embd must be a multiple of n_head", STATUS_RANGE},
        {"\"n_positions\": 4,\n  \"n_ctx\": 4", "\"n_positions\": 1099511627776", "block_size is 1099511627776",
         STATUS_RANGE},
        {"\"n_positions\": 4,\n  \"n_ctx\": 4", "\"n_positions\": 1073741824",
         "'transformer.wpe.weight' has shape [4,8], but the sizes in config.json give [1073741824,8]", STATUS_FORMAT},
        {"\"vocab_size\": 5", "\"vocab_size\": 1099511627776", "vocab_size is 1099511627776", STATUS_RANGE},
        {"\"vocab_size\": 5", "\"vocab_size\": 1073741824", "tokenizer.json: 5 symbols", STATUS_FORMAT},
        {"\"vocab_size\": 5", "\"vocab_size\": 1e3", "vocab_size is 1000.0, a whole number", STATUS_FORMAT},
        {"\"resid_pdrop\": 0.25", "\"resid_pdrop\": 1e999", "real number overflow", STATUS_FORMAT},
        {"\"resid_pdrop\": 0.25", "\"resid_pdrop\": NaN", "no valid JSON", STATUS_FORMAT},
        {"\"layer_norm_epsilon\": ", "\"layer_norm_epsilon\": -1e-05, \"other\": ", "layer_norm_epsilon is -1e-05",
         STATUS_RANGE},
        {"\"layer_norm_epsilon\": ", "\"layer_norm_epsilon\": 1e300, \"other\": ", "layer_norm_epsilon is 1e+300",
         STATUS_RANGE},
        {"\"layer_norm_epsilon\": ", "\"layer_norm_epsilon\": 1e-300, \"other\": ", "layer_norm_epsilon is 1e-300",
         STATUS_RANGE},
    };
#ifndef NOPEEK_SANITIZED
    const struct rlimit limit = {.rlim_cur = (rlim_t)2 << 30, .rlim_max = (rlim_t)2 << 30};
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
#endif
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_sample(10, true, true);
        drop("trainer_state.json");
        edit("config.json", cases[i].from, cases[i].to);
        expect_refusal(false, cases[i].status, cases[i].part);
    }
}

Test(checkpoint, damaged_json_is_told_by_file_and_line)
{
    write_sample(10, true, true);
    scratch_write(scratch_path("step-000010/trainer_state.json"), "", 0);
    expect_refusal(false, STATUS_FORMAT, "trainer_state.json: no valid JSON at line 1: the file is empty");
    scratch_write(scratch_path("step-000010/trainer_state.json"), "{\"format\":1,\n\"format\":1}", 25);
    expect_refusal(false, STATUS_FORMAT, "trainer_state.json: no valid JSON at line 2: duplicate");
    scratch_write(scratch_path("step-000010/trainer_state.json"), "[]", 2);
    expect_refusal(false, STATUS_FORMAT, "\"format\"");
    drop("trainer_state.json");
    scratch_write(scratch_path("step-000010/config.json"), "<html>\n", 7);
    expect_refusal(false, STATUS_FORMAT, "config.json: no valid JSON at line 1");
    drop("config.json");
    expect_refusal(false, STATUS_OPEN, "config.json");
}

Test(checkpoint, parts_that_disagree_are_named)
{
    write_sample(10, true, true);
    drop("trainer_state.json");
    edit("config.json", "\"vocab_size\": 5", "\"vocab_size\": 6");
    expect_refusal(false, STATUS_FORMAT, "tokenizer.json: 5 symbols, but vocab_size in config.json is 6");
    edit("config.json", "\"vocab_size\": 6", "\"vocab_size\": 5");
    edit("config.json", "\"n_layer\": 2", "\"n_layer\": 4095");
    expect_refusal(false, STATUS_FORMAT, "'transformer.h.2.ln_1.weight' is missing");
    edit("config.json", "\"n_layer\": 4095", "\"n_layer\": 2147483648");
    expect_refusal(false, STATUS_RANGE, "config.json: n_layer is 2147483648");
    edit("config.json", "\"n_layer\": 2147483648", "\"n_layer\": 1");
    expect_refusal(false, STATUS_FORMAT, "is no part of the model in config.json");
    edit("config.json", "\"n_layer\": 1", "\"n_layer\": 2");
    edit("config.json", "\"bias\": true", "\"bias\": false");
    expect_readable(false); /* params_init leaves biases zero */
}

/* Sizes that no machine has memory for are refused by comparing them with the file, not by asking for memory. */
Test(checkpoint, huge_sizes_are_refused_before_memory_is_taken)
{
    write_sample(10, true, true);
    drop("trainer_state.json");
    edit("config.json", "\"n_positions\": 4", "\"n_positions\": 1073741824");
    edit("config.json", "\"n_ctx\": 4", "\"n_ctx\": 1073741824");
    edit("config.json", "\"n_embd\": 8", "\"n_embd\": 1048576");
    edit("config.json", "\"head_size\": 4", "\"head_size\": 524288");
    expect_refusal(false, STATUS_FORMAT, "'transformer.wte.weight' has shape [5,8], but");
}

/* trainer_state.json vouches for the other files; this is who vouches for it. */
Test(checkpoint, one_digit_of_the_state_that_is_another_is_noticed)
{
    write_sample(10, true, true);
    expect_readable(true);
    edit("trainer_state.json", "\"format\": 1,", "\"format\":  1,"); /* blanks say nothing */
    expect_readable(true);
    edit("trainer_state.json", "\"format\":  1,", "\"format\": 1, \"leaky\": false,");
    expect_refusal(false, STATUS_FORMAT, "trainer_state.json: not what was saved");
}

Test(checkpoint, weights_that_are_not_finite_are_refused)
{
    struct error err;
    struct sample s = make_sample(true, true);
    s.model.params[3] = NAN;
    cr_assert_eq(checkpoint_write(scratch_folder(), 10, &s.model, &s.tokenizer, &s.moments, s.state, &err), STATUS_OK);
    expect_refusal(false, STATUS_NONFINITE, "'transformer.wte.weight' holds nan at place 3");
    s.model.params[3] = 0;
    s.moments.m[0] = INFINITY;
    cr_assert_eq(checkpoint_write(scratch_folder(), 10, &s.model, &s.tokenizer, &s.moments, s.state, &err), STATUS_OK);
    expect_readable(false);
    expect_refusal(true, STATUS_NONFINITE, "'m.transformer.wte.weight' holds inf at place 0");
    free_sample(&s);
}

Test(checkpoint, full_disk_leaves_the_last_checkpoint_and_no_part_of_the_new_one)
{
    struct error err;
    struct sample s = make_sample(true, true);
    write_sample(10, true, true);
    const struct rlimit limit = {.rlim_cur = 3000, .rlim_max = RLIM_INFINITY};
    cr_assert_neq(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_assert_eq(checkpoint_write(scratch_folder(), 10, &s.model, &s.tokenizer, &s.moments, s.state, &err),
                 STATUS_WRITE);
    cr_assert_not_null(strstr(err.message, "model.safetensors: 3000 of"), "%s", err.message);
    cr_assert_eq(checkpoint_write(scratch_folder(), 20, &s.model, &s.tokenizer, &s.moments, s.state, &err),
                 STATUS_WRITE);
    cr_assert_eq(scratch_count(scratch_folder()), 1);
    expect_readable(true);
    cr_assert_eq(checkpoint_write(scratch_path("missing"), 1, &s.model, &s.tokenizer, &s.moments, NULL, &err),
                 STATUS_WRITE);
    free_sample(&s);
}

Test(checkpoint, run_finds_what_was_written)
{
    struct error err;
    char *folder;
    write_sample(999999, true, true);
    write_sample(1000000, true, true);
    cr_assert_eq(run_find(&folder, scratch_folder(), &err), STATUS_OK, "%s", err.message);
    cr_assert_str_eq(folder, scratch_path("step-1000000"));
    free(folder);
}
