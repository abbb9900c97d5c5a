#include <criterion/criterion.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"

struct layout {
    unsigned char *a;
    double *b;
    float *none;
    unsigned char *c;
};

static void lay_out(struct layout *x, struct arena *arena)
{
    x->a = arena_take(arena, 3, 1);
    x->b = arena_take(arena, 17, sizeof *x->b);
    x->none = arena_take(arena, 0, sizeof *x->none);
    x->c = arena_take(arena, 65, 1);
}

Test(arena, measuring_counts_whole_pieces_and_hands_out_nothing)
{
    struct arena arena = {0};
    struct layout x;
    lay_out(&x, &arena);
    cr_assert_null(x.a);
    cr_assert_null(x.b);
    cr_assert_null(x.c);
    cr_assert_eq(arena.used, 64u + 192u + 128u); /* 3, 136 and 65 bytes, each rounded up to 64 */
    cr_assert_not(arena.overflow);
}

Test(arena, placed_pieces_are_aligned_apart_and_zero)
{
    struct arena arena = {0};
    struct error err;
    struct layout x;
    lay_out(&x, &arena);
    const size_t measured = arena.used;
    cr_assert_eq(arena_place(&arena, &err), STATUS_OK);
    lay_out(&x, &arena);
    cr_assert_eq(arena.used, measured);
    cr_assert_eq(arena.size, measured);
    cr_assert_null(x.none);
    cr_assert_eq((uintptr_t)x.a % ARENA_ALIGN, 0u);
    cr_assert_eq((uintptr_t)x.b % ARENA_ALIGN, 0u);
    cr_assert_eq((uintptr_t)x.c % ARENA_ALIGN, 0u);
    for (size_t i = 0; i < measured; i++)
        cr_assert_eq(arena.base[i], 0, "byte %zu of a new arena is %d", i, arena.base[i]);
    memset(x.a, 1, 3);
    memset(x.b, 2, 17 * sizeof *x.b);
    memset(x.c, 3, 65);
    cr_assert(x.a[0] == 1 && x.a[2] == 1 && x.c[0] == 3 && x.c[64] == 3);
    cr_assert_eq(((unsigned char *)x.b)[0], 2);
    cr_assert_eq(((unsigned char *)x.b)[17 * sizeof *x.b - 1], 2);
    arena_free(&arena);
}

Test(arena, a_size_that_overflows_is_reported_when_placed)
{
    const size_t sizes[][2] = {{SIZE_MAX, 2}, {SIZE_MAX, 1}, {SIZE_MAX - 62, 1}, {SIZE_MAX / 8 + 1, 8}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct arena arena = {0};
        struct error err = {""};
        cr_assert_null(arena_take(&arena, 10, 1));
        cr_assert_null(arena_take(&arena, sizes[i][0], sizes[i][1]));
        cr_assert_null(arena_take(&arena, 10, 1));
        cr_assert_eq(arena_place(&arena, &err), STATUS_RANGE, "size %zu", i);
        cr_assert(strstr(err.message, "smaller"), "the message advises: %s", err.message);
        cr_assert_null(arena.base);
        arena_free(&arena);
    }
}

Test(arena, pieces_that_only_together_overflow_are_reported_too)
{
    struct arena arena = {0};
    struct error err;
    arena_take(&arena, SIZE_MAX / 2, 1);
    cr_assert_not(arena.overflow);
    arena_take(&arena, SIZE_MAX / 2 + 1, 1);
    cr_assert_eq(arena_place(&arena, &err), STATUS_RANGE);
}

Test(arena, an_arena_of_nothing_can_be_placed)
{
    struct arena arena = {0};
    struct error err;
    cr_assert_eq(arena_place(&arena, &err), STATUS_OK);
    cr_assert_null(arena_take(&arena, 0, 8));
    arena_free(&arena);
}

Test(arena, free_leaves_a_measuring_arena)
{
    struct arena arena = {0};
    struct error err;
    arena_take(&arena, 1, 100);
    cr_assert_eq(arena_place(&arena, &err), STATUS_OK);
    cr_assert_not_null(arena_take(&arena, 1, 100));
    arena_free(&arena);
    cr_assert_null(arena.base);
    cr_assert_null(arena_take(&arena, 1, 100));
    cr_assert_eq(arena.used, 128u);
    cr_assert_eq(arena_place(&arena, &err), STATUS_OK);
    cr_assert_not_null(arena_take(&arena, 1, 100));
    arena_free(&arena);
}

Test(arena, taking_more_than_was_measured_is_a_bug_caught, .signal = SIGABRT)
{
    struct arena arena = {0};
    struct error err;
    arena_take(&arena, 1, 64);
    cr_assert_eq(arena_place(&arena, &err), STATUS_OK);
    arena_take(&arena, 1, 64);
    arena_take(&arena, 1, 1);
}
