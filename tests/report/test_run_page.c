#include "report/run_page.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "report/assets.h"

#define HOSTILE "</script><img src=x onerror=alert(1)>"

static struct buffer page;

static void make(const char *data)
{
    const struct run_page_fact fact = {"a <b>", "c & " HOSTILE, "fact-step"};
    const struct run_page p = {.title = "run " HOSTILE,
                               .data = data,
                               .data_size = strlen(data),
                               .frames = "[\"AA==\"]",
                               .frames_size = 8,
                               .fact = &fact,
                               .facts = 1};
    page = (struct buffer){0};
    run_page(&page, &p);
    cr_assert_not(page.failed);
}

static size_t times(const char *what)
{
    size_t n = 0;
    for (const char *at = page.bytes; (at = strstr(at, what)); at++)
        n++;
    return n;
}

Test(run_page, has_three_scripts_whatever_its_texts_say)
{
    make("{\"x\":\"" HOSTILE "\"}");
    cr_assert(times("<script") == 3 && times("</script>") == 3, "%zu %zu", times("<script"), times("</script>"));
    cr_assert_eq(times("<img"), 0);
    cr_assert(strstr(page.bytes, "<title>run &lt;/script&gt;&lt;img"));
    cr_assert(strstr(page.bytes, "<dt>a &lt;b&gt;</dt><dd id=\"fact-step\">c &amp; &lt;/script&gt;"));
    cr_assert(strstr(page.bytes, "id=\"data\">{\"x\":\"\\u003C/script\\u003E"));
    buffer_free(&page);
}

/* The rule comes before everything that it rules. */
Test(run_page, lets_nothing_run_or_be_fetched_but_its_own)
{
    char nonce[64];
    make("{}");
    const char *rule = strstr(page.bytes, "default-src 'none'; script-src 'nonce-");
    cr_assert(rule && rule < strstr(page.bytes, "<style") && rule < strstr(page.bytes, "<title"));
    cr_assert_eq(sscanf(strstr(rule, "nonce-"), "nonce-%32[0-9a-f]'", nonce), 1);
    cr_assert_eq(times(nonce), 4, "in the rule twice, and on two elements");
    cr_assert(times("http:") + times("https:") == times("\"http://www.w3.org/2000/svg\"") &&
              !strstr(page.bytes, "url(") && !strstr(page.bytes, "@import") && !strstr(page.bytes, "unsafe") &&
              !strstr(page.bytes, "innerHTML"));
    buffer_free(&page);
    char other[64];
    make("{\"x\":1}");
    cr_assert_eq(sscanf(strstr(page.bytes, "nonce-"), "nonce-%32[0-9a-f]'", other), 1);
    cr_assert_str_neq(nonce, other, "other data, another nonce");
    buffer_free(&page);
}

Test(run_page, carries_the_assets_as_they_are)
{
    const struct asset *const all[] = {&assets_css, &assets_html, &assets_js};
    make("{}");
    for (size_t i = 0; i < 3; i++) {
        bool found = false;
        for (size_t at = 0; !found && at + all[i]->size <= page.count; at++)
            found =
                page.bytes[at] == (char)all[i]->bytes[0] && memcmp(page.bytes + at, all[i]->bytes, all[i]->size) == 0;
        cr_assert(all[i]->size > 500 && found, "%zu", i);
    }
    buffer_free(&page);
}
