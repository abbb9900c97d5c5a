/* The page of `nopeek report` in a real browser: what is drawn, and what pointing, clicking and keys do. The elements
 * that this holds on to are named at the head of src/report/assets/base.js. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/page_checks.h"
#include "support/program.h"
#include "support/scratch.h"
#include "support/tiny_run.h"
#include "support/tiny_train.h"

#define STEPS 200
#define EVERY 50
#define LAYERS 2
#define HEADS 2

static struct browser *browser;
static const char *dir, *page;
static pid_t watcher; /* a report that watches */

static void shut(void)
{
    if (watcher > 0) {
        kill(watcher, SIGKILL);
        waitpid(watcher, NULL, 0);
    }
    browser_close(browser);
    browser = NULL;
    scratch_remove();
}

TestSuite(cmd_report_browser, .init = scratch_make, .fini = shut);

/* --- a run and its page -------------------------------------------------------------------------- */

#define TRAIN(...)                                                                                                     \
    TINY_TRAIN_OK("-o", dir, "--n-layer", "2", "--n-head", "2", "--n-embd", "16", "--block-size", "32",                \
                  "--batch-size", "4", "--steps", "200", "--eval-interval", "50", "--keep", "0", __VA_ARGS__)

static void names(void)
{
    browser = browser_open();
    dir = scratch_path("run");
    page = scratch_path("run/report.html");
}

#define REPORT(...)                                                                                                    \
    do {                                                                                                               \
        struct program p;                                                                                              \
        PROGRAM(&p, "report", dir, "--threads", "1", __VA_ARGS__);                                                     \
        cr_assert_eq(p.status, 0, "%s", p.err);                                                                        \
        program_free(&p);                                                                                              \
    } while (0)

/* 200 steps with evaluations at 0, 50, ... 200 and all checkpoints kept, its report opened. */
static void open_report(void)
{
    names();
    TRAIN(tiny_train_text());
    REPORT("-o", page);
    browser_go(browser, page);
    browser_wait(browser, "document.documentElement.dataset.ready === 'yes'");
}

/* --- what inspect says --------------------------------------------------------------------------- */

/* The explorer's text, from what its characters show. */
static char *explored_text(void)
{
    return browser_text(browser, "[...document.querySelectorAll('#characters .char')].map(e => e.textContent)"
                                 ".map(t => t === '\\u2423' ? ' ' : t === '\\\\n' ? '\\n' : t).join('')");
}

/* nopeek inspect --json of a text at a step. */
static json_t *inspected(int step, const char *text)
{
    struct program p;
    char checkpoint[64];
    snprintf(checkpoint, sizeof checkpoint, "run/step-%06d", step);
    PROGRAM(&p, "inspect", scratch_path("%s", checkpoint), "--text", text, "--json", "--quick", "--threads", "1");
    cr_assert_eq(p.status, 0, "%s", p.err);
    json_t *o = json_loads(p.out, 0, NULL);
    cr_assert_not_null(o);
    program_free(&p);
    return o;
}

static float inspected_weight(const json_t *o, size_t layer, size_t head, size_t i, size_t j)
{
    const json_t *heads = json_object_get(json_array_get(json_object_get(o, "layers"), layer), "heads");
    const json_t *row = json_array_get(json_object_get(json_array_get(heads, head), "weights"), i);
    cr_assert(json_is_number(json_array_get(row, j)), "layer %zu head %zu, %zu looks at %zu", layer, head, i, j);
    return (float)json_number_value(json_array_get(row, j));
}

/* What the page shows now is row i of that head, as inspect has it: every weight, to the last bit. */
static void expect_weights(const json_t *o, size_t layer, size_t head, size_t i)
{
    json_t *shown = browser_value(browser, "[...document.querySelectorAll('#weights .weight')].map(e => "
                                           "[Number(e.dataset.j), Number(e.dataset.weight)])");
    cr_assert_eq(json_array_size(shown), i + 1, "position %zu sees itself and what is before it, not %zu keys", i,
                 json_array_size(shown));
    for (size_t k = 0; k <= i; k++) {
        json_int_t j;
        double w;
        cr_assert_eq(json_unpack(json_array_get(shown, k), "[I,F]", &j, &w), 0);
        const float expected = inspected_weight(o, layer, head, i, (size_t)j);
        cr_assert_eq((float)w, expected, "layer %zu head %zu, %zu looks at %zu: the page has %.9g, inspect %.9g", layer,
                     head, i, (size_t)j, w, (double)expected);
    }
    json_decref(shown);
}

static void expect_chosen(size_t layer, size_t head, int step)
{
    cr_assert_eq(browser_number(browser, "Number(document.getElementById('layer').value)"), (double)layer);
    cr_assert_eq(browser_number(browser, "Number(document.getElementById('head').value)"), (double)head);
    cr_assert_eq(browser_number(browser, "Number(document.getElementById('step').value)"), step);
}

static void click_head(size_t layer, size_t head)
{
    char selector[64];
    snprintf(selector, sizeof selector, "#minis .mini[data-head=\"%zu\"]", layer * HEADS + head);
    browser_click(browser, selector);
}

static void click_frame(int step)
{
    char selector[64];
    snprintf(selector, sizeof selector, "#film .frame[data-step=\"%d\"]", step);
    browser_click(browser, selector);
}

static void hover_character(size_t i)
{
    char selector[64];
    snprintf(selector, sizeof selector, "#characters .char[data-i=\"%zu\"]", i);
    browser_hover(browser, selector);
}

static void focus(const char *selector)
{
    json_decref(browser_value(browser, "document.querySelector('%s').focus()", selector));
}

/* --- tests --------------------------------------------------------------------------------------- */

Test(cmd_report_browser, pointing_at_a_character_shows_the_weights_that_inspect_gives)
{
    open_report();
    char *text = explored_text();
    const size_t T = strlen(text);
    cr_assert_eq(T, 32, "%s", text);
    const size_t at[] = {0, 1, 7, 18, T - 1};
    for (int step = 0; step <= STEPS; step += 2 * EVERY) {
        json_t *o = inspected(step, text);
        click_frame(step);
        for (size_t k = 0; k < LAYERS * HEADS; k++) {
            click_head(k / HEADS, k % HEADS);
            expect_chosen(k / HEADS, k % HEADS, step);
            for (size_t n = 0; n < sizeof at / sizeof *at; n++) {
                hover_character(at[n]);
                expect_weights(o, k / HEADS, k % HEADS, at[n]);
            }
        }
        json_decref(o);
    }
    free(text);
    cr_assert_eq(json_array_size(browser_complaints(browser)), 0);
}

Test(cmd_report_browser, a_text_of_ones_own_is_read_by_the_checkpoints)
{
    static const char text[] = "dab bed cad\nfab";
    names();
    TRAIN(tiny_train_text());
    REPORT("-o", page, "--text", text);
    browser_go(browser, page);
    browser_wait(browser, "document.documentElement.dataset.ready === 'yes'");
    char *shown = explored_text();
    cr_assert_str_eq(shown, text);
    free(shown);
    json_t *o = inspected(EVERY, text);
    click_frame(EVERY);
    click_head(1, 0);
    hover_character(12);
    expect_weights(o, 1, 0, 12);
    json_decref(o);
}

Test(cmd_report_browser, keys_move_through_characters_heads_and_frames)
{
    open_report();
    char *text = explored_text();
    json_t *o = inspected(STEPS, text), *before = inspected(STEPS - EVERY, text);
    browser_click(browser, "#characters .char[data-i=\"9\"]");
    expect_weights(o, 0, 0, 9);
    browser_rest(browser);
    focus("#characters");
    browser_key(browser, "ArrowLeft");
    expect_weights(o, 0, 0, 8);
    browser_key(browser, "Home");
    browser_key(browser, "ArrowRight");
    expect_weights(o, 0, 0, 1);
    browser_key(browser, "End");
    expect_weights(o, 0, 0, strlen(text) - 1);
    focus("#minis .mini");
    browser_key(browser, "ArrowRight");
    browser_key(browser, "ArrowDown");
    expect_chosen(1, 1, STEPS);
    expect_weights(o, 1, 1, strlen(text) - 1);
    focus("#film");
    browser_key(browser, "ArrowLeft");
    expect_chosen(1, 1, STEPS - EVERY);
    expect_weights(before, 1, 1, strlen(text) - 1);
    browser_key(browser, "Home");
    expect_chosen(1, 1, 0);
    json_decref(o);
    json_decref(before);
    free(text);
}

/* Tab alone reaches everything: what has the focus is seen, and is never the same twice. */
Test(cmd_report_browser, tab_reaches_every_control_and_shows_where_it_is)
{
    open_report();
    const double controls = browser_number(
        browser, "[...document.querySelectorAll('a[href], button:not([disabled]), select, summary, [tabindex=\"0\"]')]"
                 ".filter(e => e.checkVisibility()).length");
    for (int i = 0; i < (int)controls; i++) {
        browser_key(browser, "Tab");
        cr_assert(browser_true(browser, "(e => { const o = getComputedStyle(e), fresh = !e.dataset.visited; "
                                        "e.dataset.visited = 1; return fresh && e !== document.body && "
                                        "o.outlineStyle !== 'none' && parseFloat(o.outlineWidth) >= 1 })"
                                        "(document.activeElement)"),
                  "control %d of %g is reached anew, and has an outline", i, controls);
    }
    char *missed = browser_text(
        browser,
        "['#theme', '#layer', '#head', '#step', '#characters', '#weights', '#film', '#play', '#minis .mini',"
        "'#loss-chart .plot', '#lr-chart .plot', '#grad-chart .plot', '#rate-chart .plot', '#entropy-map .plot',"
        "'#entropy-curves .plot', '#loss-chart summary', '#reproduce button']"
        ".filter(s => !document.querySelector(s).dataset.visited).join(' ')");
    cr_assert_str_eq(missed, "");
    free(missed);
}

/* --- what is drawn ------------------------------------------------------------------------------- */

/* Where a chart's plot is, and how many of its pixels are near a colour of the page's own palette. */
static double coloured(const char *chart, const char *variable)
{
    char selector[64];
    snprintf(selector, sizeof selector, "#%s .plot", chart);
    struct browser_picture p;
    browser_rest(browser);
    browser_picture(browser, &p, browser_box(browser, selector));
    json_t *colour = browser_value(browser,
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
    return browser_number(browser, "Number(document.querySelector(`#%s .readout [data-series=\"%s\"]`).dataset.%s)",
                          chart, series, what);
}

Test(cmd_report_browser, curves_are_drawn_and_say_the_logs_values_under_the_pointer)
{
    open_report();
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
            browser_hover_at(browser, selector, where, 0.5);
            json_t *record = logged(curves[i].kind, (int)said(curves[i].chart, curves[i].series, "step"));
            const double value = json_number_value(json_object_get(record, curves[i].key));
            cr_assert_float_eq(said(curves[i].chart, curves[i].series, "value"), value, 1e-5 * fabs(value) + 1e-12);
            json_decref(record);
        }
    browser_hover_at(browser, "#loss-chart .plot", 0.12, 0.5);
    const double left = said("loss-chart", "batch", "step");
    browser_hover_at(browser, "#loss-chart .plot", 0.9, 0.5);
    cr_assert(left < 30 && said("loss-chart", "batch", "step") > 170, "later steps are further right");
}

/* A larger entropy is a brighter pixel; the readout has the log's value. */
Test(cmd_report_browser, the_entropy_map_follows_the_log)
{
    double brightest[LAYERS * HEADS * 2], value[LAYERS * HEADS * 2];
    open_report();
    const double rows = browser_number(browser, "document.querySelector('#entropy-map .plot canvas').clientHeight");
    size_t n = 0;
    for (size_t k = 0; k < LAYERS * HEADS; k++)
        for (double x = 0.15; x < 1; x += 0.7) {
            const double y = ((double)k + 0.5) * 20 / rows;
            browser_hover_at(browser, "#entropy-map .plot canvas", x, y);
            value[n] =
                browser_number(browser, "Number(document.querySelector('#entropy-map .readout b').dataset.value)");
            cr_assert_eq(
                browser_number(browser, "Number(document.querySelector('#entropy-map .readout b').dataset.head)"), k);
            const int step = (int)browser_number(
                browser, "Number(/step (\\d+)/.exec(document.querySelector('#entropy-map .readout').textContent)[1])");
            json_t *record = logged("step", step);
            const json_t *layer = json_array_get(json_object_get(record, "entropy"), k / HEADS);
            cr_assert_float_eq(value[n], json_number_value(json_array_get(layer, k % HEADS)), 6e-5, "step %d", step);
            json_decref(record);
            browser_rest(browser);
            struct browser_box box = browser_box(browser, "#entropy-map .plot canvas");
            struct browser_picture p;
            box = (struct browser_box){floor(box.x + x * box.width), floor(box.y + y * box.height), 2, 2};
            browser_picture(browser, &p, box);
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
    names();
    /* The page names the text's path and the command, which so hold "</script><img ...>" in one piece. */
    const char *path = scratch_path("<");
    cr_assert_eq(mkdir(path, 0777), 0);
    path = scratch_path("</script><img src=x onerror=document.title='hit'>.txt");
    scratch_write(path, text, sizeof text / (n + 1) * (n + 1));
    TRAIN(path);
    REPORT("-o", page);
    page_expect_sound(browser, page);
    const char *harm = page_harm(browser);
    cr_assert_null(harm, "%s", harm);
    browser_wait(browser, "document.documentElement.dataset.ready === 'yes'");
    hover_character(3);
    click_head(1, 1);
    cr_assert_null(page_harm(browser));
    REPORT("-o", page, "--text", page_hostile);
    browser_go(browser, page);
    browser_wait(browser, "document.documentElement.dataset.ready === 'yes'");
    hover_character(3);
    harm = page_harm(browser);
    cr_assert_null(harm, "%s", harm);
    cr_assert_eq(json_array_size(browser_complaints(browser)), 0);
}

/* From no weight to all of it, and what lies in the future: each character can be read. */
Test(cmd_report_browser, characters_are_legible_on_every_strength_of_colour)
{
    open_report();
    for (size_t i = 0; i < 7; i += 2) {
        click_head(i / 2 % LAYERS, i / 4 % HEADS);
        browser_view(browser, &BROWSER_DESK);
        hover_character(i);
        page_expect_still_sound(browser, &BROWSER_DESK);
        browser_view(browser, &BROWSER_DESK_DARK);
        hover_character(i);
        page_expect_still_sound(browser, &BROWSER_DESK_DARK);
    }
}

Test(cmd_report_browser, a_run_that_has_little_to_tell_has_a_sound_page_too)
{
    names();
    const struct tiny_run r = {
        .dir = dir, .text_path = scratch_path("text.txt"), .text = "abc cab bca\nba ac cb\n", .block_size = 8};
    tiny_run_write(&r);
    REPORT("-o", page);
    page_expect_sound(browser, page);
    remove(scratch_path("run/metrics.jsonl"));
    REPORT("-o", page);
    page_expect_sound(browser, page);
}

/* Even if a text found a way to become an element. */
Test(cmd_report_browser, no_script_but_the_pages_own_runs_and_nothing_can_be_fetched)
{
    open_report();
    json_decref(browser_value(browser,
                              "(() => { const put = (name, set) => document.body.append(Object.assign("
                              "document.createElement(name), set));"
                              "put('script', {textContent: 'document.title = `ran`'});"
                              "put('img', {src: 'http://127.0.0.1:9/a.png'});"
                              "put('iframe', {src: 'http://127.0.0.1:9/b'});"
                              "const a = document.createElement('p');"
                              "a.setAttribute('onclick', 'document.title = `ran`'); document.body.append(a); a.click();"
                              "return 0 })()"));
    cr_assert(browser_true(browser, "fetch('http://127.0.0.1:9/c').then(() => false, () => true)"));
    cr_assert(browser_true(browser, "document.title !== 'ran'"));
    char *complaints = json_dumps(browser_complaints(browser), 0);
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
    open_report();
    static const char ground[] = "getComputedStyle(document.body).backgroundColor";
    char *automatic = browser_text(browser, ground);
    browser_click(browser, "#theme");
    char *light = browser_text(browser, ground);
    browser_click(browser, "#theme");
    char *dark = browser_text(browser, ground);
    cr_assert_str_eq(automatic, light);
    cr_assert_str_neq(light, dark);
    cr_assert_geq(coloured("loss-chart", "--s0"), 200, "curves are drawn again, in the colours for dark");
    browser_view(browser, &BROWSER_DESK_DARK);
    browser_click(browser, "#theme");
    char *system = browser_text(browser, ground);
    cr_assert_str_eq(system, dark);
    free(automatic);
    free(light);
    free(dark);
    free(system);
}

Test(cmd_report_browser, a_finger_chooses_on_a_phone)
{
    names();
    TRAIN(tiny_train_text());
    REPORT("-o", page);
    browser_view(browser, &BROWSER_PHONE);
    browser_go(browser, page);
    browser_wait(browser, "document.documentElement.dataset.ready === 'yes'");
    char *text = explored_text();
    json_t *o = inspected(STEPS, text);
    browser_tap(browser, "#minis .mini[data-head=\"2\"]");
    browser_tap(browser, "#characters .char[data-i=\"5\"]");
    expect_chosen(1, 0, STEPS);
    expect_weights(o, 1, 0, 5);
    json_decref(o);
    free(text);
}

/* nopeek report --watch, which at the latest ends when the test could no longer be running. */
static void start_watching(void)
{
    const int nothing = open("/dev/null", O_RDWR);
    cr_assert_geq(nothing, 0);
    watcher = fork();
    cr_assert_geq(watcher, 0);
    if (watcher == 0) {
        dup2(nothing, 1);
        dup2(nothing, 2);
        alarm(600);
        execl(NOPEEK_BINARY, NOPEEK_BINARY, "report", dir, "--watch", "--threads", "1", (char *)NULL);
        _exit(127);
    }
    close(nothing);
}

Test(cmd_report_browser, a_page_that_watches_follows_the_run_to_its_end_and_keeps_the_view)
{
    names();
    TRAIN(tiny_train_text(), "--stop-after", "100");
    start_watching();
    tiny_train_await(page);
    browser_go(browser, page);
    browser_wait(browser, "document.documentElement.dataset.ready === 'yes'");
    cr_assert(browser_true(browser, "document.getElementById('live').checkVisibility() && "
                                    "document.getElementById('fact-step').textContent === '100 of 200'"));
    click_head(1, 1);
    browser_rest(browser);
    TINY_TRAIN_OK("--resume", dir);
    browser_wait(browser, "document.documentElement.dataset.ready === 'yes' && "
                          "document.getElementById('fact-step').textContent === '200 of 200' && "
                          "!document.getElementById('live').checkVisibility()");
    cr_assert_geq(browser_loads(browser), 2);
    expect_chosen(1, 1, STEPS);
    int status;
    cr_assert_eq(waitpid(watcher, &status, 0), watcher);
    watcher = 0;
    cr_assert_eq(status, 0, "it ends with the run");
    cr_assert_eq(json_array_size(browser_complaints(browser)), 0);
    cr_assert_eq(json_array_size(browser_requests(browser)), 0);
}

/* --- what training said of heads -------------------------------------------------------------------- */

static void append_to_log(const char *line)
{
    FILE *f = fopen(scratch_path("run/metrics.jsonl"), "a");
    cr_assert(f && fputs(line, f) >= 0 && fclose(f) == 0);
}

Test(cmd_report_browser, what_was_said_of_a_head_leads_to_it)
{
    names();
    TRAIN(tiny_train_text());
    append_to_log(
        "{\"kind\":\"verdict\",\"step\":100,\"verdict\":\"dead\",\"layer\":1,\"heads\":[0],\"says\":\"adds <b>nothing"
        "</b>\",\"advice\":\"fewer heads (--n-head)\"}\n");
    REPORT("-o", page);
    browser_go(browser, page);
    browser_wait(browser, "document.documentElement.dataset.ready === 'yes'");
    char *said =
        browser_text(browser, "document.querySelector('.said[data-step=\"100\"][data-verdict=dead]').textContent");
    cr_assert(strstr(said, "adds <b>nothing</b>") && strstr(said, "--n-head"), "%s", said);
    free(said);
    cr_assert(browser_true(browser, "document.querySelectorAll('#head-verdicts b').length === 1"),
              "its own <b> is text");
    browser_click(browser, ".look[data-head=\"2\"]");
    expect_chosen(1, 0, STEPS);
    page_expect_still_sound(browser, &BROWSER_DESK);
}
