#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/safetensors.h"
#include "store/checkpoint.h"
#include "support/program.h"
#include "support/scratch.h"
#include "support/tiny_run.h"

#define BLOCK 8
static const char text[] = "abc cab bca\nba ac cb\n";

static void make_run(void)
{
    scratch_make();
    const struct tiny_run r = {
        .dir = scratch_path("run"), .text_path = scratch_path("text"), .text = text, .block_size = BLOCK};
    tiny_run_write(&r);
}

TestSuite(eval_logits, .init = make_run, .fini = scratch_remove);

/* The loss of each window's own logits is what eval says of a text of that one window. */
static void expect_window(const char *words, size_t T)
{
    struct error err;
    struct program p;
    struct safetensors s;
    scratch_write(scratch_path("words"), words, strlen(words));
    PROGRAM(&p, "eval", scratch_path("run"), scratch_path("words"), "--json", "--logits", scratch_path("out"));
    cr_assert_eq(p.status, 0, "%s", p.err);
    json_t *o = json_loads(p.out, 0, NULL);
    cr_assert_eq(safetensors_open(&s, scratch_path("out"), &err), STATUS_OK, "%s", err.message);
    const struct safetensors_entry *t = safetensors_find(&s, "tokens"), *l = safetensors_find(&s, "logits");
    cr_assert(t && l && s.count == 2 && t->n_dims == 1 && l->n_dims == 2);
    cr_assert(t->shape[0] == T && l->shape[0] == T && l->shape[1] == 5, "a row for each symbol");
    real *tokens = malloc(t->count * sizeof *tokens), *logits = malloc(l->count * sizeof *logits);
    cr_assert_eq(safetensors_read(tokens, &s, t, &err), STATUS_OK);
    cr_assert_eq(safetensors_read(logits, &s, l, &err), STATUS_OK);
    double loss = 0;
    for (size_t i = 0; i + 1 < T; i++) {
        double sum = 0;
        for (size_t v = 0; v < 5; v++)
            sum += exp((double)logits[i * 5 + v]);
        loss += log(sum) - (double)logits[i * 5 + (size_t)tokens[i + 1]];
    }
    if (strlen(words) <= BLOCK)
        cr_assert_float_eq(loss / (double)(T - 1), json_number_value(json_object_get(o, "loss")), 1e-5);
    for (size_t i = 0; i < T; i++)
        cr_assert_eq((size_t)tokens[i], words[i] == '\n' ? 0u : words[i] == ' ' ? 1u : (size_t)(words[i] - 'a') + 2);
    free(tokens);
    free(logits);
    safetensors_close(&s);
    json_decref(o);
    program_free(&p);
}

Test(eval_logits, are_those_whose_loss_eval_prints)
{
    expect_window("abcab\nc", 7);
    expect_window("abcab\nca", 8);
    expect_window("ab", 2);
}

Test(eval_logits, are_the_first_window_s_of_a_longer_text)
{
    expect_window(text, BLOCK);
}

Test(eval_logits, a_file_that_cannot_be_written_is_named)
{
    struct program p;
    PROGRAM(&p, "eval", scratch_path("run"), scratch_path("text"), "--logits", scratch_path("no/such/place"));
    program_expect_refused(&p, 1, "no/such/");
    program_free(&p);
}

/* What was read must outlive what is written. */
Test(eval_logits, never_take_the_place_of_the_text_or_of_the_model)
{
    struct program p;
    const char *const model = scratch_path("run/step-000007/model.safetensors");
    PROGRAM(&p, "eval", scratch_path("run"), scratch_path("text"), "--logits", scratch_path("./text"));
    program_expect_refused(&p, 2, "is the text itself");
    program_free(&p);
    PROGRAM(&p, "eval", scratch_path("run"), scratch_path("text"), "--logits", model);
    program_expect_refused(&p, 2, "is in the checkpoint itself");
    program_free(&p);
    PROGRAM(&p, "eval", scratch_path("run"), scratch_path("text"));
    cr_assert_eq(p.status, 0, "%s", p.err);
    program_free(&p);
}
