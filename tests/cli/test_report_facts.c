#include "cli/report_facts.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/program.h"
#include "support/scratch.h"
#include "support/tiny_run.h"
#include "support/tiny_train.h"

TestSuite(report_facts, .init = scratch_make, .fini = scratch_remove);

static struct error err;

/* The value after the nth "entropy" of a description. */
static double described(const char *json, int nth)
{
    double value = (double)NAN;
    for (int i = 0; i < nth; i++)
        json = strstr(json + 1, "\"entropy\":");
    cr_assert_eq(sscanf(json, "\"entropy\": %lf", &value), 1);
    return value;
}

static struct report_entropy find(const char *run)
{
    struct saved s;
    struct report_entropy e;
    cr_assert_eq(saved_open(&s, run, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(report_entropy_find(&e, &s, &err), STATUS_OK, "%s", err.message);
    saved_close(&s);
    return e;
}

Test(report_facts, the_entropy_of_a_generated_text_is_what_its_description_says)
{
    struct program p;
    const char *text = scratch_path("corpus.txt"), *about = scratch_path("corpus.json"), *run = scratch_path("run");
    PROGRAM(&p, "corpus", "-o", text, "--size", "30000", "--seed", "77");
    cr_assert_eq(p.status, 0, "%s", p.err);
    program_free(&p);
    TINY_TRAIN_OK(text, "-o", run, "--steps", "1");
    const struct report_entropy e = find(run);
    char *json = scratch_read(about, NULL);
    cr_assert(e.known, "%s", e.why_not);
    cr_assert_float_eq(e.train, described(json, 2), 1e-6);
    cr_assert_float_eq(e.validation, described(json, 3), 1e-6);
    free(json);
    scratch_write(text, "another text", 12);
    const struct report_entropy changed = find(run);
    cr_assert(!changed.known && strstr(changed.why_not, "changed"), "%s", changed.why_not);
}

Test(report_facts, of_any_other_text_it_is_not_known)
{
    const char *run = scratch_path("run");
    TINY_TRAIN_OK(tiny_train_text(), "-o", run, "--steps", "1");
    const struct report_entropy e = find(run);
    cr_assert(!e.known && isnan(e.validation) && strstr(e.why_not, "nopeek corpus"), "%s", e.why_not);
}

Test(report_facts, of_a_model_from_elsewhere_nothing_is_known)
{
    const struct tiny_run r = {.dir = scratch_path("run"),
                               .text_path = scratch_path("text"),
                               .text = "abc cab\n",
                               .block_size = 4,
                               .stateless = true};
    tiny_run_write(&r);
    const struct report_entropy e = find(scratch_path("run/step-000007"));
    cr_assert(!e.known && strstr(e.why_not, "where its text is"), "%s", e.why_not);
    struct saved s;
    struct buffer b = {0};
    cr_assert_eq(saved_open(&s, scratch_path("run/step-000007"), &err), STATUS_OK);
    cr_assert(!report_command(&b, &s) && b.count == 0);
    saved_close(&s);
}

/* What the page says makes the run again does make it again, bit for bit. */
Test(report_facts, the_command_makes_the_same_weights)
{
    const char *run = scratch_path("run it's"), *again = scratch_path("again");
    TINY_TRAIN_OK(tiny_train_text(), "-o", run, "--steps", "7", "--lr", "0.0123456789012345", "--no-tied", "--bias",
                  "--seed", "9007199254740993", "--dropout", "0.1");
    struct saved s;
    struct buffer b = {0};
    cr_assert_eq(saved_open(&s, run, &err), STATUS_OK, "%s", err.message);
    cr_assert(report_command(&b, &s));
    saved_close(&s);
    char *to = strstr(b.bytes, " -o again");
    cr_assert(to && strncmp(b.bytes, "nopeek train ", 13) == 0, "%s", b.bytes);
    *to = '\0';
    char line[4096];
    snprintf(line, sizeof line, "$NOPEEK %s -o '%s'", b.bytes + strlen("nopeek "), again);
    struct program p;
    program_shell(&p, line);
    cr_assert_eq(p.status, 0, "%s\n%s", line, p.err);
    program_free(&p);
    buffer_free(&b);
    size_t n, m;
    char *one = scratch_read(scratch_path("run it's/step-000007/model.safetensors"), &n),
         *other = scratch_read(scratch_path("again/step-000007/model.safetensors"), &m);
    cr_assert(n == m && memcmp(one, other, n) == 0);
    free(one);
    free(other);
}
