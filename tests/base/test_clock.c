#include <criterion/criterion.h>
#include <time.h>

#include "base/clock.h"

Test(clock, never_goes_back)
{
    double last = clock_seconds();
    for (int i = 0; i < 10000; i++) {
        const double now = clock_seconds();
        cr_assert(now >= last);
        last = now;
    }
}

Test(clock, counts_seconds)
{
    const double start = clock_seconds();
    const struct timespec pause = {0, 50000000};
    nanosleep(&pause, NULL);
    const double passed = clock_seconds() - start;
    cr_assert(passed >= 0.049, "50 ms took %g s", passed);
    cr_assert(passed < 30, "50 ms took %g s", passed);
}
