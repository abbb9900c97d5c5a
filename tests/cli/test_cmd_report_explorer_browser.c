/* The attention explorer of `nopeek report` in a real browser: what pointing, clicking, tapping and keys show is what
 * `nopeek inspect` says of the same checkpoint. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/page_checks.h"
#include "support/program.h"
#include "support/reported.h"
#include "support/scratch.h"
#include "support/tiny_train.h"

static struct reported r;

static void end(void)
{
    reported_end(&r);
}

TestSuite(cmd_report_explorer_browser, .init = scratch_make, .fini = end);

/* --- what inspect says --------------------------------------------------------------------------- */

/* The explorer's text, from what its characters show. */
static char *explored_text(void)
{
    return browser_text(r.browser, "[...document.querySelectorAll('#characters .char')].map(e => e.textContent)"
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
    json_t *shown = browser_value(r.browser, "[...document.querySelectorAll('#weights .weight')].map(e => "
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

/* --- tests ----------------------------------------------------------------------------------------- */

Test(cmd_report_explorer_browser, pointing_at_a_character_shows_the_weights_that_inspect_gives)
{
    reported_make(&r);
    char *text = explored_text();
    const size_t T = strlen(text);
    cr_assert_eq(T, 32, "%s", text);
    const size_t at[] = {0, 1, 7, 18, T - 1};
    for (int step = 0; step <= REPORTED_STEPS; step += 2 * REPORTED_EVERY) {
        json_t *o = inspected(step, text);
        reported_click_frame(&r, step);
        for (size_t k = 0; k < REPORTED_LAYERS * REPORTED_HEADS; k++) {
            reported_click_head(&r, k / REPORTED_HEADS, k % REPORTED_HEADS);
            reported_expect_chosen(&r, k / REPORTED_HEADS, k % REPORTED_HEADS, step);
            for (size_t n = 0; n < sizeof at / sizeof *at; n++) {
                reported_hover_character(&r, at[n]);
                expect_weights(o, k / REPORTED_HEADS, k % REPORTED_HEADS, at[n]);
            }
        }
        json_decref(o);
    }
    free(text);
    cr_assert_eq(json_array_size(browser_complaints(r.browser)), 0);
}

Test(cmd_report_explorer_browser, pointing_into_the_map_shows_the_row_that_is_there)
{
    reported_make(&r);
    char *text = explored_text();
    json_t *o = inspected(REPORTED_STEPS, text);
    const double edge = browser_number(r.browser, "mapEdge"), size = browser_box(r.browser, "#map").width;
    const double cell = (size - edge) / REPORTED_CONTEXT;
    static const size_t at[][2] = {{0, 0}, {5, 3}, {20, 20}, {31, 1}, {9, 30}};
    reported_click_head(&r, 0, 1);
    for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
        const size_t i = at[k][0], j = at[k][1];
        char expected[80];
        browser_hover_at(r.browser, "#map", (edge + ((double)j + 0.5) * cell) / size,
                         (edge + ((double)i + 0.5) * cell) / size);
        expect_weights(o, 0, 1, i);
        char *shown = browser_text(r.browser, "document.getElementById('map-readout').textContent");
        snprintf(expected, sizeof expected, " at %zu looks at ", i);
        cr_assert(strstr(shown, expected), "%s", shown);
        snprintf(expected, sizeof expected, " at %zu: %s", j, j > i ? "the future, 0" : "");
        cr_assert(strstr(shown, expected), "%s", shown);
        free(shown);
    }
    json_decref(o);
    free(text);
}

Test(cmd_report_explorer_browser, a_text_of_ones_own_is_read_by_the_checkpoints)
{
    static const char text[] = "dab bed cad\nfab";
    reported_begin(&r);
    REPORTED_TRAIN(&r, tiny_train_text());
    REPORTED_SHOW(&r, "-o", r.page, "--text", text);
    char *shown = explored_text();
    cr_assert_str_eq(shown, text);
    free(shown);
    json_t *o = inspected(REPORTED_EVERY, text);
    reported_click_frame(&r, REPORTED_EVERY);
    reported_click_head(&r, 1, 0);
    reported_hover_character(&r, 12);
    expect_weights(o, 1, 0, 12);
    json_decref(o);
}

Test(cmd_report_explorer_browser, keys_move_through_characters_heads_and_frames)
{
    reported_make(&r);
    char *text = explored_text();
    json_t *o = inspected(REPORTED_STEPS, text), *before = inspected(REPORTED_STEPS - REPORTED_EVERY, text);
    browser_click(r.browser, "#characters .char[data-i=\"9\"]");
    expect_weights(o, 0, 0, 9);
    browser_rest(r.browser);
    reported_focus(&r, "#characters");
    browser_key(r.browser, "ArrowLeft");
    expect_weights(o, 0, 0, 8);
    browser_key(r.browser, "Home");
    browser_key(r.browser, "ArrowRight");
    expect_weights(o, 0, 0, 1);
    browser_key(r.browser, "End");
    expect_weights(o, 0, 0, strlen(text) - 1);
    reported_focus(&r, "#minis .mini");
    browser_key(r.browser, "ArrowRight");
    browser_key(r.browser, "ArrowDown");
    reported_expect_chosen(&r, 1, 1, REPORTED_STEPS);
    expect_weights(o, 1, 1, strlen(text) - 1);
    reported_focus(&r, "#film");
    browser_key(r.browser, "ArrowLeft");
    reported_expect_chosen(&r, 1, 1, REPORTED_STEPS - REPORTED_EVERY);
    expect_weights(before, 1, 1, strlen(text) - 1);
    browser_key(r.browser, "Home");
    reported_expect_chosen(&r, 1, 1, 0);
    json_decref(o);
    json_decref(before);
    free(text);
}

/* Tab alone reaches everything: what has the focus is seen, and is never the same twice. */
Test(cmd_report_explorer_browser, tab_reaches_every_control_and_shows_where_it_is)
{
    reported_make(&r);
    const double controls = browser_number(
        r.browser,
        "[...document.querySelectorAll('a[href], button:not([disabled]), select, summary, [tabindex=\"0\"]')]"
        ".filter(e => e.checkVisibility()).length");
    for (int i = 0; i < (int)controls; i++) {
        browser_key(r.browser, "Tab");
        cr_assert(browser_true(r.browser, "(e => { const o = getComputedStyle(e), fresh = !e.dataset.visited; "
                                          "e.dataset.visited = 1; return fresh && e !== document.body && "
                                          "o.outlineStyle !== 'none' && parseFloat(o.outlineWidth) >= 1 })"
                                          "(document.activeElement)"),
                  "control %d of %g is reached anew, and has an outline", i, controls);
    }
    char *missed = browser_text(
        r.browser,
        "['#theme', '#layer', '#head', '#step', '#characters', '#weights', '#film', '#play', '#minis .mini',"
        "'#loss-chart .plot', '#lr-chart .plot', '#grad-chart .plot', '#rate-chart .plot', '#entropy-map .plot',"
        "'#entropy-curves .plot', '#loss-chart summary', '#reproduce button']"
        ".filter(s => !document.querySelector(s).dataset.visited).join(' ')");
    cr_assert_str_eq(missed, "");
    free(missed);
}

/* From no weight to all of it, and what lies in the future: each character can be read. */
Test(cmd_report_explorer_browser, characters_are_legible_on_every_strength_of_colour)
{
    reported_make(&r);
    for (size_t i = 0; i < 7; i += 2) {
        reported_click_head(&r, i / 2 % REPORTED_LAYERS, i / 4 % REPORTED_HEADS);
        browser_view(r.browser, &BROWSER_DESK);
        reported_hover_character(&r, i);
        page_expect_still_sound(r.browser, &BROWSER_DESK);
        browser_view(r.browser, &BROWSER_DESK_DARK);
        reported_hover_character(&r, i);
        page_expect_still_sound(r.browser, &BROWSER_DESK_DARK);
    }
}

Test(cmd_report_explorer_browser, a_finger_chooses_on_a_phone)
{
    reported_begin(&r);
    REPORTED_TRAIN(&r, tiny_train_text());
    REPORTED_SHOW(&r, "-o", r.page);
    browser_view(r.browser, &BROWSER_PHONE);
    reported_open(&r);
    char *text = explored_text();
    json_t *o = inspected(REPORTED_STEPS, text);
    browser_tap(r.browser, "#minis .mini[data-head=\"2\"]");
    browser_tap(r.browser, "#characters .char[data-i=\"5\"]");
    reported_expect_chosen(&r, 1, 0, REPORTED_STEPS);
    expect_weights(o, 1, 0, 5);
    json_decref(o);
    free(text);
}
