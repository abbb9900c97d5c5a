#include "diag/attention_pack.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "support/machine.h"
#include "support/tiny.h"

#define LENGTH ((size_t)7)
#define LAYERS ((size_t)2)
#define HEADS ((size_t)3)

static struct tiny tiny;
static struct attention_map map;

static void look(enum attention_rule rule)
{
    struct error err;
    struct config c = config_make(LAYERS, HEADS, 24, LENGTH, 13);
    c.trained = rule;
    tiny_make(&tiny, &c, 1, 1, LENGTH, 1);
    cr_assert_eq(attention_map_make(&map, &tiny.model, tiny.tokens, LENGTH, support_team(1), &err), STATUS_OK);
}

static void drop(void)
{
    attention_map_free(&map);
    tiny_free(&tiny);
}

/* The numbers as they must be packed, put down by another way: all into one array, then encoded at once. */
static char *expected(bool square)
{
    float numbers[LAYERS * HEADS * LENGTH * LENGTH];
    size_t n = 0;
    for (size_t layer = 0; layer < LAYERS; layer++)
        for (size_t head = 0; head < HEADS; head++)
            for (size_t k = 0; k < LENGTH * LENGTH; k++)
                if (square || k % LENGTH <= k / LENGTH)
                    numbers[n++] = (float)attention_map_weights(&map, layer, head)[k];
    char *text = calloc(base64_length(n * sizeof *numbers) + 1, 1);
    base64_encode(text, numbers, n * sizeof *numbers); /* tests run on machines whose lowest byte comes first */
    return text;
}

static void expect_packed(bool square)
{
    struct error err;
    char *text, *wanted = expected(square);
    cr_assert_eq(attention_pack_is_square(&map), square);
    cr_assert_eq(attention_pack(&text, &map, square, &err), STATUS_OK);
    cr_assert_eq(strlen(text), attention_pack_bytes(LAYERS * HEADS, LENGTH, square));
    cr_assert_str_eq(text, wanted);
    free(text);
    free(wanted);
}

Test(attention_pack, holds_every_weight_of_a_causal_model_once)
{
    look(ATTENTION_CAUSAL);
    expect_packed(false);
    drop();
}

Test(attention_pack, holds_the_future_too_where_a_model_sees_it)
{
    look(ATTENTION_FULL);
    expect_packed(true);
    drop();
}

Test(attention_pack, one_weight_beyond_the_diagonal_makes_it_square)
{
    look(ATTENTION_CAUSAL);
    cr_assert_not(attention_pack_is_square(&map));
    real *p = map.work.block[LAYERS - 1].weights + (HEADS - 1) * LENGTH * LENGTH;
    p[(LENGTH - 2) * LENGTH + LENGTH - 1] = (real)1e-6;
    cr_assert(attention_pack_is_square(&map));
    drop();
}

Test(attention_pack, fits_as_much_as_there_is_room_for_and_no_more)
{
    /* 12 heads of 64 rows: 12 * 2080 * 4 bytes, four characters for three of them */
    cr_assert_eq(attention_pack_bytes(12, 64, false), 133120);
    cr_assert_eq(attention_pack_fit(12, false, 64, 133120), 64);
    cr_assert_eq(attention_pack_fit(12, false, 64, 133119), 63);
    cr_assert_eq(attention_pack_fit(12, false, 20, 133120), 20);
    cr_assert_eq(attention_pack_bytes(1, 3, true), 48);
    cr_assert_eq(attention_pack_fit(1, true, 64, 47), 2);
    cr_assert_eq(attention_pack_fit(1000, false, 64, 100), 0);
}
