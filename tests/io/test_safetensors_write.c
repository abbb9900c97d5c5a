#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/safetensors.h"
#include "support/scratch.h"

TestSuite(safetensors_write, .init = scratch_make, .fini = scratch_remove);

Test(safetensors_write, what_is_built_reads_back_in_order)
{
    struct error err;
    struct safetensors s;
    real matrix[6] = {1, -2, (real)0.5, 0, -INFINITY, (real)3e-40}, read[6];
    const real scalar = 7;
    const struct safetensors_item items[] = {
        {.name = "z.matrix", .n_dims = 2, .shape = {2, 3}, .values = matrix},
        {.name = "scalar \"quoted\" \xC3\xA9", .n_dims = 0, .values = &scalar},
        {.name = "empty", .n_dims = 3, .shape = {4, 0, 2}},
        {.name = "a.zeros", .n_dims = 1, .shape = {5}, .values = NULL},
    };
    uint8_t *bytes, *again;
    size_t size, size_again;
    cr_assert_eq(safetensors_build(&bytes, &size, items, 4, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(safetensors_build(&again, &size_again, items, 4, &err), STATUS_OK);
    cr_assert_eq(size, size_again);
    cr_assert_eq(memcmp(bytes, again, size), 0, "same items, other bytes");
    scratch_write(scratch_path("f"), bytes, size);
    free(bytes);
    free(again);

    cr_assert_eq(safetensors_open(&s, scratch_path("f"), &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(s.count, 4);
    cr_assert_str_eq(s.metadata, "{\"format\":\"pt\"}");
    const struct safetensors_entry *e = safetensors_find(&s, "z.matrix");
    cr_assert_eq(e, &s.entry[0]);
    cr_assert_eq(e->begin % 64, 0, "data begins at a multiple of 64");
    cr_assert(e->n_dims == 2 && e->shape[0] == 2 && e->shape[1] == 3 && e->count == 6 && e->size == 24);
    cr_assert_eq(safetensors_read(read, &s, e, &err), STATUS_OK);
    for (size_t i = 0; i < 6; i++)
        cr_assert_eq(read[i], (real)(float)matrix[i]);
    e = safetensors_find(&s, items[1].name);
    cr_assert(e && e->n_dims == 0 && e->count == 1);
    cr_assert_eq(safetensors_read(read, &s, e, &err), STATUS_OK);
    cr_assert_eq(read[0], 7);
    e = safetensors_find(&s, "empty");
    cr_assert(e && e->count == 0 && e->size == 0 && e->shape[0] == 4);
    cr_assert_eq(safetensors_read(read, &s, e, &err), STATUS_OK);
    e = safetensors_find(&s, "a.zeros");
    cr_assert_eq(e->count, 5);
    cr_assert_eq(safetensors_read(read, &s, e, &err), STATUS_OK);
    for (size_t i = 0; i < 5; i++)
        cr_assert_eq(read[i], 0);
    cr_assert_null(safetensors_find(&s, "z.matri"));
    cr_assert_null(safetensors_find(&s, ""));
    safetensors_close(&s);
    safetensors_close(&s);
}

Test(safetensors_write, what_cannot_be_built_is_refused)
{
    struct error err;
    uint8_t *bytes;
    size_t size;
    const struct safetensors_item twice[] = {{.name = "a"}, {.name = "b"}, {.name = "a"}};
    const struct safetensors_item large[] = {{.name = "a", .n_dims = 2, .shape = {SIZE_MAX / 8, 3}}};
    const struct safetensors_item odd[] = {{.name = "\xFF"}};
    cr_assert_eq(safetensors_build(&bytes, &size, twice, 3, &err), STATUS_RANGE);
    cr_assert_not_null(strstr(err.message, "'a' is there twice"), "%s", err.message);
    cr_assert_eq(safetensors_build(&bytes, &size, large, 1, &err), STATUS_RANGE);
    cr_assert_eq(safetensors_build(&bytes, &size, odd, 1, &err), STATUS_RANGE);
    cr_assert_null(bytes);
}
