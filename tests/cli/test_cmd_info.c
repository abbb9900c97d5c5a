#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "support/program.h"
#include "support/scratch.h"
#include "support/tiny_run.h"

static struct tiny_run make(const char *name, bool leaky, bool stateless)
{
    const struct tiny_run r = {.dir = scratch_path("%s", name),
                               .text_path = scratch_path("%s.txt", name),
                               .text = "abc cab bca\nba ac cb\n",
                               .block_size = 8,
                               .leaky = leaky,
                               .stateless = stateless};
    tiny_run_write(&r);
    return r;
}

TestSuite(cmd_info, .init = scratch_make, .fini = scratch_remove);

static void assert_says(const char *out, const char *const *parts)
{
    for (size_t i = 0; parts[i]; i++)
        cr_assert(strstr(out, parts[i]), "no \"%s\" in\n%s", parts[i], out);
}

Test(cmd_info, says_shape_text_losses_heads_and_verdict)
{
    const struct tiny_run r = make("run", false, false);
    struct program p;
    PROGRAM(&p, "info", r.dir);
    cr_assert_eq(p.status, 0, "%s", p.err);
    assert_says(p.out, (const char *const[]){"step-000007\n", "2 layers, 2 heads of 8, 16 channels, context 8\n",
                                             "with biases, tied output matrix", "6,800\n", "5 characters\n",
                                             "run.txt\n", "21 symbols, 21 B, hash ", "7, after 1 min 15 s of training",
                                             "batch loss  2.0700\n", "train loss  1.2500\n", "val loss    1.5000\n",
                                             "best        1.5000 at step 7\n", "leak check  no leak: all well\n",
                                             "layer 0   0.50 0.99\n", "sharp", "uniform", NULL});
    cr_assert_null(strstr(p.out, "LEAK"));
    program_free(&p);
}

Test(cmd_info, json_says_the_same)
{
    const struct tiny_run r = make("run", false, false);
    struct program p;
    PROGRAM(&p, "info", r.dir, "--json");
    cr_assert_eq(p.status, 0, "%s", p.err);
    json_t *o = json_loads(p.out, 0, NULL);
    cr_assert(o, "%s", p.out);
    const char *const whole[] = {"n_layer",    "n_head", "n_embd",    "head_size",    "block_size",
                                 "vocab_size", "step",   "best_step", "text_symbols", "parameters"};
    const json_int_t expected[] = {2, 2, 16, 8, 8, 5, 7, 7, 21, 6800};
    for (size_t i = 0; i < 10; i++)
        cr_assert_eq(json_integer_value(json_object_get(o, whole[i])), expected[i], "%s", whole[i]);
    cr_assert_eq(json_real_value(json_object_get(o, "val_loss")), 1.5);
    cr_assert_float_eq(json_real_value(json_object_get(o, "batch_loss")), 2.07, 1e-9);
    cr_assert(json_is_false(json_object_get(o, "leak")));
    cr_assert_eq(json_array_size(json_object_get(o, "entropy")), 2);
    cr_assert_str_eq(json_string_value(json_object_get(o, "check")), "no leak: all well");
    json_decref(o);
    program_free(&p);
}

/* Seventeen digits show how a number is kept: 0.40000000000000002. */
Test(cmd_info, one_layer_is_no_layers_and_a_tenth_is_written_so)
{
    struct program p;
    const char *text = scratch_path("text");
    char all[1201] = "";
    for (size_t i = 0; i < 1200; i++)
        all[i] = "abcdefgh \n"[i * i % 10];
    scratch_write(text, all, 1200);
    PROGRAM(&p, "train", text, "-o", scratch_path("trained"), "--n-layer", "1", "--n-head", "1", "--n-embd", "4",
            "--block-size", "4", "--batch-size", "1", "--steps", "1", "--lr", "0.003", "--weight-decay", "0.1",
            "--sample-size", "1");
    cr_assert_eq(p.status, 0, "%s", p.err);
    program_free(&p);
    PROGRAM(&p, "info", scratch_path("trained"));
    cr_assert(strstr(p.out, "model       1 layer, 1 head of 4, 4 channels, context 4\n"), "%s", p.out);
    program_free(&p);
    PROGRAM(&p, "info", scratch_path("trained"), "--json");
    cr_assert(strstr(p.out, "\"lr\":0.003,") && strstr(p.out, "\"weight_decay\":0.1,"), "%s", p.out);
    program_free(&p);
}

Test(cmd_info, json_names_a_place_that_is_no_utf8)
{
    const struct tiny_run r = make("r\xFFn", false, false);
    struct program p;
    PROGRAM(&p, "info", r.dir, "--json");
    cr_assert_eq(p.status, 0, "%s", p.err);
    json_t *o = json_loads(p.out, 0, NULL);
    const char *place = json_string_value(json_object_get(o, "checkpoint"));
    cr_assert(place && strstr(place, "r?n/step-000007"), "%s", p.out);
    json_decref(o);
    program_free(&p);
}

Test(cmd_info, a_leaky_run_is_marked)
{
    const struct tiny_run r = make("run", true, false);
    struct program p;
    PROGRAM(&p, "info", r.dir);
    assert_says(p.out, (const char *const[]){"TRAINED WITH A LEAK", "leak check  leak: layer 0", NULL});
    program_free(&p);
    PROGRAM(&p, "info", r.dir, "--json");
    assert_says(p.out, (const char *const[]){"\"leak\":true", NULL});
    program_free(&p);
}

Test(cmd_info, a_model_without_a_training_record_is_described_as_far_as_it_goes)
{
    const struct tiny_run r = make("run", false, true);
    char folder[2048];
    snprintf(folder, sizeof folder, "%s/step-000007", r.dir);
    struct program p;
    PROGRAM(&p, "info", folder);
    cr_assert_eq(p.status, 0, "%s", p.err);
    assert_says(p.out, (const char *const[]){"2 layers", "no record", NULL});
    cr_assert_null(strstr(p.out, "step    "));
    program_free(&p);
    PROGRAM(&p, "info", folder, "--json");
    json_t *o = json_loads(p.out, 0, NULL);
    cr_assert(o && !json_object_get(o, "step"), "%s", p.out);
    json_decref(o);
    program_free(&p);
}

Test(cmd_info, damage_is_refused)
{
    const struct tiny_run r = make("run", false, false);
    char file[2048];
    snprintf(file, sizeof file, "%s/step-000007/model.safetensors", r.dir);
    scratch_write(file, "not a model", 11);
    struct program p;
    PROGRAM(&p, "info", r.dir);
    cr_assert_eq(p.status, 1);
    cr_assert(strstr(p.err, "model.safetensors"), "%s", p.err);
    cr_assert_eq(p.out_size, 0);
    program_free(&p);
}

/* A checkpoint from elsewhere may say anything: it must not be able to speak to the terminal. */
Test(cmd_info, text_paths_and_verdicts_with_control_characters_print_none)
{
    const struct tiny_run r = make("r\x1b[3Jun", false, false);
    const char *path = scratch_path("r\x1b[3Jun/step-000007/trainer_state.json");
    json_t *state = json_load_file(path, 0, NULL);
    cr_assert_not_null(state);
    json_object_del(state, "hash"); /* or the edit itself would be refused */
    json_object_set_new(state, "check", json_string("no leak\n\x1b]0;title\x07\xC2\x9B"));
    json_object_set_new(json_object_get(state, "text"), "paths", json_pack("[s]", "a\n\x1b[2Jb.txt"));
    json_object_set_new(state, "imported", json_pack("{s:s}", "from", "else\x1b[2J\xE2\x80\xAEwhere"));
    cr_assert_eq(json_dump_file(state, path, 0), 0);
    json_decref(state);
    struct program p;
    PROGRAM(&p, "info", r.dir);
    cr_assert_eq(p.status, 0, "%s", p.err);
    assert_says(p.out, (const char *const[]){"/r?[3Jun/step-000007\n", "from else?[2J???where\n", " a??[2Jb.txt\n",
                                             "no leak??]0;title???\n", NULL});
    cr_assert(!strpbrk(p.out, "\x1b\x07\r") && !strstr(p.out, "\xC2\x9B"), "%s", p.out);
    program_free(&p);
}

/* Three verdicts, of which the last is later than the checkpoint, and one of an unknown shape. */
static void say_verdicts(const char *dir)
{
    FILE *f = fopen(scratch_path("%s/metrics.jsonl", dir), "ab");
    cr_assert_not_null(f);
    fputs("{\"kind\":\"verdict\",\"step\":3,\"verdict\":\"collapse\",\"layer\":1,\"heads\":[0],"
          "\"says\":\"layer 1 head 0: it falls\",\"advice\":\"lower --lr\"}\n"
          "{\"kind\":\"verdict\",\"step\":5,\"verdict\":7,\"says\":\"\\u001b[2J\"}\n"
          "{\"kind\":\"verdict\",\"step\":7,\"verdict\":\"dead\",\"says\":\"layer 0 head 1: "
          "nothing\",\"advice\":\"go\"}\n"
          "{\"kind\":\"verdict\",\"step\":8,\"verdict\":\"dead\",\"says\":\"later\",\"advice\":\"go\"}\n",
          f);
    cr_assert_eq(fclose(f), 0);
}

Test(cmd_info, lists_what_training_said_of_the_heads)
{
    const struct tiny_run r = make("run", false, false);
    struct program p;
    PROGRAM(&p, "info", r.dir);
    cr_assert_null(strstr(p.out, "verdicts"), "there are none");
    program_free(&p);
    say_verdicts("run");
    PROGRAM(&p, "info", r.dir);
    cr_assert_eq(p.status, 0, "%s", p.err);
    assert_says(p.out, (const char *const[]){"verdicts    step 3: collapse: layer 1 head 0: it falls: lower --lr\n",
                                             "            step 5: ?: ?[2J: ?\n",
                                             "            step 7: dead: layer 0 head 1: nothing: go\n", NULL});
    cr_assert_null(strstr(p.out, "later"));
    program_free(&p);
    PROGRAM(&p, "info", r.dir, "--json");
    json_t *o = json_loads(p.out, 0, NULL);
    cr_assert(o, "%s", p.out);
    const json_t *list = json_object_get(o, "verdicts");
    cr_assert_eq(json_array_size(list), 3);
    cr_assert_eq(json_integer_value(json_object_get(json_array_get(list, 2), "step")), 7);
    json_decref(o);
    program_free(&p);
}
