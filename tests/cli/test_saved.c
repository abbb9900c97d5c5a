#include "cli/saved.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/scratch.h"
#include "support/tiny_run.h"

TestSuite(saved, .init = scratch_make, .fini = scratch_remove);

static struct tiny_run make(bool leaky, bool stateless)
{
    const struct tiny_run r = {.dir = scratch_path("run"),
                               .text_path = scratch_path("text"),
                               .text = "abc cab bca\nba ac cb\n",
                               .block_size = 8,
                               .leaky = leaky,
                               .stateless = stateless};
    tiny_run_write(&r);
    return r;
}

Test(saved, opens_a_run_and_a_checkpoint_folder_alike)
{
    const struct tiny_run r = make(false, false);
    char folder[2048];
    snprintf(folder, sizeof folder, "%s/step-000007", r.dir);
    const char *const names[] = {r.dir, folder};
    for (size_t i = 0; i < 2; i++) {
        struct saved s;
        struct error err = {{0}};
        cr_assert_eq(saved_open(&s, names[i], &err), STATUS_OK, "%s", err.message);
        cr_assert(s.has_state && s.state.step == 7 && !saved_leaky(&s));
        cr_assert_str_eq(s.run, r.dir);
        cr_assert_eq(saved_val_split(&s, 0.1), 0.25);
        saved_close(&s);
    }
}

Test(saved, records_end_with_the_checkpoint_and_broken_lines_are_passed_over)
{
    const struct tiny_run r = make(false, false);
    char path[2048];
    snprintf(path, sizeof path, "%s/metrics.jsonl", r.dir);
    FILE *f = fopen(path, "a");
    cr_assert_not_null(f);
    fputs("{\"kind\":\"step\"}\n[1]\n{\"kind\":1,\"step\":3}\n\n{\"kind\":\"step\",\"step\":\"7\"}\n{\"kind\":\"st", f);
    fclose(f);
    struct saved s;
    struct error err;
    cr_assert_eq(saved_open(&s, r.dir, &err), STATUS_OK);
    json_t *step, *eval, *other;
    cr_assert_eq(saved_record(&step, &s, "step", &err), STATUS_OK);
    cr_assert_eq(saved_record(&eval, &s, "eval", &err), STATUS_OK);
    cr_assert_eq(json_integer_value(json_object_get(step, "step")), 7);
    cr_assert_eq(json_number_value(json_object_get(eval, "val_loss")), 1.5);
    cr_assert_eq(saved_record(&other, &s, "other", &err), STATUS_OK);
    cr_assert_null(other);
    json_decref(step);
    json_decref(eval);
    saved_close(&s);
}

Test(saved, a_pipe_in_place_of_the_log_is_not_waited_for)
{
    const struct tiny_run r = make(false, false);
    char path[2048];
    snprintf(path, sizeof path, "%s/metrics.jsonl", r.dir);
    struct saved s;
    struct error err;
    cr_assert_eq(saved_open(&s, r.dir, &err), STATUS_OK);
    cr_assert(unlink(path) == 0 && mkfifo(path, 0600) == 0);
    json_t *step;
    cr_assert_eq(saved_record(&step, &s, "step", &err), STATUS_OK);
    cr_assert_null(step);
    saved_close(&s);
}

static void expect_no_text(struct saved *s, const char *run, enum status status, const char *says)
{
    struct dataset d;
    struct error err;
    cr_assert_eq(saved_text(&d, s, run, 0.25, "name it", &err), status, "%s", err.message);
    cr_assert(strstr(err.message, says) && strstr(err.message, ": name it"), "%s", err.message);
    cr_assert_eq(saved_text(&d, s, run, 0.25, NULL, &err), status);
    cr_assert(strstr(err.message, says) && !strstr(err.message, "name it"), "%s", err.message);
    cr_assert_null(d.ids);
}

Test(saved, the_text_of_a_run_is_found_while_it_is_the_same)
{
    const struct tiny_run r = make(false, false);
    struct saved s;
    struct dataset d;
    struct error err;
    cr_assert_eq(saved_open(&s, r.dir, &err), STATUS_OK);
    cr_assert_eq(saved_text(&d, &s, r.dir, 0.25, NULL, &err), STATUS_OK, "%s", err.message);
    cr_assert(d.count == strlen(r.text) && d.train == d.count - d.count / 4);
    dataset_free(&d);
    scratch_write(r.text_path, "abc", 3);
    expect_no_text(&s, r.dir, STATUS_FORMAT, "has changed since");
    cr_assert_eq(unlink(r.text_path), 0);
    expect_no_text(&s, r.dir, STATUS_OPEN, "No such file");
    free(s.state.text[0]);
    s.state.text[0] = strdup("-");
    expect_no_text(&s, r.dir, STATUS_USAGE, "standard input");
    saved_close(&s);
}

Test(saved, a_leak_is_known_from_the_model_or_from_the_mark)
{
    const struct tiny_run r = make(true, false);
    struct saved s;
    struct error err;
    cr_assert_eq(saved_open(&s, r.dir, &err), STATUS_OK);
    cr_assert(saved_leaky(&s));
    s.state.leaky = false;
    cr_assert(saved_leaky(&s));
    s.checkpoint.model.config.trained = s.checkpoint.model.config.declared;
    cr_assert(!saved_leaky(&s));
    s.state.leaky = true;
    cr_assert(saved_leaky(&s));
    saved_close(&s);
}

Test(saved, a_model_from_elsewhere_has_no_state_and_no_records)
{
    const struct tiny_run r = make(false, true);
    struct saved s;
    struct error err = {{0}};
    cr_assert_eq(saved_open(&s, r.dir, &err), STATUS_OK, "%s", err.message);
    cr_assert(!s.has_state && !saved_leaky(&s));
    cr_assert_eq(saved_val_split(&s, 0.1), 0.1);
    json_t *step;
    cr_assert_eq(saved_record(&step, &s, "step", &err), STATUS_OK);
    cr_assert_null(step);
    expect_no_text(&s, r.dir, STATUS_USAGE, "does not say");
    saved_close(&s);
}

Test(saved, what_cannot_be_opened_leaves_nothing)
{
    struct saved s;
    struct error err = {{0}};
    cr_assert_neq(saved_open(&s, scratch_path("nothing"), &err), STATUS_OK);
    cr_assert(strstr(err.message, "nothing"));
    cr_assert(!s.run && !s.checkpoint.path);
}

Test(saved, all_records_of_a_kind_come_in_order_up_to_the_checkpoint)
{
    const struct tiny_run r = make(false, false);
    struct saved s;
    struct error err;
    json_t *steps, *none, *last;
    cr_assert_eq(saved_open(&s, r.dir, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(saved_records(&steps, &s, "step", &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(saved_record(&last, &s, "step", &err), STATUS_OK, "%s", err.message);
    const size_t n = json_array_size(steps);
    cr_assert_geq(n, 2);
    json_int_t before = 0;
    for (size_t i = 0; i < n; i++) {
        const json_int_t step = json_integer_value(json_object_get(json_array_get(steps, i), "step"));
        cr_assert(step > before && step <= 7);
        before = step;
    }
    cr_assert(json_equal(json_array_get(steps, n - 1), last));
    cr_assert_eq(saved_records(&none, &s, "verdict", &err), STATUS_OK);
    cr_assert_eq(json_array_size(none), 0);
    json_decref(steps);
    json_decref(none);
    json_decref(last);
    saved_close(&s);
}
