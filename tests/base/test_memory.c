#include "base/memory.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define BLOCK ((size_t)64 << 20)

static void use(size_t bytes)
{
    volatile char *block = malloc(bytes);
    cr_assert(block);
    for (size_t i = 0; i < bytes; i += 1024)
        block[i] = 1;
    free((void *)block);
}

Test(memory, peak_grows_with_what_is_used_and_can_be_forgotten)
{
    if (memory_peak() == 0)
        cr_skip_test("this system does not say");
    const size_t before = memory_peak();
    cr_assert(before > 100000);
    use(2 * BLOCK);
    const size_t after = memory_peak();
    cr_assert(after >= before + BLOCK && after < before + 4 * BLOCK);
    if (!memory_forget_peak())
        cr_skip_test("this system does not forget");
    cr_assert(memory_peak() + BLOCK < after);
}

Test(memory, what_is_available_is_a_sensible_number)
{
    const size_t available = memory_available();
    cr_assert(available == 0 || (available > BLOCK / 8 && available / 1024 < ((size_t)1 << 40)));
}
