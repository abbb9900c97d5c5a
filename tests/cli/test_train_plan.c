/* What nopeek train says before it trains, from outside. */
#include "cli/train_plan.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "support/scratch.h"
#include "support/tiny_train.h"

TestSuite(train_plan, .init = scratch_make, .fini = scratch_remove);

static void expect(const struct program *p, const char *words)
{
    cr_assert(strstr(p->out, words), "\"%s\" is not in\n%s", words, p->out);
}

Test(train_plan, a_dry_run_says_what_it_will_take_and_writes_nothing)
{
    struct program p;
    TINY_TRAIN(&p, tiny_train_text(), "-o", scratch_path("run"), "--dry-run", "--eval-interval", "8", "--keep", "1");
    cr_assert_eq(p.status, 0, "%s", p.err);
    expect(&p, "text     600 characters, 11 distinct; 540 to train on, 60 to validate\n");
    expect(&p, "model    1 layer, 2 heads, 8 channels, context 8: ");
    expect(&p, "run      20 steps of 2 windows of 8 symbols");
    expect(&p, " in all: 600 B of text, ");
    expect(&p, "check    no leak");
    expect(&p, " measured now at the highest");
    expect(&p, " a checkpoint; at most 2 of them and one in the making: ");
    expect(&p, "a log with attention maps for nopeek report, 384 B an evaluation: 1.54 kB"); /* 0, 8, 16, 20 */
    expect(&p, ": 20 steps of ");
    expect(&p, " and 4 evaluations of "); /* before the first step, after 8, 16 and 20 */
    expect(&p, "; 320 symbols to train on\n");
    cr_assert_str_empty(p.err);
    cr_assert_not(scratch_exists(scratch_path("run")));
    cr_assert_eq(scratch_count(scratch_folder()), 1u); /* the text */
    program_free(&p);
}

Test(train_plan, a_dry_run_of_a_run_in_progress_counts_what_is_left_and_leaves_it_alone)
{
    struct program p;
    TINY_TRAIN_OK(tiny_train_text(), "-o", scratch_path("run"), "--stop-after", "15");
    const size_t files = scratch_count(scratch_path("run"));
    size_t n, m;
    char *before = scratch_read(scratch_path("run/metrics.jsonl"), &n);
    TINY_TRAIN(&p, "--resume", scratch_path("run"), "--dry-run");
    cr_assert_eq(p.status, 0, "%s", p.err);
    expect(&p, "going on after step 15");
    expect(&p, ": 5 steps of ");
    char *after = scratch_read(scratch_path("run/metrics.jsonl"), &m);
    cr_assert(n == m && memcmp(before, after, n) == 0 && scratch_count(scratch_path("run")) == files);
    free(before);
    free(after);
    program_free(&p);
}

Test(train_plan, what_cannot_be_trained_is_refused_in_a_dry_run_too)
{
    struct program p;
    TINY_TRAIN(&p, tiny_train_text(), "--dry-run", "--n-head", "3");
    cr_assert_eq(p.status, 1);
    program_free(&p);
    TINY_TRAIN(&p, tiny_train_text(), "--dry-run", "--verify-resume");
    program_expect_refused(&p, 2, "leave one out");
    program_free(&p);
}
