#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "support/program.h"
#include "support/scratch.h"

TestSuite(cmd_doctor, .init = scratch_make, .fini = scratch_remove);

#define SMALL                                                                                                          \
    "--n-layer", "1", "--n-head", "2", "--n-embd", "16", "--block-size", "16", "--batch-size", "4", "--threads", "1",  \
        "--eval-windows", "3", "--steps", "40", "--max-time", "0"
#define DOCTOR(p, ...) PROGRAM(p, "doctor", __VA_ARGS__, SMALL)

static const struct rng_site site = {.seed = 8, .purpose = RNG_TEST};
static char letters[20000];

static const char *write_letters(size_t n)
{
    const char *path = scratch_path("text.txt");
    scratch_write(path, letters, n);
    return path;
}

/* Words drawn at random: within a word what came before tells what comes. */
static const char *words(size_t n)
{
    static const char *const word[] = {"the ", "cat ", "sat ", "on ", "a ", "mat; ", "dogs\n", "ran "};
    const char *w = "";
    for (size_t i = 0, k = 0; i < n; i++) {
        if (!*w)
            w = word[rng_below(&site, (uint32_t)k++, 8)];
        letters[i] = *w++;
    }
    return write_letters(n);
}

static const char *noise(size_t n, uint64_t V)
{
    for (size_t i = 0; i < n; i++)
        letters[i] = (char)('a' + (int)rng_below(&site, (uint32_t)i, V));
    return write_letters(n);
}

static json_t *examine(struct program *p, const char *text)
{
    DOCTOR(p, text, "--json");
    cr_assert_eq(p->status, 0, "%s", p->err);
    cr_assert_str_eq(strchr(p->out, '\n'), "\n", "one line");
    json_t *o = json_loads(p->out, 0, NULL);
    cr_assert_not_null(o, "%s", p->out);
    cr_assert(json_is_false(json_object_get(o, "leak")) && json_is_false(json_object_get(o, "failed")), "%s", p->out);
    return o;
}

static const char *story(const json_t *o)
{
    return json_string_value(json_object_get(o, "text"));
}

static double number(const json_t *o, const char *key)
{
    const json_t *value = json_object_get(o, key);
    cr_assert(json_is_number(value), "%s", key);
    return json_number_value(value);
}

static double ngram(const json_t *o, size_t order)
{
    return json_number_value(json_array_get(json_object_get(o, "ngram_loss"), order - 1));
}

Test(cmd_doctor, a_text_of_words_has_structure_and_a_bar_to_beat)
{
    struct program p;
    json_t *o = examine(&p, words(20000));
    cr_assert_str_eq(story(o), "structured");
    cr_assert_lt(number(o, "bar"), ngram(o, 1) / 2);
    cr_assert_gt(number(o, "best_order"), 1);
    cr_assert_gt(number(o, "lr"), 0);
    cr_assert_float_eq(number(o, "first_loss"), number(o, "uniform_loss"), 0.3);
    cr_assert_float_eq(number(o, "symbol_entropy"), ngram(o, 1), 0.05);
    cr_assert_eq(number(o, "train_symbols"), 18000);
    cr_assert(number(o, "memory_bytes") > 0 && number(o, "run_seconds") > 0 && number(o, "copied") == 0);
    cr_assert_eq(json_array_size(json_object_get(o, "checks")), 11);
    cr_assert_eq(json_array_size(json_object_get(o, "rates")), 5);
    json_decref(o);
    program_free(&p);
}

Test(cmd_doctor, noise_has_none_and_no_rate_learns)
{
    struct program p;
    json_t *o = examine(&p, noise(20000, 16));
    cr_assert_str_eq(story(o), "independent");
    cr_assert_float_eq(number(o, "bar"), log(16), 0.01);
    cr_assert_gt(ngram(o, 5), ngram(o, 1) + 0.05);
    cr_assert(json_is_null(json_object_get(o, "lr")));
    json_decref(o);
    program_free(&p);
}

Test(cmd_doctor, five_hundred_characters_are_too_short)
{
    struct program p;
    json_t *o = examine(&p, words(500));
    cr_assert_str_eq(story(o), "short");
    json_decref(o);
    program_free(&p);
    o = examine(&p, words(19)); /* one window, of which every target is certain, and one symbol to validate */
    cr_assert_str_eq(story(o), "short");
    json_decref(o);
    program_free(&p);
}

Test(cmd_doctor, a_text_said_over_and_over_is_a_copy_and_one_symbol_is_constant)
{
    struct program p;
    words(3000);
    for (size_t i = 3000; i < sizeof letters; i++)
        letters[i] = letters[i - 3000];
    json_t *o = examine(&p, write_letters(sizeof letters));
    cr_assert_str_eq(story(o), "copied");
    cr_assert_eq(number(o, "copied"), 1);
    json_decref(o);
    program_free(&p);
    memset(letters, 'a', sizeof letters);
    o = examine(&p, write_letters(1000));
    cr_assert_str_eq(story(o), "constant");
    cr_assert_eq(number(o, "first_loss"), 0);
    json_decref(o);
    program_free(&p);
}

/* --json without what was timed. */
static char *figures(const char *text)
{
    struct program p;
    json_t *o = examine(&p, text);
    static const char *const timed[] = {"step_seconds", "run_seconds", "seconds"};
    for (size_t i = 0; i < sizeof timed / sizeof *timed; i++)
        json_object_del(o, timed[i]);
    json_array_remove(json_object_get(o, "checks"), 10); /* cost */
    char *all = json_dumps(o, JSON_SORT_KEYS);
    cr_assert_not_null(all);
    json_decref(o);
    program_free(&p);
    return all;
}

Test(cmd_doctor, the_same_seed_gives_the_same_figures)
{
    const char *text = words(2000);
    char *a = figures(text), *b = figures(text);
    cr_assert_str_eq(a, b);
    free(a);
    free(b);
}

Test(cmd_doctor, says_what_it_means_in_words_and_writes_nothing)
{
    struct program p;
    DOCTOR(&p, words(20000));
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert(strstr(p.out, "first loss  ok") && strstr(p.out, "\ntext      There is structure") &&
                  strstr(p.out, "\nrate      --lr ") && strstr(p.out, "\nnext      nopeek train, "),
              "%s", p.out);
    cr_assert_null(strchr(p.out, '\x1b'), "no colour in a pipe");
    cr_assert(strstr(p.err, "model    1 layer, 2 heads, 16 channels"), "%s", p.err);
    cr_assert_eq(scratch_count(scratch_folder()), 1, "the text alone");
    program_free(&p);
}

Test(cmd_doctor, a_missing_mask_is_a_leak_and_its_status)
{
    struct program p;
    DOCTOR(&p, words(2000), "--mask", "none");
    cr_assert_eq(p.status, 3, "%s", p.err);
    cr_assert(strstr(p.out, "leak        FAULT") && strstr(p.err, "found by: "), "%s%s", p.out, p.err);
    program_free(&p);
}

Test(cmd_doctor, what_train_would_refuse_is_refused_in_the_same_words)
{
    struct program p, q;
    const char *text = words(14);
    DOCTOR(&p, text);
    program_expect_refused(&p, 1, "found 13");
    PROGRAM(&q, "train", text, "-o", scratch_path("run"), SMALL);
    cr_assert_str_eq(p.err, q.err);
    program_free(&p);
    program_free(&q);
    PROGRAM(&p, "doctor");
    program_expect_refused(&p, 2, "expected TEXT");
    program_free(&p);
    PROGRAM(&p, "doctor", text, "--n-head", "3", "--n-embd", "16");
    program_expect_refused(&p, 1, "n_embd");
    program_free(&p);
}
