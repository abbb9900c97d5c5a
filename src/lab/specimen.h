/* Small models of random shape with a text to read, for labs that try something on many of them. */
#ifndef LAB_SPECIMEN_H
#define LAB_SPECIMEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "model/gpt.h"
#include "text/dataset.h"
#include "text/tokenizer.h"

/* A text of the corpus generator, tokenized: what specimens learn from. */
struct specimen_text {
    struct dataset data;
    struct tokenizer tokenizer;
};

/* At least `size` characters, a tenth of them for validation. Errors of corpus_make. Free with specimen_text_free. */
enum status specimen_text_make(struct specimen_text *t, uint64_t seed, size_t size, struct error *err);
void specimen_text_free(struct specimen_text *t);

/* What a specimen must have; 0 and false for whatever comes. */
struct specimen_need {
    size_t least_layers, least_length, least_batch, least_head_size;
    bool dropout;
    bool window;  /* all heads have one, shorter than the context */
    bool crosses; /* the context is longer than the attention's tile */
    bool trained; /* for a few dozen steps, on the text */
};

struct specimen {
    struct gpt model;
    struct work work; /* made for training, of the model's whole context */
    struct dataset data;
    const struct tokenizer *tokenizer; /* the text's; NULL for a text of random symbols */
    void *symbols;                     /* of a text of its own */
    char words[128];                   /* "2 layers, 3 heads, 12 channels, context 17, ..." */
};

/* Everything is drawn by seed: layers, heads, channels, a ragged context, vocabulary, batch, biases, dropout, threads,
 * a window for one in four, the attention's tile, kernels up to those of `most`, bf16 for one in four, and weights
 * fresh from init, rough, or with scores in the thousands. STATUS_MEMORY. Free with specimen_free. */
enum status specimen_make(struct specimen *s, const struct specimen_need *need, const struct specimen_text *text,
                          uint64_t seed, struct team most, struct error *err);
void specimen_free(struct specimen *s);

#endif
