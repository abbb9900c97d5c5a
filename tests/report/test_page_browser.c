/* Pages in a real browser; and that the checks which all pages go through find what is wrong with one. */
#include "report/page.h"

#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "report/escape.h"
#include "report/heat.h"
#include "report/plot.h"
#include "support/devtools.h"
#include "support/page_checks.h"
#include "support/scratch.h"

static struct browser *browser;

static void shut(void)
{
    browser_close(browser);
    browser = NULL;
    scratch_remove();
}

TestSuite(page_browser, .init = scratch_make, .fini = shut);

static const char *written(struct buffer *b)
{
    cr_assert_not(b->failed);
    const char *path = scratch_path("page.html");
    scratch_write(path, b->bytes, b->count);
    buffer_free(b);
    return path;
}

static void put_pictures(struct buffer *b)
{
    static const double x[] = {0, 500, 1000, 1500, 2000}, y[] = {4.1, (double)NAN, 2.5, 1.75, 1.5},
                        z[] = {1, 2, 3, 1e-3, 2}, weights[] = {1, 0, 0, 0.5, 0.5, 0, 0.1, 0.2, 0.7};
    static const char *const labels[] = {"<", "\"", "[U+2028]"};
    const struct plot_series series[] = {{.label = "training", .y = y}, {.label = page_hostile, .y = z, .look = 1}};
    const struct plot_level levels[] = {{"ln 65: guessing", 4.174}};
    const struct plot p = {.title = "Loss",
                           .description = page_hostile,
                           .x_label = "steps",
                           .y_label = "nats per symbol",
                           .x = x,
                           .n = 5,
                           .series = series,
                           .n_series = 1,
                           .levels = levels,
                           .n_levels = 1,
                           .width = 520,
                           .height = 300};
    plot_svg(b, &p);
    const struct heat h = {
        .title = "layer 0", .description = page_hostile, .weights = weights, .T = 3, .labels = labels, .size = 300};
    heat_svg(b, &h);
}

Test(page_browser, a_page_with_a_strangers_words_is_sound_and_they_stay_words)
{
    browser = browser_open();
    struct buffer b = {0};
    page_begin(&b, page_hostile);
    buffer_text(&b, "<p class=\"faint\">pale <b class=\"good\">good</b> <b class=\"bad\">bad</b></p>\n<pre>");
    escape_text(&b, page_hostile, strlen(page_hostile));
    buffer_text(&b, "</pre>\n<div class=\"grid\">");
    put_pictures(&b);
    buffer_text(&b,
                "</div>\n<div class=\"wide\"><table><tr><th>name</th><th class=\"text\">what it says</th><th>loss"
                "</th></tr><tr><td>one</td><td class=\"text\">much that is said</td><td>1.25</td></tr></table></div>");
    page_end(&b);
    page_expect_sound(browser, written(&b));
    cr_assert_null(page_harm(browser));
    char *title = browser_text(browser, "document.title");
    cr_assert_eq(strncmp(title, "</script><img src=x", 19), 0, "%s", title);
    free(title);
}

/* A page with one thing wrong, and a word of what must be found. */
struct flaw {
    const struct browser_view *view;
    const char *html, *found;
};

static const struct flaw flaws[] = {
    {&BROWSER_DESK, "<script>console.error('oh no')</script>", "complaint: error: oh no"},
    {&BROWSER_DESK, "<script>nothing.there()</script>", "nothing is not defined"},
    {&BROWSER_DESK, "<script>alert('see')</script>", "complaint: dialog: see"},
    {&BROWSER_DESK, "<script>window.open('about:blank#x')</script>", "request: "},
    {&BROWSER_DESK, "<img alt=\"\" src=\"http://127.0.0.1:9/a.png\">", "request: http://127.0.0.1:9/a.png"},
    {&BROWSER_DESK, "<img alt=\"\" src=\"beside.png\">", "request: file:///"},
    {&BROWSER_DESK, "<style>@import 'http://127.0.0.1:9/a.css';</style>", "request: http://127.0.0.1:9/a.css"},
    {&BROWSER_DESK, "<script>fetch('http://127.0.0.1:9/').catch(() => 0)</script>", "request: http://127.0.0.1:9/"},
    {&BROWSER_DESK, "<iframe title=\"x\" src=\"http://127.0.0.1:9/b\"></iframe>", "request: http://127.0.0.1:9/b"},
    {&BROWSER_PHONE, "<div style=\"width:400px\">wide</div>", "360 px, light: scrolls sideways: 4"},
    {&BROWSER_DESK, "<h1>again</h1>", "one heading"},
    {&BROWSER_DESK, "<p style=\"color:#999\">pale grey</p>", "1280 px, light: contrast: 2.85"},
    {&BROWSER_PHONE_DARK, "<p style=\"color:#444\">grey in the dark</p>", "360 px, dark: contrast: 1."},
    {&BROWSER_DESK, "<p style=\"opacity:.5\">half gone</p>", "contrast: "},
    {&BROWSER_DESK, "<div style=\"background:#0072b2\"><p>ink on blue</p></div>", "1280 px, light: contrast: 3."},
    {&BROWSER_DESK, "<select aria-label=\"s\" style=\"color:#aaa;background:#fff\"><option>chosen</select>",
     "contrast: 2.32"},
    {&BROWSER_DESK,
     "<svg class=\"pic\" viewBox=\"0 0 90 30\" width=\"90\" height=\"30\"><text y=\"20\">nameless</text></svg>",
     "nameless picture: svg nameless"},
    {&BROWSER_DESK, "<canvas aria-label=\"c\" width=\"0\" height=\"9\"></canvas>", "empty or nameless picture: canvas"},
    {&BROWSER_DESK,
     "<svg class=\"pic\" style=\"width:90px\" viewBox=\"0 0 90 30\"><title>t</title><text x=\"60\" y=\"20\">far too "
     "long</text></svg>",
     "words outside their picture: far too long"},
    {&BROWSER_DESK,
     "<svg class=\"pic\" style=\"width:90px\" viewBox=\"0 0 90 30\"><title>t</title><text x=\"5\" y=\"20\">one</text>"
     "<text x=\"12\" y=\"22\">two</text></svg>",
     "words on one another: one | two"},
    {&BROWSER_DESK,
     "<svg class=\"pic\" style=\"width:90px\" viewBox=\"0 0 90 30\"><title>t</title><rect width=\"90\" height=\"30\" "
     "fill=\"#555\"/><text x=\"5\" y=\"20\">hidden</text></svg>",
     "light: contrast: 2.2"},
    {&BROWSER_DESK, "<p style=\"width:40px;overflow:hidden;white-space:nowrap\">head 10.10</p>",
     "words cut off: p head 10.10"},
    {&BROWSER_DESK, "<button></button>", "nameless control: button"},
};

Test(page_browser, every_flaw_is_found_by_the_checks)
{
    browser = browser_open();
    for (size_t i = 0; i < sizeof flaws / sizeof *flaws; i++) {
        struct buffer b = {0};
        page_begin(&b, "A page");
        buffer_text(&b, "<p>words</p>");
        buffer_text(&b, flaws[i].html);
        page_end(&b);
        json_t *findings = page_checks(browser, written(&b), flaws[i].view);
        char *all = json_dumps(findings, JSON_INDENT(1));
        cr_expect(strstr(all, flaws[i].found), "%s: lacks \"%s\": %s", flaws[i].html, flaws[i].found, all);
        free(all);
        json_decref(findings);
    }
}

Test(page_browser, flaws_of_a_picture_alone_are_found_too)
{
    static const char svg[] =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 90 30\" width=\"90\" height=\"30\"><title>t</title>"
        "<rect width=\"90\" height=\"30\" fill=\"#fff\"/><text x=\"50\" y=\"20\" fill=\"#999\">pale and "
        "long</text></svg>";
    const char *path = scratch_path("a.svg");
    browser = browser_open();
    scratch_write(path, svg, strlen(svg));
    json_t *findings = page_checks(browser, path, &BROWSER_DESK);
    char *all = json_dumps(findings, JSON_INDENT(1));
    cr_assert_eq(json_array_size(findings), 2, "%s", all);
    cr_assert(strstr(all, "contrast: 2.85") && strstr(all, "words outside their picture: pale and long"), "%s", all);
    free(all);
    json_decref(findings);
}

Test(page_browser, words_that_run_or_become_an_element_are_a_harm)
{
    browser = browser_open();
    struct buffer b = {0};
    page_begin(&b, "A page");
    buffer_text(&b, page_hostile);
    page_end(&b);
    browser_go(browser, written(&b));
    browser_wait(browser, "document.title === 'hit'");
    cr_assert_str_eq(page_harm(browser), "the words have run as a script");
    page_begin(&b, "A page");
    buffer_text(&b, "onerror= <mark id=hit></mark>");
    page_end(&b);
    browser_go(browser, written(&b));
    cr_assert_str_eq(page_harm(browser), "the words have become an element");
    page_begin(&b, "A page");
    page_end(&b);
    browser_go(browser, written(&b));
    cr_assert_str_eq(page_harm(browser), "the words are not shown");
}

/* What a test that crashes, or that its runner kills, leaves behind. */
Test(page_browser, a_browser_ends_with_a_test_that_is_killed)
{
    int ready[2];
    char byte;
    if (!devtools_program())
        browser_open(); /* skips the test */
    cr_assert_eq(pipe(ready), 0);
    setenv("TMPDIR", scratch_folder(), 1);
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        alarm(300); /* whatever becomes of the test */
        browser_true(browser_open(), "true");
        cr_assert_eq(write(ready[1], "", 1), 1);
        for (;;)
            pause();
    }
    close(ready[1]);
    const ssize_t told = read(ready[0], &byte, 1);
    const size_t profiles = scratch_count(scratch_folder());
    kill(child, SIGKILL);
    cr_assert_eq(waitpid(child, NULL, 0), child);
    cr_assert_eq(told, 1);
    cr_assert_eq(profiles, 1);
    for (int i = 0; i < 6000 && scratch_count(scratch_folder()) > 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    cr_assert_eq(scratch_count(scratch_folder()), 0, "the profile goes when the browser has ended");
}
