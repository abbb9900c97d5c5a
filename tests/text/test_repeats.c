#include "text/repeats.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/rng.h"

static uint8_t ids[40000];

static struct repeats find(size_t count, size_t train)
{
    const struct dataset d = {.ids = ids, .width = 1, .count = count, .train = train};
    struct repeats r;
    struct error err;
    cr_assert_eq(repeats_find(&r, &d, &err), STATUS_OK, "%s", err.message);
    return r;
}

static void fill(size_t n)
{
    const struct rng_site site = {.seed = 5, .purpose = RNG_TEST};
    for (size_t i = 0; i < n; i++)
        ids[i] = (uint8_t)rng_below(&site, (uint32_t)i, 2);
}

Test(repeats, a_text_without_repetition_has_none)
{
    fill(40000);
    const struct repeats r = find(40000, 36000);
    cr_assert_eq(r.length, 64);
    cr_assert_eq(r.tried, 62);
    cr_assert_eq(r.found, 0);
}

Test(repeats, every_stretch_that_was_copied_is_found_wherever_it_stands)
{
    fill(40000);
    for (size_t i = 0; i < 64; i++) {
        ids[i] = ids[36000 + i];                   /* the first stretch, at the very beginning */
        ids[36000 - 64 + i] = ids[36000 + 64 + i]; /* the second, at the very end of the train part */
        ids[7777 + i] = ids[36000 + 61 * 64 + i];  /* the last */
        ids[9001 + i] = ids[36000 + 5 * 64 + i];   /* all but its last symbol */
    }
    ids[9001 + 63] ^= 1;
    cr_assert_eq(find(40000, 36000).found, 3);
}

Test(repeats, a_text_said_twice_and_one_of_a_single_symbol_are_copies)
{
    fill(20000);
    for (size_t i = 0; i < 20000; i++)
        ids[20000 + i] = ids[i];
    struct repeats r = find(40000, 36000);
    cr_assert(r.tried == 62 && r.found == 62);
    for (size_t i = 0; i < 1000; i++)
        ids[i] = 0;
    r = find(1000, 900);
    cr_assert(r.tried == 1 && r.found == 1);
}

Test(repeats, a_short_validation_part_is_one_stretch_and_a_tiny_one_none)
{
    fill(1000);
    struct repeats r = find(50, 30);
    cr_assert(r.length == 20 && r.tried == 1 && r.found == 0);
    for (size_t i = 0; i < 20; i++)
        ids[4 + i] = ids[30 + i];
    cr_assert_eq(find(50, 30).found, 1);
    cr_assert_eq(find(45, 30).tried, 0);
    cr_assert_eq(find(1000, 1000).tried, 0, "no validation part");
}

Test(repeats, many_stretches_are_a_sample_spread_over_the_part)
{
    fill(40000);
    uint8_t *const all = malloc(4000000);
    cr_assert_not_null(all);
    for (size_t i = 0; i < 4000000; i++)
        all[i] = ids[i % 40000];
    const struct dataset d = {.ids = all, .width = 1, .count = 4000000, .train = 50000};
    struct repeats r;
    struct error err;
    cr_assert_eq(repeats_find(&r, &d, &err), STATUS_OK);
    cr_assert_eq(r.tried, 1024);
    cr_assert_eq(r.found, 1024);
    free(all);
}
