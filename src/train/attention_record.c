#include "train/attention_record.h"

#include <stdlib.h>
#include <string.h>

#include "diag/attention_map.h"
#include "diag/attention_pack.h"
#include "io/metrics.h"

/* The text: its ids and names, and where it stands in the dataset. */
struct excerpt {
    uint32_t id[ATTENTION_RECORD_SYMBOLS];
    char label[ATTENTION_RECORD_SYMBOLS][TOKENIZER_LABEL_SIZE];
    const char *labels[ATTENTION_RECORD_SYMBOLS];
    size_t T;
};

/* Symbols of a text of `count`. */
static size_t symbols(const struct config *c, size_t count)
{
    size_t most = count < c->block_size ? count : c->block_size;
    most = most < ATTENTION_RECORD_SYMBOLS ? most : ATTENTION_RECORD_SYMBOLS;
    return attention_pack_fit(c->n_layer * c->n_head, c->trained == ATTENTION_FULL, most, ATTENTION_RECORD_BYTES);
}

size_t attention_record_bytes(const struct config *c)
{
    const size_t T = symbols(c, c->block_size);
    return T < 2 ? 0 : attention_pack_bytes(c->n_layer * c->n_head, T, c->trained == ATTENTION_FULL);
}

static void take_text(struct excerpt *e, const struct config *c, const struct tokenizer *tokenizer,
                      const struct dataset *data)
{
    size_t begin, end;
    dataset_bounds(data, DATASET_VAL, &begin, &end);
    if (begin == end)
        dataset_bounds(data, DATASET_ALL, &begin, &end);
    e->T = symbols(c, end - begin);
    for (size_t i = 0; i < e->T; i++) {
        e->id[i] = dataset_id(data, begin + i);
        tokenizer_label(tokenizer, e->id[i], e->label[i]);
        e->labels[i] = e->label[i];
    }
}

static enum status write_down(json_t **record, const struct excerpt *e, const struct attention_map *map, size_t step,
                              struct error *err)
{
    const bool square = attention_pack_is_square(map);
    char *weights;
    const enum status s = attention_pack(&weights, map, square, err);
    if (s)
        return s;
    *record = metrics_record("attention", step);
    const char *shape = square ? "square" : "lower";
    metrics_put_text(record, "shape", shape, strlen(shape));
    metrics_put_texts(record, "labels", e->labels, e->T);
    metrics_put_text(record, "weights", weights, strlen(weights));
    free(weights);
    return *record ? STATUS_OK : fail(err, STATUS_MEMORY, "memory for a record of the attention maps was refused");
}

enum status attention_record_make(json_t **record, const struct gpt *g, const struct tokenizer *tokenizer,
                                  const struct dataset *data, size_t step, struct team team, struct error *err)
{
    *record = NULL;
    struct gpt exact = *g; /* the same weights, borrowed */
    exact.config.precision = PRECISION_FP32;
    struct excerpt *e = calloc(1, sizeof *e);
    if (!e)
        return fail(err, STATUS_MEMORY, "memory for a record of the attention maps was refused");
    take_text(e, &exact.config, tokenizer, data);
    struct attention_map map;
    enum status s = e->T < 2 ? STATUS_OK : attention_map_make(&map, &exact, e->id, e->T, team, err);
    if (!s && e->T >= 2) {
        s = write_down(record, e, &map, step, err);
        attention_map_free(&map);
    }
    free(e);
    return s;
}
