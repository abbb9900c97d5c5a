#include "lab/doctor.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/rig.h"
#include "support/scratch.h"

static struct doctor *d;
static struct gpt model;
static struct trainer trainer;
static struct error err;

/* What was measured of a good model on a long text with structure. */
static void make(void)
{
    d = calloc(1, sizeof *d);
    cr_assert_not_null(d);
    model.config = config_make(1, 1, 32, 8, 8);
    trainer = (struct trainer){.model = &model, .settings.schedule.lr = 1e-3};
    d->trainer = &trainer;
    d->first = (struct learning_first){.loss = log(8) + 0.01, .expected = log(8) + 0.0064, .spread = 0.03};
    d->batch = (struct learning_batch){
        .rows = 4, .symbols = 32, .updates = 40, .first = 2.1, .last = 0.1, .floor = 0, .goal = 0.105, .reached = true};
    d->blinded = (struct learning_blinded){.updates = 150, .loss = 2.02, .error = 0.01, .entropy = 2.0};
    d->sweep = (struct learning_sweep){.updates = 100, .first = 2.1, .best = 1e-3, .recommended = 3e-3};
    d->ngrams = (struct ngram_losses){
        .loss = {2, 1.5, 1.2, 1.3, 1.4}, .counted = 50000, .train = 50000, .read = 4999, .val = 5000};
    for (size_t k = 0; k < NGRAM_ORDERS; k++)
        d->ngrams.error[k] = d->ngrams.gain_error[k] = 0.01;
    d->repeats = (struct repeats){.length = 64, .tried = 78, .found = 0};
    verdict_say(&d->verdict, "suffix", VERDICT_CLEAN, 0, "-");
    verdict_say(&d->verdict, "backward", VERDICT_CLEAN, 0, "-");
    verdict_say(&d->verdict, "batch", VERDICT_SKIPPED, 0, "one row only");
    verdict_say(&d->verdict, "targets", VERDICT_CLEAN, 0, "-");
}

static void unmake(void)
{
    free(d);
}

TestSuite(doctor, .init = make, .fini = unmake);

Test(doctor, a_good_model_on_a_text_with_structure_passes_and_its_bar_is_the_best_ngram)
{
    doctor_judge(d);
    for (size_t c = 0; c < DOCTOR_CHECKS; c++)
        cr_assert(d->line[c].outcome == (c == DOCTOR_ROWS ? VERDICT_SKIPPED : VERDICT_CLEAN), "%s: %s", doctor_names[c],
                  d->line[c].found);
    cr_assert(!d->leak && !d->failed);
    cr_assert_eq(d->text, DOCTOR_STRUCTURED);
    cr_assert_eq(d->best_order, 3);
}

Test(doctor, each_text_has_its_own_story)
{
    const struct ngram_losses structured = d->ngrams;
    doctor_judge(d);
    cr_assert_eq(d->text, DOCTOR_STRUCTURED);
    d->ngrams.loss[1] = 1.98; /* within noise of order 1, and all others above */
    d->ngrams.loss[2] = d->ngrams.loss[3] = d->ngrams.loss[4] = 2.5;
    doctor_judge(d);
    cr_assert_eq(d->text, DOCTOR_INDEPENDENT);
    d->ngrams.train = DOCTOR_FEW - 1;
    doctor_judge(d);
    cr_assert_eq(d->text, DOCTOR_SHORT);
    d->ngrams = structured;
    model.config.vocab_size = 2501; /* fewer than 20 of each symbol */
    doctor_judge(d);
    cr_assert_eq(d->text, DOCTOR_SHORT);
    d->repeats.found = 39;
    doctor_judge(d);
    cr_assert_eq(d->text, DOCTOR_COPIED);
    cr_assert_eq(d->line[DOCTOR_COPIES].outcome, VERDICT_NOTED);
    d->repeats.found = 38;
    model.config.vocab_size = 8;
    d->ngrams.read = 0;
    doctor_judge(d);
    cr_assert_eq(d->text, DOCTOR_UNVALIDATED);
    cr_assert_eq(d->best_order, 0);
    d->one_symbol = true;
    doctor_judge(d);
    cr_assert_eq(d->text, DOCTOR_CONSTANT);
    cr_assert(!d->leak && !d->failed, "a hopeless text is no fault");
}

Test(doctor, a_blinded_loss_below_the_entropy_is_a_leak_and_one_above_it_a_note)
{
    d->blinded.loss = 1.9;
    doctor_judge(d);
    cr_assert(d->leak && !d->failed && d->line[DOCTOR_BLINDED].outcome == VERDICT_FOUND);
    d->blinded.loss = 2.3;
    doctor_judge(d);
    cr_assert(!d->leak && d->line[DOCTOR_BLINDED].outcome == VERDICT_NOTED);
    d->blinded.loss = (double)NAN;
    doctor_judge(d);
    cr_assert(!d->leak && d->line[DOCTOR_BLINDED].outcome == VERDICT_NOTED);
}

Test(doctor, a_batch_that_is_not_learnt_is_a_fault_only_when_its_loss_does_not_move)
{
    d->batch.reached = false;
    d->batch.last = 1;
    doctor_judge(d);
    cr_assert(!d->failed && d->line[DOCTOR_BATCH].outcome == VERDICT_NOTED);
    d->batch.last = 2.05;
    doctor_judge(d);
    cr_assert(d->failed && !d->leak && d->line[DOCTOR_BATCH].outcome == VERDICT_FOUND);
    d->batch.cut = true;
    doctor_judge(d);
    cr_assert(!d->failed && d->line[DOCTOR_BATCH].outcome == VERDICT_NOTED);
    d->batch.cut = false;
    d->batch.last = (double)NAN;
    doctor_judge(d);
    cr_assert(d->failed);
}

Test(doctor, a_first_loss_far_from_ln_V_is_a_fault_unless_the_weights_know_something)
{
    d->first.loss = 1.2;
    doctor_judge(d);
    cr_assert(d->failed && d->line[DOCTOR_FIRST].outcome == VERDICT_FOUND);
    d->known_start = true;
    doctor_judge(d);
    cr_assert(!d->failed && d->line[DOCTOR_FIRST].outcome == VERDICT_NOTED);
}

Test(doctor, findings_go_to_the_check_they_belong_to)
{
    verdict_find(&d->verdict, "trunk", "a gradient is off");
    doctor_judge(d);
    cr_assert(d->failed && !d->leak && d->line[DOCTOR_GRADIENT].outcome == VERDICT_FOUND);
    cr_assert_str_eq(d->line[DOCTOR_GRADIENT].found, "trunk: a gradient is off");
    cr_assert_eq(d->line[DOCTOR_LEAK].outcome, VERDICT_CLEAN);
    verdict_find(&d->verdict, "gradient", "layer 0 sees what comes");
    doctor_judge(d);
    cr_assert(d->leak && d->line[DOCTOR_LEAK].outcome == VERDICT_FOUND);
    verdict_find(&d->verdict, "batch", "rows mix");
    verdict_find(&d->verdict, "targets", "not shifted");
    doctor_judge(d);
    cr_assert(d->line[DOCTOR_ROWS].outcome == VERDICT_FOUND && d->line[DOCTOR_WINDOWS].outcome == VERDICT_FOUND);
}

/* ---- on a real trainer ---- */

static struct rig rig;

static void examine(enum dataset_fault fault, enum attention_rule rule)
{
    rig.data.fault = fault;
    for (size_t h = 0; h < rig.model.config.n_layer * rig.model.config.n_head; h++)
        rig.model.rules[h] = rule;
    cr_assert_eq(trainer_create(&rig.trainer, &err), STATUS_OK, "%s", err.message);
    memset(d, 0, sizeof *d);
    d->trainer = &rig.trainer;
    cr_assert_eq(doctor_run(d, &err), STATUS_OK, "%s", err.message);
}

static void begin(void)
{
    scratch_make();
    d = calloc(1, sizeof *d);
    cr_assert_not_null(d);
    rig_make(&rig, "run");
    params_init(rig.model.params, &rig.model.table, &rig.model.config, 7);
}

static void end(void)
{
    rig_free(&rig);
    free(d);
    scratch_remove();
}

TestSuite(doctor_run, .init = begin, .fini = end);

Test(doctor_run, a_right_program_passes_every_check_and_a_text_that_repeats_itself_is_a_copy)
{
    examine(DATASET_FAULT_NONE, ATTENTION_CAUSAL);
    for (size_t c = 0; c < DOCTOR_CHECKS; c++)
        cr_assert_neq(d->line[c].outcome, VERDICT_FOUND, "%s: %s", doctor_names[c], d->line[c].found);
    cr_assert(!d->leak && !d->failed && d->text == DOCTOR_COPIED, "%s", doctor_texts[d->text]);
    cr_assert(d->bytes > 0 && d->cost.steps == 12);
    cr_assert_not(scratch_exists(scratch_path("run")), "nothing is written");
}

Test(doctor_run, targets_that_are_not_shifted_are_found_in_the_windows)
{
    examine(DATASET_FAULT_NOT_SHIFTED, ATTENTION_CAUSAL);
    cr_assert(d->leak && d->line[DOCTOR_WINDOWS].outcome == VERDICT_FOUND);
}

Test(doctor_run, a_missing_mask_is_a_leak)
{
    examine(DATASET_FAULT_NONE, ATTENTION_FULL);
    cr_assert(d->leak && d->line[DOCTOR_LEAK].outcome == VERDICT_FOUND);
}

static bool stop_in_rates(void *context, const char *check, size_t done, size_t total)
{
    (void)context, (void)total;
    return strcmp(check, "learning rates") == 0 && done == 3;
}

Test(doctor_run, an_interruption_ends_it_with_its_status)
{
    cr_assert_eq(trainer_create(&rig.trainer, &err), STATUS_OK, "%s", err.message);
    d->trainer = &rig.trainer;
    d->stop = stop_in_rates;
    cr_assert_eq(doctor_run(d, &err), STATUS_INTERRUPTED);
}
