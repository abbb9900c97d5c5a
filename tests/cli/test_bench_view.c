#include "cli/bench_view.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct bench_options options_of(void)
{
    return (struct bench_options){.config = config_make(6, 6, 384, 256, 65),
                                  .batch_size = 16,
                                  .steps = true,
                                  .details = true,
                                  .generation = true};
}

static struct bench found(void)
{
    struct bench b = {.parameters = 10650000,
                      .tokens = 4096,
                      .step_flops = 270e9,
                      .threads = 2,
                      .steps = 7,
                      .step = 1.25,
                      .step_least = 1.125,
                      .step_low = 1.2,
                      .step_high = 1.5,
                      .gemm_flops = 320e9,
                      .one_thread = 2.25,
                      .quiet = 1.24,
                      .summary = 0.0025,
                      .arena_bytes = 812000000,
                      .peak_bytes = 900000000,
                      .within = 250,
                      .past = 12};
    b.laps.seconds[LAPS_FC][LAPS_FORWARD] = 0.125;
    b.laps.seconds[LAPS_FC][LAPS_INPUT] = 0.125;
    b.laps.seconds[LAPS_WAIT][LAPS_FORWARD] = 0.75;
    return b;
}

/* What the page says. */
static char *page(const struct bench *b, const struct bench_options *o)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    cr_assert(f);
    bench_view_shape(f, "big", b, o);
    fclose(f);
    return text;
}

Test(bench_view, says_what_was_measured_as_rates_and_shares)
{
    const struct bench b = found();
    const struct bench_options o = options_of();
    char *text = page(&b, &o);
    const char *const says[] = {"big: 6 layers, 6 heads, 384 channels, context 256, batch 16\n",
                                "1250 ms (half of 7 took 1200 to 1500, the fastest 1125)",
                                "3.28k tokens/s, 216 GFLOP/s: 67.5 % of this machine's sgemm (320)",
                                "2: 1.80 times as fast as one",
                                "+1.0 % of a step",
                                "812 MB taken, 900 MB",
                                "250 symbols/s within the context, 12.0 past it"};
    for (size_t i = 0; i < sizeof says / sizeof *says; i++)
        cr_expect(strstr(text, says[i]), "%s\n%s", says[i], text);
    cr_expect_null(strstr(text, "e+0"), "no powers of ten: %s", text);
    free(text);
}

Test(bench_view, operations_have_their_share_and_rate)
{
    const struct bench b = found();
    const struct bench_options o = options_of();
    char *text = page(&b, &o);
    /* three passes of 2 * 4096 * 6 * 4 * 384^2 FLOP in a quarter of a second */
    cr_assert(strstr(text, "W_fc                  125.0    125.0             250.0  25.0      348\n"), "%s", text);
    cr_assert(strstr(text, "750.0  75.0\n"), "%s", text);
    free(text);
}

/* On a busy machine the step that logs nothing can come out slower. */
Test(bench_view, entropy_that_seems_to_cost_less_than_nothing_is_said_to_be_chance)
{
    struct bench b = found();
    const struct bench_options o = options_of();
    b.quiet = 1.1 * b.step + b.summary;
    char *text = page(&b, &o);
    cr_assert(strstr(text, "entropy     of every head in every step: less than chance adds (-10.0 %)\n"), "%s", text);
    free(text);
}

Test(bench_view, leaves_out_what_was_not_measured)
{
    struct bench b = found();
    struct bench_options o = options_of();
    b.one_thread = b.quiet = 0;
    b.peak_bytes = 0;
    o.details = o.generation = false;
    char *text = page(&b, &o);
    cr_assert(!strstr(text, "as fast as one") && !strstr(text, "entropy") && !strstr(text, "held") &&
                  !strstr(text, "generation") && !strstr(text, "W_fc"),
              "%s", text);
    free(text);
    o.steps = false;
    o.generation = true;
    text = page(&b, &o);
    cr_assert(!strstr(text, "GFLOP") && strstr(text, "generation"), "%s", text);
    free(text);
    json_t *object = bench_view_shape_json("big", &b, &o);
    cr_assert(object && !json_object_get(object, "step_ms") && !json_object_get(object, "operations"));
    json_decref(object);
}
