/* nopeek inspect, from outside. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "store/checkpoint.h"
#include "store/run.h"
#include "support/program.h"
#include "support/scratch.h"
#include "support/tiny_run.h"

#define BLOCK 8
static const char text[] = "abc cab bca\nba ac cb\nabc cab bca\nba ac cb\n abcabc\n cccab";
static const char *dir;

static void make_run(void)
{
    scratch_make();
    dir = scratch_path("run");
    const struct tiny_run r = {.dir = dir, .text_path = scratch_path("text.txt"), .text = text, .block_size = BLOCK};
    tiny_run_write(&r);
}

TestSuite(cmd_inspect, .init = make_run, .fini = scratch_remove);

#define INSPECT(p, ...) PROGRAM(p, "inspect", dir, __VA_ARGS__, "--threads", "1")

Test(cmd_inspect, draws_every_head_and_explains_them)
{
    struct program p;
    INSPECT(&p, "--text", "ab\nc");
    cr_assert_eq(p.status, 0, "%s", p.err);
    for (size_t k = 0; k < 4; k++) {
        char title[32];
        snprintf(title, sizeof title, "\nlayer %zu head %zu: ", k / 2, k % 2);
        cr_assert(strstr(p.out, title), "%s", p.out);
    }
    cr_assert(strstr(p.out, "2 \\n ") && strstr(p.out, "loss without it") && !strstr(p.out, "\033"), "%s", p.out);
    cr_assert_str_eq(p.err, "");
    program_free(&p);
    INSPECT(&p, "--text", "ab\nc", "--layer", "1", "--head", "0", "--quick");
    cr_assert(strstr(p.out, "layer 1 head 0") && !strstr(p.out, "layer 0") && !strstr(p.out, "head 1"), "%s", p.out);
    cr_assert(!strstr(p.out, "loss without it"));
    program_free(&p);
    INSPECT(&p, "--text", "ab\nc", "--token", "3");
    cr_assert(strstr(p.out, "what c at position 3 looks at"), "%s", p.out);
    program_free(&p);
}

Test(cmd_inspect, json_is_one_object_and_a_file_is_a_text)
{
    struct program p, file;
    const char *path = scratch_path("words");
    scratch_write(path, "ab\nc", 4);
    INSPECT(&p, "--text", "ab\nc", "--json");
    INSPECT(&file, "--file", path, "--json");
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert_str_eq(p.out, file.out);
    json_t *o = json_loads(p.out, 0, NULL);
    cr_assert_str_eq(json_string_value(json_object_get(o, "text")), "ab\nc");
    cr_assert_eq(json_array_size(json_object_get(o, "layers")), 2);
    json_decref(o);
    program_free(&p);
    program_free(&file);
    INSPECT(&p, "--text", "ab\nc", "--csv");
    cr_assert(strncmp(p.out, "layer,head,query,key,weight\n0,0,0,0,1\n0,0,0,1,0\n", 48) == 0, "%s", p.out);
    program_free(&p);
}

Test(cmd_inspect, files_are_written_whole_beside_what_is_printed)
{
    struct program p;
    const char *svg = scratch_path("a.svg"), *html = scratch_path("a.html");
    INSPECT(&p, "--text", "ab\nc", "--svg", svg, "--html", html, "--quick");
    cr_assert_eq(p.status, 0, "%s", p.err);
    char *picture = scratch_read(svg, NULL), *page = scratch_read(html, NULL);
    cr_assert(strstr(picture, "<svg ") == picture && strstr(picture, "</svg>"));
    cr_assert(strstr(page, "<!DOCTYPE html>") == page && strstr(page, "</html>"));
    free(picture);
    free(page);
    program_free(&p);
    INSPECT(&p, "--text", "ab\nc", "--html", "/nonexistent/a.html");
    program_expect_refused(&p, 1, "/nonexistent/a.html");
    program_free(&p);
}

Test(cmd_inspect, of_a_long_text_the_last_window_with_one_note)
{
    struct program p;
    INSPECT(&p, "--text", "abc cab bca", "--json", "--quick");
    cr_assert_eq(p.status, 0);
    cr_assert_str_eq(p.err, "note: the text has 11 symbols and the context holds 8: only the last 8 are looked at\n");
    cr_assert(strstr(p.out, "\"text\":\" cab bca\"") && strstr(p.out, "\"cut\":3"), "%s", p.out);
    program_free(&p);
}

Test(cmd_inspect, a_leak_has_status_3_and_is_shown)
{
    const struct tiny_run r = {.dir = scratch_path("leaky"),
                               .text_path = scratch_path("leaky.txt"),
                               .text = text,
                               .block_size = BLOCK,
                               .leaky = true};
    struct program p;
    tiny_run_write(&r);
    PROGRAM(&p, "inspect", r.dir, "--text", "abc", "--quick", "--threads", "1");
    cr_assert_eq(p.status, 3);
    cr_assert(strstr(p.out, "!!") && strstr(p.err, "on later symbols"), "%s%s", p.out, p.err);
    program_free(&p);
}

/* A text in which each symbol is the one after the last but one in the alphabet, three times of four: whoever predicts
 * it must look at the symbol just before. */
static const char *write_second_order(void)
{
    static char bytes[4000];
    const struct rng_site site = {.seed = 3, .purpose = RNG_TEST};
    for (size_t i = 0; i < sizeof bytes; i++) {
        const bool ruled = i >= 2 && rng_below(&site, (uint32_t)(2 * i), 4) > 0;
        bytes[i] = (char)('a' + (ruled ? (size_t)(bytes[i - 2] - 'a' + 1) % 6
                                       : (size_t)rng_below(&site, (uint32_t)(2 * i + 1), 6)));
    }
    const char *path = scratch_path("second.txt");
    scratch_write(path, bytes, sizeof bytes);
    return path;
}

/* The same run with the queries of layer 1 made 0, so that its head looks at everything alike. */
static void spoil_layer_1(const char *from, const char *to)
{
    struct error err;
    struct checkpoint c;
    cr_assert_eq(checkpoint_read(&c, from, false, &err), STATUS_OK, "%s", err.message);
    const struct params_tensor *qkv = params_find(&c.model.table, PARAMS_QKV, 1);
    for (size_t r = 0; r < qkv->rows; r++)
        memset(c.model.params + qkv->offset + r * qkv->cols, 0, qkv->rows * sizeof(real));
    cr_assert_eq(run_create(to, false, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(checkpoint_write(to, 150, &c.model, &c.tokenizer, NULL, c.state, &err), STATUS_OK, "%s", err.message);
    checkpoint_free(&c);
}

static json_t *only_head(json_t *o, size_t layer)
{
    json_t *l = json_array_get(json_object_get(o, "layers"), layer);
    return json_array_get(json_object_get(l, "heads"), 0);
}

static const char *kind_of(json_t *o, size_t layer)
{
    return json_string_value(json_object_get(only_head(o, layer), "kind"));
}

static double more_of(json_t *o, size_t layer)
{
    return json_number_value(json_object_get(only_head(o, layer), "loss_more"));
}

Test(cmd_inspect, a_head_that_learnt_to_look_at_the_previous_character_is_named_and_matters_more_than_a_uniform_one)
{
    struct program p;
    const char *learnt = scratch_path("learnt"), *spoilt = scratch_path("spoilt"), *second = write_second_order();
    PROGRAM(&p, "train", second, "-o", learnt, "--n-layer", "2", "--n-head", "1", "--n-embd", "32", "--block-size",
            "16", "--batch-size", "16", "--steps", "150", "--lr", "5e-3", "--threads", "1", "--eval-interval", "150");
    cr_assert_eq(p.status, 0, "%s", p.err);
    program_free(&p);
    spoil_layer_1(scratch_path("learnt/step-000150"), spoilt);
    PROGRAM(&p, "inspect", spoilt, "--text", "abcdef", "--json", "--threads", "1");
    cr_assert_eq(p.status, 0, "%s", p.err);
    json_t *o = json_loads(p.out, 0, NULL);
    cr_assert_str_eq(json_string_value(json_object_get(o, "measured_on")), "validation");
    cr_assert_str_eq(kind_of(o, 0), "previous-character");
    cr_assert_str_eq(kind_of(o, 1), "uniform");
    cr_assert_gt(more_of(o, 0), 0.4);
    cr_assert_gt(more_of(o, 0), 4 * fabs(more_of(o, 1)));
    json_decref(o);
    program_free(&p);
}

#define REFUSED(status, says, ...)                                                                                     \
    do {                                                                                                               \
        struct program p;                                                                                              \
        INSPECT(&p, __VA_ARGS__);                                                                                      \
        program_expect_refused(&p, status, says);                                                                      \
        program_free(&p);                                                                                              \
    } while (0)

Test(cmd_inspect, what_makes_no_sense_is_refused_in_one_line)
{
    REFUSED(1, "U+0051", "--text", "abQ");
    REFUSED(2, "--text: found nothing", "--text", "");
    REFUSED(2, "--layer: found 2, expected 0 to 1", "--text", "ab", "--layer", "2");
    REFUSED(2, "--head: found 9, expected 0 to 1", "--text", "ab", "--head", "9");
    REFUSED(2, "--token: found 2, expected 0 to 1", "--text", "ab", "--token", "2");
    REFUSED(2, "--from: found 5, expected 0 to 1", "--text", "ab", "--from", "5");
    REFUSED(2, "exclude one another", "--text", "ab", "--file", "x");
    REFUSED(2, "exclude one another", "--text", "ab", "--json", "--csv");
    REFUSED(1, "No such file", "--file", "/nonexistent/text");
}

Test(cmd_inspect, what_was_read_outlives_what_is_written)
{
    const char *const words = scratch_path("words");
    const char *const model = scratch_path("run/step-000007/model.safetensors");
    scratch_write(words, "abc", 3);
    REFUSED(2, "is the text itself", "--file", words, "--html", words);
    REFUSED(2, "is the text itself", "--file", words, "--svg", words);
    REFUSED(2, "is the text itself", "--html", scratch_path("text.txt"));
    REFUSED(2, "is in the checkpoint itself", "--text", "ab", "--svg", model);
    REFUSED(2, "is the run's log", "--text", "ab", "--html", scratch_path("run/metrics.jsonl"));
    char *kept = scratch_read(words, NULL);
    cr_assert_str_eq(kept, "abc");
    free(kept);
}
