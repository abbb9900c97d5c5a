#include "report/page.h"

#include <criterion/criterion.h>
#include <string.h>

Test(page, is_whole_and_needs_nothing_else)
{
    struct buffer b = {0};
    page_begin(&b, "one & <two>");
    page_end(&b);
    cr_assert_eq(strncmp(b.bytes, "<!DOCTYPE html>", 15), 0);
    cr_assert(strstr(b.bytes, "<title>one &amp; &lt;two&gt;</title>") &&
              strstr(b.bytes, "<h1>one &amp; &lt;two&gt;</h1>"));
    cr_assert(strstr(b.bytes, "charset=\"utf-8\"") && strstr(b.bytes, "width=device-width"));
    cr_assert(strstr(b.bytes, "prefers-color-scheme:dark") && strstr(b.bytes, "</html>"));
    cr_assert(!strstr(b.bytes, "http") && !strstr(b.bytes, "<script") && !strstr(b.bytes, "url(") &&
              !strstr(b.bytes, "@import"));
    buffer_free(&b);
}
