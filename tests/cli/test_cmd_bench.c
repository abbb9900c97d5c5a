#include <criterion/criterion.h>
#include <jansson.h>
#include <string.h>

#include "support/program.h"

#define QUICK "--repeats", "1", "--bout", "0"
#define TINY "--n-layer", "1", "--n-embd", "16", "--block-size", "8", "--batch-size", "2"

/* The object on the last line. */
static json_t *last_line(const struct program *p)
{
    cr_assert_eq(p->status, 0, "%s", p->err);
    cr_assert_eq(p->out[p->out_size - 1], '\n');
    const char *line = p->out + p->out_size - 1;
    while (line > p->out && line[-1] != '\n')
        line--;
    json_t *o = json_loads(line, 0, NULL);
    cr_assert(json_is_object(o), "%s", p->out);
    return o;
}

static double number(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    cr_assert(json_is_number(v), "%s", key);
    return json_number_value(v);
}

Test(cmd_bench, json_holds_what_was_promised)
{
    struct program p;
    PROGRAM(&p, "bench", QUICK, TINY, "--json", "--threads", "2");
    json_t *o = last_line(&p);
    const double step = number(o, "step_ms"), flops = number(o, "flops_per_s"), peak = number(o, "gemm_flops_per_s");
    cr_assert_float_eq(number(o, "tokens_per_s") * step / 1000, 16, 1e-6);
    cr_assert_float_eq(number(o, "share_of_gemm"), flops / peak, 1e-9);
    /* 6 * 16 tokens * (12 * 16 * 16 + 65 * 16) weights, and attention */
    cr_assert_float_eq(flops * step / 1000, 6.0 * 16 * (12 * 256 + 65 * 16) + 6.0 * 8 * 16 * 16, 1);
    cr_assert_gt(number(o, "peak_bytes"), 0);
    cr_assert(number(o, "threads") >= 1 && number(o, "threads") <= 2);
    const json_t *kernels = json_object_get(o, "kernels");
    cr_assert(json_is_string(json_object_get(kernels, "gemm")) &&
              json_is_string(json_object_get(kernels, "gemm_bf16")));
    cr_assert_gt(number(json_object_get(json_object_get(o, "operations"), "AdamW"), "ms"), 0);
    cr_assert_gt(number(o, "generation_per_s"), 0);
    cr_assert_eq(json_array_size(json_object_get(o, "shapes")), 1);
    json_decref(o);
    program_free(&p);
}

Test(cmd_bench, presets_are_those_of_training)
{
    static const struct {
        const char *name;
        double layers, channels, context, batch, dropout;
    } expected[] = {{"small", 4, 128, 64, 12, 0},
                    {"nano-cpu", 4, 128, 64, 12, 0},
                    {"big", 6, 384, 256, 16, 0},
                    {"nano", 6, 384, 256, 64, 0.2}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct program p;
        /* a vocabulary given is no other shape; writing alone is quick */
        PROGRAM(&p, "bench", QUICK, "--preset", expected[i].name, "--measure", "generation", "--json");
        json_t *o = last_line(&p);
        cr_assert_str_eq(json_string_value(json_object_get(o, "shape")), expected[i].name);
        cr_expect(number(o, "n_layer") == expected[i].layers && number(o, "n_embd") == expected[i].channels &&
                      number(o, "block_size") == expected[i].context && number(o, "batch_size") == expected[i].batch &&
                      number(o, "dropout") == expected[i].dropout,
                  "%s", p.out);
        cr_assert(json_is_null(json_object_get(o, "step_ms")) || !json_object_get(o, "step_ms"));
        json_decref(o);
        program_free(&p);
    }
}

Test(cmd_bench, without_a_shape_small_and_big_are_measured)
{
    struct program p;
    PROGRAM(&p, "bench", QUICK, "--measure", "generation", "--json");
    json_t *o = last_line(&p);
    const json_t *shapes = json_object_get(o, "shapes");
    cr_assert_eq(json_array_size(shapes), 2);
    cr_assert_eq(number(json_array_get(shapes, 0), "n_embd"), 128);
    cr_assert_eq(number(json_array_get(shapes, 1), "n_embd"), 384);
    cr_assert_eq(number(o, "n_embd"), 128);
    json_decref(o);
    program_free(&p);
}

Test(cmd_bench, what_is_given_wins_over_the_preset)
{
    struct program p;
    PROGRAM(&p, "bench", QUICK, "--preset", "big", "--n-layer", "1", "--block-size", "16", "--measure", "generation",
            "--json");
    json_t *o = last_line(&p);
    cr_assert(number(o, "n_layer") == 1 && number(o, "block_size") == 16 && number(o, "n_embd") == 384);
    json_decref(o);
    program_free(&p);
}

Test(cmd_bench, the_page_fits_eighty_columns)
{
    struct program p;
    PROGRAM(&p, "bench", QUICK, TINY, "--threads", "2");
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert(strstr(p.out, "sgemm") && strstr(p.out, "tokens/s") && strstr(p.out, "attention") &&
                  strstr(p.out, "generation"),
              "%s", p.out);
    for (const char *line = p.out; *line; line += strcspn(line, "\n") + 1)
        cr_expect_leq(strcspn(line, "\n"), 80, "%.100s", line);
    program_free(&p);
}

Test(cmd_bench, attention_alone)
{
    struct program p;
    PROGRAM(&p, "bench", QUICK, "--attention", "50", "--json", "--n-head", "2");
    json_t *o = last_line(&p);
    cr_assert(number(o, "T") == 50 && number(o, "heads") == 2 && number(o, "head_size") == 64);
    const json_t *r = json_object_get(o, "reference");
    cr_assert_float_eq(number(r, "forward_ms") + number(r, "backward_ms"), number(r, "ms"), 1e-9);
    json_decref(o);
    program_free(&p);
    PROGRAM(&p, "bench", QUICK, "--attention", "50");
    cr_assert(p.status == 0 && strstr(p.out, "reference"), "%s", p.out);
    program_free(&p);
}

Test(cmd_bench, refuses_shapes_that_cannot_be)
{
    struct program p;
    PROGRAM(&p, "bench", "--n-head", "3", "--json");
    program_expect_refused(&p, 1, "multiple of n_head");
    program_free(&p);
    PROGRAM(&p, "bench", "--attention", "9", "--n-head", "3", "--n-embd", "64", "--json");
    program_expect_refused(&p, 1, "multiple of n_head");
    program_free(&p);
    PROGRAM(&p, "bench", "--threads", "0");
    program_expect_refused(&p, 2, "--threads");
    program_free(&p);
}
