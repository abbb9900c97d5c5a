/* A short text written by the model as it is, for a look during training. */
#ifndef TRAIN_SAMPLE_TEXT_H
#define TRAIN_SAMPLE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "model/gpt.h"
#include "text/tokenizer.h"

#define SAMPLE_TEXT_SYMBOL (TOKENIZER_SYMBOL_SIZE + 1) /* bytes of the longest symbol, and a blank between ids */

/* The symbol that a text starts from when there is no prompt: a newline if the vocabulary has one, else a uniform pick
 * by seed and by which text of several it is, among the ids that stand for something. */
uint32_t sample_text_start(const struct tokenizer *tokenizer, uint64_t seed, uint32_t sample);

/* Writes n symbols after the start symbol, at temperature 0.8, into out (n * SAMPLE_TEXT_SYMBOL bytes); *bytes is the
 * length. Ids that stand for nothing are never drawn; bare ids have a blank between them. Always valid UTF-8: in byte
 * mode zero and every byte that is not ASCII become '?'. STATUS_MEMORY, STATUS_NONFINITE. */
enum status sample_text(char *out, size_t *bytes, const struct gpt *model, const struct tokenizer *tokenizer, size_t n,
                        uint64_t seed, struct team team, struct error *err);

#endif
