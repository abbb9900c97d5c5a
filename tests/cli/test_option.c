#include "cli/option.h"

#include <criterion/criterion.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const char *const words[] = {"none", "causal", NULL};

Test(option, limits_are_inclusive_or_not_as_declared)
{
    const struct {
        struct option_range range;
        const char *in[3], *out[3], *words;
    } cases[] = {
        {OPTION_AT_LEAST(0), {"0", "1e300", "0.5"}, {"-1e-300", "nan", "inf"}, "a number, 0 or more"},
        {OPTION_ABOVE(0), {"1e-300", "1", "2"}, {"0", "-0", "-1"}, "a number, above 0"},
        {OPTION_BETWEEN(0, 1), {"0", "1", ".5"}, {"1.0000001", "-0.1", "2"}, "a number, 0 to 1"},
        {OPTION_FROM_BELOW(0, 1), {"0", "0.999", ".5"}, {"1", "-0.1", "2"}, "a number, 0 or more, below 1"},
        {OPTION_INSIDE(0, 1), {"1e-9", "0.999", ".5"}, {"0", "1", "-1"}, "a number, above 0, below 1"},
    };
    for (size_t c = 0; c < COUNT(cases); c++) {
        const struct option_spec spec = {.name = "x", .type = OPTION_NUMBER, .range = cases[c].range};
        struct option_value v;
        char text[OPTION_WORDS_SIZE];
        for (size_t i = 0; i < 3; i++) {
            cr_assert(option_from_text(&v, &spec, cases[c].in[i]), "%zu: %s", c, cases[c].in[i]);
            cr_assert(!option_from_text(&v, &spec, cases[c].out[i]), "%zu: %s", c, cases[c].out[i]);
        }
        option_expected(text, &spec);
        cr_assert_str_eq(text, cases[c].words);
    }
}

Test(option, whole_number_types_refuse_signs_and_sizes_they_cannot_hold)
{
    struct option_value v;
    const struct option_spec size = {.name = "x", .type = OPTION_SIZE};
    const struct option_spec seed = {.name = "x", .type = OPTION_SEED};
    const struct option_spec few = {.name = "x", .type = OPTION_SIZE, .range = OPTION_BETWEEN(1, 4095)};
    cr_assert(option_from_text(&v, &size, "0") && v.integer == 0);
    cr_assert(!option_from_text(&v, &size, "-1"));
    cr_assert(!option_from_text(&v, &seed, "-1"));
    cr_assert(option_from_text(&v, &seed, "9223372036854775807") && v.integer == INT64_MAX);
    cr_assert(!option_from_text(&v, &seed, "9223372036854775808"));
    cr_assert(!option_from_text(&v, &size, "1e3"));
    cr_assert(!option_from_text(&v, &size, "10k"));
    cr_assert(option_from_text(&v, &few, "4095") && !option_from_text(&v, &few, "4096") &&
              !option_from_text(&v, &few, "0"));
    char text[OPTION_WORDS_SIZE];
    option_expected(text, &few);
    cr_assert_str_eq(text, "a whole number, 1 to 4095");
    option_expected(text, &size);
    cr_assert_str_eq(text, "a whole number, 0 or more");
}

Test(option, json_values_need_the_options_type)
{
    const struct {
        enum option_type type;
        const char *good, *bad[4];
    } cases[] = {
        {OPTION_FLAG, "true", {"1", "\"true\"", "[]", "0"}},
        {OPTION_SIZE, "3", {"3.0", "-3", "\"3\"", "true"}},
        {OPTION_SEED, "3", {"3.5", "\"3\"", "{}", "false"}},
        {OPTION_NUMBER, "3", {"\"3\"", "true", "[3]", "{}"}},
        {OPTION_STRING, "\"a\"", {"3", "true", "[\"a\"]", "{}"}},
        {OPTION_CHOICE, "\"causal\"", {"1", "\"Causal\"", "\"\"", "true"}},
    };
    for (size_t c = 0; c < COUNT(cases); c++) {
        const struct option_spec spec = {.name = "x", .type = cases[c].type, .choices = words};
        struct option_value v;
        json_t *good = json_loads(cases[c].good, JSON_DECODE_ANY, NULL);
        cr_assert(option_from_json(&v, &spec, good), "%s", cases[c].good);
        json_decref(good);
        for (size_t i = 0; i < 4; i++) {
            json_t *bad = json_loads(cases[c].bad[i], JSON_DECODE_ANY, NULL);
            cr_assert(bad && !option_from_json(&v, &spec, bad), "%zu: %s", c, cases[c].bad[i]);
            json_decref(bad);
        }
    }
}

Test(option, every_type_survives_the_way_to_the_struct_and_to_json_and_back)
{
    struct fields {
        char before;
        bool flag;
        size_t size;
        uint64_t seed;
        double number;
        const char *string;
        int choice;
    };
    const struct option_spec specs[] = {
        {.name = "a", .type = OPTION_FLAG, .offset = offsetof(struct fields, flag)},
        {.name = "c", .type = OPTION_SIZE, .offset = offsetof(struct fields, size)},
        {.name = "d", .type = OPTION_SEED, .offset = offsetof(struct fields, seed)},
        {.name = "e", .type = OPTION_NUMBER, .offset = offsetof(struct fields, number)},
        {.name = "f", .type = OPTION_STRING, .offset = offsetof(struct fields, string)},
        {.name = "g", .type = OPTION_CHOICE, .offset = offsetof(struct fields, choice), .choices = words},
    };
    const char *const text[] = {"true",      "123456789012", "9223372036854775807", "0.30000000000000004",
                                "x \"y\"\n", "causal"};
    struct fields f = {.before = 'k'}, back = {.before = 'k'};
    for (size_t i = 0; i < COUNT(specs); i++) {
        struct option_value v = {0}, again = {0};
        cr_assert(option_from_text(&v, &specs[i], text[i]), "%s", text[i]);
        option_store(&f, &specs[i], &v);
        json_t *json = option_to_json(&f, &specs[i]);
        char *dump = json_dumps(json, JSON_ENCODE_ANY);
        json_t *read = json_loads(dump, JSON_DECODE_ANY, NULL);
        cr_assert(option_from_json(&again, &specs[i], read), "%s", dump);
        option_store(&back, &specs[i], &again);
        if (specs[i].type == OPTION_STRING) {
            cr_assert_str_eq(back.string, f.string);
            back.string = f.string;
        }
        json_decref(json);
        json_decref(read);
        free(dump);
    }
    cr_assert(f.flag && f.size == 123456789012u && f.seed == INT64_MAX);
    cr_assert(f.number == 0.1 + 0.2 && f.choice == 1 && f.before == 'k');
    cr_assert(back.flag == f.flag && back.size == f.size && back.seed == f.seed);
    cr_assert(back.number == f.number && back.choice == f.choice);
}

Test(option, an_unset_string_is_null)
{
    const char *unset = NULL;
    const struct option_spec spec = {.name = "x", .type = OPTION_PATH};
    json_t *json = option_to_json(&unset, &spec);
    cr_assert(json_is_null(json));
    json_decref(json);
}
