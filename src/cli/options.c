#include "cli/options.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/nearest.h"
#include "io/json_text.h"

#define COMMON_CODE 256 /* what getopt_long returns: 256 + ... for --help, --version, --config */
#define FIRST_CODE 512  /* 512 + 2 * row for --name, one more for --no-name */
#define NONE SIZE_MAX

/* Many times what all options together take. */
static const struct json_limits config_limits = {.bytes = (size_t)1 << 20, .depth = 8, .values = (size_t)1 << 16};

enum common { COMMON_HELP, COMMON_VERSION, COMMON_CONFIG, COMMON_COUNT };
static const char *const common_name[] = {"help", "version", "config"};

/* A found value as messages show it: quoted, printable, not endless. */
struct shown {
    char text[48];
};

static struct shown show(const char *value)
{
    struct shown s;
    size_t n = 0;
    s.text[n++] = '"';
    for (; *value != '\0' && n < sizeof s.text - 5; value++)
        s.text[n++] = (unsigned char)*value < 0x20 || *value == 0x7F ? '?' : *value;
    if (*value != '\0') {
        while (n > 1 && ((unsigned char)*value & 0xC0u) == 0x80u) { /* not inside a UTF-8 character */
            value--;
            n--;
        }
        memcpy(s.text + n, "...", 3);
        n += 3;
    }
    s.text[n++] = '"';
    s.text[n] = '\0';
    return s;
}

static size_t count_rows(const struct option_spec *table)
{
    size_t n = 0;
    while (!option_is_end(&table[n]))
        n++;
    assert(n <= OPTIONS_MAX);
    return n;
}

static size_t find(const struct option_spec *table, const char *name)
{
    for (size_t i = 0; !option_is_end(&table[i]); i++)
        if (table[i].name && strcmp(table[i].name, name) == 0)
            return i;
    return NONE;
}

/* Nothing happens when a stronger source has set the option already. */
static void store(struct options *o, size_t row, const struct option_value *v, enum options_source source)
{
    if (o->source[row] > source)
        return;
    option_store(o->target, &o->table[row], v);
    o->source[row] = (unsigned char)source;
}

static void set_defaults(struct options *o)
{
    for (size_t i = 0; !option_is_end(&o->table[i]); i++) {
        const struct option_spec *spec = &o->table[i];
        struct option_value v = {0};
        if (!spec->name)
            continue;
        const bool understood = !spec->fallback || option_from_text(&v, spec, spec->fallback);
        const bool optional = spec->type == OPTION_FLAG || spec->type == OPTION_STRING || spec->type == OPTION_PATH;
        assert(understood && (spec->fallback || optional));
        (void)understood, (void)optional;
        store(o, i, &v, OPTIONS_DEFAULT);
    }
}

enum options_source options_source(const struct options *o, const char *name)
{
    const size_t row = find(o->table, name);
    assert(row != NONE);
    return (enum options_source)o->source[row];
}

bool options_given(const struct options *o, const char *name)
{
    return options_source(o, name) >= OPTIONS_CONFIG;
}

static enum status set_row(struct options *o, size_t row, const char *text, enum options_source source,
                           struct error *err)
{
    const struct option_spec *spec = &o->table[row];
    struct option_value v = {0};
    if (!option_from_text(&v, spec, text)) {
        char expected[OPTION_WORDS_SIZE];
        option_expected(expected, spec);
        return fail(err, STATUS_USAGE, "--%s: found %s, expected %s", spec->name, show(text).text, expected);
    }
    store(o, row, &v, source);
    return STATUS_OK;
}

enum status options_set(struct options *o, const char *name, const char *text, enum options_source source,
                        const char *origin, struct error *err)
{
    const size_t row = find(o->table, name);
    assert(row != NONE);
    const enum status s = set_row(o, row, text, source, err);
    return s == STATUS_OK ? s : fail_within(err, s, "%s", origin);
}

json_t *options_save(const struct options *o)
{
    json_t *object = json_object();
    for (size_t i = 0; object && !option_is_end(&o->table[i]); i++) {
        const struct option_spec *spec = &o->table[i];
        if (spec->name && spec->saved &&
            json_object_set_new(object, spec->saved, option_to_json(o->target, spec)) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static size_t find_key(const struct option_spec *table, const char *key)
{
    for (size_t i = 0; !option_is_end(&table[i]); i++)
        if (table[i].saved && strcmp(table[i].saved, key) == 0)
            return i;
    return find(table, key);
}

static enum status unknown_key(const struct option_spec *table, const char *key, const char *origin, struct error *err)
{
    struct nearest near = {.word = key};
    for (size_t i = 0; !option_is_end(&table[i]); i++) {
        if (table[i].saved)
            nearest_offer(&near, table[i].saved);
        if (table[i].name)
            nearest_offer(&near, table[i].name);
    }
    if (near.best)
        return fail(err, STATUS_USAGE, "%s: unknown key %s: did you mean \"%s\"?", origin, show(key).text, near.best);
    return fail(err, STATUS_USAGE, "%s: unknown key %s: keys are option names, such as \"%s\"", origin, show(key).text,
                table[0].name   ? table[0].name
                : table[1].name ? table[1].name
                                : "");
}

enum status options_load(struct options *o, json_t *object, enum options_source source, const char *origin,
                         struct error *err)
{
    if (!json_is_object(object))
        return fail(err, STATUS_USAGE, "%s: expected a JSON object of option names and values", origin);
    if (json_array_append(o->kept, object) != 0)
        return fail(err, STATUS_MEMORY, "%s: out of memory", origin);
    bool seen[OPTIONS_MAX] = {false};
    const char *key;
    json_t *item;
    json_object_foreach(object, key, item)
    {
        const size_t row = find_key(o->table, key);
        if (row == NONE)
            return unknown_key(o->table, key, origin, err);
        if (seen[row])
            return fail(err, STATUS_USAGE, "%s: %s and another key set the same option: keep one", origin,
                        show(key).text);
        seen[row] = true;
        if (json_is_null(item))
            continue;
        struct option_value v = {0};
        if (!option_from_json(&v, &o->table[row], item)) {
            char *text = json_dumps(item, JSON_ENCODE_ANY | JSON_COMPACT);
            char expected[OPTION_WORDS_SIZE];
            option_expected(expected, &o->table[row]);
            fail(err, STATUS_USAGE, "%s: %s: found %s, expected %s", origin, show(key).text,
                 text ? show(text).text : "a value", expected);
            free(text);
            return STATUS_USAGE;
        }
        store(o, row, &v, source);
    }
    return STATUS_OK;
}

/* A pipe may be named too (<(...) of a shell), so its size is known only when it has been read. */
static enum status parse_stream(json_t **object, FILE *f, const char *path, struct error *err)
{
    uint8_t *text = malloc(config_limits.bytes + 1);
    if (!text)
        return fail(err, STATUS_MEMORY, "%s: out of memory", path);
    const size_t n = fread(text, 1, config_limits.bytes + 1, f);
    const enum status s = ferror(f) ? fail(err, STATUS_READ, "%s: cannot be read", path)
                                    : json_text_parse(object, path, text, n, 0, &config_limits, err);
    free(text);
    return s;
}

static enum status load_file(struct options *o, const char *path, struct error *err)
{
    json_t *object = NULL;
    FILE *f = fopen(path, "rb");
    if (!f)
        return fail(err, STATUS_OPEN, "--config: %s: %s", path, strerror(errno));
    struct stat about;
    if (fstat(fileno(f), &about) == 0 && S_ISDIR(about.st_mode)) {
        fclose(f);
        return fail(err, STATUS_OPEN, "--config: %s: a folder, expected a JSON file", path);
    }
    const enum status read = parse_stream(&object, f, path, err);
    fclose(f);
    if (read != STATUS_OK)
        return fail_within(err, read, "--config");
    const enum status s = options_load(o, object, OPTIONS_CONFIG, path, err);
    json_decref(object); /* options_load keeps its own reference */
    return s == STATUS_OK ? s : fail_within(err, s, "--config");
}

/* getopt_long's view of the table. */
struct getopt_table {
    struct option row[2 * OPTIONS_MAX + COMMON_COUNT + 1];
    size_t rows;
    char negated[OPTIONS_MAX][64]; /* "no-NAME" */
    char letters[2 * OPTIONS_MAX + 8];
};

static void make_getopt_table(struct getopt_table *g, const struct option_spec *table)
{
    size_t n = 0, l = 0;
    g->letters[l++] = '-'; /* operands come in order, as code 1 */
    g->letters[l++] = ':'; /* a missing value is told apart */
    g->letters[l++] = 'h';
    for (int i = 0; i < COMMON_COUNT; i++)
        g->row[n++] = (struct option){common_name[i], i == COMMON_CONFIG ? required_argument : no_argument, NULL,
                                      COMMON_CODE + i};
    for (size_t i = 0; !option_is_end(&table[i]); i++) {
        const struct option_spec *spec = &table[i];
        if (!spec->name)
            continue;
        const bool flag = spec->type == OPTION_FLAG;
        const int code = FIRST_CODE + 2 * (int)i;
        g->row[n++] = (struct option){spec->name, flag ? no_argument : required_argument, NULL, code};
        if (option_negatable(spec)) {
            snprintf(g->negated[i], sizeof g->negated[i], "no-%s", spec->name);
            g->row[n++] = (struct option){g->negated[i], no_argument, NULL, code + 1};
        }
        if (spec->letter) {
            g->letters[l++] = spec->letter;
            if (!flag)
                g->letters[l++] = ':';
        }
    }
    g->letters[l] = '\0';
    g->row[n] = (struct option){0};
    g->rows = n;
}

/* getopt says only that something is wrong with an option; this says what. `word` is the argument. */
static enum status refuse(const struct getopt_table *g, const char *command, const char *word, struct error *err)
{
    if (strncmp(word, "--", 2) != 0) {
        for (size_t i = 0; i < g->rows; i++)
            if (strcmp(g->row[i].name, word + 1) == 0)
                return fail(err, STATUS_USAGE, "unknown option %s: did you mean --%s?", show(word).text,
                            g->row[i].name);
        return fail(err, STATUS_USAGE, "unknown option %s: see nopeek help %s", show(word).text, command);
    }
    char name[64];
    snprintf(name, sizeof name, "%s", word + 2);
    name[strcspn(name, "=")] = '\0';
    const char *match[2] = {NULL, NULL};
    size_t matches = 0;
    struct nearest near = {.word = name};
    for (size_t i = 0; i < g->rows; i++) {
        const bool exact = strcmp(g->row[i].name, name) == 0;
        if (strncmp(g->row[i].name, name, strlen(name)) == 0) {
            if (exact)
                matches = 0;
            if (matches < 2)
                match[matches] = g->row[i].name;
            matches++;
        }
        nearest_offer(&near, g->row[i].name);
        if (exact)
            break;
    }
    if (matches == 1)
        return fail(err, STATUS_USAGE, "--%s: takes no value, found %s", match[0],
                    show(word + 2 + strcspn(word + 2, "=")).text);
    if (matches > 1 && name[0] != '\0')
        return fail(err, STATUS_USAGE, "--%s is short for several options: --%s, --%s%s", name, match[0], match[1],
                    matches > 2 ? ", ..." : "");
    if (near.best)
        return fail(err, STATUS_USAGE, "unknown option %s: did you mean --%s?", show(word).text, near.best);
    return fail(err, STATUS_USAGE, "unknown option %s: see nopeek help %s", show(word).text, command);
}

/* The row a getopt code or letter stands for. */
static size_t row_of(const struct option_spec *table, int code)
{
    if (code >= FIRST_CODE)
        return (size_t)(code - FIRST_CODE) / 2;
    for (size_t i = 0; !option_is_end(&table[i]); i++)
        if (table[i].name && table[i].letter == code)
            return i;
    return NONE;
}

static enum status missing_value(const struct option_spec *table, int code, struct error *err)
{
    if (code == COMMON_CODE + COMMON_CONFIG)
        return fail(err, STATUS_USAGE, "--config: expected a value, FILE");
    const size_t row = row_of(table, code);
    assert(row != NONE);
    char expected[OPTION_WORDS_SIZE];
    option_expected(expected, &table[row]);
    return fail(err, STATUS_USAGE, "--%s: expected a value: %s", table[row].name, expected);
}

static void restart_getopt(void)
{
    opterr = 0;
#if defined(__APPLE__) || defined(__FreeBSD__) || defined(__NetBSD__) || defined(__OpenBSD__)
    optreset = 1;
    optind = 1;
#else
    optind = 0;
#endif
}

static enum status walk(struct options *o, const struct getopt_table *g, const char *command, int argc,
                        char *const *argv, const char **config, struct error *err)
{
    restart_getopt();
    for (;;) {
        /* The argument that getopt looks at next; within a cluster of letters it stays the same. */
        const int at = optind > 0 ? optind : 1;
        const int code = getopt_long(argc, argv, g->letters, g->row, NULL);
        enum status s = STATUS_OK;
        if (code == -1)
            break;
        if (code == 1) {
            o->operand[o->operands++] = optarg;
        } else if (code == 'h' || code == COMMON_CODE + COMMON_HELP) {
            o->help = true;
            return STATUS_OK;
        } else if (code == COMMON_CODE + COMMON_VERSION) {
            o->version = true;
            return STATUS_OK;
        } else if (code == COMMON_CODE + COMMON_CONFIG) {
            *config = optarg;
        } else if (code == ':') {
            s = missing_value(o->table, optopt, err);
        } else if (code == '?') {
            s = refuse(g, command, argv[at], err);
        } else {
            const size_t row = row_of(o->table, code);
            assert(row != NONE);
            const bool flag = o->table[row].type == OPTION_FLAG;
            const bool negated = code >= FIRST_CODE && (code - FIRST_CODE) % 2 == 1;
            s = set_row(o, row, flag ? (negated ? "false" : "true") : optarg, OPTIONS_GIVEN, err);
        }
        if (s != STATUS_OK)
            return s;
    }
    for (int i = optind; i < argc; i++)
        o->operand[o->operands++] = argv[i];
    return STATUS_OK;
}

enum status options_parse(struct options *o, const char *command, const struct option_spec *table, void *target,
                          int argc, char *const *argv, struct error *err)
{
    *o = (struct options){.table = table, .target = target};
    (void)count_rows(table);
    o->kept = json_array();
    o->operand = calloc((size_t)argc + 1, sizeof *o->operand);
    struct getopt_table *g = calloc(1, sizeof *g);
    if (!o->kept || !o->operand || !g) {
        free(g);
        return fail(err, STATUS_MEMORY, "out of memory");
    }
    make_getopt_table(g, table);
    set_defaults(o);
    const char *config = NULL;
    enum status s = walk(o, g, command, argc, argv, &config, err);
    free(g);
    if (s == STATUS_OK && config && !o->help && !o->version)
        s = load_file(o, config, err);
    return s;
}

void options_free(struct options *o)
{
    free(o->operand);
    json_decref(o->kept);
    *o = (struct options){0};
}
