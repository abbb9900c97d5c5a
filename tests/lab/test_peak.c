#include "lab/peak.h"

#include <criterion/criterion.h>

#include "base/clock.h"
#include "base/team.h"

Test(peak, every_thread_multiplies_matrices_of_its_own)
{
    struct error err;
    struct peak p;
    cr_assert_eq(peak_create(&p, 33, (struct team){.threads = 3}, &err), STATUS_OK, "%s", err.message);
    const double start = clock_seconds(), rate = peak_measure(&p), took = clock_seconds() - start;
    const size_t lanes = (size_t)3;
    cr_assert_geq(rate * took, 2.0 * 33 * 33 * 33 * (double)lanes, "FLOP of all lanes are counted");
    for (size_t lane = 0; lane < lanes; lane++)
        for (size_t i = 0; i < 33; i += 8) {
            const size_t own = lane * 33 * 33;
            double sum = 0;
            for (size_t k = 0; k < 33; k++)
                sum += (double)p.a[own + i * 33 + k] * (double)p.b[own + k * 33 + i];
            cr_assert_float_eq(p.c[own + i * 33 + i], sum, 1e-4);
        }
    peak_free(&p);
}
