#include "base/machine.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(machine, has_a_name_without_blanks_at_its_ends)
{
    char name[MACHINE_NAME_SIZE];
    cr_assert_eq(machine_name(name), name);
    const size_t length = strlen(name);
    cr_assert(length > 0 && length < MACHINE_NAME_SIZE);
    cr_assert(name[0] != ' ' && name[length - 1] != ' ' && name[length - 1] != '\n');
    cr_assert_null(strstr(name, "  "));
}

/* The compiler may not drop what is written here. */
static void touch(volatile unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i += 1024)
        p[i] = 1;
}

Test(machine, the_peak_counts_what_was_touched_and_a_reset_forgets_it)
{
    const size_t n = (size_t)64 << 20;
    const bool can = machine_peak_reset();
    const size_t before = machine_peak_bytes();
    cr_assert_gt(before, 0);
    unsigned char *p = malloc(n);
    cr_assert(p);
    touch(p, n);
    const size_t after = machine_peak_bytes();
    free(p);
    cr_assert_gt(machine_peak_bytes(), after - n / 4, "a peak stays");
#ifdef NOPEEK_SANITIZED
    (void)can; /* its own memory comes and goes */
#else
    if (can) {
        cr_assert(after - before > n / 2 && after - before < 2 * n, "%zu to %zu", before, after);
        cr_assert(machine_peak_reset());
        cr_assert_lt(machine_peak_bytes(), after - n / 2);
    }
#endif
}
