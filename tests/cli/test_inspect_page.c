#include "cli/inspect_page.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "cli/inspect_view.h"
#include "report/heat.h"
#include "support/inspected.h"
#include "support/scratch.h"

TestSuite(inspect_page, .init = scratch_make, .fini = scratch_remove);

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)) != NULL; text += strlen(what))
        n++;
    return n;
}

Test(inspect_page, what_the_text_says_is_never_markup)
{
    struct inspected x;
    struct buffer b = {0};
    inspected_make(&x, "</script><img onerror=\"x\">\t\xF0\x9F\x98\x80 & 'q'\n", 64);
    inspect_page(&b, &x.inspection, &x.all, INSPECT_LAST);
    cr_assert_not(b.failed);
    cr_assert(!strstr(b.bytes, "<img") && !strstr(b.bytes, "script>") && !strstr(b.bytes, "onerror=\""));
    cr_assert(strstr(b.bytes, "&lt;/script&gt;&lt;img\u2423onerror=&quot;x&quot;&gt;\\t\xF0\x9F\x98\x80"), "%s",
              b.bytes);
    cr_assert(strstr(b.bytes, "prefers-color-scheme:dark") && !strstr(b.bytes, "http"), "it needs nothing else");
    cr_assert_eq(count(b.bytes, "<svg "), 4, "a map a head");
    cr_assert_eq(count(b.bytes, "class=\"future\""), 0);
    cr_assert_eq(count(b.bytes, "<tr>"), 5);
    buffer_free(&b);
    inspection_free(&x.inspection);
}

Test(inspect_page, weight_on_the_future_has_its_colour)
{
    struct inspected x;
    struct buffer b = {0};
    inspected_make(&x, "abc ", 8);
    inspected_row(&x, 1, 1, 0)[2] = (real)0.5;
    inspect_page(&b, &x.inspection, &x.all, INSPECT_LAST);
    cr_assert_eq(count(b.bytes, "class=\"future\""), 1);
    buffer_free(&b);
    inspection_free(&x.inspection);
}

Test(inspect_page, a_picture_is_one_map_with_labels_or_a_grid)
{
    struct inspected x;
    struct buffer b = {0};
    inspected_make(&x, "a<b ", 8);
    const struct inspection_choice one = {0, 1, 1, 2};
    inspect_page_picture(&b, &x.inspection, &one, INSPECT_LAST);
    cr_assert(strncmp(b.bytes, "<svg ", 5) == 0 && count(b.bytes, "<svg ") == 1 && strstr(b.bytes, ">&lt;</text>"));
    cr_assert(strstr(b.bytes, "layer 0 head 1"));
    buffer_free(&b);
    inspect_page_picture(&b, &x.inspection, &x.all, INSPECT_LAST);
    cr_assert_eq(count(b.bytes, "<svg "), 5, "four in one");
    cr_assert_eq(count(b.bytes, "<svg "), count(b.bytes, "</svg>"));
    cr_assert_eq(count(b.bytes, "xmlns="), 1);
    buffer_free(&b);
    inspection_free(&x.inspection);
}

Test(inspect_page, a_long_text_is_drawn_in_part_and_the_page_says_which)
{
    struct inspected x;
    struct buffer b = {0};
    char text[131] = "";
    for (size_t i = 0; i < 130; i++)
        text[i] = "abc <"[i % 5];
    inspected_make(&x, text, 130);
    inspect_page(&b, &x.inspection, &x.all, INSPECT_LAST);
    cr_assert_eq(HEAT_LARGEST, 96);
    cr_assert(strstr(b.bytes, "Positions 34 to 129 of 0 to 129 are drawn"));
    buffer_free(&b);
    inspect_page(&b, &x.inspection, &x.all, 5);
    cr_assert(strstr(b.bytes, "Positions 5 to 100 of 0 to 129 are drawn"));
    cr_assert_not_null(strstr(b.bytes, "M95 95h1"));
    buffer_free(&b);
    inspect_page_picture(&b, &x.inspection, &x.all, 120);
    cr_assert(strstr(b.bytes, "positions 120 to 129 of 0 to 129"));
    buffer_free(&b);
    inspection_free(&x.inspection);
}
