#include "cli/doctor_view.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/scratch.h"

static struct doctor *d;
static struct gpt model;
static struct trainer trainer;

/* What was measured, made up: an ordinary text and model. */
static void make(void)
{
    scratch_make();
    d = calloc(1, sizeof *d);
    cr_assert_not_null(d);
    model.config = config_make(1, 1, 32, 8, 8);
    model.table.size = 12345;
    trainer = (struct trainer){.model = &model,
                               .settings = {.schedule = {.lr = 1e-3, .steps = 2500}, .batch_size = 5, .grad_accum = 1}};
    d->trainer = &trainer;
    d->first = (struct learning_first){.loss = log(8), .expected = log(8) + 0.0064, .spread = 0.03};
    d->batch = (struct learning_batch){.symbols = 32, .updates = 40, .first = 2.1, .last = 0.1, .reached = true};
    d->blinded = (struct learning_blinded){.loss = 2.02, .error = 0.01, .entropy = 2.0};
    d->sweep = (struct learning_sweep){.rate = {1e-3, 3e-3, 1e-2, 3e-2, 1e-1},
                                       .loss = {1.5, 1.4, 1.41, 1.9, INFINITY},
                                       .best = 3e-3,
                                       .recommended = 1e-2};
    d->ngrams = (struct ngram_losses){
        .loss = {2, 1.5, 1.2, 1.3, 1.4}, .counted = 50000, .train = 50000, .read = 4999, .val = 5000};
    d->repeats = (struct repeats){.length = 64, .tried = 78};
    d->cost = (struct rehearsal){.step = 0.0123, .evaluation = 0.5, .steps = 2000, .evaluations = 9, .seconds = 30};
    d->bytes = 45000000;
    verdict_say(&d->verdict, "suffix", VERDICT_CLEAN, 0, "-");
    verdict_say(&d->verdict, "backward", VERDICT_CLEAN, 0, "-");
    verdict_say(&d->verdict, "batch", VERDICT_CLEAN, 0, "-");
    verdict_say(&d->verdict, "targets", VERDICT_CLEAN, 0, "-");
}

static void unmake(void)
{
    free(d);
    scratch_remove();
}

TestSuite(doctor_view, .init = make, .fini = unmake);

/* What is printed on a screen of so many columns. */
static char *shown(size_t width)
{
    const char *path = scratch_path("out");
    struct terminal out;
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    terminal_open(&out, f);
    out.screen = true;
    out.width = width;
    doctor_judge(d);
    doctor_view_print(&out, d, "characters");
    cr_assert_eq(fclose(f), 0);
    return scratch_read(path, NULL);
}

static void expect_narrow(const char *text)
{
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        cr_assert_leq(strcspn(line, "\n"), 80, "%.100s", line);
}

static void expect_all(const char *const *phrases)
{
    char *text = shown(2000), *narrow = shown(80);
    for (size_t i = 0; phrases[i]; i++)
        cr_assert(strstr(text, phrases[i]), "\"%s\" in\n%s", phrases[i], text);
    expect_narrow(narrow);
    free(text);
    free(narrow);
}
#define EXPECT(...) expect_all((const char *const[]){__VA_ARGS__, NULL})

Test(doctor_view, structure_is_told_with_its_bar_rates_cost_and_time)
{
    EXPECT("first loss  ok    2.079; expected ln 8 = 2.079", "0.001: 1.500", "0.1: diverges",
           "text      There is structure", "1.200", "reads the text 2.0 times", "rate      --lr 0.01",
           "45.0 MB of memory", "12 ms", "of 0.50 s",
           "next      nopeek train, with the same text and options and --lr 0.01: about 30 s on");
}

Test(doctor_view, each_other_text_is_told_in_its_own_words)
{
    d->ngrams.train = 450;
    EXPECT("text      Too short: 450 characters", "12,345 parameters", "order 3 is best", "fastest by heart in",
           "next      nopeek train, with the same text and options: about 30 s");
    char *text = shown(2000);
    cr_assert(!strstr(text, "advised") && !strstr(text, "--lr"), "the fastest to learn by heart is no better:\n%s",
              text);
    free(text);
    d->repeats.found = 78;
    EXPECT("text      The validation part is mostly a copy", "78 of 78");
    d->repeats.found = 0;
    d->ngrams.train = 50000;
    for (size_t k = 1; k < NGRAM_ORDERS; k++)
        d->ngrams.loss[k] = 2.5;
    EXPECT("text      What came before does not help", "ln 8");
    d->ngrams.read = 0;
    EXPECT("text      Nothing is kept for validation", "n-grams     -");
    d->one_symbol = true;
    EXPECT("text      One symbol and no other", "rates       -     one symbol alone");
    text = shown(2000);
    cr_assert_null(strstr(text, "next "), "there is nothing to train for:\n%s", text);
    free(text);
}

Test(doctor_view, a_fault_is_the_first_thing_said)
{
    d->batch.reached = false;
    d->batch.last = 2.1;
    d->batch.first = 2.1;
    EXPECT("one batch   FAULT", "fault     one batch: expected below");
}

Test(doctor_view, json_has_null_for_what_is_not_known)
{
    d->ngrams.read = 0;
    for (size_t k = 0; k < NGRAM_ORDERS; k++)
        d->ngrams.loss[k] = (double)NAN;
    d->repeats.tried = 0;
    d->sweep.recommended = 0;
    doctor_judge(d);
    json_t *o = doctor_view_json(d, 7);
    cr_assert_not_null(o);
    static const char *const unknown[] = {"bar", "best_order", "copied", "lr"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        cr_assert(json_is_null(json_object_get(o, unknown[i])), "%s", unknown[i]);
    cr_assert(json_is_null(json_array_get(json_object_get(o, "ngram_loss"), 0)));
    cr_assert(json_is_null(json_object_get(json_array_get(json_object_get(o, "rates"), 4), "loss")), "diverged");
    cr_assert_str_eq(json_string_value(json_object_get(o, "text")), "unvalidated");
    cr_assert_eq(json_number_value(json_object_get(o, "seconds")), 7);
    json_decref(o);
}
