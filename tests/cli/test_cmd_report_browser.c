/* The page of `nopeek report` in a real browser: what is drawn, what it says of the log, what it lets run. The elements
 * that this holds on to are named at the head of src/report/assets/base.js. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "support/page_checks.h"
#include "support/reported.h"
#include "support/scratch.h"
#include "support/tiny_run.h"
#include "support/tiny_train.h"

static struct reported r;

static void end(void)
{
    reported_end(&r);
}

TestSuite(cmd_report_browser, .init = scratch_make, .fini = end);

/* --- what is drawn ------------------------------------------------------------------------------- */

/* Where a chart's plot is, and how many of its pixels are near a colour of the page's own palette. */
static double coloured(const char *chart, const char *variable)
{
    char selector[64];
    snprintf(selector, sizeof selector, "#%s .plot", chart);
    struct browser_picture p;
    browser_rest(r.browser);
    browser_picture(r.browser, &p, browser_box(r.browser, selector));
    json_t *colour = browser_value(r.browser,
                                   "(h => [1, 3, 5].map(k => parseInt(h.slice(k, k + 2), 16)))"
                                   "(getComputedStyle(document.documentElement).getPropertyValue('%s').trim())",
                                   variable);
    double count = 0;
    for (size_t i = 0; i < p.width * p.height; i++) {
        long far = 0;
        for (size_t k = 0; k < 3; k++)
            far += labs((long)json_integer_value(json_array_get(colour, k)) - (long)(p.pixel[i] >> 8 * k & 255));
        count += far < 40;
    }
    json_decref(colour);
    browser_picture_free(&p);
    return count;
}

/* A record of the log. */
static json_t *logged(const char *kind, int step)
{
    char *log = scratch_read(scratch_path("run/metrics.jsonl"), NULL);
    json_t *found = NULL;
    for (char *line = strtok(log, "\n"); line && !found; line = strtok(NULL, "\n")) {
        found = json_loads(line, 0, NULL);
        if (strcmp(json_string_value(json_object_get(found, "kind")), kind) != 0 ||
            json_integer_value(json_object_get(found, "step")) != step) {
            json_decref(found);
            found = NULL;
        }
    }
    free(log);
    cr_assert_not_null(found, "%s of step %d", kind, step);
    return found;
}

/* What a chart's readout says of a series. */
static double said(const char *chart, const char *series, const char *what)
{
    return browser_number(r.browser, "Number(document.querySelector(`#%s .readout [data-series=\"%s\"]`).dataset.%s)",
                          chart, series, what);
}

Test(cmd_report_browser, curves_are_drawn_and_say_the_logs_values_under_the_pointer)
{
    reported_make(&r);
    cr_assert_geq(coloured("loss-chart", "--s0"), 200, "training loss");
    cr_assert_geq(coloured("loss-chart", "--s1"), 200, "validation loss");
    cr_assert_geq(coloured("lr-chart", "--s0"), 100);
    cr_assert_geq(coloured("grad-chart", "--s1"), 100);
    cr_assert_geq(coloured("rate-chart", "--s2"), 100);
    static const struct {
        const char *chart, *series, *kind, *key;
    } curves[] = {{"loss-chart", "validation", "eval", "val_loss"},
                  {"loss-chart", "training", "eval", "train_loss"},
                  {"loss-chart", "batch", "step", "loss"},
                  {"lr-chart", "learning rate", "step", "lr"},
                  {"grad-chart", "gradient norm", "step", "grad_norm"}};
    for (size_t i = 0; i < sizeof curves / sizeof *curves; i++)
        for (double where = 0.1; where < 1; where += 0.4) {
            char selector[64];
            snprintf(selector, sizeof selector, "#%s .plot", curves[i].chart);
            browser_hover_at(r.browser, selector, where, 0.5);
            json_t *record = logged(curves[i].kind, (int)said(curves[i].chart, curves[i].series, "step"));
            const double value = json_number_value(json_object_get(record, curves[i].key));
            cr_assert_float_eq(said(curves[i].chart, curves[i].series, "value"), value, 1e-5 * fabs(value) + 1e-12);
            json_decref(record);
        }
    browser_hover_at(r.browser, "#loss-chart .plot", 0.12, 0.5);
    const double left = said("loss-chart", "batch", "step");
    browser_hover_at(r.browser, "#loss-chart .plot", 0.9, 0.5);
    cr_assert(left < 30 && said("loss-chart", "batch", "step") > 170, "later steps are further right");
}

/* A larger entropy is a brighter pixel; the readout has the log's value. */
Test(cmd_report_browser, the_entropy_map_follows_the_log)
{
    double brightest[REPORTED_LAYERS * REPORTED_HEADS * 2], value[REPORTED_LAYERS * REPORTED_HEADS * 2];
    reported_make(&r);
    const double rows = browser_number(r.browser, "document.querySelector('#entropy-map .plot canvas').clientHeight");
    size_t n = 0;
    for (size_t k = 0; k < REPORTED_LAYERS * REPORTED_HEADS; k++)
        for (double x = 0.15; x < 1; x += 0.7) {
            const double y = ((double)k + 0.5) * 20 / rows;
            browser_hover_at(r.browser, "#entropy-map .plot canvas", x, y);
            value[n] =
                browser_number(r.browser, "Number(document.querySelector('#entropy-map .readout b').dataset.value)");
            cr_assert_eq(
                browser_number(r.browser, "Number(document.querySelector('#entropy-map .readout b').dataset.head)"),
                (double)k);
            const int step = (int)browser_number(
                r.browser,
                "Number(/step (\\d+)/.exec(document.querySelector('#entropy-map .readout').textContent)[1])");
            json_t *record = logged("step", step);
            const json_t *layer = json_array_get(json_object_get(record, "entropy"), k / REPORTED_HEADS);
            cr_assert_float_eq(value[n], json_number_value(json_array_get(layer, k % REPORTED_HEADS)), 6e-5, "step %d",
                               step);
            json_decref(record);
            browser_rest(r.browser);
            struct browser_box box = browser_box(r.browser, "#entropy-map .plot canvas");
            struct browser_picture p;
            box = (struct browser_box){floor(box.x + x * box.width), floor(box.y + y * box.height), 2, 2};
            browser_picture(r.browser, &p, box);
            brightest[n] = (double)(p.pixel[0] & 255) + (double)(p.pixel[0] >> 8 & 255);
            browser_picture_free(&p);
            n++;
        }
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++)
            cr_assert(value[a] < value[b] + 0.02 || brightest[a] > brightest[b], "%g is drawn as %g, %g as %g",
                      value[a], brightest[a], value[b], brightest[b]);
}

Test(cmd_report_browser, the_page_is_sound_and_a_hostile_text_stays_text)
{
    char text[1500];
    const size_t n = strlen(page_hostile);
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = page_hostile[i % (n + 1)] ? page_hostile[i % (n + 1)] : '\n';
    reported_begin(&r);
    /* The page names the text's path and the command, which so hold "</script><img ...>" in one piece. */
    const char *path = scratch_path("<");
    cr_assert_eq(mkdir(path, 0777), 0);
    path = scratch_path("</script><img src=x onerror=document.title='hit'>.txt");
    scratch_write(path, text, sizeof text / (n + 1) * (n + 1));
    REPORTED_TRAIN(&r, path);
    REPORTED_SHOW(&r, "-o", r.page);
    page_expect_sound(r.browser, r.page);
    const char *harm = page_harm(r.browser);
    cr_assert_null(harm, "%s", harm);
    browser_wait(r.browser, "document.documentElement.dataset.ready === 'yes'");
    reported_hover_character(&r, 3);
    reported_click_head(&r, 1, 1);
    cr_assert_null(page_harm(r.browser));
    REPORTED_SHOW(&r, "-o", r.page, "--text", page_hostile);
    reported_hover_character(&r, 3);
    harm = page_harm(r.browser);
    cr_assert_null(harm, "%s", harm);
    cr_assert_eq(json_array_size(browser_complaints(r.browser)), 0);
}

Test(cmd_report_browser, a_run_that_has_little_to_tell_has_a_sound_page_too)
{
    reported_begin(&r);
    const struct tiny_run small = {
        .dir = r.dir, .text_path = scratch_path("text.txt"), .text = "abc cab bca\nba ac cb\n", .block_size = 8};
    tiny_run_write(&small);
    REPORTED_SHOW(&r, "-o", r.page);
    page_expect_sound(r.browser, r.page);
    remove(scratch_path("run/metrics.jsonl"));
    REPORTED_SHOW(&r, "-o", r.page);
    page_expect_sound(r.browser, r.page);
}

/* Losses that no axis can span, the last step that there can be; and an axis where counting by ones stands still.
 */
Test(cmd_report_browser, the_largest_numbers_neither_spoil_nor_stop_the_page)
{
    reported_begin(&r);
    const struct tiny_run small = {
        .dir = r.dir, .text_path = scratch_path("text.txt"), .text = "abc cab bca\nba ac cb\n", .block_size = 8};
    tiny_run_write(&small);
    static const char log[] =
        "{\"kind\":\"step\",\"step\":1,\"loss\":3,\"lr\":1e-300,\"grad_norm\":1e99,\"tokens_per_s\":5e-324,"
        "\"entropy\":[[0.5,1e308],[-1e308,0.5]]}\n"
        "{\"kind\":\"step\",\"step\":2,\"loss\":1.7e308,\"lr\":1e99,\"grad_norm\":-1e99,"
        "\"tokens_per_s\":-1.7e308,\"entropy\":[[0.25,1],[0,0.5]]}\n"
        "{\"kind\":\"step\",\"step\":4294967295,\"loss\":-1.7e308,\"lr\":0,\"grad_norm\":1.7e308,\"tokens_per_s\":7}\n";
    scratch_write(scratch_path("run/metrics.jsonl"), log, sizeof log - 1);
    REPORTED_SHOW(&r, "-o", r.page, "--quick");
    page_expect_sound(r.browser, r.page);
    cr_assert_eq(said("loss-chart", "batch", "value"), 3);
    cr_assert_leq(browser_number(r.browser, "ticksBetween(2 ** 53 - 1, 2 ** 53, 8).length"), 10);
    cr_assert_eq(browser_number(r.browser, "ticksBetween(0, 10, 5).length"), 6);
}

/* 20,000 records of 2,000,000 steps, a spike of one record among them. */
static void write_long_log(int spike)
{
    FILE *f = fopen(scratch_path("run/metrics.jsonl"), "w");
    cr_assert_not_null(f);
    for (int step = 100; step <= 2000000; step += 100)
        fprintf(f,
                "{\"kind\":\"step\",\"step\":%d,\"loss\":%.4f,\"lr\":0.001,\"grad_norm\":%.3f,\"tokens_per_s\":9000,"
                "\"entropy\":[[0.5,0.25],[0.75,%.3f]],\"max_score\":[[1,1],[1,1]]}\n",
                step, step == spike ? 9.5 : 1 + 3 * exp(-step / 200000.0), 1 + 0.5 * sin(step), step % 400 ? 0.9 : 0.8);
    cr_assert_eq(fclose(f), 0);
}

Test(cmd_report_browser, a_long_run_has_a_small_page_that_keeps_its_spikes)
{
    reported_begin(&r);
    const struct tiny_run small = {
        .dir = r.dir, .text_path = scratch_path("text.txt"), .text = "abc cab bca\nba ac cb\n", .block_size = 8};
    tiny_run_write(&small);
    write_long_log(777700);
    REPORTED_SHOW(&r, "-o", r.page);
    size_t size;
    free(scratch_read(r.page, &size));
    cr_assert_lt(size, 1000000);
    page_expect_sound(r.browser, r.page);
    cr_assert(browser_true(r.browser, "[...document.querySelectorAll('#loss-chart .line')].map(p => p.getBBox().height)"
                                      ".some(h => h > 200)"),
              "from 1 to 9.5 of an axis that ends at 10");
    const double width = browser_box(r.browser, "#loss-chart .plot").width, spike = 52 + 0.38885 * (width - 66);
    browser_hover_at(r.browser, "#loss-chart .plot", (spike - 5) / width, 0.5);
    reported_focus(&r, "#loss-chart .plot");
    bool seen = false;
    for (int k = 0; k < 20 && !seen; k++) { /* from there to the right, a point at a time */
        browser_key(r.browser, "ArrowRight");
        seen = said("loss-chart", "batch", "step") == 777700 && said("loss-chart", "batch", "value") == 9.5;
    }
    cr_assert(seen, "the spike is one of the points that keys reach");
}

/* Even if a text found a way to become an element. */
Test(cmd_report_browser, no_script_but_the_pages_own_runs_and_nothing_can_be_fetched)
{
    reported_make(&r);
    json_decref(browser_value(r.browser,
                              "(() => { const put = (name, set) => document.body.append(Object.assign("
                              "document.createElement(name), set));"
                              "put('script', {textContent: 'document.title = `ran`'});"
                              "put('img', {src: 'http://127.0.0.1:9/a.png'});"
                              "put('iframe', {src: 'http://127.0.0.1:9/b'});"
                              "const a = document.createElement('p');"
                              "a.setAttribute('onclick', 'document.title = `ran`'); document.body.append(a); a.click();"
                              "return 0 })()"));
    cr_assert(browser_true(r.browser, "fetch('http://127.0.0.1:9/c').then(() => false, () => true)"));
    cr_assert(browser_true(r.browser, "document.title !== 'ran'"));
    char *complaints = json_dumps(browser_complaints(r.browser), 0);
    static const char *const refused[] = {"Executing inline script violates the following Content Security Policy",
                                          "Executing inline event handler violates the following Content",
                                          "Loading the image 'http://127.0.0.1:9/a.png' violates",
                                          "Framing 'http://127.0.0.1:9/' violates",
                                          "Connecting to 'http://127.0.0.1:9/c' violates"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        cr_assert(strstr(complaints, refused[i]), "\"%s\" is not among %s", refused[i], complaints);
    free(complaints);
}

Test(cmd_report_browser, the_theme_is_the_readers_choice)
{
    reported_make(&r);
    static const char ground[] = "getComputedStyle(document.body).backgroundColor";
    char *automatic = browser_text(r.browser, ground);
    browser_click(r.browser, "#theme");
    char *light = browser_text(r.browser, ground);
    browser_click(r.browser, "#theme");
    char *dark = browser_text(r.browser, ground);
    cr_assert_str_eq(automatic, light);
    cr_assert_str_neq(light, dark);
    cr_assert_geq(coloured("loss-chart", "--s0"), 200, "curves are drawn again, in the colours for dark");
    browser_view(r.browser, &BROWSER_DESK_DARK);
    browser_click(r.browser, "#theme");
    char *system = browser_text(r.browser, ground);
    cr_assert_str_eq(system, dark);
    free(automatic);
    free(light);
    free(dark);
    free(system);
}

Test(cmd_report_browser, a_page_that_watches_follows_the_run_to_its_end_and_keeps_the_view)
{
    reported_begin(&r);
    REPORTED_TRAIN(&r, tiny_train_text(), "--stop-after", "100");
    reported_watch(&r);
    tiny_train_await(r.page);
    reported_open(&r);
    cr_assert(browser_true(r.browser, "document.getElementById('live').checkVisibility() && "
                                      "document.getElementById('fact-step').textContent === '100 of 200'"));
    reported_click_head(&r, 1, 1);
    browser_rest(r.browser);
    TINY_TRAIN_OK("--resume", r.dir);
    browser_wait(r.browser, "document.documentElement.dataset.ready === 'yes' && "
                            "document.getElementById('fact-step').textContent === '200 of 200' && "
                            "!document.getElementById('live').checkVisibility()");
    cr_assert_geq(browser_loads(r.browser), 2);
    reported_expect_chosen(&r, 1, 1, REPORTED_STEPS);
    int status;
    cr_assert_eq(waitpid(r.watcher, &status, 0), r.watcher);
    r.watcher = 0;
    cr_assert_eq(status, 0, "it ends with the run");
    cr_assert_eq(json_array_size(browser_complaints(r.browser)), 0);
    cr_assert_eq(json_array_size(browser_requests(r.browser)), 0);
}

/* --- what training said of heads -------------------------------------------------------------------- */

static void append_to_log(const char *line)
{
    FILE *f = fopen(scratch_path("run/metrics.jsonl"), "a");
    cr_assert(f && fputs(line, f) >= 0 && fclose(f) == 0);
}

Test(cmd_report_browser, what_was_said_of_a_head_leads_to_it)
{
    reported_begin(&r);
    REPORTED_TRAIN(&r, tiny_train_text());
    append_to_log(
        "{\"kind\":\"verdict\",\"step\":100,\"verdict\":\"dead\",\"layer\":1,\"heads\":[0],\"says\":\"adds <b>nothing"
        "</b>\",\"advice\":\"fewer heads (--n-head)\"}\n");
    REPORTED_SHOW(&r, "-o", r.page);
    char *said =
        browser_text(r.browser, "document.querySelector('.said[data-step=\"100\"][data-verdict=dead]').textContent");
    cr_assert(strstr(said, "adds <b>nothing</b>") && strstr(said, "--n-head"), "%s", said);
    free(said);
    cr_assert(browser_true(r.browser, "document.querySelectorAll('#head-verdicts b').length === 1"),
              "its own <b> is text");
    browser_click(r.browser, ".look[data-head=\"2\"]");
    reported_expect_chosen(&r, 1, 0, REPORTED_STEPS);
    page_expect_still_sound(r.browser, &BROWSER_DESK);
}
