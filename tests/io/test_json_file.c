#include "io/json_file.h"

#include <criterion/criterion.h>
#include <string.h>

#include "support/scratch.h"

TestSuite(json_file, .init = scratch_make, .fini = scratch_remove);

static const struct json_limits limits = {.bytes = 9000, .depth = 4, .values = 100};

static void expect_refusal(const char *text, enum status expected, const char *says)
{
    struct error err;
    json_t *json = (json_t *)&err;
    const char *path = scratch_path("f.json");
    scratch_write(path, text, strlen(text));
    cr_assert_eq(json_file_read(&json, path, &limits, &err), expected, "%s", text);
    cr_assert_null(json);
    cr_assert(strstr(err.message, says) && strstr(err.message, path), "\"%s\" lacks \"%s\"", err.message, says);
    cr_assert_null(strchr(err.message, '\n'));
}

Test(json_file, gives_what_the_file_holds)
{
    struct error err;
    json_t *json;
    scratch_write(scratch_path("f.json"), "{\"a\": [1, 2]}\n", 14);
    cr_assert_eq(json_file_read(&json, scratch_path("f.json"), &limits, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(json_array_size(json_object_get(json, "a")), 2u);
    json_decref(json);
}

Test(json_file, what_is_no_json_is_refused_with_its_line)
{
    struct error err;
    json_t *json;
    expect_refusal("", STATUS_FORMAT, "line 1: the file is empty");
    expect_refusal("{\n\"a\": 1,\n}", STATUS_FORMAT, "no valid JSON at line 3");
    expect_refusal("{\"a\":1,\"a\":2}", STATUS_FORMAT, "duplicate");
    expect_refusal("{\"a\":\"\\u0000\"}", STATUS_FORMAT, "line 1");
    expect_refusal("{\"a\":\"\xFF\"}", STATUS_FORMAT, "line 1");
    expect_refusal("{} x", STATUS_FORMAT, "line 1");
    cr_assert_eq(json_file_read(&json, scratch_path("none"), &limits, &err), STATUS_OPEN);
    cr_assert_eq(json_file_read(&json, scratch_folder(), &limits, &err), STATUS_OPEN);
    expect_refusal("[[[[[]]]]]", STATUS_FORMAT, "deep");
    char long_one[10000];
    memset(long_one, ' ', sizeof long_one - 1);
    long_one[sizeof long_one - 1] = '\0';
    expect_refusal(long_one, STATUS_FORMAT, "9000");
}
