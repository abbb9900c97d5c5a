#include "lab/recall.h"
#include "support/machine.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static size_t ticks;

static bool stop_at_five(void *context, size_t done, size_t total)
{
    cr_assert(done <= total && context == &ticks);
    return ++ticks == 5;
}

Test(recall, every_fault_is_found_and_placed_and_no_correct_model_is_blamed)
{
    struct error err;
    struct recall *r = malloc(sizeof *r);
    const struct recall_options o = {.trials = 1, .correct = 12, .seed = 4, .team = support_team(2)};
    cr_assert_eq(recall_run(r, &o, &err), STATUS_OK, "%s", err.message);
    for (size_t i = 0; i < catalogue_size; i++) {
        cr_expect_eq(r->fault[i].models, 1);
        cr_expect_eq(r->fault[i].caught_by_any, 1, "%s", catalogue[i].name);
        cr_expect_eq(r->fault[i].located, 1, "%s %s", catalogue[i].name, r->fault[i].missed);
    }
    cr_expect_eq(r->correct, 12);
    cr_expect_eq(r->alarms, 0, "%s", r->alarm);
    free(r);
}

Test(recall, stops_when_it_is_told_to)
{
    struct error err;
    struct recall *r = malloc(sizeof *r);
    const struct recall_options o = {
        .correct = 100, .seed = 4, .team = support_team(2), .progress = stop_at_five, .context = &ticks};
    cr_assert_eq(recall_run(r, &o, &err), STATUS_INTERRUPTED);
    cr_assert_eq(r->correct, 5);
    free(r);
}

Test(recall, columns_have_names_of_their_own)
{
    for (size_t a = 0; a < RECALL_COLUMNS; a++)
        for (size_t b = 0; b < a; b++)
            cr_assert_str_neq(recall_column(a), recall_column(b));
}
