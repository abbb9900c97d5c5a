#include "cli/inspect_json.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/inspected.h"
#include "support/scratch.h"

TestSuite(inspect_json, .init = scratch_make, .fini = scratch_remove);

static const char text[] = "</script><img onerror=\"x\">\t\xF0\x9F\x98\x80 & 'q'\n";
#define LENGTH ((size_t)35)

static char *print(const struct inspected *x, const struct inspection_choice *c, bool csv)
{
    struct error err;
    char *bytes = NULL;
    size_t n;
    FILE *f = open_memstream(&bytes, &n);
    cr_assert_not_null(f);
    if (csv)
        inspect_json_csv(f, &x->inspection, c);
    else
        cr_assert_eq(inspect_json_print(f, &x->inspection, c, &err), STATUS_OK);
    fclose(f);
    return bytes;
}

static json_t *head_of(json_t *o, size_t layer, size_t head)
{
    json_t *l = json_array_get(json_object_get(o, "layers"), layer);
    return json_array_get(json_object_get(l, "heads"), head);
}

Test(inspect_json, rows_sum_to_1_as_printed_and_are_exactly_0_beyond_the_query)
{
    struct inspected x;
    inspected_make(&x, text, 64);
    cr_assert_eq(x.inspection.T, LENGTH);
    char *printed = print(&x, &x.all, false);
    json_t *o = json_loads(printed, 0, NULL);
    cr_assert(o && strchr(printed, '\n') == printed + strlen(printed) - 1, "one object on one line");
    for (size_t k = 0; k < 4; k++) {
        const json_t *h = head_of(o, k / 2, k % 2), *rows = json_object_get(h, "weights");
        cr_assert_eq(json_array_size(rows), LENGTH);
        for (size_t i = 0; i < LENGTH; i++) {
            const json_t *row = json_array_get(rows, i);
            double sum = 0;
            cr_assert_eq(json_array_size(row), LENGTH);
            for (size_t j = 0; j < LENGTH; j++) {
                const double w = json_number_value(json_array_get(row, j));
                cr_assert_eq((real)w, attention_map_weights(&x.inspection.map, k / 2, k % 2)[i * LENGTH + j] * (real)1,
                             "nine digits tell any two floats apart");
                cr_assert(j <= i || w == 0);
                sum += w;
            }
            cr_assert_float_eq(sum, 1, 1e-6);
        }
        cr_assert_eq(json_number_value(json_object_get(h, "future_mass")), 0);
        cr_assert(json_is_null(json_array_get(json_object_get(h, "row_entropy"), 0)));
        const double more = json_number_value(json_object_get(h, "loss_more"));
        cr_assert_float_eq(json_number_value(json_object_get(h, "loss_without")) -
                               json_number_value(json_object_get(o, "loss")),
                           more, 1e-6);
        cr_assert(json_is_string(json_object_get(h, "kind")) && json_is_string(json_object_get(h, "evidence")));
        cr_assert_eq(json_object_size(json_object_get(h, "scores")), HEAD_PATTERNS);
    }
    json_decref(o);
    free(printed);
    inspection_free(&x.inspection);
}

Test(inspect_json, text_and_labels_are_the_symbols_whatever_they_are)
{
    struct inspected x;
    inspected_make(&x, text, 64);
    char *printed = print(&x, &x.all, false);
    json_t *o = json_loads(printed, 0, NULL), *labels = json_object_get(o, "labels");
    cr_assert_str_eq(json_string_value(json_object_get(o, "text")), text);
    cr_assert_eq(json_array_size(labels), LENGTH);
    cr_assert_str_eq(json_string_value(json_array_get(labels, 0)), "<");
    cr_assert_str_eq(json_string_value(json_array_get(labels, 26)), "\\t");
    cr_assert_str_eq(json_string_value(json_array_get(labels, 27)), "\xF0\x9F\x98\x80");
    cr_assert_str_eq(json_string_value(json_array_get(labels, LENGTH - 1)), "\\n");
    cr_assert_str_eq(json_string_value(json_object_get(o, "measured_on")), "validation");
    json_decref(o);
    free(printed);
    inspection_free(&x.inspection);
}

Test(inspect_json, a_choice_leaves_the_others_out_and_csv_has_a_line_for_each_weight)
{
    struct inspected x;
    inspected_make(&x, "abc ", 8);
    const struct inspection_choice one = {1, 2, 0, 1};
    char *printed = print(&x, &one, false);
    json_t *o = json_loads(printed, 0, NULL);
    cr_assert_eq(json_array_size(json_object_get(o, "layers")), 1);
    cr_assert_eq(json_integer_value(json_object_get(json_array_get(json_object_get(o, "layers"), 0), "layer")), 1);
    cr_assert_eq(json_integer_value(json_object_get(head_of(o, 0, 0), "head")), 0);
    cr_assert_null(head_of(o, 0, 1));
    json_decref(o);
    free(printed);
    printed = print(&x, &one, true);
    char *line = strtok(printed, "\n");
    cr_assert_str_eq(line, "layer,head,query,key,weight");
    for (size_t i = 0; i < 16; i++) {
        char expected[64];
        line = strtok(NULL, "\n");
        snprintf(expected, sizeof expected, "1,0,%zu,%zu,%.9g", i / 4, i % 4,
                 (double)attention_map_weights(&x.inspection.map, 1, 0)[i]);
        cr_assert_str_eq(line, expected);
    }
    cr_assert_null(strtok(NULL, "\n"));
    free(printed);
    inspection_free(&x.inspection);
}

Test(inspect_json, more_weights_than_can_be_printed_are_refused_with_advice)
{
    struct inspection n = {.T = 8192, .L = 1, .H = 1};
    struct inspection_choice c = {0, 1, 0, 1};
    struct error err;
    cr_assert_eq(inspect_json_check(&n, &c, &err), STATUS_OK, "exactly as many as there may be");
    c.head_end = 2;
    cr_assert_eq(inspect_json_check(&n, &c, &err), STATUS_RANGE);
    cr_assert(strstr(err.message, "--layer and --head"), "%s", err.message);
}
