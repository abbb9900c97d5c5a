/* One table of options per command. What the table says is all there is to know about an option: parsing, range
 * checks, help pages, --config files and the settings saved with a run are read off it, so they cannot differ.
 *
 *     struct sizes { size_t layers; double lr; };
 *     static const struct option_spec table[] = {
 *         OPTION_SECTION("Model"),
 *         {.name = "n-layer", .type = OPTION_SIZE, .offset = offsetof(struct sizes, layers), .metavar = "L",
 *          .fallback = "4", .range = OPTION_BETWEEN(1, 4095), .saved = "n_layer", .help = "number of blocks"},
 *         OPTION_END};
 *
 * A value comes from the strongest source that names it: the command line, then --config FILE, then a preset, then
 * the settings saved with a run that is resumed, then the table. Besides its own options every command has
 * --config, --help (-h) and --version. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "cli/option.h"

enum options_source { OPTIONS_DEFAULT, OPTIONS_SAVED, OPTIONS_PRESET, OPTIONS_CONFIG, OPTIONS_GIVEN };

/* What a command line said. Fields are to be read only. */
struct options {
    const struct option_spec *table;
    void *target; /* the caller's struct */
    unsigned char source[OPTIONS_MAX];
    const char **operand; /* (operands): what is no option, in order, then NULL; points into argv */
    size_t operands;
    bool help, version; /* asked for: nothing after it was parsed */
    json_t *kept;       /* owners of strings that came from JSON */
};

/* Fills *target from defaults, argv[1 ..] and --config, and *o. Long options may be cut to any unambiguous
 * beginning; options and operands mix; after "--" all are operands.
 *   command  for messages: "see nopeek help COMMAND"
 * STATUS_USAGE in one line: an unknown or ambiguous option, a missing or unwanted value, a value that is out of
 * range (names option, found value, allowed range). STATUS_OPEN, STATUS_READ, STATUS_FORMAT for --config;
 * STATUS_MEMORY. Call options_free in every case; strings in *target live until then. Not re-entrant (getopt is not).
 */
enum status options_parse(struct options *o, const char *command, const struct option_spec *table, void *target,
                          int argc, char *const *argv, struct error *err);
void options_free(struct options *o);

/* Where the value of the option called `name` came from; the option must be in the table (asserted). */
enum options_source options_source(const struct options *o, const char *name);

/* The person named it, on the command line or in a --config file. */
bool options_given(const struct options *o, const char *name);

/* Sets one option from text, unless a stronger source has set it. `origin` begins the message ("preset nano").
 * The text must outlive o. STATUS_USAGE. */
enum status options_set(struct options *o, const char *name, const char *text, enum options_source source,
                        const char *origin, struct error *err);

/* Every option that has a `saved` key, as a new JSON object; NULL when memory is refused. Unset strings are null. */
json_t *options_save(const struct options *o);

/* Sets options from a JSON object whose keys are saved keys or option names, each unless a stronger source has set
 * it; keeps a reference to `object`. Null leaves an option as it is. STATUS_USAGE: unknown key (with the nearest
 * known one), the same option twice, wrong type, out of range; `origin` begins the message. STATUS_MEMORY. */
enum status options_load(struct options *o, json_t *object, enum options_source source, const char *origin,
                         struct error *err);

#endif
