#include "report/buffer.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

Test(buffer, grows_by_any_amount_and_ends_in_a_zero)
{
    struct buffer b = {0};
    struct error err;
    for (int i = 0; i < 1000; i++) {
        buffer_print(&b, "%d,", i);
        buffer_text(&b, "");
        buffer_put(&b, "\0x", 2);
        cr_assert_eq(b.bytes[b.count], '\0');
        cr_assert_lt(b.count, b.room);
    }
    cr_assert_eq(b.count, 10 * 2 + 90 * 3 + 900 * 4 + 2000);
    cr_assert_eq(memcmp(b.bytes, "0,\0x1,\0x2,", 11), 0);
    cr_assert_eq(buffer_check(&b, "page", &err), STATUS_OK);
    buffer_free(&b);
    cr_assert(b.bytes == NULL && b.count == 0);
}

Test(buffer, remembers_that_memory_was_refused)
{
    struct buffer b = {0};
    struct error err;
    buffer_text(&b, "kept");
    buffer_put(&b, "never read", SIZE_MAX / 2);
    buffer_text(&b, "lost");
    cr_assert_str_eq(b.bytes, "kept");
    cr_assert_eq(buffer_check(&b, "page.html", &err), STATUS_MEMORY);
    cr_assert(strstr(err.message, "page.html"), "%s", err.message);
    buffer_free(&b);
}
