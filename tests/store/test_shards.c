#include "store/shards.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/foreign.h"
#include "support/scratch.h"

#define LIST "m/model.safetensors.index.json"
#define SHARD "m/model-0000%d-of-00003.safetensors"

static struct gpt model;

static void make(void)
{
    scratch_make();
    const struct config c = config_make(2, 2, 8, 4, 5);
    foreign_model(&model, &c);
    foreign_write(&(struct foreign){.dir = "m", .shards = 3}, &model);
}

static void drop(void)
{
    gpt_free(&model);
    scratch_remove();
}

TestSuite(shards, .init = make, .fini = drop);

static void expect_refusal(enum status expected, const char *says)
{
    struct error err;
    struct shards s;
    cr_assert_eq(shards_open(&s, scratch_path("m"), &err), expected, "not: %s", says);
    cr_assert(strstr(err.message, says), "\"%s\" lacks \"%s\"", err.message, says);
    cr_assert_null(strchr(err.message, '\n'));
    cr_assert(!s.file && !s.path && s.count == 0, "left empty");
}

Test(shards, every_tensor_is_found_in_whichever_file_has_it)
{
    struct error err;
    struct shards s;
    char types[SHARDS_TYPES_SIZE];
    cr_assert_eq(shards_open(&s, scratch_path("m"), &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(s.count, 3u);
    shards_types(types, &s);
    cr_assert_str_eq(types, "F32");
    const struct tensors_set set = shards_set(&s);
    struct gpt read;
    cr_assert(!set.bare);
    cr_assert_eq(tensors_check_set(&set, &model.config, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(gpt_create(&read, &model.config, &err), STATUS_OK);
    cr_assert_eq(tensors_read_set(&read, &set, &err), STATUS_OK, "%s", err.message);
    cr_assert_arr_eq(read.params, model.params, model.table.size * sizeof(real));
    gpt_free(&read);
    shards_close(&s);
}

Test(shards, one_file_needs_no_list_and_wins_over_one)
{
    struct error err;
    struct shards s;
    foreign_write(&(struct foreign){.dir = "m", .type = FOREIGN_BF16, .bare = true}, &model);
    cr_assert_eq(shards_open(&s, scratch_path("m"), &err), STATUS_OK, "%s", err.message);
    char types[SHARDS_TYPES_SIZE];
    shards_types(types, &s);
    cr_assert(s.count == 1 && shards_set(&s).bare && strcmp(types, "BF16") == 0, "%s", types);
    shards_close(&s);
}

Test(shards, the_list_may_name_plain_files_of_its_folder_only)
{
    static const char *const names[] = {
        "../m/model-00001-of-00003.safetensors", "/etc/passwd", "a/b", "..", ".", "", "a\\b"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        foreign_change(LIST, "weight_map transformer.wte.weight", json_string(names[i]));
        expect_refusal(STATUS_FORMAT, "weight_map: 'transformer.wte.weight' is in \"");
    }
    foreign_change(LIST, "weight_map transformer.wte.weight", json_integer(1));
    expect_refusal(STATUS_FORMAT, "the plain name of a file expected");
}

Test(shards, tensors_are_in_the_file_that_the_list_says_and_in_no_other)
{
    foreign_change(LIST, "weight_map transformer.wte.weight", json_string("model-00003-of-00003.safetensors"));
    expect_refusal(STATUS_FORMAT, "'transformer.wte.weight' is here, but");
    foreign_change(LIST, "weight_map transformer.wte.weight", NULL);
    expect_refusal(STATUS_FORMAT, "'transformer.wte.weight' is not in the weight_map");
    foreign_write(&(struct foreign){.dir = "m", .shards = 3}, &model);
    foreign_change(LIST, "weight_map transformer.h.9.ln_1.bias", json_string("model-00002-of-00003.safetensors"));
    expect_refusal(STATUS_FORMAT, "weight_map: tensor 'transformer.h.9.ln_1.bias' is not in \"model-00002");
    /* The same tensor in two files. */
    foreign_write(&(struct foreign){.dir = "m", .shards = 3}, &model);
    size_t n;
    char *bytes = scratch_read(scratch_path(SHARD, 1), &n);
    scratch_write(scratch_path(SHARD, 2), bytes, n);
    free(bytes);
    expect_refusal(STATUS_FORMAT, "is here, but");
}

Test(shards, a_missing_or_cut_file_and_a_wrong_total_are_named)
{
    size_t n;
    char *bytes = scratch_read(scratch_path(SHARD, 3), &n);
    scratch_write(scratch_path(SHARD, 3), bytes, n - 4);
    expect_refusal(STATUS_FORMAT, "model-00003-of-00003.safetensors");
    unlink(scratch_path(SHARD, 3));
    expect_refusal(STATUS_OPEN, "model-00003-of-00003.safetensors");
    scratch_write(scratch_path(SHARD, 3), bytes, n);
    free(bytes);
    foreign_change(LIST, "metadata total_size", json_integer(7));
    expect_refusal(STATUS_FORMAT, "metadata.total_size is 7, but the files hold");
    foreign_change(LIST, "metadata total_size", json_string("7"));
    expect_refusal(STATUS_FORMAT, "metadata.total_size");
    foreign_change(LIST, "metadata", NULL);
    struct error err;
    struct shards s;
    cr_assert_eq(shards_open(&s, scratch_path("m"), &err), STATUS_OK, "%s", err.message);
    shards_close(&s);
}

Test(shards, a_list_that_is_none_is_refused)
{
    foreign_change(LIST, "weight_map", json_object());
    expect_refusal(STATUS_FORMAT, "weight_map is missing, empty");
    foreign_change(LIST, "weight_map", json_array());
    expect_refusal(STATUS_FORMAT, "weight_map is missing, empty");
    scratch_write(scratch_path(LIST), "{", 1);
    expect_refusal(STATUS_FORMAT, "no valid JSON");
}

Test(shards, other_formats_come_with_advice)
{
    unlink(scratch_path(LIST));
    expect_refusal(STATUS_OPEN, "has no weights: neither model.safetensors nor");
    scratch_write(scratch_path("m/pytorch_model.bin"), "x", 1);
    expect_refusal(STATUS_OPEN, "in pytorch_model.bin, which nopeek does not read");
    expect_refusal(STATUS_OPEN, "safe_serialization=True");
}
