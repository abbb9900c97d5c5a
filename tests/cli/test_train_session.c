/* Where a training session begins: a text, a saved run or another's weights, and what may not be changed. */
#include "cli/train_session.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "support/program.h"
#include "support/scratch.h"
#include "support/tiny_train.h"

TestSuite(train_session, .init = scratch_make, .fini = scratch_remove);

#define REFUSED(status, says, ...)                                                                                     \
    {                                                                                                                  \
        struct program refused_;                                                                                       \
        TINY_TRAIN(&refused_, __VA_ARGS__);                                                                            \
        program_expect_refused(&refused_, status, says);                                                               \
        program_free(&refused_);                                                                                       \
    }

Test(train_session, every_setting_that_differs_is_listed_at_once)
{
    const char *run = scratch_path("run");
    TINY_TRAIN_OK(tiny_train_text(), "-o", run, "--stop-after", "3");
    REFUSED(2, "n_layer is 1 there and 3 here, n_embd is 8 there and 16 here, seed is 1 there and 2 here", "--resume",
            run, "--n-layer", "3", "--n-embd", "16", "--seed", "2");
    REFUSED(2, "block_size is 8 there and 4 here", "--resume", run, "--block-size", "4");
}

Test(train_session, another_text_is_told_by_its_characters)
{
    const char *run = scratch_path("run"), *other = scratch_path("other.txt");
    TINY_TRAIN_OK(tiny_train_text(), "-o", run, "--stop-after", "3");
    scratch_write(other, "abc dxa, fab\ncad gab. ", 22);
    REFUSED(1, "'x' (U+0078)", "--resume", run, other);
    scratch_write(other, "abc dea, fab\ncad gab. ", 22); /* the same characters */
    REFUSED(1, "same characters, other content", "--resume", run, other);
}

Test(train_session, a_longer_schedule_or_another_rate_goes_on)
{
    struct program p;
    const char *run = scratch_path("run");
    TINY_TRAIN_OK(tiny_train_text(), "-o", run);
    TINY_TRAIN(&p, "--resume", run, "--steps", "30", "--lr", "1e-4", "--min-lr", "1e-5");
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert(strstr(p.err, "30 steps") && strstr(p.err, "learning rate 0.0001 to 1e-05"), "%s", p.err);
    cr_assert(scratch_exists(scratch_path("run/step-000030/model.safetensors")));
    program_free(&p);
}

Test(train_session, verifying_says_that_it_was_exact_and_leaves_nothing_behind)
{
    struct program p;
    static const char *const cases[][8] = {{"--dropout", "0.3", "--grad-accum", "3", "--threads", "2", NULL},
                                           {"--precision", "bf16", "--threads", "2", "--dropout", "0.1", NULL},
                                           {"--bias", "--warmup", "15", NULL}};
    for (size_t i = 0; i < 3; i++) {
        const char *words[16] = {tiny_train_text(), "--verify-resume", "-o", scratch_path("run")};
        for (size_t k = 0; cases[i][k]; k++)
            words[4 + k] = cases[i][k];
        tiny_train(&p, words);
        cr_assert_eq(p.status, 0, "%s", p.err);
        cr_assert(strstr(p.out, "resuming is exact: steps 0 to 20 straight, and with a save and a fresh start at 10"),
                  "%s", p.out);
        cr_assert_not(scratch_exists(scratch_path("run")));
        program_free(&p);
    }
    TINY_TRAIN(&p, tiny_train_text(), "--verify-resume", "--steps", "1");
    cr_assert_eq(p.status, 2);
    cr_assert(strstr(p.err, "--verify-resume needs two steps to halve, 1 given"), "%s", p.err);
    program_free(&p);
}

Test(train_session, verifying_that_is_interrupted_leaves_nothing_behind)
{
    struct program p;
    char line[2048];
    snprintf(line, sizeof line,
             "mkdir '%s'; cd '%s'; TMPDIR=. \"$NOPEEK\" train '%s' --verify-resume --n-layer 1 --n-head 1 --n-embd 8 "
             "--block-size 8 --batch-size 2 --steps 100000000 --stop-after 50000000 --threads 1 >../out 2>&1 & pid=$!; "
             "while ! ls '%s' | grep -q nopeek; do sleep 0.05; done; kill -TERM $pid; wait $pid; echo $?; ls '%s'",
             scratch_path("temporary"), scratch_path("temporary"), tiny_train_text(), scratch_path("temporary"),
             scratch_path("temporary"));
    program_shell(&p, line);
    cr_assert_str_eq(p.out, "130\n", "%s", p.err);
    program_free(&p);
}
