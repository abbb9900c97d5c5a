#include "io/safetensors.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

#define LENGTH_BYTES 8
#define HEADER_AT_MOST ((size_t)100000000)
#define DATA_ALIGN ((size_t)64)
#define DEPTH_AT_MOST 3 /* { tensor: { field: [ numbers ] } } */

/* Every type of the format, and its width. The 4- and 6-bit types are packed. */
static const struct {
    const char *name;
    enum safetensors_type type;
    size_t bits;
} types[] = {
    {"F32", SAFETENSORS_F32, 32},          {"F16", SAFETENSORS_F16, 16},      {"BF16", SAFETENSORS_BF16, 16},
    {"F64", SAFETENSORS_F64, 64},          {"I64", SAFETENSORS_I64, 64},      {"U64", SAFETENSORS_OTHER, 64},
    {"C64", SAFETENSORS_OTHER, 64},        {"I32", SAFETENSORS_OTHER, 32},    {"U32", SAFETENSORS_OTHER, 32},
    {"I16", SAFETENSORS_OTHER, 16},        {"U16", SAFETENSORS_OTHER, 16},    {"I8", SAFETENSORS_OTHER, 8},
    {"U8", SAFETENSORS_OTHER, 8},          {"BOOL", SAFETENSORS_OTHER, 8},    {"F8_E5M2", SAFETENSORS_OTHER, 8},
    {"F8_E4M3", SAFETENSORS_OTHER, 8},     {"F8_E8M0", SAFETENSORS_OTHER, 8}, {"F8_E4M3FNUZ", SAFETENSORS_OTHER, 8},
    {"F8_E5M2FNUZ", SAFETENSORS_OTHER, 8}, {"F6_E2M3", SAFETENSORS_OTHER, 6}, {"F6_E3M2", SAFETENSORS_OTHER, 6},
    {"F4", SAFETENSORS_OTHER, 4},
};

/* Text from the file, made fit for a one-line message: short, no control characters. */
struct shown {
    char text[81];
};

static struct shown show(const char *s)
{
    struct shown out;
    size_t n = strlen(s);
    if (n >= sizeof out.text) {
        n = sizeof out.text - 1;
        while (n > 0 && ((unsigned char)s[n] & 0xC0u) == 0x80u)
            n--;
    }
    for (size_t i = 0; i < n; i++)
        out.text[i] = (unsigned char)s[i] < 0x20 || s[i] == 0x7F ? '?' : s[i];
    out.text[n] = '\0';
    return out;
}

static uint64_t little_endian(const uint8_t *p, size_t n)
{
    uint64_t x = 0;
    for (size_t i = n; i-- > 0;)
        x = x << 8 | p[i];
    return x;
}

/* ---- reading the header ---- */

/* Deep nesting and long arrays would have the parser build what no such file needs: looked for first. */
static enum status check_nesting(const char *path, const uint8_t *text, size_t n, struct error *err)
{
    size_t depth = 0, commas = 0;
    bool in_string = false;
    for (size_t i = 0; i < n; i++) {
        const uint8_t c = text[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            commas = 0;
            if (++depth > DEPTH_AT_MOST)
                return fail(err, STATUS_FORMAT, "%s: header is nested more than %d deep at byte %zu", path,
                            DEPTH_AT_MOST, i + LENGTH_BYTES);
        } else if ((c == '}' || c == ']') && depth > 0) {
            depth--;
        } else if (c == ',' && depth == DEPTH_AT_MOST && ++commas >= SAFETENSORS_MAX_DIMS) {
            return fail(err, STATUS_FORMAT, "%s: header has a list of more than %d numbers at byte %zu", path,
                        SAFETENSORS_MAX_DIMS, i + LENGTH_BYTES);
        }
    }
    return STATUS_OK;
}

static enum status parse_header(json_t **header, size_t *data, const struct safetensors *s, struct error *err)
{
    const size_t size = s->file.size;
    if (size < LENGTH_BYTES + 2)
        return fail(err, STATUS_FORMAT, "%s: %zu bytes long, too short for a safetensors file", s->path, size);
    const uint64_t length = little_endian(s->file.bytes, LENGTH_BYTES);
    if (length > HEADER_AT_MOST)
        return fail(err, STATUS_FORMAT,
                    "%s: header length %llu, at most %zu expected: no safetensors file, or a damaged one", s->path,
                    (unsigned long long)length, HEADER_AT_MOST);
    if (length > size - LENGTH_BYTES)
        return fail(err, STATUS_FORMAT, "%s: %zu bytes long, at least %llu expected by its header: cut off", s->path,
                    size, (unsigned long long)length + LENGTH_BYTES);
    const uint8_t *text = s->file.bytes + LENGTH_BYTES;
    if (length == 0 || text[0] != '{')
        return fail(err, STATUS_FORMAT, "%s: header does not begin with '{': no safetensors file", s->path);
    const enum status nesting = check_nesting(s->path, text, (size_t)length, err);
    if (nesting != STATUS_OK)
        return nesting;
    json_error_t why;
    *header = json_loadb((const char *)text, (size_t)length, JSON_REJECT_DUPLICATES, &why);
    if (!*header)
        return json_error_code(&why) == json_error_out_of_memory
                   ? fail(err, STATUS_MEMORY, "%s: no memory left for its header", s->path)
                   : fail(err, STATUS_FORMAT, "%s: header is no valid JSON at byte %zu: %s", s->path,
                          (size_t)why.position + LENGTH_BYTES, show(why.text).text);
    *data = LENGTH_BYTES + (size_t)length;
    return STATUS_OK;
}

static enum status read_metadata(struct safetensors *s, const json_t *metadata, struct error *err)
{
    const char *key;
    json_t *value;
    if (!json_is_object(metadata))
        return fail(err, STATUS_FORMAT, "%s: __metadata__ is no JSON object", s->path);
    json_object_foreach((json_t *)metadata, key, value)
    {
        if (!json_is_string(value))
            return fail(err, STATUS_FORMAT, "%s: __metadata__ '%s' is no string", s->path, show(key).text);
    }
    s->metadata = json_dumps(metadata, JSON_COMPACT);
    return s->metadata ? STATUS_OK : fail(err, STATUS_MEMORY, "%s: no memory left for its metadata", s->path);
}

static bool read_size(size_t *out, const json_t *number)
{
    const json_int_t x = json_integer_value(number);
    if (!json_is_integer(number) || x < 0 || (uintmax_t)x > SIZE_MAX)
        return false;
    *out = (size_t)x;
    return true;
}

static enum status read_shape(struct safetensors_entry *e, const char *path, const json_t *shape, struct error *err)
{
    const struct shown name = show(e->name);
    if (!json_is_array(shape) || json_array_size(shape) > SAFETENSORS_MAX_DIMS)
        return fail(err, STATUS_FORMAT, "%s: tensor '%s': shape is no list of at most %d numbers", path, name.text,
                    SAFETENSORS_MAX_DIMS);
    e->n_dims = json_array_size(shape);
    e->count = 1;
    for (size_t i = 0; i < e->n_dims; i++) {
        if (!read_size(&e->shape[i], json_array_get(shape, i)))
            return fail(err, STATUS_FORMAT, "%s: tensor '%s': dimension %zu of its shape is no whole number >= 0", path,
                        name.text, i);
        if (!checked_mul(&e->count, e->count, e->shape[i]))
            return fail(err, STATUS_FORMAT, "%s: tensor '%s': the product of its shape overflows", path, name.text);
    }
    return STATUS_OK;
}

static enum status read_type(struct safetensors_entry *e, size_t *bits, const char *path, const json_t *dtype,
                             struct error *err)
{
    const struct shown name = show(e->name);
    if (!json_is_string(dtype))
        return fail(err, STATUS_FORMAT, "%s: tensor '%s': dtype is no string", path, name.text);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(json_string_value(dtype), types[i].name) == 0) {
            e->type = types[i].type;
            *bits = types[i].bits;
            return STATUS_OK;
        }
    return fail(err, STATUS_FORMAT, "%s: tensor '%s': unknown dtype '%s'", path, name.text,
                show(json_string_value(dtype)).text);
}

static enum status read_offsets(struct safetensors_entry *e, size_t bits, const char *path, const json_t *offsets,
                                size_t data, size_t data_size, struct error *err)
{
    const struct shown name = show(e->name);
    size_t begin, end, total_bits;
    if (json_array_size(offsets) != 2 || !read_size(&begin, json_array_get(offsets, 0)) ||
        !read_size(&end, json_array_get(offsets, 1)))
        return fail(err, STATUS_FORMAT, "%s: tensor '%s': data_offsets is no pair of whole numbers >= 0", path,
                    name.text);
    if (!checked_mul(&total_bits, e->count, bits))
        return fail(err, STATUS_FORMAT, "%s: tensor '%s': its size in bits overflows", path, name.text);
    if (total_bits % 8 != 0)
        return fail(err, STATUS_FORMAT, "%s: tensor '%s': %zu bits are no whole number of bytes", path, name.text,
                    total_bits);
    e->size = total_bits / 8;
    if (begin > end || end - begin != e->size)
        return fail(err, STATUS_FORMAT, "%s: tensor '%s': data_offsets %zu to %zu, but its shape takes %zu bytes", path,
                    name.text, begin, end, e->size);
    if (end > data_size)
        return fail(err, STATUS_FORMAT, "%s: %zu bytes long, at least %ju expected for tensor '%s': cut off", path,
                    data + data_size, (uintmax_t)data + end, name.text);
    e->begin = data + begin;
    return STATUS_OK;
}

static enum status read_entry(struct safetensors_entry *e, const struct safetensors *s, const char *name,
                              const json_t *fields, size_t data, struct error *err)
{
    e->name = strdup(name);
    if (!e->name)
        return fail(err, STATUS_MEMORY, "%s: no memory left for its tensors", s->path);
    const json_t *dtype = json_object_get(fields, "dtype"), *shape = json_object_get(fields, "shape"),
                 *offsets = json_object_get(fields, "data_offsets");
    if (!dtype || !shape || !offsets || json_object_size(fields) != 3)
        return fail(err, STATUS_FORMAT, "%s: tensor '%s': exactly dtype, shape and data_offsets expected", s->path,
                    show(name).text);
    size_t bits = 0;
    enum status status = read_type(e, &bits, s->path, dtype, err);
    if (status == STATUS_OK)
        status = read_shape(e, s->path, shape, err);
    if (status == STATUS_OK)
        status = read_offsets(e, bits, s->path, offsets, data, s->file.size - data, err);
    return status;
}

/* An empty tensor goes before one of some size at the same place, or the two would seem to overlap. */
static int by_offset(const void *left, const void *right)
{
    const struct safetensors_entry *a = left, *b = right;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return strcmp(a->name, b->name);
}

struct name_index {
    const char *name;
    size_t index;
};

static int by_name(const void *left, const void *right)
{
    const struct name_index *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static enum status index_names(struct safetensors *s, struct error *err)
{
    struct name_index *sorted = malloc((s->count + 1) * sizeof *sorted);
    s->by_name = malloc((s->count + 1) * sizeof *s->by_name);
    if (!sorted || !s->by_name) {
        free(sorted);
        return fail(err, STATUS_MEMORY, "%s: no memory left for its tensors", s->path);
    }
    for (size_t i = 0; i < s->count; i++)
        sorted[i] = (struct name_index){.name = s->entry[i].name, .index = i};
    qsort(sorted, s->count, sizeof *sorted, by_name);
    for (size_t i = 0; i < s->count; i++)
        s->by_name[i] = sorted[i].index;
    free(sorted);
    return STATUS_OK;
}

static enum status check_contiguous(const struct safetensors *s, size_t data, struct error *err)
{
    size_t at = data;
    for (size_t i = 0; i < s->count; i++) {
        const struct safetensors_entry *e = &s->entry[i];
        if (e->begin != at)
            return fail(err, STATUS_FORMAT, "%s: tensor '%s' begins at byte %zu of the data, %zu expected: %s", s->path,
                        show(e->name).text, e->begin - data, at - data, e->begin > at ? "a gap" : "an overlap");
        at += e->size; /* within the file, as read_offsets saw */
    }
    if (at != s->file.size)
        return fail(err, STATUS_FORMAT, "%s: %zu bytes long, %zu expected by its header", s->path, s->file.size, at);
    return STATUS_OK;
}

static enum status read_header(struct safetensors *s, json_t *header, size_t data, struct error *err)
{
    const char *name;
    json_t *fields;
    s->entry = calloc(json_object_size(header) + 1, sizeof *s->entry);
    if (!s->entry)
        return fail(err, STATUS_MEMORY, "%s: no memory left for its tensors", s->path);
    json_object_foreach(header, name, fields)
    {
        const enum status status = strcmp(name, "__metadata__") == 0
                                       ? read_metadata(s, fields, err)
                                       : read_entry(&s->entry[s->count++], s, name, fields, data, err);
        if (status != STATUS_OK)
            return status;
    }
    qsort(s->entry, s->count, sizeof *s->entry, by_offset);
    const enum status status = check_contiguous(s, data, err);
    return status == STATUS_OK ? index_names(s, err) : status;
}

static enum status open_mapped(struct safetensors *s, struct error *err)
{
    json_t *header = NULL;
    size_t data = 0;
    enum status status = parse_header(&header, &data, s, err);
    if (status != STATUS_OK)
        return status;
    status = read_header(s, header, data, err);
    json_decref(header);
    return status;
}

enum status safetensors_open(struct safetensors *s, const char *path, struct error *err)
{
    *s = (struct safetensors){.path = strdup(path)};
    enum status status =
        s->path ? mapped_open(&s->file, path, err) : fail(err, STATUS_MEMORY, "%s: no memory left for a path", path);
    if (status == STATUS_OK)
        status = open_mapped(s, err);
    if (status != STATUS_OK)
        safetensors_close(s);
    return status;
}

void safetensors_close(struct safetensors *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->entry[i].name);
    free(s->entry);
    free(s->by_name);
    free(s->metadata);
    free(s->path);
    mapped_close(&s->file);
    *s = (struct safetensors){0};
}

const struct safetensors_entry *safetensors_find(const struct safetensors *s, const char *name)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct safetensors_entry *e = &s->entry[s->by_name[middle]];
        const int order = strcmp(name, e->name);
        if (order == 0)
            return e;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* ---- numbers ---- */

static float float_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* IEEE 754 binary16: 1 sign, 5 exponent, 10 fraction bits. Every one of them is a binary32 too. */
static float float_of_half(uint32_t half)
{
    const uint32_t sign = (half & 0x8000u) << 16, exponent = half >> 10 & 0x1Fu, fraction = half & 0x3FFu;
    if (exponent == 0x1F)
        return float_of_bits(sign | 0x7F800000u | fraction << 13);
    if (exponent != 0)
        return float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
    const float size = (float)fraction * 0x1p-24f; /* subnormal: exact, as fraction has 10 bits */
    return sign ? -size : size;
}

static double double_of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

enum status safetensors_read(real *out, const struct safetensors *s, const struct safetensors_entry *e,
                             struct error *err)
{
    const uint8_t *p = s->file.bytes + e->begin;
    switch (e->type) {
    case SAFETENSORS_F32:
        for (size_t i = 0; i < e->count; i++)
            out[i] = float_of_bits((uint32_t)little_endian(p + 4 * i, 4));
        return STATUS_OK;
    case SAFETENSORS_F64:
        for (size_t i = 0; i < e->count; i++)
            out[i] = (real)double_of_bits(little_endian(p + 8 * i, 8));
        return STATUS_OK;
    case SAFETENSORS_F16:
        for (size_t i = 0; i < e->count; i++)
            out[i] = float_of_half((uint32_t)little_endian(p + 2 * i, 2));
        return STATUS_OK;
    case SAFETENSORS_BF16:
        for (size_t i = 0; i < e->count; i++)
            out[i] = float_of_bits((uint32_t)little_endian(p + 2 * i, 2) << 16);
        return STATUS_OK;
    default:
        return fail(err, STATUS_FORMAT, "%s: tensor '%s' does not hold floating-point numbers (F32, F16, BF16, F64)",
                    s->path, show(e->name).text);
    }
}

/* ---- writing ---- */

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
            return fail(err, STATUS_RANGE, "safetensors: tensor '%s': its size overflows", show(items[i].name).text);
        if (json_object_get(header, items[i].name))
            return fail(err, STATUS_RANGE, "safetensors: tensor '%s' is there twice", show(items[i].name).text);
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
    if (data - LENGTH_BYTES > HEADER_AT_MOST)
        return fail(err, STATUS_RANGE, "safetensors: a header of %zu bytes, at most %zu are allowed", length,
                    HEADER_AT_MOST);
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
    char *text = status == STATUS_OK ? json_dumps(header, JSON_COMPACT) : NULL;
    json_decref(header);
    if (status == STATUS_OK)
        status = text ? assemble(bytes, size, text, data_size, items, n, err)
                      : fail(err, STATUS_MEMORY, "safetensors: no memory left for the header");
    free(text);
    return status;
}
