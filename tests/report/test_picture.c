#include "report/picture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

Test(picture, alone_it_is_a_file_and_in_a_page_a_part)
{
    for (int alone = 0; alone < 2; alone++) {
        struct buffer b = {0};
        picture_begin(&b, 30, 20, alone, "a < b", "\"what\" it shows");
        picture_text(&b, 1, 2, "end", "<b>");
        picture_end(&b);
        cr_assert_eq(strncmp(b.bytes, "<svg ", 5), 0);
        cr_assert_eq(strstr(b.bytes, "xmlns=") != NULL, alone);
        cr_assert_eq(strstr(b.bytes, "<style>") != NULL, alone);
        cr_assert(strstr(b.bytes, "role=\"img\"") && strstr(b.bytes, "viewBox=\"0 0 30 20\""));
        cr_assert(strstr(b.bytes, "<title>a &lt; b</title>") && strstr(b.bytes, "<desc>&quot;what&quot; it"));
        cr_assert(strstr(b.bytes, ">&lt;b&gt;</text>") && !strstr(b.bytes, "<b>"));
        buffer_free(&b);
    }
}

Test(picture, every_colour_has_a_light_and_a_dark_value)
{
    char name[16];
    const char *dark = strstr(picture_style, "prefers-color-scheme:dark");
    cr_assert_not_null(dark);
    for (int i = 0; i < PICTURE_COLOURS; i++) {
        snprintf(name, sizeof name, "--s%d:#", i);
        const char *light = strstr(picture_style, name);
        cr_assert(light && light < dark && strstr(dark, name), "%s", name);
    }
}
