#include "base/fpu.h"

#include <criterion/criterion.h>
#include <fenv.h>
#include <float.h>
#include <stdbool.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include "base/team.h"

/* Volatile: computed here and when the program runs, as the processor is set up then. */
static float a_third(void)
{
    volatile float one = 1, three = 3, third;
    third = one / three;
    return third;
}

Test(fpu, rounding_that_was_changed_is_to_nearest_again)
{
    const float nearest = a_third();
    fesetround(FE_DOWNWARD);
    cr_assert_neq(a_third(), nearest, "the planted rounding shows");
    fpu_reset();
    cr_assert_eq(a_third(), nearest);
}

#ifdef __SSE2__
static bool subnormals_are_kept(void)
{
    volatile float smallest = FLT_MIN, half, sum;
    half = smallest / 2;
    sum = half + half;
    return sum == smallest;
}

static void ask(const struct lane *lane, void *context)
{
    bool *kept = context;
    kept[lane->index] = subnormals_are_kept();
}

/* What the start-up code of -ffast-math does. */
Test(fpu, subnormal_numbers_that_a_library_switched_off_are_back_in_every_thread)
{
    enum { LANES = 3, FLUSH_TO_ZERO = 0x8000, ZERO_FOR_SUBNORMAL = 0x40 };
    const unsigned off[] = {FLUSH_TO_ZERO, ZERO_FOR_SUBNORMAL, FLUSH_TO_ZERO | ZERO_FOR_SUBNORMAL};
    for (int k = 0; k < 3; k++) {
        _mm_setcsr(_mm_getcsr() | off[k]);
        cr_assert(!subnormals_are_kept(), "the planted setting shows");
        fpu_reset();
        const struct team team = {.threads = LANES};
        bool kept[LANES] = {false};
        team_run(team, ask, kept);
        for (int i = 0; i < LANES; i++)
            cr_assert(kept[i], "thread %d", i);
    }
}
#endif
