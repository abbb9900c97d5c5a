#include "text/tokenizer_frame.h"

#include <stdbool.h>
#include <string.h>

static const char VERSION[] = "1.0";
static const char ADVICE[] =
    "nopeek reads characters, bytes or bare ids; nopeek import --tokens ids takes such a model "
    "with its ids as they are";

/* Lists within lists, no deeper than anyone writes. */
#define DEPTH_AT_MOST 8

struct tokenizer_frame_text tokenizer_frame_show(const char *string)
{
    struct tokenizer_frame_text out = {""};
    const size_t n = strlen(string);
    size_t used = 0;
    for (size_t at = 0, k = 0; at < n; k++) {
        uint32_t code;
        const size_t length = utf8_decode(&code, (const uint8_t *)string + at, n - at);
        if (length == 0 || k == TOKENIZER_FRAME_SHOWN) {
            memcpy(out.text + used, "...", 4);
            break;
        }
        utf8_label(code, out.text + used);
        used += strlen(out.text + used);
        at += length;
    }
    return out;
}

/* Absent in every spelling: missing, null, false, an empty list or an empty text. */
static bool is_nothing(const json_t *value)
{
    return !value || json_is_null(value) || json_is_false(value) ||
           (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_string(value) && json_string_length(value) == 0);
}

static bool is_word(const json_t *value, const char *word)
{
    return json_is_string(value) && strcmp(json_string_value(value), word) == 0;
}

static const char *type_of(const json_t *step)
{
    const char *type = json_string_value(json_object_get(step, "type"));
    return type ? type : "untyped";
}

static enum status refuse(const char *name, const char *key, const char *found, const char *why, struct error *err)
{
    return fail(err, STATUS_FORMAT, "%s: %s is %s, which %s: %s", name, key, tokenizer_frame_show(found).text, why,
                ADVICE);
}

/* ---- before the vocabulary ---- */

/* What the pre-tokenizer's steps, up to some point, have made of a text. */
struct steps {
    size_t count, byte_level, white_space;
    bool has_line_feed; /* the vocabulary has one */
    bool single;        /* every piece is one character (of the byte-level alphabet, after such a step) */
};

static bool is_among(const char *word, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(word, list[i]) == 0)
            return true;
    return false;
}

/* Ways to write "any one character" in the library's regular expressions (Oniguruma's: m lets the dot match a line
 * feed, which may be written as itself). Those of the second kind match all but the line feed: it stays alone only as
 * long as no two stand side by side, so they will do for a vocabulary that has none. */
static bool matches_any_character(const char *regex, bool has_line_feed)
{
    static const char *const any[] = {"[\\s\\S]", "[\\S\\s]", "[\\w\\W]",   "[\\W\\w]",  "[\\d\\D]",  "[\\D\\d]",
                                      "(?m).",    "(?m:.)",   ".|\\n",      "\\n|.",     "(.|\\n)",   "(\\n|.)",
                                      ".|\n",     "\n|.",     "(.|\n)",     "(\n|.)",    "(?:.|\\n)", "(?:\\n|.)",
                                      "(?:.|\n)", "(?:\n|.)", ".|[\\r\\n]", "[\\r\\n]|."};
    static const char *const most[] = {".", "(.)", "(?:.)", "[^\\n]", "[^\n]"};
    return is_among(regex, any, sizeof any / sizeof any[0]) ||
           (!has_line_feed && is_among(regex, most, sizeof most / sizeof most[0]));
}

/* Whether a Split leaves every character alone. An empty expression matches between any two, whatever is done with the
 * matches; of those that match each character, only Removed and Contiguous keep them from standing alone. */
static bool isolates(const json_t *split, bool has_line_feed)
{
    const char *regex = json_string_value(json_object_get(json_object_get(split, "pattern"), "Regex"));
    const json_t *behavior = json_object_get(split, "behavior");
    if (!regex || !is_nothing(json_object_get(split, "invert")))
        return false;
    if (regex[0] == '\0')
        return true;
    return matches_any_character(regex, has_line_feed) &&
           (is_word(behavior, "Isolated") || is_word(behavior, "MergedWithPrevious") ||
            is_word(behavior, "MergedWithNext"));
}

static enum status read_step(struct steps *s, const json_t *step, const char *name, struct error *err)
{
    const char *type = type_of(step);
    const json_t *behavior = json_object_get(step, "behavior");
    s->count++;
    if (strcmp(type, "ByteLevel") == 0) {
        /* Missing, it is true to the library. */
        if (!json_is_false(json_object_get(step, "add_prefix_space")))
            return refuse(name, "pre_tokenizer", type, "puts a blank before the text (add_prefix_space)", err);
        if (s->byte_level++ > 0)
            return refuse(name, "pre_tokenizer", type, "stands there twice", err);
        s->single = false;
        return STATUS_OK;
    }
    if (strcmp(type, "WhitespaceSplit") == 0) {
        s->white_space++;
        return STATUS_OK;
    }
    if (strcmp(type, "Split") == 0 && isolates(step, s->has_line_feed)) {
        s->single = true;
        return STATUS_OK;
    }
    if (strcmp(type, "Split") == 0 || strcmp(type, "Punctuation") == 0)
        return is_word(behavior, "Removed") ? refuse(name, "pre_tokenizer", type, "removes characters", err)
                                            : STATUS_OK;
    if (strcmp(type, "Digits") == 0 || strcmp(type, "UnicodeScripts") == 0)
        return STATUS_OK;
    return refuse(name, "pre_tokenizer", type, "changes the text or drops some of it", err);
}

static enum status read_steps(struct steps *s, const json_t *step, size_t depth, const char *name, struct error *err)
{
    if (!is_word(json_object_get(step, "type"), "Sequence"))
        return json_is_null(step) || !step ? STATUS_OK : read_step(s, step, name, err);
    if (depth == DEPTH_AT_MOST)
        return fail(err, STATUS_FORMAT, "%s: pre_tokenizer is nested more than %d deep", name, DEPTH_AT_MOST);
    const json_t *inner;
    size_t i;
    json_array_foreach(json_object_get(step, "pretokenizers"), i, inner)
    {
        const enum status status = read_steps(s, inner, depth + 1, name, err);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status check_normalizer(const json_t *normalizer, const char *name, struct error *err)
{
    if (is_nothing(normalizer) || (is_word(json_object_get(normalizer, "type"), "Sequence") &&
                                   is_nothing(json_object_get(normalizer, "normalizers"))))
        return STATUS_OK;
    return refuse(name, "normalizer", type_of(normalizer), "changes the text", err);
}

/* ---- behind it ---- */

/* Whether a post-processor leaves the ids of a text as they are. */
static bool adds_nothing(const json_t *processor, size_t depth)
{
    const json_t *type = json_object_get(processor, "type"), *inner;
    size_t i;
    if (is_nothing(processor) || is_word(type, "ByteLevel")) /* that one moves offsets only */
        return true;
    if (is_word(type, "TemplateProcessing")) {
        const json_t *single = json_object_get(processor, "single");
        const json_t *only = json_object_get(json_array_get(single, 0), "Sequence");
        return json_array_size(single) == 1 && is_word(json_object_get(only, "id"), "A");
    }
    if (!is_word(type, "Sequence") || depth == DEPTH_AT_MOST)
        return false;
    json_array_foreach(json_object_get(processor, "processors"), i, inner)
    {
        if (!adds_nothing(inner, depth + 1))
            return false;
    }
    return true;
}

/* ---- all of it ---- */

static enum status check_bpe(const json_t *model, const char *name, struct error *err)
{
    static const char *const settings[] = {
        "dropout", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges"};
    const json_t *merges = json_object_get(model, "merges");
    if (!is_nothing(merges))
        return fail(err, STATUS_FORMAT, "%s: model.merges has %zu pairs, which join characters into longer tokens: %s",
                    name, json_array_size(merges), ADVICE);
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        if (!is_nothing(json_object_get(model, settings[i])))
            return fail(err, STATUS_FORMAT,
                        "%s: model.%s is set, but nopeek's vocabulary takes text as it is, symbol by symbol: %s", name,
                        settings[i], ADVICE);
    return STATUS_OK;
}

static enum status tell_kind(enum tokenizer_kind *kind, const struct steps *steps, bool bpe, const char *name,
                             struct error *err)
{
    if (steps->white_space > 0 && !bpe && steps->count == 1) {
        *kind = TOKENIZER_IDS;
        return STATUS_OK;
    }
    if (steps->white_space > 0)
        return refuse(name, "pre_tokenizer", "WhitespaceSplit", "drops white space", err);
    if (!bpe && !steps->single)
        return fail(err, STATUS_FORMAT,
                    "%s: pre_tokenizer does not part the text into single characters, as a Split on the regular "
                    "expression [\\s\\S], isolated, does: %s",
                    name, ADVICE);
    *kind = steps->byte_level > 0 ? TOKENIZER_BYTES : TOKENIZER_CHARS;
    return STATUS_OK;
}

enum status tokenizer_frame_read(enum tokenizer_kind *kind, const json_t *json, const char *name, struct error *err)
{
    if (!json_is_object(json))
        return fail(err, STATUS_FORMAT, "%s: not a JSON object", name);
    const char *version = json_string_value(json_object_get(json, "version"));
    if (!version || strcmp(version, VERSION) != 0)
        return fail(err, STATUS_FORMAT, "%s: version is %s; nopeek reads tokenizer.json version %s", name,
                    version ? tokenizer_frame_show(version).text : "missing or no string", VERSION);
    const json_t *model = json_object_get(json, "model");
    const char *type = json_string_value(json_object_get(model, "type"));
    const bool bpe = type && strcmp(type, "BPE") == 0;
    if (!bpe && !(type && strcmp(type, "WordLevel") == 0))
        return fail(err, STATUS_FORMAT,
                    "%s: model.type is %s, WordLevel over single characters or BPE without merges expected: %s", name,
                    type ? tokenizer_frame_show(type).text : "missing or no string", ADVICE);
    struct steps steps = {.has_line_feed = json_object_get(json_object_get(model, "vocab"), "\n") != NULL};
    enum status s = bpe ? check_bpe(model, name, err) : STATUS_OK;
    if (s == STATUS_OK)
        s = check_normalizer(json_object_get(json, "normalizer"), name, err);
    if (s == STATUS_OK)
        s = read_steps(&steps, json_object_get(json, "pre_tokenizer"), 0, name, err);
    if (s != STATUS_OK)
        return s;
    const json_t *processor = json_object_get(json, "post_processor");
    if (!adds_nothing(processor, 0))
        return refuse(name, "post_processor", type_of(processor), "adds tokens to the text", err);
    return tell_kind(kind, &steps, bpe, name, err);
}
