#include "diag/windows.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct verdict *check(size_t count, enum dataset_fault fault, bool with_text, size_t T)
{
    struct error err;
    uint8_t *ids = calloc(count, 1); /* one symbol: its own text shows nothing */
    const struct dataset d = {.ids = ids, .width = 1, .count = count, .train = count - count / 10, .fault = fault};
    struct verdict *v = calloc(1, sizeof *v);
    cr_assert_eq(windows_check(v, with_text ? &d : NULL, T, 5, &err), STATUS_OK);
    cr_assert_eq(v->lines, 2);
    free(ids);
    return v;
}

Test(windows, of_a_correct_reader_are_right_at_any_length)
{
    const size_t lengths[] = {1, 2, 63, 64, 300};
    for (size_t k = 0; k < 5; k++)
        for (size_t count = 1; count < 5000; count = count * 3 + 1) {
            struct verdict *v = check(count, DATASET_FAULT_NONE, count > 1, lengths[k]);
            cr_expect_eq(v->findings, 0, "T %zu, %zu symbols: %s", lengths[k], count, v->finding[0].what);
            free(v);
        }
}

Test(windows, shifted_targets_are_told_by_how_far)
{
    struct verdict *v = check(400, DATASET_FAULT_NOT_SHIFTED, true, 16);
    cr_assert(strstr(v->finding[0].what, "0 ahead") && strcmp(v->finding[0].detector, "targets") == 0);
    cr_assert(v->line[0].outcome == VERDICT_FOUND && v->line[1].outcome == VERDICT_CLEAN);
    free(v);
    v = check(400, DATASET_FAULT_SHIFTED_TWICE, true, 16);
    cr_assert(strstr(v->finding[0].what, "2 ahead"));
    free(v);
}

Test(windows, shared_symbols_are_found)
{
    const enum dataset_fault faults[] = {DATASET_FAULT_DRAWS_ALL, DATASET_FAULT_VAL_EARLY};
    for (size_t k = 0; k < 2; k++) {
        struct verdict *v = check(1000, faults[k], true, 8);
        cr_assert_eq(v->findings, 1, "%zu", v->findings);
        cr_assert_str_eq(v->finding[0].detector, "overlap");
        cr_assert(v->line[0].outcome == VERDICT_CLEAN && v->line[1].outcome == VERDICT_FOUND);
        free(v);
    }
}
