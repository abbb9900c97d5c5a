#include "io/json_text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct json_limits limits = {.bytes = 1000, .depth = 3, .values = 10};

static void expect_refusal(const char *text, size_t n, const char *part)
{
    struct error err = {.message = ""};
    json_t *json = (json_t *)&err;
    cr_assert_eq(json_text_parse(&json, "f.json", (const uint8_t *)text, n, 0, &limits, &err), STATUS_FORMAT, "%s",
                 part);
    cr_assert_not_null(strstr(err.message, part), "'%s' lacks '%s'", err.message, part);
    cr_assert_eq(strncmp(err.message, "f.json: ", 8), 0, "%s", err.message);
    cr_assert_null(json);
}

static void expect_accepted(const char *text)
{
    struct error err = {.message = ""};
    json_t *json;
    cr_assert_eq(json_text_parse(&json, "f.json", (const uint8_t *)text, strlen(text), 0, &limits, &err), STATUS_OK,
                 "%s: %s", text, err.message);
    json_decref(json);
}

Test(json_text, depth_and_values_count_up_to_their_limits_and_not_in_strings)
{
    expect_accepted("[[[1]]]");
    expect_accepted("{\"a\":{\"b\":{\"c\":1}}}");
    expect_accepted("[[[]],[[]],[]]");
    expect_accepted("[\"[[[[[[,,,,,,,,,,,,,,,\\\"[[[[[\"]");
    expect_accepted("[1,2,3,4,5,6,7,8,9]");
    expect_refusal("[[[[1]]]]", 9, "nested more than 3 deep at its byte 3");
    expect_refusal("{\"a\":[{\"b\":[]}]}", 17, "nested more than 3 deep");
    expect_refusal("[1,2,3,4,5,6,7,8,9,10]", 22, "more than 10 values");
    expect_refusal("[[],[],[],[],[],[]]", 19, "more than 10 values");
}

Test(json_text, a_hundred_thousand_brackets_reach_no_parser)
{
    char *text = malloc(100000);
    memset(text, '[', 100000);
    expect_refusal(text, 1000, "nested more than 3 deep");
    expect_refusal(text, 100000, "100000 bytes of JSON, at most 1000 expected");
    free(text);
}

Test(json_text, what_is_no_json_is_told_by_line_without_its_control_characters)
{
    expect_refusal("", 0, "no valid JSON at line 1: the file is empty");
    expect_refusal("{\n\"a\":1,\n\"a\":2}", 18, "at line 3: duplicate object key");
    expect_refusal("[1e999]", 7, "real number overflow");
    expect_refusal("[99999999999999999999]", 22, "too big integer");
    expect_refusal("[NaN]", 5, "no valid JSON at line 1");
    expect_refusal("[\"\\u0000\"]", 10, "no valid JSON at line 1");
    expect_refusal("{}\n{}", 5, "no valid JSON at line 2");
    expect_refusal("[\"\xff\"]", 5, "no valid JSON at line 1");
    expect_refusal("\x1b[31m\x1b[31m", 10, "no valid JSON at line 1");
    expect_refusal("[\"\x1b[31m\"]", 9, "no valid JSON at line 1");
    expect_refusal("}]}]", 4, "no valid JSON");
    expect_refusal("\"", 1, "no valid JSON");
    expect_refusal("[\"\\", 3, "no valid JSON");
}

Test(json_text, a_zero_byte_in_a_string_is_taken_where_the_caller_allows_it)
{
    struct error err;
    json_t *json;
    const char *text = "[\"\\u0000\"]";
    cr_assert_eq(json_text_parse(&json, "f", (const uint8_t *)text, strlen(text), JSON_ALLOW_NUL, &limits, &err),
                 STATUS_OK, "%s", err.message);
    cr_assert_eq(json_string_length(json_array_get(json, 0)), 1);
    json_decref(json);
}

/* ---- writing ---- */

static json_t *large(void)
{
    json_t *o = json_object();
    for (int i = 0; i < 400; i++) {
        char key[32];
        snprintf(key, sizeof key, "key %d \"quoted\"", i);
        json_object_set_new(o, key, json_pack("[i, s, n, f]", i, "text\n", i / 7.0));
    }
    return o;
}

Test(json_text, what_is_written_is_what_jansson_says)
{
    const size_t flags[] = {0, JSON_COMPACT, JSON_INDENT(2), JSON_COMPACT | JSON_REAL_PRECISION(9)};
    json_t *o = large();
    for (size_t i = 0; i < 4; i++) {
        size_t n;
        char *expected = json_dumps(o, flags[i]), *found = json_text_make(o, flags[i], &n);
        cr_assert_str_eq(found, expected);
        cr_assert_eq(n, strlen(expected));
        free(expected);
        free(found);
    }
    json_decref(o);
    cr_assert_null(json_text_make(NULL, 0, NULL));
}

/* What jansson takes while it writes. Room for the text itself is refused by scripts/check_faults.sh. */
static size_t allowed;

static void *count_down(size_t size)
{
    if (allowed == 0)
        return NULL;
    allowed--;
    return malloc(size);
}

Test(json_text, refused_memory_gives_a_whole_text_or_none)
{
    json_t *o = large();
    char *expected = json_dumps(o, 0);
    json_set_alloc_funcs(count_down, free);
    size_t refused = 0;
    char *found = NULL;
    for (size_t n = 0; !found && n < 100000; n++) {
        allowed = n;
        found = json_text_make(o, 0, NULL);
        refused += !found;
    }
    json_set_alloc_funcs(malloc, free);
    cr_assert_str_eq(found, expected);
    cr_assert_gt(refused, 0);
    free(found);
    free(expected);
    json_decref(o);
}
