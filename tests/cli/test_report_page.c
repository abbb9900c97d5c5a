#include "cli/report_page.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/machine.h"
#include "support/report_html.h"
#include "support/scratch.h"
#include "support/tiny_run.h"

static struct error err;
static struct report_page page;

static void make(void)
{
    scratch_make();
    const struct tiny_run r = {.dir = scratch_path("run"),
                               .text_path = scratch_path("text"),
                               .text = "abc cab bca\nba ac cb\nabc cab bca\nba ac cb\n",
                               .block_size = 8};
    tiny_run_write(&r);
}

static void drop(void)
{
    report_page_free(&page);
    scratch_remove();
}

TestSuite(report_page, .init = make, .fini = drop);

static char *put(const char *run, bool quick)
{
    const struct report_page_settings s = {.run = run, .team = support_team(1), .quick = quick};
    struct buffer b = {0};
    cr_assert_eq(report_page_renew(&page, &s, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(report_page_put(&b, &page, false, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(buffer_check(&b, "page", &err), STATUS_OK);
    scratch_write(scratch_path("page.html"), b.bytes, b.count);
    return b.bytes;
}

Test(report_page, says_the_main_figures_without_its_script)
{
    char *html = put(scratch_path("run"), true);
    const char *const parts[] = {"<title>nopeek: run</title>",
                                 "<dd id=\"fact-train\">1.2500 nats</dd>",
                                 "<dd id=\"fact-validation\">1.5000 nats</dd>",
                                 "<dd id=\"fact-leak\">no leak</dd>",
                                 "<dd id=\"fact-time\">1 min 15 s</dd>",
                                 "<noscript>"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        cr_assert(strstr(html, parts[i]), "no %s", parts[i]);
    free(html);
}

Test(report_page, kinds_are_measured_unless_there_is_no_time)
{
    free(put(scratch_path("run"), true));
    json_t *data = report_html_json(scratch_path("page.html"), "data");
    cr_assert(strstr(json_string_value(report_html_at(data, "kinds", "why_not", NULL)), "--quick"));
    json_decref(data);
    report_page_free(&page);
    free(put(scratch_path("run"), false));
    data = report_html_json(scratch_path("page.html"), "data");
    const json_t *heads = report_html_at(data, "kinds", "heads", NULL);
    cr_assert_eq(json_array_size(heads), 4);
    cr_assert(json_string_length(json_object_get(json_array_get(heads, 3), "evidence")) > 0);
    json_decref(data);
}

/* A run whose log and text have gone, and a checkpoint that stands alone: each still has its page. */
Test(report_page, what_has_gone_is_said_and_the_rest_shown)
{
    cr_assert_eq(remove(scratch_path("run/metrics.jsonl")), 0);
    cr_assert_eq(remove(scratch_path("text")), 0);
    char *html = put(scratch_path("run"), false);
    cr_assert(strstr(html, "<dd id=\"fact-train\">not known</dd>"));
    free(html);
    json_t *data = report_html_json(scratch_path("page.html"), "data");
    cr_assert(strstr(json_string_value(report_html_at(data, "film", "why_not", NULL)), "no text to look at"));
    cr_assert(strstr(json_string_value(report_html_at(data, "kinds", "why_not", NULL)), "could not be measured"));
    json_decref(data);
}

Test(report_page, a_run_ends_with_its_last_step)
{
    cr_assert_eq(report_page_open(&page, scratch_path("run"), &err), STATUS_OK, "%s", err.message);
    json_t *settings = json_pack("{s:i}", "steps", 8), *before = page.saved.state.settings;
    page.saved.state.settings = settings;
    cr_assert_not(report_page_finished(&page));
    page.saved.state.step = 8;
    cr_assert(report_page_finished(&page));
    page.saved.state.settings = before;
    json_decref(settings);
}
