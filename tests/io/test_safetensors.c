#include "io/safetensors.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "support/scratch.h"

TestSuite(safetensors, .init = scratch_make, .fini = scratch_remove);

/* A file by hand: the header's length as stated, the header, n bytes 0, 1, 2, ... of data. */
static const char *make_file(uint64_t length, const char *header, size_t n)
{
    const size_t text = strlen(header);
    uint8_t *bytes = malloc(8 + text + n);
    for (size_t i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(length >> 8 * i);
    memcpy(bytes + 8, header, text);
    for (size_t i = 0; i < n; i++)
        bytes[8 + text + i] = (uint8_t)i;
    const char *path = scratch_path("file.safetensors");
    scratch_write(path, bytes, 8 + text + n);
    free(bytes);
    return path;
}

static uint8_t *sample_file(size_t *size)
{
    struct error err;
    const real values[6] = {1, 2, 3, 4, 5, 6};
    const struct safetensors_item items[] = {
        {.name = "wte.weight", .n_dims = 2, .shape = {2, 3}, .values = values},
        {.name = "b", .n_dims = 1, .shape = {4}, .values = values},
        {.name = "s", .n_dims = 0, .values = values},
    };
    uint8_t *bytes;
    cr_assert_eq(safetensors_build(&bytes, size, items, 3, &err), STATUS_OK);
    return bytes;
}

static void expect_refusal(const char *path, const char *part)
{
    struct error err = {.message = ""};
    struct safetensors s;
    const enum status status = safetensors_open(&s, path, &err);
    cr_assert(status == STATUS_FORMAT || status == STATUS_OPEN, "status %d: %s", (int)status, part);
    cr_assert_not_null(strstr(err.message, part), "'%s' lacks '%s'", err.message, part);
    cr_assert_not_null(strstr(err.message, path), "%s", err.message);
    cr_assert_null(strchr(err.message, '\n'), "%s", err.message);
    cr_assert_null(s.entry);
    cr_assert_null(s.path);
}

Test(safetensors, no_tensors_at_all_is_a_file_too)
{
    struct error err;
    struct safetensors s;
    uint8_t *bytes;
    size_t size;
    cr_assert_eq(safetensors_build(&bytes, &size, NULL, 0, &err), STATUS_OK);
    scratch_write(scratch_path("f"), bytes, size);
    free(bytes);
    cr_assert_eq(safetensors_open(&s, scratch_path("f"), &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(s.count, 0);
    cr_assert_null(safetensors_find(&s, "x"));
    safetensors_close(&s);
    cr_assert_eq(safetensors_open(&s, make_file(2, "{}", 0), &err), STATUS_OK, "%s", err.message);
    cr_assert_null(s.metadata);
    safetensors_close(&s);
}

/* The order of keys in a header says nothing; the offsets do. An empty tensor may stand anywhere between. */
Test(safetensors, entries_come_by_offset_whatever_the_order_of_the_header)
{
    struct error err;
    struct safetensors s;
    const char *header = "{\"last\":{\"dtype\":\"I8\",\"shape\":[3],\"data_offsets\":[8,11]},"
                         "\"none\":{\"shape\":[0],\"data_offsets\":[8,8],\"dtype\":\"F32\"},"
                         "\"first\":{\"data_offsets\":[0,8],\"dtype\":\"F16\",\"shape\":[2,2]}}   ";
    cr_assert_eq(safetensors_open(&s, make_file(strlen(header), header, 11), &err), STATUS_OK, "%s", err.message);
    cr_assert_str_eq(s.entry[0].name, "first");
    cr_assert_str_eq(s.entry[1].name, "none");
    cr_assert_str_eq(s.entry[2].name, "last");
    cr_assert_eq(safetensors_find(&s, "last")->type, SAFETENSORS_OTHER);
    real out[3];
    cr_assert_eq(safetensors_read(out, &s, &s.entry[2], &err), STATUS_FORMAT);
    cr_assert_not_null(strstr(err.message, "'last'"), "%s", err.message);
    safetensors_close(&s);
}

/* Written by the safetensors library for Python, version 0.8: all but the header's length. */
static const char peer_header[] = "{\"__metadata__\":{\"by\":\"a peer\"},"
                                  "\"c\":{\"dtype\":\"I64\",\"shape\":[2,1],\"data_offsets\":[0,16]},"
                                  "\"a\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[16,32]},"
                                  "\"b\":{\"dtype\":\"BF16\",\"shape\":[],\"data_offsets\":[32,34]},"
                                  "\"h\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[34,38]}}   ";
static const uint8_t peer_data[38] = {1, 0, 0, 0,    0,    0, 0, 0, 2, 0, 0, 0,    0,    0,    0,    0, 0,    0, 0,
                                      0, 0, 0, 0xF8, 0x3F, 0, 0, 0, 0, 0, 0, 0xF0, 0xFF, 0x40, 0x40, 0, 0x34, 0, 0xC0};

Test(safetensors, file_of_the_reference_library_reads)
{
    struct error err;
    struct safetensors s;
    real out[2];
    uint8_t bytes[302] = {0, 1}; /* length 256 */
    memcpy(bytes + 8, peer_header, 256);
    memcpy(bytes + 264, peer_data, 38);
    scratch_write(scratch_path("peer"), bytes, sizeof bytes);
    cr_assert_eq(safetensors_open(&s, scratch_path("peer"), &err), STATUS_OK, "%s", err.message);
    cr_assert_str_eq(s.metadata, "{\"by\":\"a peer\"}");
    cr_assert_eq(s.count, 4);
    cr_assert_eq(safetensors_read(out, &s, safetensors_find(&s, "a"), &err), STATUS_OK);
    cr_assert(out[0] == (real)1.5 && out[1] == -INFINITY);
    cr_assert_eq(safetensors_read(out, &s, safetensors_find(&s, "b"), &err), STATUS_OK);
    cr_assert_eq(out[0], 3);
    cr_assert_eq(safetensors_read(out, &s, safetensors_find(&s, "h"), &err), STATUS_OK);
    cr_assert(out[0] == (real)0.25 && out[1] == -2);
    cr_assert_eq(safetensors_find(&s, "c")->type, SAFETENSORS_I64);
    cr_assert_eq(safetensors_read(out, &s, safetensors_find(&s, "c"), &err), STATUS_FORMAT);
    safetensors_close(&s);
}

struct hostile {
    const char *header;
    size_t data;
    const char *part;
};

#define T(fields) "{\"t\":{" fields "}}"

static const struct hostile hostile[] = {
    /* sizes that wrap */
    {T("\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]"), 0,
     "product of its shape overflows"},
    {T("\"dtype\":\"F32\",\"shape\":[4611686018427387904,1],\"data_offsets\":[0,0]"), 0, "size in bits overflows"},
    {T("\"dtype\":\"F32\",\"shape\":[9223372036854775807,3],\"data_offsets\":[0,4]"), 4, "overflows"},
    {T("\"dtype\":\"F32\",\"shape\":[18446744073709551617],\"data_offsets\":[0,4]"), 4, "no valid JSON"},
    {T("\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]"), 4, "dimension 0"},
    {T("\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]"), 4, "dimension 0"},
    {T("\"dtype\":\"F32\",\"shape\":[1,\"1\"],\"data_offsets\":[0,4]"), 4, "dimension 1"},
    {T("\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]"), 4, "shape is no list"},
    {T("\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]"), 4, "no list of at most 8 numbers"},
    /* offsets that lie */
    {T("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,8]"), 8, "takes 4 bytes"},
    {T("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]"), 4, "takes 8 bytes"},
    {T("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]"), 4, "data_offsets 4 to 0"},
    {T("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[-4,0]"), 4, "no pair"},
    {T("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]"), 4, "no pair"},
    {T("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,4]"), 4, "no pair"},
    {T("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":{\"0\":0,\"1\":4}"), 4, "no pair"},
    {T("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]"), 3, "cut off"},
    {T("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]"), 5, "bytes long"},
    {T("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]"), 8, "a gap"},
    {T("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[9223372036854775803,9223372036854775807]"), 4, "cut off"},
    {"{\"a\":{\"dtype\":\"I8\",\"shape\":[4],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"I8\",\"shape\":[4],\"data_"
     "offsets\":[2,6]}}",
     6, "an overlap"},
    {"{\"a\":{\"dtype\":\"I8\",\"shape\":[4],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"I8\",\"shape\":[4],\"data_"
     "offsets\":[0,4]}}",
     4, "an overlap"},
    {"{\"a\":{\"dtype\":\"I8\",\"shape\":[4],\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"I8\",\"shape\":[1],\"data_"
     "offsets\":[5,6]}}",
     6, "a gap"},
    /* types */
    {T("\"dtype\":\"Q4\",\"shape\":[1],\"data_offsets\":[0,4]"), 4, "unknown dtype 'Q4'"},
    {T("\"dtype\":\"f32\",\"shape\":[1],\"data_offsets\":[0,4]"), 4, "unknown dtype"},
    {T("\"dtype\":32,\"shape\":[1],\"data_offsets\":[0,4]"), 4, "dtype is no string"},
    {T("\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,2]"), 2, "no whole number of bytes"},
    /* fields */
    {T("\"dtype\":\"F32\",\"shape\":[1]"), 4, "exactly dtype, shape and data_offsets"},
    {T("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"more\":1"), 4, "exactly"},
    {T("\"dtype\":\"F32\",\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,4]"), 4, "duplicate"},
    {"{\"t\":[0]}", 0, "exactly"},
    {"{\"a\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[0,1]},\"a\":{\"dtype\":\"I8\",\"shape\":[1],\"data_"
     "offsets\":[1,2]}}",
     2, "duplicate"},
    {"{\"a\\u0000b\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1, "no valid JSON"},
    {"{\"line\\nbreak\":3}", 0, "'line?break'"},
    {"{\"__metadata__\":{\"a\":1}}", 0, "__metadata__ 'a'"},
    {"{\"__metadata__\":[]}", 0, "__metadata__ is no JSON object"},
    /* no header */
    {"[]", 0, "does not begin with '{'"},
    {" {}", 0, "does not begin with '{'"},
    {"{}x", 0, "no valid JSON"},
    {"{\"t\"", 0, "no valid JSON"},
    {"{\"\xFF\":1}", 0, "no valid JSON"},
    {"{\"t\":{\"a\":{\"b\":{}}}}", 0, "nested"},
};

Test(safetensors, hostile_headers_are_refused_by_what_is_wrong)
{
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++)
        expect_refusal(make_file(strlen(hostile[i].header), hostile[i].header, hostile[i].data), hostile[i].part);
}

Test(safetensors, header_length_is_believed_only_within_the_file)
{
    const uint64_t lengths[] = {UINT64_MAX, UINT64_MAX - 7, (uint64_t)INT64_MAX, (uint64_t)1 << 30, 100000001};
    for (size_t i = 0; i < 5; i++)
        expect_refusal(make_file(lengths[i], "{}", 0), "header length");
    expect_refusal(make_file(100000000, "{}", 0), "cut off");
    expect_refusal(make_file(3, "{}", 0), "cut off");
    expect_refusal(make_file(0, "{}", 0), "does not begin");
}

Test(safetensors, deep_nesting_is_refused_before_it_is_parsed)
{
    const size_t n = 3000000;
    char *header = malloc(n + 8);
    memcpy(header, "{\"t\":", 5);
    memset(header + 5, '[', n);
    header[5 + n] = '\0';
    expect_refusal(make_file(5 + n, header, 0), "nested");
    memset(header + 6, '0', n - 1);
    for (size_t i = 7; i < n; i += 2)
        header[i] = ',';
    expect_refusal(make_file(5 + n, header, 0), "more than 1048576 values");
    free(header);
}

/* Memory is limited to what the file's own size allows for: a reader that believed the length would be refused it. */
Test(safetensors, refuses_a_header_length_near_2_to_the_64_before_allocating)
{
    const struct rlimit limit = {.rlim_cur = (rlim_t)1 << 31, .rlim_max = (rlim_t)1 << 31};
#ifndef NOPEEK_SANITIZED
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
#else
    (void)limit;
#endif
    const uint64_t wraps[] = {UINT64_MAX,      UINT64_MAX - 7,    UINT64_MAX - 8,
                              UINT64_MAX - 15, (uint64_t)1 << 63, (uint64_t)1 << 32};
    for (size_t i = 0; i < sizeof wraps / sizeof wraps[0]; i++)
        expect_refusal(make_file(wraps[i], "{\"a\":{}}", 16), "at most 100000000 expected");
}

Test(safetensors, refuses_a_header_of_a_gigabyte_by_its_length)
{
    const char *path = make_file((uint64_t)1 << 30, "{", 0);
    cr_assert_eq(truncate(path, ((off_t)1 << 30) + 8), 0, "a hole of that size takes no room");
    expect_refusal(path, "header length 1073741824, at most 100000000 expected");
}

/* A header within the cap, of a million empty objects, would cost the parser a hundred times its size. */
Test(safetensors, refuses_more_values_than_a_model_has_before_parsing_them)
{
    const size_t n = 1100000;
    char *header = malloc(2 * n + 16), *at = header + sprintf(header, "{\"t\":[");
    for (size_t i = 0; i < n; i++)
        at += sprintf(at, "0,");
    strcpy(at, "0]}");
    expect_refusal(make_file(strlen(header), header, 0), "more than 1048576 values");
    free(header);
}

Test(safetensors, a_file_cut_off_while_it_is_read_is_an_error_and_no_signal)
{
    struct error err;
    struct safetensors s;
    const size_t n = (size_t)1 << 18;
    char header[128];
    snprintf(header, sizeof header, "{\"t\":{\"dtype\":\"F32\",\"shape\":[%zu],\"data_offsets\":[0,%zu]}}", n, 4 * n);
    const char *path = make_file(strlen(header), header, 4 * n);
    cr_assert_eq(safetensors_open(&s, path, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(truncate(path, 5000), 0);
    real *out = calloc(n, sizeof *out);
    cr_assert_eq(safetensors_read(out, &s, &s.entry[0], &err), STATUS_READ);
    cr_assert_not_null(strstr(err.message, "ends at byte 5000: it was cut off while it was read"), "%s", err.message);
    char hash[HASH_TEXT_SIZE];
    cr_assert_eq(safetensors_hash(hash, &s, &err), STATUS_READ);
    safetensors_close(&s);
    free(out);
}

/* Whatever is read, skipped or left, and in which order. */
Test(safetensors, the_hash_is_that_of_the_whole_file_however_it_was_read)
{
    size_t size;
    uint8_t *bytes = sample_file(&size);
    const char *path = scratch_path("f");
    scratch_write(path, bytes, size);
    char expected[HASH_TEXT_SIZE], hash[HASH_TEXT_SIZE];
    hash_bytes(expected, bytes, size);
    static const char *const orders[] = {"", "012", "210", "0S", "S12", "0S2", "1", "00S"};
    for (size_t k = 0; k < sizeof orders / sizeof orders[0]; k++) {
        struct error err;
        struct safetensors s;
        real out[6];
        cr_assert_eq(safetensors_open(&s, path, &err), STATUS_OK, "%s", err.message);
        for (const char *o = orders[k]; *o; o++)
            cr_assert_eq(*o == 'S' ? safetensors_skip(&s, &s.entry[1], &err)
                                   : safetensors_read(out, &s, &s.entry[*o - '0'], &err),
                         STATUS_OK);
        cr_assert_eq(safetensors_hash(hash, &s, &err), STATUS_OK);
        cr_assert_str_eq(hash, expected, "order '%s'", orders[k]);
        cr_assert_eq(safetensors_read(out, &s, &s.entry[0], &err), STATUS_OK, "reading goes on");
        safetensors_close(&s);
    }
    free(bytes);
}

/* The format asks for no alignment: a header of any length, bytes before the floats. */
Test(safetensors, floats_at_every_misaligned_offset_read_like_any_others)
{
    for (size_t odd = 0; odd < 8; odd++)
        for (size_t blanks = 0; blanks < 8; blanks++) {
            struct error err;
            struct safetensors s;
            real out[2];
            char header[256];
            snprintf(header, sizeof header,
                     "{\"b\":{\"dtype\":\"U8\",\"shape\":[%zu],\"data_offsets\":[0,%zu]},"
                     "\"f\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[%zu,%zu]}}%*s",
                     odd, odd, odd, odd + 8, (int)blanks, "");
            cr_assert_eq(safetensors_open(&s, make_file(strlen(header), header, odd + 8), &err), STATUS_OK, "%s",
                         err.message);
            cr_assert_eq(safetensors_read(out, &s, safetensors_find(&s, "f"), &err), STATUS_OK, "%s", err.message);
            for (size_t i = 0; i < 2; i++) {
                const uint32_t byte = (uint32_t)(odd + 4 * i);
                const uint32_t bits = byte | (byte + 1) << 8 | (byte + 2) << 16 | (byte + 3) << 24;
                float expected;
                memcpy(&expected, &bits, sizeof expected);
                cr_assert_eq(out[i], (real)expected, "offset %zu, %zu blanks", odd, blanks);
            }
            safetensors_close(&s);
        }
}

/* The file is changed in place after it was opened: what was read before and what the hash is of are the same bytes. */
Test(safetensors, the_hash_is_of_the_bytes_that_were_used_not_of_those_there_now)
{
    size_t size;
    uint8_t *bytes = sample_file(&size);
    const char *path = scratch_path("f");
    scratch_write(path, bytes, size);
    char expected[HASH_TEXT_SIZE], hash[HASH_TEXT_SIZE];
    hash_bytes(expected, bytes, size);
    struct error err;
    struct safetensors s;
    real out[6];
    cr_assert_eq(safetensors_open(&s, path, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(safetensors_read(out, &s, &s.entry[0], &err), STATUS_OK);
    bytes[s.entry[0].begin] ^= 1;
    bytes[0] ^= 1;
    scratch_write(path, bytes, size);
    cr_assert_eq(safetensors_hash(hash, &s, &err), STATUS_OK);
    cr_assert_str_eq(hash, expected, "read before the change");
    safetensors_close(&s);
    bytes[0] ^= 1;
    scratch_write(path, bytes, size);
    cr_assert_eq(safetensors_open(&s, path, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(safetensors_read(out, &s, &s.entry[0], &err), STATUS_OK);
    cr_assert_eq(safetensors_hash(hash, &s, &err), STATUS_OK);
    cr_assert_str_neq(hash, expected, "read after the change");
    safetensors_close(&s);
    free(bytes);
}

Test(safetensors, what_is_no_file_is_refused, .timeout = 10)
{
    cr_assert_eq(mkfifo(scratch_path("pipe"), 0666), 0);
    expect_refusal(scratch_path("pipe"), "pipe or device");
    expect_refusal(scratch_folder(), "is a folder");
    expect_refusal(scratch_path("missing"), "No such file");
    scratch_write(scratch_path("empty"), "", 0);
    expect_refusal(scratch_path("empty"), "0 bytes long");
    scratch_write(scratch_path("page"), "<!DOCTYPE html><html></html>", 28);
    expect_refusal(scratch_path("page"), "no safetensors file");
}

Test(safetensors, file_cut_anywhere_is_refused)
{
    size_t size;
    uint8_t *bytes = sample_file(&size);
    for (size_t n = 0; n < size; n++) {
        scratch_write(scratch_path("cut"), bytes, n);
        expect_refusal(scratch_path("cut"), "bytes long");
    }
    free(bytes);
}

/* Changes, removes or adds bytes at random: any outcome is fine but a crash, a wild read (the sanitizers see
 * it) or a refusal without a line that says why. */
Test(safetensors, damaged_files_never_crash_the_reader)
{
    size_t size, opened = 0;
    uint8_t *bytes = sample_file(&size), *damaged = malloc(size + 8);
    const char *path = scratch_path("damaged");
    static const char alphabet[] = "{}[]\",:0123456789-.eFBI \\u";
    for (uint32_t trial = 0; trial < 4000; trial++) {
        const struct rng_site site = {.seed = 5, .purpose = RNG_TEST, .step = trial};
        size_t n = size;
        memcpy(damaged, bytes, size);
        const uint32_t changes = rng_bits(&site, 0) % 3;
        for (uint32_t k = 0; k <= changes; k++) {
            /* Most changes strike the header, with bytes that mean something there. */
            const size_t span = rng_bits(&site, 8 * k + 1) % 8 ? n / 2 : n;
            const size_t at = rng_bits(&site, 8 * k + 2) % span;
            const uint32_t kind = rng_bits(&site, 8 * k + 3) % 4, bits = rng_bits(&site, 8 * k + 4);
            const uint8_t byte =
                bits % 4 ? (uint8_t)alphabet[(bits >> 8) % (sizeof alphabet - 1)] : (uint8_t)(bits >> 8);
            if (kind == 3 && n > 16) {
                memmove(damaged + at, damaged + at + 1, n - at - 1);
                n--;
            } else if (kind == 2 && n < size + 8) {
                memmove(damaged + at + 1, damaged + at, n - at);
                damaged[at] = byte;
                n++;
            } else {
                damaged[at] = byte;
            }
        }
        scratch_write(path, damaged, n);
        struct error err = {.message = ""};
        struct safetensors s;
        if (safetensors_open(&s, path, &err) == STATUS_OK) {
            for (size_t i = 0; i < s.count; i++) {
                real *out = malloc((s.entry[i].count + 1) * sizeof *out);
                cr_assert_leq(s.entry[i].count, 8 * size);
                safetensors_read(out, &s, &s.entry[i], &err);
                free(out);
            }
            opened++;
            safetensors_close(&s);
        } else {
            cr_assert(strlen(err.message) > 0 && !strchr(err.message, '\n'), "trial %u", trial);
        }
    }
    cr_assert(opened > 0 && opened < 4000, "%zu opened: the damage is no test", opened);
    free(damaged);
    free(bytes);
}

/* What the bits of a small float mean, by the definition of IEEE 754. */
static double meaning(uint32_t bits, int exponent_bits, int fraction_bits)
{
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = (int)(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
    const double fraction = bits & ((1u << fraction_bits) - 1);
    const double sign = bits >> (exponent_bits + fraction_bits) & 1 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1)
        return fraction != 0 ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, 1 - bias - fraction_bits);
    return sign * ldexp(1 + ldexp(fraction, -fraction_bits), exponent - bias);
}

static void every_16_bits(const char *dtype, int exponent_bits, int fraction_bits)
{
    char header[128];
    snprintf(header, sizeof header, "{\"t\":{\"dtype\":\"%s\",\"shape\":[65536],\"data_offsets\":[0,131072]}}", dtype);
    const size_t text = strlen(header);
    uint8_t *bytes = calloc(8 + text + 131072, 1);
    bytes[0] = (uint8_t)text;
    memcpy(bytes + 8, header, text);
    for (size_t i = 0; i < 65536; i++) {
        bytes[8 + text + 2 * i] = (uint8_t)i;
        bytes[8 + text + 2 * i + 1] = (uint8_t)(i >> 8);
    }
    scratch_write(scratch_path("f"), bytes, 8 + text + 131072);
    free(bytes);
    struct error err;
    struct safetensors s;
    real *out = malloc(65536 * sizeof *out);
    cr_assert_eq(safetensors_open(&s, scratch_path("f"), &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(safetensors_read(out, &s, &s.entry[0], &err), STATUS_OK, "%s", err.message);
    for (uint32_t i = 0; i < 65536; i++) {
        const double expected = meaning(i, exponent_bits, fraction_bits);
        cr_assert(isnan(expected) ? isnan(out[i]) : (double)out[i] == expected, "%s %04x", dtype, i);
        cr_assert(isnan(expected) || !signbit(out[i]) == !signbit(expected), "%s %04x", dtype, i);
    }
    safetensors_close(&s);
    free(out);
}

Test(safetensors, every_half_precision_number_converts_exactly)
{
    every_16_bits("F16", 5, 10);
    every_16_bits("BF16", 8, 7);
}

Test(safetensors, doubles_and_floats_convert_exactly_or_to_the_nearest)
{
    const double values[] = {0.1, -0.0, 0x1p-149, 0x1.fffffep127, INFINITY, NAN, 1 + 0x1p-25, 0x1p-1074, 1e300};
    char header[128];
    snprintf(header, sizeof header, "{\"t\":{\"dtype\":\"F64\",\"shape\":[9],\"data_offsets\":[0,72]}}");
    uint8_t bytes[256] = {(uint8_t)strlen(header)};
    memcpy(bytes + 8, header, strlen(header));
    for (size_t i = 0; i < 9; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], 8);
        for (size_t b = 0; b < 8; b++)
            bytes[8 + strlen(header) + 8 * i + b] = (uint8_t)(bits >> 8 * b);
    }
    scratch_write(scratch_path("f"), bytes, 8 + strlen(header) + 72);
    struct error err;
    struct safetensors s;
    real out[9];
    cr_assert_eq(safetensors_open(&s, scratch_path("f"), &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(safetensors_read(out, &s, &s.entry[0], &err), STATUS_OK, "%s", err.message);
    for (size_t i = 0; i < 9; i++) {
        cr_assert(isnan(values[i]) ? isnan(out[i]) : out[i] == (real)values[i], "value %zu", i);
        cr_assert(isnan(values[i]) || !signbit(out[i]) == !signbit(values[i]), "value %zu", i);
    }
    safetensors_close(&s);
}
