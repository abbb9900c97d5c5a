#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/gpt.h"
#include "store/checkpoint.h"
#include "support/machine.h"
#include "support/program.h"
#include "support/scratch.h"
#include "support/tiny_run.h"
#include "text/dataset.h"

#define BLOCK 8
static const char text[] = "abc cab bca\nba ac cb\nabc cab bca\nba ac cb\n abcabc\n cccab"; /* 56 symbols */

static const char *dir, *text_path;

static void make_run(void)
{
    scratch_make();
    dir = scratch_path("run");
    text_path = scratch_path("text.txt");
    const struct tiny_run r = {.dir = dir, .text_path = text_path, .text = text, .block_size = BLOCK};
    tiny_run_write(&r);
}

TestSuite(cmd_eval, .init = make_run, .fini = scratch_remove);

#define EVAL(...) eval((const char *const[]){"eval", __VA_ARGS__, "--json", "--threads", "1", NULL})
static json_t *eval(const char *const *words)
{
    struct program p;
    program_run(&p, NULL, words);
    cr_assert_eq(p.status, 0, "%s", p.err);
    json_t *o = json_loads(p.out, 0, NULL);
    cr_assert(o, "%s", p.out);
    cr_assert_str_eq(strchr(p.out, '\n'), "\n", "one line");
    program_free(&p);
    return o;
}

static double number(const json_t *o, const char *key)
{
    cr_assert(json_is_number(json_object_get(o, key)), "%s", key);
    return json_number_value(json_object_get(o, key));
}

/* Loss of symbols begin+1 .. end-1, each predicted from a window as eval's help describes it, one pass a symbol. */
static double plain_loss(size_t begin, size_t end, size_t stride)
{
    struct error err;
    struct checkpoint c;
    struct dataset d;
    struct work w;
    char folder[2048];
    snprintf(folder, sizeof folder, "%s/step-000007", dir);
    cr_assert_eq(checkpoint_read(&c, folder, false, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(dataset_open(&d, &c.tokenizer, &text_path, 1, 0.25, &err), STATUS_OK);
    cr_assert_eq(work_create(&w, &c.model.config, 1, BLOCK, false, support_team(1), &err), STATUS_OK);
    double sum = 0;
    for (size_t target = begin + 1; target < end; target++) {
        size_t start = begin;
        while (start + BLOCK < target)
            start += stride;
        uint32_t inputs[BLOCK], targets[BLOCK];
        dataset_window(&d, inputs, targets, start, target - start);
        gpt_forward(&c.model, &w, inputs, 1, target - start, &gpt_evaluating);
        gpt_loss(&c.model, &w, targets, 1, target - start);
        sum += (double)w.loss[target - start - 1];
    }
    work_free(&w);
    dataset_free(&d);
    checkpoint_free(&c);
    return sum / (double)(end - begin - 1);
}

Test(cmd_eval, parts_and_strides_give_the_plain_loss_with_every_target_once)
{
    const struct {
        const char *part, *stride;
        size_t begin, end, step;
    } cases[] = {{"all", "0", 0, 56, BLOCK}, {"train", "8", 0, 42, BLOCK}, {"val", "0", 42, 56, BLOCK},
                 {"val", "4", 42, 56, 4},    {"all", "3", 0, 56, 3},       {"all", "1", 0, 56, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *o = EVAL(dir, "--part", cases[i].part, "--stride", cases[i].stride);
        const double expected = plain_loss(cases[i].begin, cases[i].end, cases[i].step);
        cr_assert_float_eq(number(o, "loss"), expected, 1e-5, "case %zu: %g, %g", i, number(o, "loss"), expected);
        cr_assert_eq(number(o, "tokens"), (double)(cases[i].end - cases[i].begin - 1));
        cr_assert_float_eq(number(o, "bits_per_char"), expected / log(2), 1e-5);
        cr_assert_float_eq(number(o, "perplexity"), exp(expected), 2e-5 * exp(expected));
        cr_assert_eq(number(o, "step"), 7);
        double sum = 0, tokens = 0;
        size_t k;
        json_t *range;
        json_array_foreach(json_object_get(o, "by_position"), k, range)
        {
            if (number(range, "tokens") > 0)
                sum += number(range, "loss") * number(range, "tokens");
            tokens += number(range, "tokens");
        }
        cr_assert_float_eq(sum / tokens, expected, 1e-5);
        cr_assert_eq(tokens, number(o, "tokens"));
        json_decref(o);
    }
}

Test(cmd_eval, bf16_is_close_and_not_the_same)
{
    json_t *exact = EVAL(dir, "--part", "all"), *rounded = EVAL(dir, "--part", "all", "--precision", "bf16");
    const double a = number(exact, "loss"), b = number(rounded, "loss");
    cr_assert(a != b && fabs(a - b) < 0.01 * a, "%.9g and %.9g", a, b);
    json_decref(exact);
    json_decref(rounded);
}

Test(cmd_eval, the_default_text_is_the_runs_own_and_a_checkpoint_folder_will_do)
{
    char folder[2048];
    snprintf(folder, sizeof folder, "%s/step-000007", dir);
    json_t *a = EVAL(dir), *b = EVAL(dir, text_path), *c = EVAL(folder);
    cr_assert(json_equal(a, b));
    cr_assert(json_equal(a, c));
    json_decref(a);
    json_decref(b);
    json_decref(c);
}

Test(cmd_eval, the_validation_share_is_the_runs_unless_given)
{
    json_t *a = EVAL(dir, "--part", "val"), *b = EVAL(dir, "--part", "val", "--val-split", "0.5");
    cr_assert_eq(number(a, "tokens"), 13);
    cr_assert_eq(number(b, "tokens"), 27);
    json_decref(a);
    json_decref(b);
}

Test(cmd_eval, people_get_the_figures_in_words)
{
    struct program p;
    PROGRAM(&p, "eval", dir);
    cr_assert_eq(p.status, 0);
    const char *const parts[] = {
        "nats per character\n", "bits/char", "perplexity", "55 of 56 symbols", "\n1    ", "\n3-4 ", "\n5-8 "};
    for (size_t i = 0; i < 7; i++)
        cr_assert(strstr(p.out, parts[i]), "no \"%s\" in %s", parts[i], p.out);
    program_free(&p);
}

static void assert_refused(int status, const char *says, const char *const *words)
{
    struct program p;
    program_run(&p, NULL, words);
    program_expect_refused(&p, status, says);
    program_free(&p);
}
#define REFUSED(status, says, ...) assert_refused(status, says, (const char *const[]){"eval", __VA_ARGS__, NULL})

Test(cmd_eval, what_cannot_be_measured_is_refused)
{
    REFUSED(2, "at most 8", dir, "--stride", "9");
    REFUSED(1, "at least 2", dir, "--part", "val", "--val-split", "0");
    REFUSED(1, "No such file", dir, "/nonexistent/text");
    const char *strange = scratch_path("strange.txt");
    scratch_write(strange, "abc Q", 5);
    REFUSED(1, "U+0051", dir, strange);
    scratch_write(strange, "a", 1);
    REFUSED(1, "at least 2", dir, strange);
}

Test(cmd_eval, a_text_that_changed_or_went_since_training_is_noticed)
{
    scratch_write(text_path, "abc cab", 7);
    REFUSED(1, "has changed since", dir);
    json_t *o = EVAL(dir, text_path);
    cr_assert_eq(number(o, "tokens"), 6, "named, it is taken as it is");
    json_decref(o);
    remove(text_path);
    REFUSED(1, "name it as TEXT", dir);
}

Test(cmd_eval, a_model_from_elsewhere_needs_a_text)
{
    const struct tiny_run r = {.dir = scratch_path("other"),
                               .text_path = scratch_path("other.txt"),
                               .text = text,
                               .block_size = BLOCK,
                               .stateless = true};
    tiny_run_write(&r);
    char folder[2048];
    snprintf(folder, sizeof folder, "%s/step-000007", r.dir);
    REFUSED(2, "name it as TEXT", folder);
    json_t *o = EVAL(folder, text_path);
    cr_assert_eq(number(o, "tokens"), 55);
    cr_assert(json_is_null(json_object_get(o, "step")));
    json_decref(o);
}

Test(cmd_eval, bits_per_character_are_per_character_in_byte_mode_too)
{
    const struct tiny_run r = {.dir = scratch_path("bytes"),
                               .text_path = scratch_path("bytes.txt"),
                               .text = "caf\xc3\xa9 \xf0\x9f\x98\x80 abc",
                               .block_size = BLOCK,
                               .tokens = TOKENIZER_BYTES};
    tiny_run_write(&r);
    json_t *o = EVAL(r.dir);
    cr_assert_eq(number(o, "tokens"), 13); /* of which 9 begin a character */
    cr_assert_float_eq(number(o, "bits_per_char"), number(o, "loss") / log(2) * 13 / 9, 1e-9);
    json_decref(o);
}

/* 56 symbols with a stride of 4: the first window predicts 8, each further one its last 4, so that the first four
 * places are known from one window alone, and the table says so. */
Test(cmd_eval, the_table_says_how_many_symbols_stand_behind_a_loss)
{
    struct program p;
    PROGRAM(&p, "eval", dir, "--stride", "4", "--threads", "1");
    cr_assert_eq(p.status, 0, "%s", p.err);
    const char *at = strstr(p.out, "\nposition        loss    symbols\n");
    cr_assert(at, "%s", p.out);
    char range[2][8];
    double loss;
    size_t count[4];
    cr_assert_eq(sscanf(at, "\nposition loss symbols\n1 %lf %zu\n2 %*f %zu\n%7s %*f %zu\n%7s %*f %zu", &loss, &count[0],
                        &count[1], range[0], &count[2], range[1], &count[3]),
                 7, "%s", p.out);
    cr_assert(count[0] == 1 && count[1] == 1 && count[2] == 2 && count[3] == 51, "%s", p.out);
    cr_assert(strcmp(range[0], "3-4") == 0 && strcmp(range[1], "5-8") == 0, "%s", p.out);
    program_free(&p);
}
