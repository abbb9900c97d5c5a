#include "io/safetensors.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "io/json_text.h"

#define LENGTH_BYTES 8
#define PIECE ((size_t)16 << 10) /* a multiple of every number's size */

/* A model of 4095 layers needs 49,145 tensors, its moments twice as many, and each takes 8 values. */
static const struct json_limits header_limits = {
    .bytes = SAFETENSORS_MAX_HEADER,
    .depth = 3, /* { tensor: { field: [ numbers ] } } */
    .values = (size_t)1 << 20,
};

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

static uint64_t little_endian(const uint8_t *p, size_t n)
{
    uint64_t x = 0;
    for (size_t i = n; i-- > 0;)
        x = x << 8 | p[i];
    return x;
}

/* ---- reading the header ---- */

/* Reads n bytes at `at`. Those that follow on what has been hashed are hashed, from the memory that they are used from.
 */
static enum status take(struct safetensors *s, void *out, size_t n, size_t at, struct error *err)
{
    const enum status status = file_read(&s->file, out, n, at, err);
    if (status == STATUS_OK && s->hash && at == s->hashed) {
        hash_add(s->hash, out, n);
        s->hashed += n;
    }
    return status;
}

/* The header's length, compared with the cap and with the file. */
static enum status read_length(size_t *out, struct safetensors *s, struct error *err)
{
    uint8_t bytes[LENGTH_BYTES];
    const size_t size = s->file.size;
    if (size < LENGTH_BYTES + 2)
        return fail(err, STATUS_FORMAT, "%s: %zu bytes long, too short for a safetensors file", s->path, size);
    const enum status status = take(s, bytes, LENGTH_BYTES, 0, err);
    if (status != STATUS_OK)
        return status;
    const uint64_t length = little_endian(bytes, LENGTH_BYTES);
    if (length > SAFETENSORS_MAX_HEADER)
        return fail(err, STATUS_FORMAT,
                    "%s: header length %llu, at most %zu expected: no safetensors file, or a damaged one", s->path,
                    (unsigned long long)length, SAFETENSORS_MAX_HEADER);
    if (length > size - LENGTH_BYTES)
        return fail(err, STATUS_FORMAT, "%s: %zu bytes long, at least %llu expected by its header: cut off", s->path,
                    size, (unsigned long long)length + LENGTH_BYTES);
    if (length == 0)
        return fail(err, STATUS_FORMAT, "%s: header does not begin with '{': no safetensors file", s->path);
    *out = (size_t)length;
    return STATUS_OK;
}

static enum status parse_text(json_t **header, const char *path, const uint8_t *text, size_t n, struct error *err)
{
    if (text[0] != '{')
        return fail(err, STATUS_FORMAT, "%s: header does not begin with '{': no safetensors file", path);
    return json_text_parse(header, path, text, n, 0, &header_limits, err);
}

static enum status parse_header(json_t **header, size_t *data, struct safetensors *s, struct error *err)
{
    size_t length = 0;
    enum status status = read_length(&length, s, err);
    if (status != STATUS_OK)
        return status;
    assert(length > 0); /* read_length refuses it */
    uint8_t *text = malloc(length);
    if (!text)
        return fail(err, STATUS_MEMORY, "%s: no memory left for its header of %zu bytes", s->path, length);
    status = take(s, text, length, LENGTH_BYTES, err);
    if (status == STATUS_OK)
        status = parse_text(header, s->path, text, length, err);
    free(text);
    *data = LENGTH_BYTES + length;
    return status;
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
            return fail(err, STATUS_FORMAT, "%s: __metadata__ '%.80s' is no string", s->path, key);
    }
    s->metadata = json_text_make(metadata, JSON_COMPACT, NULL);
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
    if (!json_is_array(shape) || json_array_size(shape) > SAFETENSORS_MAX_DIMS)
        return fail(err, STATUS_FORMAT, "%s: tensor '%.80s': shape is no list of at most %d numbers", path, e->name,
                    SAFETENSORS_MAX_DIMS);
    e->n_dims = json_array_size(shape);
    e->count = 1;
    for (size_t i = 0; i < e->n_dims; i++) {
        if (!read_size(&e->shape[i], json_array_get(shape, i)))
            return fail(err, STATUS_FORMAT, "%s: tensor '%.80s': dimension %zu of its shape is no whole number >= 0",
                        path, e->name, i);
        if (!checked_mul(&e->count, e->count, e->shape[i]))
            return fail(err, STATUS_FORMAT, "%s: tensor '%.80s': the product of its shape overflows", path, e->name);
    }
    return STATUS_OK;
}

static enum status read_type(struct safetensors_entry *e, size_t *bits, const char *path, const json_t *dtype,
                             struct error *err)
{
    if (!json_is_string(dtype))
        return fail(err, STATUS_FORMAT, "%s: tensor '%.80s': dtype is no string", path, e->name);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(json_string_value(dtype), types[i].name) == 0) {
            e->type = types[i].type;
            *bits = types[i].bits;
            return STATUS_OK;
        }
    return fail(err, STATUS_FORMAT, "%s: tensor '%.80s': unknown dtype '%.80s'", path, e->name,
                json_string_value(dtype));
}

static enum status read_offsets(struct safetensors_entry *e, size_t bits, const char *path, const json_t *offsets,
                                size_t data, size_t data_size, struct error *err)
{
    size_t begin, end, total_bits;
    if (json_array_size(offsets) != 2 || !read_size(&begin, json_array_get(offsets, 0)) ||
        !read_size(&end, json_array_get(offsets, 1)))
        return fail(err, STATUS_FORMAT, "%s: tensor '%.80s': data_offsets is no pair of whole numbers >= 0", path,
                    e->name);
    if (!checked_mul(&total_bits, e->count, bits))
        return fail(err, STATUS_FORMAT, "%s: tensor '%.80s': its size in bits overflows", path, e->name);
    if (total_bits % 8 != 0)
        return fail(err, STATUS_FORMAT, "%s: tensor '%.80s': %zu bits are no whole number of bytes", path, e->name,
                    total_bits);
    e->size = total_bits / 8;
    if (begin > end || end - begin != e->size)
        return fail(err, STATUS_FORMAT, "%s: tensor '%.80s': data_offsets %zu to %zu, but its shape takes %zu bytes",
                    path, e->name, begin, end, e->size);
    if (end > data_size)
        return fail(err, STATUS_FORMAT, "%s: %zu bytes long, at least %ju expected for tensor '%.80s': cut off", path,
                    data + data_size, (uintmax_t)data + end, e->name);
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
        return fail(err, STATUS_FORMAT, "%s: tensor '%.80s': exactly dtype, shape and data_offsets expected", s->path,
                    name);
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
            return fail(err, STATUS_FORMAT, "%s: tensor '%.80s' begins at byte %zu of the data, %zu expected: %s",
                        s->path, e->name, e->begin - data, at - data, e->begin > at ? "a gap" : "an overlap");
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

static enum status read_open(struct safetensors *s, struct error *err)
{
    s->hash = hash_begin();
    if (!s->hash)
        return fail(err, STATUS_MEMORY, "%s: no memory left to take its hash", s->path);
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
        s->path ? file_open(&s->file, s->path, err) : fail(err, STATUS_MEMORY, "%s: no memory left for a path", path);
    if (status == STATUS_OK)
        status = read_open(s, err);
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
    hash_end(NULL, s->hash);
    file_close(&s->file);
    free(s->path);
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

/* count numbers of a type, little-endian. */
static void convert(real *out, enum safetensors_type type, const uint8_t *p, size_t count)
{
    for (size_t i = 0; i < count; i++)
        switch (type) {
        case SAFETENSORS_F64:
            out[i] = (real)double_of_bits(little_endian(p + 8 * i, 8));
            break;
        case SAFETENSORS_F32:
            out[i] = float_of_bits((uint32_t)little_endian(p + 4 * i, 4));
            break;
        case SAFETENSORS_F16:
            out[i] = float_of_half((uint32_t)little_endian(p + 2 * i, 2));
            break;
        default: /* SAFETENSORS_BF16 */
            out[i] = float_of_bits((uint32_t)little_endian(p + 2 * i, 2) << 16);
        }
}

/* A real has in memory just the bytes that an F32 has in the file. */
static bool in_place(enum safetensors_type type)
{
    const uint32_t one = 1;
    uint8_t first;
    memcpy(&first, &one, 1);
    return type == SAFETENSORS_F32 && sizeof(real) == 4 && first == 1;
}

enum status safetensors_read(real *out, struct safetensors *s, const struct safetensors_entry *e, struct error *err)
{
    if (e->type != SAFETENSORS_F64 && e->type != SAFETENSORS_F32 && e->type != SAFETENSORS_F16 &&
        e->type != SAFETENSORS_BF16)
        return fail(err, STATUS_FORMAT, "%s: tensor '%.80s' does not hold floating-point numbers (F32, F16, BF16, F64)",
                    s->path, e->name);
    if (in_place(e->type))
        return take(s, out, e->size, e->begin, err);
    uint8_t piece[PIECE];
    for (size_t at = 0, done = 0; at < e->size;) {
        const size_t n = e->size - at < PIECE ? e->size - at : PIECE, count = n / (e->size / e->count);
        const enum status status = take(s, piece, n, e->begin + at, err);
        if (status != STATUS_OK)
            return status;
        convert(out + done, e->type, piece, count);
        done += count;
        at += n;
    }
    return STATUS_OK;
}

/* Reads up to `end` for the hash alone; what was hashed already is let be. */
static enum status pass_over(struct safetensors *s, size_t end, struct error *err)
{
    uint8_t piece[PIECE];
    while (s->hashed < end) {
        const size_t left = end - s->hashed;
        const enum status status = take(s, piece, left < PIECE ? left : PIECE, s->hashed, err);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

enum status safetensors_skip(struct safetensors *s, const struct safetensors_entry *e, struct error *err)
{
    return s->hash ? pass_over(s, e->begin + e->size, err) : STATUS_OK;
}

enum status safetensors_hash(char out[HASH_TEXT_SIZE], struct safetensors *s, struct error *err)
{
    assert(s->hash);
    const enum status status = pass_over(s, s->file.size, err);
    if (status == STATUS_OK) {
        hash_end(out, s->hash);
        s->hash = NULL;
    }
    return status;
}
