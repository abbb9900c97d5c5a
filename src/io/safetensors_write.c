/* Writing the safetensors format, declared in safetensors.h. */
#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "io/json_text.h"
#include "io/safetensors.h"

#define LENGTH_BYTES 8
#define DATA_ALIGN ((size_t)64)

static json_t *item_json(const struct safetensors_item *item, size_t begin, size_t end)
{
    json_t *shape = json_array();
    for (size_t i = 0; i < item->n_dims; i++)
        if (json_array_append_new(shape, json_integer((json_int_t)item->shape[i])) != 0) {
            json_decref(shape);
            return NULL;
        }
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", "F32", "shape", shape, "data_offsets", (json_int_t)begin,
                     (json_int_t)end);
}

static enum status describe(json_t *header, size_t *data_size, const struct safetensors_item *items, size_t n,
                            struct error *err)
{
    if (json_object_set_new(header, "__metadata__", json_pack("{s:s}", "format", "pt")) != 0)
        return fail(err, STATUS_MEMORY, "safetensors: no memory left for the header");
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        assert(items[i].n_dims <= SAFETENSORS_MAX_DIMS);
        size_t size = sizeof(float), end;
        bool fits = true;
        for (size_t d = 0; d < items[i].n_dims; d++)
            fits = fits && checked_mul(&size, size, items[i].shape[d]);
        if (!fits || !checked_add(&end, at, size) || end > INT64_MAX)
            return fail(err, STATUS_RANGE, "safetensors: tensor '%.80s': its size overflows", items[i].name);
        if (json_object_get(header, items[i].name))
            return fail(err, STATUS_RANGE, "safetensors: tensor '%.80s' is there twice", items[i].name);
        json_t *name = json_string(items[i].name); /* refused when it is no UTF-8 */
        json_t *item = item_json(&items[i], at, end);
        const bool named = name != NULL;
        json_decref(name);
        if (json_object_set_new(header, items[i].name, item) != 0)
            return named ? fail(err, STATUS_MEMORY, "safetensors: no memory left for the header")
                         : fail(err, STATUS_RANGE, "safetensors: a tensor's name is no UTF-8");
        at = end;
    }
    *data_size = at;
    return STATUS_OK;
}

static void write_floats(uint8_t *out, const real *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const float x = (float)values[i];
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        for (size_t b = 0; b < 4; b++)
            out[4 * i + b] = (uint8_t)(bits >> 8 * b);
    }
}

static enum status assemble(uint8_t **bytes, size_t *size, const char *text, size_t data_size,
                            const struct safetensors_item *items, size_t n, struct error *err)
{
    const size_t length = strlen(text);
    const size_t data = (LENGTH_BYTES + length + DATA_ALIGN - 1) / DATA_ALIGN * DATA_ALIGN;
    if (data - LENGTH_BYTES > SAFETENSORS_MAX_HEADER)
        return fail(err, STATUS_RANGE, "safetensors: a header of %zu bytes, at most %zu are allowed", length,
                    SAFETENSORS_MAX_HEADER);
    if (!checked_add(size, data, data_size))
        return fail(err, STATUS_RANGE, "safetensors: the file's size overflows");
    *bytes = calloc(*size, 1);
    if (!*bytes)
        return fail(err, STATUS_MEMORY, "safetensors: no memory left for a file of %zu bytes", *size);
    for (size_t b = 0; b < LENGTH_BYTES; b++)
        (*bytes)[b] = (uint8_t)((uint64_t)(data - LENGTH_BYTES) >> 8 * b);
    memcpy(*bytes + LENGTH_BYTES, text, length);
    memset(*bytes + LENGTH_BYTES + length, ' ', data - LENGTH_BYTES - length);
    uint8_t *at = *bytes + data;
    for (size_t i = 0; i < n; i++) {
        size_t count = 1;
        for (size_t d = 0; d < items[i].n_dims; d++)
            count *= items[i].shape[d];
        if (items[i].values)
            write_floats(at, items[i].values, count);
        at += count * sizeof(float);
    }
    return STATUS_OK;
}

enum status safetensors_build(uint8_t **bytes, size_t *size, const struct safetensors_item *items, size_t n,
                              struct error *err)
{
    *bytes = NULL;
    *size = 0;
    size_t data_size = 0;
    json_t *header = json_object();
    if (!header)
        return fail(err, STATUS_MEMORY, "safetensors: no memory left for the header");
    enum status status = describe(header, &data_size, items, n, err);
    char *text = status == STATUS_OK ? json_text_make(header, JSON_COMPACT, NULL) : NULL;
    json_decref(header);
    if (status == STATUS_OK)
        status = text ? assemble(bytes, size, text, data_size, items, n, err)
                      : fail(err, STATUS_MEMORY, "safetensors: no memory left for the header");
    free(text);
    return status;
}
