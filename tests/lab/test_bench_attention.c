#include "lab/bench_attention.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "base/real.h"

static const struct bench_attention_options few = {
    .B = 2, .H = 3, .hs = 5, .T = 37, .team = {.threads = 2}, .repeats = 2};

Test(bench_attention, every_kernel_is_measured_both_ways)
{
    struct error err;
    struct bench_attention r[BENCH_ATTENTION_KERNELS];
    cr_assert_eq(bench_attention_run(r, &few, &err), STATUS_OK, "%s", err.message);
    for (size_t k = 0; k < BENCH_ATTENTION_KERNELS; k++) {
        cr_assert(r[k].forward > 0 && r[k].backward > 0, "%s", r[k].name);
        for (size_t other = 0; other < k; other++)
            cr_assert_str_neq(r[k].name, r[other].name);
    }
    cr_assert_str_eq(r[0].name, "reference");
    cr_assert_geq(r[0].bytes, 2 * 3 * 37 * 37 * sizeof(real), "it stores every weight");
}

Test(bench_attention, flop_are_those_of_half_a_triangle)
{
    cr_assert_eq(bench_attention_flops(&few), 6.0 * 37 * 15 * 2 * 37);
}

static bool at_once(void *context, size_t done, size_t total)
{
    *(size_t *)context = done;
    return total > 0;
}

Test(bench_attention, stops_when_it_is_told_to_and_refuses_what_no_machine_holds)
{
    struct error err;
    struct bench_attention r[BENCH_ATTENTION_KERNELS];
    struct bench_attention_options o = few;
    size_t done = 0;
    o.progress = at_once;
    o.context = &done;
    cr_assert_eq(bench_attention_run(r, &o, &err), STATUS_INTERRUPTED);
    cr_assert_eq(done, 1);
    o.T = SIZE_MAX / 4;
    cr_assert_eq(bench_attention_run(r, &o, &err), STATUS_RANGE);
#ifndef NOPEEK_SANITIZED /* a sanitizer reports what is refused */
    o.T = (size_t)1 << 21;
    cr_assert_eq(bench_attention_run(r, &o, &err), STATUS_MEMORY);
#endif
}
