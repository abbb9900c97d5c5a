#include "report/script_data.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static char *put(const char *json)
{
    struct buffer b = {0};
    script_data_put(&b, json, strlen(json));
    cr_assert_not(b.failed);
    return b.bytes;
}

Test(script_data, nothing_in_it_can_end_the_element)
{
    struct buffer b = {0};
    const char json[] = "[\"</script><img src=x onerror=alert(1)>&<!--\"]";
    script_data_put(&b, json, strlen(json));
    cr_assert_null(strpbrk(b.bytes, "<>&"), "%s", b.bytes);
    cr_assert_eq(strncmp(b.bytes, "[\"\\u003C/script\\u003E\\u003Cimg", 30), 0, "%s", b.bytes);
    buffer_free(&b);
}

Test(script_data, it_says_the_same_to_a_reader_of_json)
{
    const char *const texts[] = {"[]", "[\"<\"]", "[\"\xE2\x80\xA8|\xE2\x80\xA9|\xE2\x80\xA7\"]",
                                 "{\"a&b\":[1,-2.5e3,null],\"\xE2\x82\xAC\":\"\\u003c\\\\>\"}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *put_text = put(texts[i]);
        json_t *was = json_loads(texts[i], 0, NULL), *is = json_loads(put_text, 0, NULL);
        cr_assert(was && is && json_equal(was, is), "%s", put_text);
        cr_assert_null(strstr(put_text, "\xE2\x80\xA8"));
        json_decref(was);
        json_decref(is);
        free(put_text);
    }
}
