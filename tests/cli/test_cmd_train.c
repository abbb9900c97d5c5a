/* nopeek train, from outside: new runs, texts, leaks. What stops and goes on is in test_cmd_train_resume.c. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/program.h"
#include "support/rig.h"
#include "support/scratch.h"
#include "support/tiny_train.h"

TestSuite(cmd_train, .init = scratch_make, .fini = scratch_remove);

static size_t lines(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += *text == '\n';
    return n;
}

#define REFUSED(status, says, ...)                                                                                     \
    {                                                                                                                  \
        struct program refused_;                                                                                       \
        TINY_TRAIN(&refused_, __VA_ARGS__);                                                                            \
        program_expect_refused(&refused_, status, says);                                                               \
        program_free(&refused_);                                                                                       \
    }

static const char *RUN(const char *name)
{
    return scratch_path("%s", name);
}

/* A checkpoint as another program would hand it on: without what nopeek adds for resuming. */
static void copy_model(const char *from, const char *to)
{
    static const char *const files[] = {"config.json", "tokenizer.json", "model.safetensors"};
    cr_assert_eq(mkdir(scratch_path("%s", to), 0777), 0);
    for (size_t i = 0; i < 3; i++) {
        size_t n;
        char *bytes = scratch_read(scratch_path("%s/%s", from, files[i]), &n);
        scratch_write(scratch_path("%s/%s", to, files[i]), bytes, n);
        free(bytes);
    }
}

Test(cmd_train, a_run_is_written_and_what_was_done_is_said)
{
    struct program p;
    TINY_TRAIN(&p, tiny_train_text(), "-o", RUN("run"));
    cr_assert_eq(p.status, 0, "%s", p.err);
    const char *const said[] = {"600 characters, 11 distinct; 540 to train on, 60 to validate",
                                "1 layer, 2 heads, 8 channels, context 8: ",
                                "20 steps of 2 windows of 8 symbols, 0.59 times through the text",
                                "machine  1 thread; ",
                                " in all: ",
                                "check    no leak (",
                                "step 1/20  loss 2.",
                                "step 20/20",
                                "done after step 20",
                                "next: nopeek generate '/", /* the folder has a blank in its name */
                                "/run'; or see how it went: nopeek report '/"};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        cr_assert(strstr(p.err, said[i]), "\"%s\" lacks \"%s\"", p.err, said[i]);
    cr_assert(strstr(p.out, "step 0  train 2.") && strstr(p.out, "step 20  train 2.") && strstr(p.out, "\n  | "));
    cr_assert(rig_has_step("run", 0) && rig_has_step("run", 20));
    cr_assert(scratch_exists(RUN("run/latest")) && scratch_exists(RUN("run/best")));
    program_free(&p);
    PROGRAM(&p, "generate", RUN("run"), "-n", "100");
    cr_assert(p.status == 0 && p.out_size >= 100, "%s", p.err);
    program_free(&p);
}

Test(cmd_train, an_existing_run_is_refused_and_stays_as_it_is)
{
    size_t n, m;
    TINY_TRAIN_OK(tiny_train_text(), "-o", RUN("run"), "--steps", "2");
    char *before = rig_file("run", 2, "model.safetensors", &n);
    struct program p;
    TINY_TRAIN(&p, tiny_train_text(), "-o", RUN("run"), "--steps", "3");
    program_expect_refused(&p, 2, "holds a run already"); /* at once: no line about text or model comes before */
    cr_assert(strstr(p.err, "--resume") && strstr(p.err, "--force") && strstr(p.err, "another -o"), "%s", p.err);
    program_free(&p);
    char *after = rig_file("run", 2, "model.safetensors", &m);
    cr_assert(n == m && memcmp(before, after, n) == 0 && !rig_has_step("run", 3));
    TINY_TRAIN_OK(tiny_train_text(), "-o", RUN("run"), "--steps", "3", "--force");
    cr_assert(rig_has_step("run", 3) && !rig_has_step("run", 2) && rig_has_step("run/old-1", 2));
    free(before);
    free(after);
}

Test(cmd_train, settings_that_make_no_sense_together_are_one_line)
{
    const char *const text = tiny_train_text();
    REFUSED(2, "name a text file", "-o", RUN("run"))
    REFUSED(2, "warmup is 30 steps and the whole run 20", text, "--warmup", "30")
    REFUSED(2, "min-lr is 0.1", text, "--min-lr", "0.1", "--lr", "0.01")
    REFUSED(2, "--lr", text, "--lr", "0")
    REFUSED(2, "--lr", text, "--lr", "nan")
    REFUSED(2, "--val-split", text, "--val-split", "1")
    REFUSED(2, "--steps", text, "--steps", "0")
    REFUSED(2, "--dropout", text, "--dropout", "1")
    REFUSED(2, "nano-cpu", text, "--preset", "nano-gpu")
    REFUSED(1, "n_head", text, "--n-head", "3")
    REFUSED(2, "--resume goes on in the same run", "--resume", RUN("run"), "-o", RUN("other"))
    REFUSED(2, "--resume goes on in the same run", "--resume", RUN("run"), "--preset", "nano")
    REFUSED(1, "No such file", "--resume", RUN("run"))
    cr_assert_eq(scratch_count(scratch_folder()), 1, "nothing but the text is there");
}

Test(cmd_train, a_preset_can_be_cut_short)
{
    TINY_TRAIN_OK(tiny_train_text(), "-o", RUN("run"), "--preset", "nano-cpu", "--steps", "3");
    cr_assert(rig_has_step("run", 3));
}

Test(cmd_train, with_no_sizes_given_they_suit_the_text)
{
    struct program p;
    PROGRAM(&p, "train", tiny_train_text(), "-o", RUN("run"), "--steps", "1", "--threads", "1");
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert(strstr(p.err, "(sizes chosen to suit the text)"), "%s", p.err);
    program_free(&p);
    TINY_TRAIN(&p, tiny_train_text(), "-o", RUN("given"), "--steps", "1");
    cr_assert_null(strstr(p.err, "chosen"));
    program_free(&p);
}

/* ---- texts ---- */

Test(cmd_train, a_text_that_cannot_be_learnt_from_is_one_line_and_nothing_is_written)
{
    const char *const empty = scratch_path("empty"), *const folder = scratch_path("folder"),
                      *const secret = scratch_path("secret"), *const bad = scratch_path("bad");
    scratch_write(empty, "", 0);
    scratch_write(bad, "abc\xff\x41", 5);
    scratch_write(secret, "some text", 9);
    cr_assert_eq(mkdir(folder, 0777), 0);
    cr_assert_eq(chmod(secret, 0), 0);
    REFUSED(1, "empty: empty (0 bytes)", empty, "-o", RUN("run"))
    REFUSED(1, "missing: cannot be opened: No such file", scratch_path("missing"), "-o", RUN("run"))
    REFUSED(1, "folder: ", folder, "-o", RUN("run"))
    REFUSED(1, "bad", bad, "-o", RUN("run"))
    REFUSED(1, "missing", tiny_train_text(), scratch_path("missing"), "-o", RUN("run"))
    if (access(secret, R_OK) != 0)
        REFUSED(1, "Permission denied", secret, "-o", RUN("run"))
    struct program p;
    PROGRAM(&p, "train", "-", "-o", RUN("run"));
    program_expect_refused(&p, 1, "empty (0 bytes)");
    program_free(&p);
    cr_assert_not(scratch_exists(RUN("run")));
}

Test(cmd_train, an_invalid_byte_is_told_with_its_place_and_bytes_are_a_way_out)
{
    const char *const bad = scratch_path("bad");
    char text[200];
    memset(text, 'a', sizeof text);
    memcpy(text + 50, "b\xe9", 2);
    scratch_write(bad, text, sizeof text);
    REFUSED(1, "51", bad, "-o", RUN("run"))
    REFUSED(1, "--tokens byte", bad, "-o", RUN("run"))
    TINY_TRAIN_OK(bad, "-o", RUN("run"), "--tokens", "byte", "--steps", "2");
    struct program p;
    PROGRAM(&p, "generate", RUN("run"), "-n", "10");
    cr_assert_eq(p.status, 0);
    program_free(&p);
    TINY_TRAIN_OK("--resume", RUN("run"), "--steps", "3");
}

/* Trains on the first n characters of the text; with val_split if not NULL. */
static void train_on(struct program *p, size_t n, const char *val_split, const char *run)
{
    char *text = scratch_read(tiny_train_text(), NULL);
    scratch_write(scratch_path("short"), text, n);
    free(text);
    TINY_TRAIN(p, scratch_path("short"), "-o", run, "--steps", "2", "--val-split", val_split);
}

Test(cmd_train, a_text_around_the_length_of_a_window_trains_when_it_can)
{
    const struct {
        size_t n;
        const char *val_split;
        size_t train; /* symbols of the train part */
    } cases[] = {{1, "0", 1},     {7, "0", 7},       {8, "0", 8},       {9, "0", 9},         {16, "0", 16},
                 {9, "0.1", 9},   {10, "0.1", 9},    {10, "0.2", 8},    {16, "0.5", 8},      {18, "0.5", 9},
                 {20, "0.5", 10}, {600, "0.999", 1}, {600, "0.98", 12}, {600, "0.0001", 600}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct program p;
        char run[16], says[80];
        snprintf(run, sizeof run, "run-%zu", i);
        train_on(&p, cases[i].n, cases[i].val_split, RUN(run));
        if (cases[i].train < 9) { /* a context of 8 and its last target */
            snprintf(says, sizeof says, "needs at least 9 symbols in the train part, found %zu", cases[i].train);
            program_expect_refused(&p, 1, says);
            cr_assert_not(scratch_exists(RUN(run)));
        } else {
            cr_assert_eq(p.status, 0, "%s", p.err);
            cr_assert(rig_has_step(run, 2));
            const bool validated = cases[i].n - cases[i].train >= 2;
            cr_assert_eq(strstr(p.out, "val ") != NULL, validated, "%s", p.out);
            cr_assert_eq(strstr(p.err, "validation is left out") == NULL, validated, "%s", p.err);
        }
        program_free(&p);
    }
}

Test(cmd_train, line_ends_are_reported_and_kept)
{
    const char *const path = scratch_path("crlf");
    char text[400];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = "ab\r\ncd\ref\ngh"[i % 12];
    scratch_write(path, text, 12 * 33);
    struct program p;
    TINY_TRAIN(&p, path, "-o", RUN("run"), "--steps", "1");
    cr_assert(strstr(p.err, "line ends: 33 CRLF, 33 lone CR, 33 LF, kept as they are"), "%s", p.err);
    program_free(&p);
    TINY_TRAIN(&p, tiny_train_text(), "-o", RUN("lf"), "--steps", "1");
    cr_assert_null(strstr(p.err, "line ends"));
    program_free(&p);
}

Test(cmd_train, standard_input_and_several_files_are_one_text)
{
    char *text = scratch_read(tiny_train_text(), NULL);
    scratch_write(scratch_path("a"), text, 100);
    scratch_write(scratch_path("b"), text + 100, 500);
    TINY_TRAIN_OK(tiny_train_text(), "-o", RUN("whole"));
    TINY_TRAIN_OK(scratch_path("a"), scratch_path("b"), "-o", RUN("parts"));
    cr_assert(rig_same_bits("whole", "parts", 20));
    struct program p;
    program_run(&p, text, (const char *const[]){"train",        "-", "-o",       RUN("input"), "--n-layer",    "1",
                                                "--n-head",     "2", "--n-embd", "8",          "--block-size", "8",
                                                "--batch-size", "2", "--steps",  "20",         "--dropout",    "0",
                                                "--threads",    "1", NULL});
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert(rig_same_bits("whole", "input", 20));
    program_free(&p);
    free(text);
}

/* ---- leaks ---- */

Test(cmd_train, without_its_mask_a_model_is_refused_and_the_heads_are_named)
{
    struct program p;
    TINY_TRAIN(&p, tiny_train_text(), "-o", RUN("run"), "--mask", "none", "--n-layer", "2");
    cr_assert_eq(p.status, 3, "%s", p.err);
    cr_assert(strstr(p.err, "nopeek: leak: layers 0-1 heads 0-1: attention sees all later positions; changing "), "%s",
              p.err);
    cr_assert(strstr(p.err, "--allow-leak"), "%s", p.err);
    cr_assert_eq(p.out_size, 0);
    cr_assert_not(scratch_exists(RUN("run")));
    program_free(&p);
}

/* generate and info both say it. */
static void expect_leaky(const char *run, bool leaky)
{
    struct program p;
    PROGRAM(&p, "generate", run, "-n", "5");
    cr_assert_eq(p.status, 0);
    cr_assert_eq(strstr(p.err, "trained with a leak") != NULL, leaky, "%s: %s", run, p.err);
    program_free(&p);
    PROGRAM(&p, "info", run);
    cr_assert_eq(p.status, 0);
    cr_assert_eq(strstr(p.out, "TRAINED WITH A LEAK") != NULL, leaky, "%s: %s", run, p.out);
    program_free(&p);
}

Test(cmd_train, a_leak_that_is_allowed_marks_the_run_for_good)
{
    struct program p;
    TINY_TRAIN(&p, tiny_train_text(), "-o", RUN("run"), "--mask", "none", "--allow-leak", "--stop-after", "4");
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert(strstr(p.err, "check    leak: layer 0 heads 0-1: ") && strstr(p.err, "trained with a leak"), "%s", p.err);
    program_free(&p);
    expect_leaky(RUN("run"), true);
    TINY_TRAIN(&p, "--resume", RUN("run"));
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert(strstr(p.out, "leaks: the training loss means nothing"), "%s", p.out);
    program_free(&p);
    cr_assert(rig_has_step("run", 20));
    expect_leaky(RUN("run"), true);
    expect_leaky(RUN("run/step-000020"), true);
    /* With the mask back it leaks no more, but the weights come from a leak. */
    TINY_TRAIN(&p, tiny_train_text(), "--init-from", RUN("run"), "-o", RUN("child"));
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert(strstr(p.err, "check    no leak") && strstr(p.err, "comes from a run trained with a leak"), "%s", p.err);
    program_free(&p);
    expect_leaky(RUN("child"), true);
    TINY_TRAIN_OK(tiny_train_text(), "--init-from", RUN("child/latest"), "-o", RUN("grandchild"));
    expect_leaky(RUN("grandchild"), true);
    TINY_TRAIN_OK("--resume", RUN("grandchild"), "--steps", "21");
    expect_leaky(RUN("grandchild"), true);
    copy_model("run/step-000020", "bare");
    TINY_TRAIN_OK(tiny_train_text(), "--init-from", scratch_path("bare"), "-o", RUN("of-bare"));
    expect_leaky(RUN("of-bare"), true);
    TINY_TRAIN_OK(tiny_train_text(), "-o", RUN("other"), "--allow-leak");
    expect_leaky(RUN("other"), false);
}

/* ---- from other weights ---- */

Test(cmd_train, init_from_begins_a_run_with_the_weights_of_another)
{
    struct program p;
    char *text = scratch_read(tiny_train_text(), NULL);
    TINY_TRAIN_OK(tiny_train_text(), "-o", RUN("old"), "--steps", "80", "--bias", "--no-tied", "--lr", "0.02");
    scratch_write(scratch_path("fewer"), text, 300);
    TINY_TRAIN(&p, scratch_path("fewer"), "--init-from", RUN("old"), "-o", RUN("new"));
    cr_assert_eq(p.status, 0, "%s", p.err);
    json_t *before = rig_metrics("old"), *after = rig_metrics("new");
    const double first = json_number_value(json_object_get(json_array_get(before, 0), "train_loss")),
                 next = json_number_value(json_object_get(json_array_get(after, 0), "train_loss"));
    cr_assert_lt(next, first - 0.2, "it has learnt already");
    program_free(&p);
    json_decref(before);
    json_decref(after);
    TINY_TRAIN_OK("--resume", RUN("new"), "--steps", "22");
    TINY_TRAIN_OK("--resume", RUN("new"), "--steps", "23", scratch_path("fewer"));
    REFUSED(2, "leave out --n-embd", scratch_path("fewer"), "--init-from", RUN("old"), "--n-embd", "8")
    REFUSED(2, "leave out --bias", scratch_path("fewer"), "--init-from", RUN("old"), "--no-bias")
    REFUSED(2, "leave out --tokens", scratch_path("fewer"), "--init-from", RUN("old"), "--tokens", "byte")
    free(text);
}

Test(cmd_train, init_from_a_model_that_lacks_a_character_names_it)
{
    const char *const other = scratch_path("other");
    TINY_TRAIN_OK(tiny_train_text(), "-o", RUN("old"), "--steps", "1");
    scratch_write(other, "abc dea\nabc dXa\nabc dea abc dea abc dea", 39);
    REFUSED(1, "'X'", other, "--init-from", RUN("old"), "-o", RUN("new"))
    REFUSED(1, "U+0058", other, "--init-from", RUN("old"), "-o", RUN("new"))
    cr_assert_not(scratch_exists(RUN("new")));
}

Test(cmd_train, weights_that_are_not_finite_are_refused_by_name)
{
    size_t n;
    TINY_TRAIN_OK(tiny_train_text(), "-o", RUN("run"), "--steps", "1");
    copy_model("run/step-000001", "model");
    TINY_TRAIN_OK(tiny_train_text(), "--init-from", scratch_path("model"), "-o", RUN("fine"), "--steps", "2");
    char *bytes = scratch_read(scratch_path("model/model.safetensors"), &n);
    const float nan = (float)NAN;
    memcpy(bytes + n - 4, &nan, 4);
    scratch_write(scratch_path("model/model.safetensors"), bytes, n);
    free(bytes);
    REFUSED(1, "transformer.", tiny_train_text(), "--init-from", scratch_path("model"), "-o", RUN("new"))
    REFUSED(1, "nan", tiny_train_text(), "--init-from", scratch_path("model"), "-o", RUN("new"))
}

/* ---- numbers that run away ---- */

Test(cmd_train, a_learning_rate_far_too_large_is_status_1_and_leaves_a_run_that_works)
{
    struct program p;
    TINY_TRAIN(&p, tiny_train_text(), "-o", RUN("run"), "--lr", "1e9", "--grad-clip", "0", "--steps", "200",
               "--save-every", "1", "--warmup", "0");
    cr_assert_eq(p.status, 1, "%s", p.err);
    const char *last = strstr(p.err, "nopeek: step ");
    cr_assert(last && lines(last) == 1 && strstr(last, "finite") && strstr(last, "is kept: lower --lr (now "), "%s",
              p.err);
    program_free(&p);
    PROGRAM(&p, "generate", RUN("run"), "-n", "20");
    cr_assert_eq(p.status, 0, "%s", p.err);
    program_free(&p);
}

/* ---- threads ---- */

Test(cmd_train, the_environment_of_the_thread_libraries_changes_no_bit)
{
    const char *const before[] = {"",
                                  "OMP_NUM_THREADS=1",
                                  "OMP_NUM_THREADS=8 OMP_DYNAMIC=true",
                                  "OPENBLAS_NUM_THREADS=1",
                                  "OPENBLAS_NUM_THREADS=4 OMP_NUM_THREADS=4",
                                  "OMP_THREAD_LIMIT=1"};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        struct program p;
        char line[4096];
        snprintf(line, sizeof line,
                 "%s \"$NOPEEK\" train '%s' -o '%s' --n-layer 2 --n-head 2 --n-embd 32 --block-size 16 --batch-size 6 "
                 "--steps 20 --dropout 0.1 --sample-size 0 --eval-windows 1 --threads 1",
                 before[i], tiny_train_text(), scratch_path("run-%zu", i));
        program_shell(&p, line);
        cr_assert_eq(p.status, 0, "%s: %s", before[i], p.err);
        cr_assert(strstr(p.err, "machine  1 thread; "), "%s", p.err);
        program_free(&p);
        char name[16];
        snprintf(name, sizeof name, "run-%zu", i);
        cr_assert(rig_same_bits("run-0", name, 20), "%s", before[i]);
    }
}

Test(cmd_train, the_team_is_as_large_as_was_asked_whatever_the_environment_says)
{
    static const char *const before[] = {"OMP_NUM_THREADS=1", "OMP_THREAD_LIMIT=1", "OMP_NUM_THREADS=64",
                                         "OPENBLAS_NUM_THREADS=64", "OPENBLAS_NUM_THREADS=1 OMP_DYNAMIC=true"};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        struct program p;
        char line[4096];
        snprintf(line, sizeof line,
                 "%s \"$NOPEEK\" train '%s' -o '%s' --n-layer 1 --n-head 2 --n-embd 8 --block-size 8 --batch-size 2 "
                 "--steps 2 --sample-size 0 --eval-windows 1 --threads 2",
                 before[i], tiny_train_text(), scratch_path("run-%zu", i));
        program_shell(&p, line);
        cr_assert_eq(p.status, 0, "%s", p.err);
        cr_assert(strstr(p.err, "machine  2 threads; "), "%s", p.err);
        program_free(&p);
    }
}
