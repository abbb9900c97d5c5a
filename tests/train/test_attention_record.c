#include "train/attention_record.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "diag/attention_map.h"
#include "diag/attention_pack.h"
#include "support/machine.h"
#include "support/rig.h"
#include "support/scratch.h"

TestSuite(attention_record, .init = scratch_make, .fini = scratch_remove);

static struct error err;

static json_t *record_of(const struct rig *rig, const struct gpt *g)
{
    json_t *record;
    cr_assert_eq(attention_record_make(&record, g, &rig->tokenizer, &rig->data, 5, support_team(1), &err), STATUS_OK,
                 "%s", err.message);
    return record;
}

static const char *text_of(const json_t *record, const char *key)
{
    const char *text = json_string_value(json_object_get(record, key));
    cr_assert(text, "%s", key);
    return text;
}

/* Of the first symbols of the validation part, by the code that inspect uses. */
static char *maps_of(const struct rig *rig, size_t T, bool square)
{
    uint32_t ids[ATTENTION_RECORD_SYMBOLS];
    size_t begin, end;
    dataset_bounds(&rig->data, DATASET_VAL, &begin, &end);
    for (size_t i = 0; i < T; i++)
        ids[i] = dataset_id(&rig->data, begin + i);
    struct attention_map map;
    char *text;
    cr_assert_eq(attention_map_make(&map, &rig->model, ids, T, support_team(1), &err), STATUS_OK);
    cr_assert_eq(attention_pack(&text, &map, square, &err), STATUS_OK);
    attention_map_free(&map);
    return text;
}

static void expect_maps(const struct rig *rig, const json_t *record, bool square)
{
    const json_t *labels = json_object_get(record, "labels");
    const size_t T = json_array_size(labels);
    cr_assert_eq(T, rig->model.config.block_size);
    char label[TOKENIZER_LABEL_SIZE];
    size_t begin, end;
    dataset_bounds(&rig->data, DATASET_VAL, &begin, &end);
    for (size_t i = 0; i < T; i++) {
        tokenizer_label(&rig->tokenizer, dataset_id(&rig->data, begin + i), label);
        cr_assert_str_eq(json_string_value(json_array_get(labels, i)), label);
    }
    char *maps = maps_of(rig, T, square);
    cr_assert_str_eq(text_of(record, "weights"), maps);
    cr_assert_str_eq(text_of(record, "shape"), square ? "square" : "lower");
    cr_assert_str_eq(text_of(record, "kind"), "attention");
    free(maps);
}

Test(attention_record, holds_the_maps_of_the_validation_parts_beginning)
{
    struct rig rig;
    rig_make(&rig, "run");
    json_t *record = record_of(&rig, &rig.model);
    expect_maps(&rig, record, false);
    cr_assert_eq(json_integer_value(json_object_get(record, "step")), 5);
    json_decref(record);
    rig_free(&rig);
}

Test(attention_record, holds_the_future_that_a_model_without_a_mask_sees)
{
    struct rig rig;
    rig_make(&rig, "run");
    const size_t heads = rig.model.config.n_layer * rig.model.config.n_head;
    rig.model.config.trained = ATTENTION_FULL;
    for (size_t k = 0; k < heads; k++)
        rig.model.rules[k] = ATTENTION_FULL;
    json_t *record = record_of(&rig, &rig.model);
    expect_maps(&rig, record, true);
    json_decref(record);
    rig_free(&rig);
}

Test(attention_record, is_in_fp32_and_changes_no_weight)
{
    struct rig rig;
    rig_make(&rig, "run");
    const size_t bytes = rig.model.table.size * sizeof(real);
    real *before = malloc(bytes);
    memcpy(before, rig.model.params, bytes);
    struct gpt rounded = rig.model;
    rounded.config.precision = PRECISION_BF16;
    json_t *exact = record_of(&rig, &rig.model), *asked = record_of(&rig, &rounded);
    cr_assert(json_equal(exact, asked));
    cr_assert_eq(memcmp(before, rig.model.params, bytes), 0);
    json_decref(exact);
    json_decref(asked);
    free(before);
    rig_free(&rig);
}

Test(attention_record, stands_in_the_log_at_every_evaluation)
{
    struct rig rig;
    rig_make(&rig, "run");
    rig.trainer.settings.eval_interval = 4;
    cr_assert_eq(rig_train(&rig, &err), STATUS_OK, "%s", err.message);
    json_t *log = rig_metrics("run"), *last = NULL;
    size_t found = 0, i;
    json_t *record;
    json_array_foreach(log, i, record)
    {
        if (strcmp(text_of(record, "kind"), "attention") != 0)
            continue;
        cr_assert_eq(json_integer_value(json_object_get(record, "step")), 4 * (json_int_t)found);
        found++;
        last = record;
    }
    cr_assert_eq(found, 4);
    char *maps = maps_of(&rig, json_array_size(json_object_get(last, "labels")), false);
    cr_assert_str_eq(text_of(last, "weights"), maps, "the last is of the weights that training ended with");
    free(maps);
    json_decref(log);
    rig_free(&rig);
}

Test(attention_record, is_left_out_where_heads_are_so_many_that_no_text_fits)
{
    struct rig rig;
    rig_make(&rig, "run");
    struct gpt crowd = rig.model;
    crowd.config.n_layer = crowd.config.n_head = 4095;
    cr_assert_null(record_of(&rig, &crowd));
    rig_free(&rig);
}

Test(attention_record, takes_what_was_foretold)
{
    struct rig rig;
    rig_make(&rig, "run");
    json_t *record = record_of(&rig, &rig.model);
    cr_assert_eq(strlen(text_of(record, "weights")), attention_record_bytes(&rig.model.config));
    json_decref(record);
    struct config c = rig.model.config;
    c.n_layer = c.n_head = 12;
    c.block_size = 1024;
    cr_assert(attention_record_bytes(&c) <= ATTENTION_RECORD_BYTES && attention_record_bytes(&c) > 150000);
    c.n_layer = c.n_head = 4095;
    cr_assert_eq(attention_record_bytes(&c), 0);
    rig_free(&rig);
}
