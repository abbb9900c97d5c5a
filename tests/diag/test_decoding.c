#include "diag/decoding.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "diag/catalogue.h"
#include "support/tiny.h"

static struct verdict *check(struct tiny *t)
{
    struct error err;
    struct verdict *v = calloc(1, sizeof *v);
    cr_assert_eq(decoding_check(v, &t->model, &t->work, DECODING_LENGTHS, 3, &err), STATUS_OK, "%s", err.message);
    return v;
}

static void make(struct tiny *t, size_t L, size_t T, size_t V)
{
    const struct config c = config_make(L, 2, 8, T, V);
    tiny_make(t, &c, 1, 1, T, 1);
}

Test(decoding, correct_decoders_pass)
{
    const size_t shapes[][3] = {{1, 1, 3}, {2, 2, 5}, {3, 17, 1}, {2, 64, 9}, {1, 150, 4}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        struct tiny t;
        make(&t, shapes[k][0], shapes[k][1], shapes[k][2]);
        struct verdict *v = check(&t);
        cr_expect_eq(v->findings, 0, "shape %zu: %s", k, v->finding[0].what);
        free(v);
        tiny_free(&t);
    }
}

Test(decoding, scores_that_magnify_rounding_raise_no_alarm)
{
    struct tiny t;
    make(&t, 3, 33, 9);
    for (size_t layer = 0; layer < 3; layer++)
        tiny_sharpen(&t, layer, 3e4);
    struct verdict *v = check(&t);
    cr_expect_eq(v->findings, 0, "%s", v->finding[0].what);
    free(v);
    tiny_free(&t);
}

Test(decoding, each_fault_of_the_cache_is_named)
{
    const char *const names[][2] = {{"cache-one-back", "symbol by symbol"},
                                    {"cache-not-reset", "after a reset"},
                                    {"cache-not-refilled", "past the context"},
                                    {"cache-next-row", "several texts at once"},
                                    {"prefill-unmasked", "no mask while it is read"}};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        struct tiny t;
        make(&t, 2, 12, 7);
        struct fault fault;
        catalogue_plant(&fault, &t.model, NULL, catalogue_find(names[k][0]), FAULT_EVERYWHERE, 1);
        struct verdict *v = check(&t);
        bool named = false;
        for (size_t n = 0; n < v->findings; n++)
            named |= strstr(v->finding[n].what, names[k][1]) != NULL;
        cr_expect(named, "%s: %zu findings, %s", names[k][0], v->findings, v->finding[0].what);
        cr_expect_eq(v->line[0].outcome, VERDICT_FOUND);
        free(v);
        tiny_free(&t);
    }
}
