/* nopeek report, from outside. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/program.h"
#include "support/report_html.h"
#include "support/scratch.h"
#include "support/tiny_run.h"
#include "support/tiny_train.h"

TestSuite(cmd_report, .init = scratch_make, .fini = scratch_remove, .timeout = 240);

static const char *train(void)
{
    const char *run = scratch_path("run");
    TINY_TRAIN_OK(tiny_train_text(), "-o", run, "--eval-interval", "10");
    return run;
}

#define REPORT(p, ...) PROGRAM(p, "report", "--threads", "1", __VA_ARGS__)

static void report_ok(const char *run)
{
    struct program p;
    REPORT(&p, run);
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert(strstr(p.out, "report.html\n"), "%s", p.out);
    program_free(&p);
}

/* The bits that four base64 digits hold, one byte after another. */
static float *unpack(const char *text, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char *bytes = calloc(n * sizeof(float) + 3, 1);
    for (size_t i = 0, at = 0; text[i] && text[i] != '='; i++, at += 6) {
        const unsigned value = (unsigned)(strchr(digits, text[i]) - digits), shifted = value << (10 - at % 8);
        bytes[at / 8] |= (unsigned char)(shifted >> 8);
        bytes[at / 8 + 1] |= (unsigned char)shifted;
    }
    return (float *)(void *)bytes;
}

/* Every weight of the last frame is the number that inspect gives for the same text, to the last bit. */
static void expect_inspected(const char *run, const char *words)
{
    const char *path = scratch_path("run/report.html");
    json_t *data = report_html_json(path, "data"), *frames = report_html_json(path, "frames");
    const json_t *shown = report_html_at(data, "film", "frames", NULL);
    const size_t T = json_array_size(report_html_at(data, "film", "labels", NULL)), last = json_array_size(shown) - 1;
    cr_assert_eq(json_integer_value(json_object_get(json_array_get(shown, last), "step")), 20);
    struct program p;
    PROGRAM(&p, "inspect", run, "--text", words, "--json", "--quick", "--threads", "1");
    cr_assert_eq(p.status, 0, "%s", p.err);
    json_t *inspected = json_loads(p.out, 0, NULL);
    program_free(&p);
    cr_assert_eq(json_array_size(json_object_get(inspected, "labels")), T);
    float *packed = unpack(json_string_value(json_array_get(frames, last)), 2 * T * (T + 1) / 2), *at = packed;
    for (size_t h = 0; h < 2; h++) {
        const json_t *layer = json_array_get(json_object_get(inspected, "layers"), 0),
                     *head = json_array_get(json_object_get(layer, "heads"), h);
        for (size_t i = 0; i < T; i++)
            for (size_t j = 0; j <= i; j++) {
                const json_t *row = json_array_get(json_object_get(head, "weights"), i);
                const float theirs = (float)json_number_value(json_array_get(row, j));
                cr_assert_eq(*at, theirs, "%.9g %.9g at %zu %zu %zu", (double)*at, (double)theirs, h, i, j);
                at++;
            }
    }
    free(packed);
    json_decref(inspected);
    json_decref(data);
    json_decref(frames);
}

Test(cmd_report, its_weights_are_those_of_inspect)
{
    const char *run = train();
    report_ok(run);
    char *text = scratch_read(scratch_path("text.txt"), NULL), words[9] = "";
    memcpy(words, text + 540, 8); /* the validation part of 600 symbols begins at 540; the context is 8 */
    free(text);
    expect_inspected(run, words);
    struct program p;
    REPORT(&p, run, "--text", "bad cab");
    cr_assert_eq(p.status, 0, "%s", p.err);
    program_free(&p);
    expect_inspected(run, "bad cab");
}

/* A text of markup: the file has none of it, and says it all the same. */
Test(cmd_report, markup_in_the_text_stays_text)
{
    static const char hostile[] = "</script><img src=x onerror=alert(1)>&<!--\xE2\x80\xA8\n";
    char text[40 * sizeof hostile] = "";
    for (size_t i = 0; i < 40; i++)
        strcat(text, hostile);
    /* a name that stands on the page whole, where symbols of the text stand one by one */
    const char *path = scratch_path("<!--<script><img src=x onerror=alert(1)>&.txt"), *run = scratch_path("run");
    scratch_write(path, text, strlen(text));
    TINY_TRAIN_OK(path, "-o", run, "--block-size", "45", "--eval-interval", "10");
    report_ok(run);
    char *page = scratch_read(scratch_path("run/report.html"), NULL);
    cr_assert(!strstr(page, "<img") && !strstr(page, "<!--") && !strstr(page, "\xE2\x80\xA8"));
    cr_assert(strstr(page, "\\u003Cimg src=x onerror"));
    free(page);
    json_t *data = report_html_json(scratch_path("run/report.html"), "data");
    size_t opening = 0, i;
    json_t *label;
    json_array_foreach(json_object_get(json_object_get(data, "film"), "labels"), i, label) opening +=
        strcmp(json_string_value(label), "<") == 0;
    cr_assert_geq(opening, 2);
    json_decref(data);
}

Test(cmd_report, bytes_and_bare_ids_have_a_page_too)
{
    const char *text = tiny_train_text(), *ids = scratch_path("ids.txt");
    char numbers[4096] = "";
    for (size_t i = 0; i < 300; i++)
        sprintf(numbers + strlen(numbers), "%zu ", i * i % 23);
    scratch_write(ids, numbers, strlen(numbers));
    TINY_TRAIN_OK(text, "-o", scratch_path("bytes"), "--tokens", "byte", "--steps", "2");
    TINY_TRAIN_OK(ids, "-o", scratch_path("ids"), "--tokens", "ids", "--steps", "2");
    report_ok(scratch_path("bytes"));
    report_ok(scratch_path("ids"));
    json_t *data = report_html_json(scratch_path("ids/report.html"), "data");
    cr_assert_eq(json_string_value(json_array_get(report_html_at(data, "film", "labels", NULL), 0))[0], '#');
    json_decref(data);
}

Test(cmd_report, a_run_with_a_leak_shows_it)
{
    const char *run = scratch_path("run");
    TINY_TRAIN_OK(tiny_train_text(), "-o", run, "--mask", "none", "--allow-leak");
    struct program p;
    REPORT(&p, run);
    cr_assert(p.status == 0 && strstr(p.err, "trained with a leak"), "%s", p.err);
    program_free(&p);
    char *page = scratch_read(scratch_path("run/report.html"), NULL);
    cr_assert(strstr(page, "TRAINED WITH A LEAK"));
    free(page);
    json_t *data = report_html_json(scratch_path("run/report.html"), "data");
    const json_t *frame = json_array_get(report_html_at(data, "film", "frames", NULL), 0);
    cr_assert(json_is_true(json_object_get(frame, "square")), "the future is shown");
    json_decref(data);
}

Test(cmd_report, only_a_page_is_written_over)
{
    const char *run = train(), *log = scratch_path("run/metrics.jsonl");
    size_t n, m;
    char *before = scratch_read(log, &n);
    struct program p;
    REPORT(&p, run, "-o", log);
    program_expect_refused(&p, 2, "is no page");
    program_free(&p);
    char *after = scratch_read(log, &m);
    cr_assert(n == m && memcmp(before, after, n) == 0);
    free(before);
    free(after);
    REPORT(&p, run, "-o", run);
    program_expect_refused(&p, 1, "is a folder");
    program_free(&p);
    REPORT(&p, run, "-o", scratch_path("nowhere/page.html"));
    program_expect_refused(&p, 1, "-o");
    program_free(&p);
    report_ok(run);
    report_ok(run);
    REPORT(&p, run, "-o", scratch_path("page.html"), "--quick");
    cr_assert_eq(p.status, 0, "%s", p.err);
    program_free(&p);
}

/* A text may begin like a page, and a folder of a checkpoint is no place for one. */
Test(cmd_report, what_a_report_is_made_of_is_not_written_over)
{
    const char *html = scratch_path("text.html"), *run = scratch_path("run"), *mine = scratch_path("mine.html");
    char text[2000] = "<!DOCTYPE html>\n";
    while (strlen(text) + 20 < sizeof text)
        strcat(text, "<p>abc cab bca\n");
    scratch_write(html, text, strlen(text));
    scratch_write(mine, "<!DOCTYPE html>", 15);
    TINY_TRAIN_OK(html, "-o", run);
    struct program p;
    REPORT(&p, run, "--quick", "-o", html);
    program_expect_refused(&p, 2, "--out");
    program_free(&p);
    REPORT(&p, run, "--quick", "--file", mine, "-o", mine);
    program_expect_refused(&p, 2, "--out");
    program_free(&p);
    REPORT(&p, run, "--quick", "-o", scratch_path("run/latest/page.html"));
    program_expect_refused(&p, 2, "in the checkpoint itself");
    program_free(&p);
    REPORT(&p, run, "--quick", "-o", "");
    program_expect_refused(&p, 2, "found nothing");
    program_free(&p);
    size_t n;
    char *now = scratch_read(html, &n);
    cr_assert(n == strlen(text) && memcmp(now, text, n) == 0);
    free(now);
    cr_assert_not(scratch_exists(scratch_path("run/latest/page.html")));
}

Test(cmd_report, what_cannot_be_read_is_refused_in_one_line)
{
    struct program p;
    REPORT(&p, scratch_path("nothing"));
    program_expect_refused(&p, 1, "nothing");
    program_free(&p);
    const char *run = train();
    REPORT(&p, run, "--text", "Z");
    program_expect_refused(&p, 1, "--text");
    program_free(&p);
    REPORT(&p, run, "--text", "");
    program_expect_refused(&p, 2, "--text");
    program_free(&p);
    cr_assert_not(scratch_exists(scratch_path("run/report.html")));
}

Test(cmd_report, a_checkpoint_that_stands_alone_needs_a_place)
{
    const char *run = train(), *alone = scratch_path("alone");
    struct program p;
    cr_assert_eq(rename(scratch_path("run/step-000020"), alone), 0);
    REPORT(&p, alone);
    program_expect_refused(&p, 2, "-o FILE");
    program_free(&p);
    REPORT(&p, alone, "-o", scratch_path("page.html"));
    cr_assert_eq(p.status, 0, "%s", p.err);
    program_free(&p);
    report_ok(run); /* of step 10 now, and the log says more */
}

/* --- while training goes on ------------------------------------------------------------------------- */

static pid_t watch(const char *run)
{
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        const char *const out = scratch_path("watch.out"), *const err = scratch_path("watch.err");
        if (!freopen(out, "w", stdout) || !freopen(err, "w", stderr))
            _exit(126);
        signal(SIGINT, SIG_DFL); /* ignored where the tests run in the background */
        execl(NOPEEK_BINARY, "nopeek", "report", run, "--watch", "--quick", "--threads", "1", (char *)NULL);
        _exit(127);
    }
    return child;
}

static bool follows(void)
{
    json_t *data = report_html_json(scratch_path("run/report.html"), "data");
    const bool watching = json_is_true(report_html_at(data, "run", "watching", NULL));
    json_decref(data);
    return watching;
}

Test(cmd_report, follows_a_run_to_its_end)
{
    const char *run = scratch_path("run");
    const pid_t training = TINY_TRAIN_START(tiny_train_text(), "-o", run, "--steps", "1000000", "--eval-interval", "0");
    tiny_train_await(scratch_path("run/step-000000/trainer_state.json"));
    const pid_t watching = watch(run);
    tiny_train_await(scratch_path("run/report.html"));
    cr_assert(follows());
    kill(training, SIGINT);
    cr_assert_eq(tiny_train_wait(training), 130);
    cr_assert_eq(tiny_train_wait(watching), 0, "it ends when whoever trained has ended");
    cr_assert_not(follows());
    json_t *data = report_html_json(scratch_path("run/report.html"), "data");
    cr_assert_gt(json_integer_value(report_html_at(data, "run", "step", NULL)), 0, "with what was saved last");
    json_decref(data);
}

Test(cmd_report, an_interrupted_watch_leaves_a_whole_page)
{
    const char *run = scratch_path("run");
    TINY_TRAIN_OK(tiny_train_text(), "-o", run, "--stop-after", "10");
    const pid_t watching = watch(run);
    tiny_train_await(scratch_path("run/report.html"));
    cr_assert(follows());
    kill(watching, SIGINT);
    cr_assert_eq(tiny_train_wait(watching), 130);
    cr_assert_not(follows());
}

/* A run that has no log, and that nobody trains, has only itself to tell by that it is gone. */
Test(cmd_report, a_run_that_is_removed_is_not_waited_for)
{
    const char *run = scratch_path("run");
    TINY_TRAIN_OK(tiny_train_text(), "-o", run, "--eval-interval", "10", "--stop-after", "10");
    remove(scratch_path("run/metrics.jsonl"));
    const pid_t child = watch(run);
    tiny_train_await(scratch_path("run/report.html"));
    cr_assert_eq(rename(run, scratch_path("elsewhere")), 0);
    cr_assert_eq(tiny_train_wait(child), 1);
    char *said = scratch_read(scratch_path("watch.err"), NULL);
    cr_assert(strstr(said, "No such file or directory"), "%s", said);
    free(said);
}
