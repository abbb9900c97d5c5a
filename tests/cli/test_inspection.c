#include "cli/inspection.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/inspected.h"
#include "support/machine.h"
#include "support/scratch.h"
#include "support/tiny_run.h"

TestSuite(inspection, .init = scratch_make, .fini = scratch_remove);

#define BLOCK 8
static const char text[] =
    "abc cab bca\nba ac cb\nabc cab bca\nba ac cb\n abcabc\n cccab"; /* 56 symbols, 14 validate */

static struct tiny_run make(bool leaky, bool stateless)
{
    const struct tiny_run r = {.dir = scratch_path("run"),
                               .text_path = scratch_path("text"),
                               .text = text,
                               .block_size = BLOCK,
                               .leaky = leaky,
                               .stateless = stateless};
    tiny_run_write(&r);
    return r;
}

static enum status look(struct inspection *n, const char *run, const char *words, struct error *err)
{
    struct whole_text t = {.bytes = (char *)words, .size = words ? strlen(words) : 0, .name = "--text"};
    const struct inspection_settings s = {.run = run, .text = words ? &t : NULL, .team = support_team(1)};
    return inspection_make(n, &s, err);
}

Test(inspection, looks_at_the_text_and_measures_on_the_validation_part)
{
    const struct tiny_run r = make(false, false);
    struct inspection n;
    struct error err;
    cr_assert_eq(look(&n, r.dir, "ab\nc", &err), STATUS_OK, "%s", err.message);
    cr_assert(n.T == 4 && n.before == 0 && n.L == 2 && n.H == 2);
    cr_assert_str_eq(n.label[2], "\\n");
    cr_assert(n.validation && n.windows == 1 && n.window_T == BLOCK, "14 symbols hold one window of 8 and its targets");
    for (size_t k = 0; k < 4; k++) {
        cr_assert_eq(n.head[k].measure.rows, BLOCK - 1);
        cr_assert(n.head[k].map.future_mass == 0 && n.head[k].map.row_error <= 1e-6);
        cr_assert(isfinite(n.ablation.head[k].more) && n.ablation.head[k].more != 0);
        cr_assert(isnan(n.row_entropy[k * 4]) && n.row_entropy[k * 4 + 1] <= 1);
    }
    cr_assert_eq(inspection_verdict(&n, &err), STATUS_OK);
    inspection_free(&n);
}

Test(inspection, of_a_long_text_the_last_window_is_looked_at)
{
    const struct tiny_run r = make(false, false);
    struct inspection n, last;
    struct error err;
    cr_assert_eq(look(&n, r.dir, text, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(look(&last, r.dir, text + 56 - BLOCK, &err), STATUS_OK);
    cr_assert(n.T == BLOCK && n.before == 56 - BLOCK && last.before == 0);
    const size_t bytes = BLOCK * BLOCK * sizeof(real);
    for (size_t k = 0; k < 4; k++)
        cr_assert_arr_eq(attention_map_weights(&n.map, k / 2, k % 2), attention_map_weights(&last.map, k / 2, k % 2),
                         bytes);
    inspection_free(&n);
    inspection_free(&last);
}

Test(inspection, without_a_text_it_is_where_the_validation_part_begins)
{
    const struct tiny_run r = make(false, false);
    struct inspection n, same;
    struct error err;
    cr_assert_eq(look(&n, r.dir, NULL, &err), STATUS_OK, "%s", err.message);
    char words[BLOCK + 1] = "";
    memcpy(words, text + 56 - 14, BLOCK);
    cr_assert_eq(look(&same, r.dir, words, &err), STATUS_OK);
    cr_assert(n.T == BLOCK && memcmp(n.ids, same.ids, BLOCK * sizeof *n.ids) == 0);
    inspection_free(&n);
    inspection_free(&same);
}

Test(inspection, where_the_runs_text_is_gone_all_of_the_given_one_is_measured_on)
{
    const struct tiny_run r = make(false, false);
    struct inspection n;
    struct error err;
    cr_assert_eq(unlink(r.text_path), 0);
    cr_assert_eq(look(&n, r.dir, text, &err), STATUS_OK, "%s", err.message);
    cr_assert(!n.validation && n.windows == 6 && n.window_T == BLOCK, "%zu windows", n.windows);
    cr_assert(strstr(n.no_validation.message, "No such file"), "%s", n.no_validation.message);
    inspection_free(&n);
    cr_assert_eq(look(&n, r.dir, "a", &err), STATUS_OK, "%s", err.message);
    cr_assert(n.windows == 0 && !n.ablation.head && n.head[0].kind == HEAD_MIXED, "one symbol predicts nothing");
    inspection_free(&n);
    cr_assert_eq(look(&n, r.dir, NULL, &err), STATUS_USAGE);
    cr_assert(strstr(err.message, "--text or --file"), "%s", err.message);
}

Test(inspection, a_model_from_elsewhere_has_the_given_text_alone)
{
    const struct tiny_run r = make(false, true);
    struct inspection n;
    struct error err;
    cr_assert_eq(look(&n, r.dir, "abc", &err), STATUS_OK, "%s", err.message);
    cr_assert(!n.validation && n.windows == 1 && n.window_T == 2);
    cr_assert(isnan(n.ablation.head[0].error), "one window has no standard error");
    inspection_free(&n);
}

Test(inspection, a_leaky_model_is_named)
{
    const struct tiny_run r = make(true, false);
    struct inspection n;
    struct error err;
    cr_assert_eq(look(&n, r.dir, "abcabc", &err), STATUS_OK, "%s", err.message);
    cr_assert_gt(n.head[0].map.future_mass, 0.05);
    cr_assert_eq(inspection_verdict(&n, &err), STATUS_LEAK);
    cr_assert(strstr(err.message, "of its attention on later symbols"), "%s", err.message);
    inspection_free(&n);
}

Test(inspection, what_cannot_be_looked_at_is_refused)
{
    const struct tiny_run r = make(false, false);
    struct inspection n;
    struct error err;
    cr_assert_eq(look(&n, r.dir, "abQ", &err), STATUS_FORMAT);
    cr_assert(strstr(err.message, "--text") && strstr(err.message, "U+0051"), "%s", err.message);
    cr_assert_eq(look(&n, r.dir, "", &err), STATUS_USAGE);
    cr_assert(strstr(err.message, "--text: found nothing"), "%s", err.message);
    cr_assert_neq(look(&n, scratch_path("nowhere"), "a", &err), STATUS_OK);
}
