/* Synthetic text whose true entropy is known.
 *
 * A text is an endless sequence of stories, each drawn afresh from a grammar (text/grammar.h) and ending in an empty
 * line, cut after a whole story. What one character tells, given all characters before it, is found from the text
 * alone: -ln p(c_t | c_1 .. c_t-1), summed over every derivation that agrees with the text so far. For a
 * grammar that gives each text one derivation, the sum over a text is -ln of the probability with which the
 * generator wrote it, and no causal model's expected loss lies below the mean. */
#ifndef TEXT_CORPUS_H
#define TEXT_CORPUS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "text/grammar.h"

struct corpus {
    char *text; /* (count) ASCII, not terminated */
    size_t count;
    size_t stories;
    double *nats;      /* (count) what each character tells */
    double derivation; /* -ln of the probability of the choices that wrote it */
};

/* Writes whole stories until there are at least `size` characters, then measures them. A choice depends on
 * (seed, story, choice within the story) alone, so a longer text begins with the shorter one. STATUS_RANGE: size 0
 * or above 2^40. STATUS_FORMAT: a grammar that gets stuck. STATUS_MEMORY. Free with corpus_free. */
enum status corpus_make(struct corpus *c, const struct grammar *g, uint64_t seed, size_t size, struct error *err);
void corpus_free(struct corpus *c);

/* nats[t] = -ln p(text[t] | text[0 .. t-1]) for a text that starts at the start of a story; it may end anywhere.
 * STATUS_FORMAT: the grammar cannot go on as the text does, with byte offset and line. STATUS_MEMORY. */
enum status corpus_information(double *nats, const struct grammar *g, const char *text, size_t n, struct error *err);

/* A part of a corpus, [begin, end): the mean of nats, and its standard error. Characters within a story depend on
 * each other and stories do not, so the error comes from the stories' sums (a ratio estimate: each sum less the mean
 * times its length); it is NaN for a part that holds fewer than two stories or pieces of stories. */
struct corpus_part {
    size_t begin, end;
    double entropy, standard_error; /* nats per character */
};

/* Fills entropy and standard_error. begin < end <= count (asserted). */
void corpus_measure(struct corpus_part *part, const struct corpus *c);

/* How a description is to be dumped: the same bytes on every machine. */
#define CORPUS_JSON_FLAGS (JSON_INDENT(2) | JSON_REAL_PRECISION(9))

/* What data/bank.json holds: seed, characters, stories, hash of the text, the split, the true entropy of all, the
 * train and the validation part with its standard error, and the grammar's expected entropy rate. The split is
 * text/dataset.h's: the first N - floor(N * val_split) characters train. Numbers that depend on libm
 * are rounded to 1e-6. A new reference. STATUS_RANGE: val_split leaves a part empty. STATUS_MEMORY. */
enum status corpus_json(json_t **json, const struct corpus *c, const struct grammar *g, uint64_t seed, double val_split,
                        struct error *err);

#endif
