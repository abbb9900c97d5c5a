/* A run directory with one checkpoint of a very small model, untrained, for tests that need something to load. */
#ifndef SUPPORT_TINY_RUN_H
#define SUPPORT_TINY_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "text/tokenizer.h"

struct tiny_run {
    const char *dir, *text_path; /* both are written */
    const char *text;
    size_t block_size;
    enum tokenizer_kind tokens;
    bool leaky;     /* rule full, and marked */
    bool stateless; /* without trainer_state.json, as from elsewhere */
};

/* Writes RUN/step-000007 (validation share 0.25 of the text, best step 7 at loss 1.5) and metrics.jsonl. */
void tiny_run_write(const struct tiny_run *r);

#endif
