/* One row of a table of options (options.h), and the values it allows. */
#ifndef CLI_OPTION_H
#define CLI_OPTION_H

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the caller's field is. */
enum option_type {
    OPTION_FLAG,   /* bool: --name; --no-name too when it is saved or on by default */
    OPTION_SIZE,   /* size_t */
    OPTION_SEED,   /* uint64_t, 0 .. 2^63 - 1 (what JSON readers hold) */
    OPTION_NUMBER, /* double, always finite */
    OPTION_STRING, /* const char *, NULL when unset */
    OPTION_PATH,   /* ... that names a file or folder */
    OPTION_CHOICE, /* int: index into `choices` */
};

/* Limits of a number. Without one, every number of the type will do. */
struct option_range {
    bool limited;
    double min, max;           /* whole numbers below 2^53 for whole-number types; max may be INFINITY */
    bool above_min, below_max; /* the limit itself is refused */
};
/* clang-format off */
#define OPTION_AT_LEAST(a)      {true, (a), INFINITY, false, false}
#define OPTION_ABOVE(a)         {true, (a), INFINITY, true, false}
#define OPTION_BETWEEN(a, b)    {true, (a), (b), false, false}
#define OPTION_FROM_BELOW(a, b) {true, (a), (b), false, true}  /* a <= x < b */
#define OPTION_INSIDE(a, b)     {true, (a), (b), true, true}   /* a < x < b */
/* clang-format on */

struct option_spec {
    const char *section; /* a row that is only a heading of the help page */
    const char *name;    /* long option, without dashes */
    char letter;         /* short option, or 0 */
    enum option_type type;
    size_t offset;             /* of the field in the caller's struct */
    const char *metavar;       /* what stands for the value in help; NULL for a flag */
    const char *fallback;      /* the default as one would type it; NULL: off, or unset. Numbers and choices need one */
    const char *fallback_note; /* what help says of the default instead of `fallback` */
    struct option_range range;
    const char *const *choices; /* words, then NULL */
    const char *saved;          /* key in the settings saved with a run; NULL: not saved */
    const char *help;           /* what it does: lower-case start, no full stop */
};

/* clang-format off */
#define OPTION_SECTION(title) {.section = (title)}
#define OPTION_END {.section = NULL, .name = NULL}
/* clang-format on */
#define OPTIONS_MAX 96 /* rows a table may have (asserted) */

/* A value on its way into the caller's struct: the member that the type calls for. */
struct option_value {
    bool flag;
    int64_t integer; /* sizes and seeds, 0 .. INT64_MAX */
    double number;
    const char *string; /* borrowed from the text or the JSON it came from */
    int choice;
};

/* True for OPTION_END. */
bool option_is_end(const struct option_spec *spec);

/* Whether --no-NAME exists. */
bool option_negatable(const struct option_spec *spec);

/* Type and range are checked; false, with *v undefined, when the value is not allowed. A flag's text is "true" or
 * "false". */
bool option_from_text(struct option_value *v, const struct option_spec *spec, const char *text);
bool option_from_json(struct option_value *v, const struct option_spec *spec, const json_t *json);

/* Between a value and the field at spec->offset of `target`. option_to_json gives a new reference, or NULL when memory
 * is refused; an unset string is null. */
void option_store(void *target, const struct option_spec *spec, const struct option_value *v);
json_t *option_to_json(const void *target, const struct option_spec *spec);

/* What an option may be, in words: "a whole number, 1 to 4095", "one of none, causal", "text". */
#define OPTION_WORDS_SIZE 160
void option_expected(char out[OPTION_WORDS_SIZE], const struct option_spec *spec);

/* The limits alone: "1 to 4095", "above 0", "" when there are none. */
void option_limits(char out[OPTION_WORDS_SIZE], const struct option_spec *spec);

#endif
