/* Is each operation what it is defined to be? After a pass, every operation of every block is worked out again in
 * double from its own inputs, as the formula says, row by row, and compared. A mistake that leaks nothing is found
 * like any other, and it is known which operation made it. */
#ifndef DIAG_DEFINITION_H
#define DIAG_DEFINITION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "model/gpt.h"

#define DEFINITION_NOWHERE ((size_t)-1)

/* One operation that is not what it should be. */
struct definition_place {
    size_t layer, head;    /* DEFINITION_NOWHERE outside the blocks, and where there is no head */
    const char *operation; /* "attention", "LayerNorm 1", ... */
    double error;          /* |found - right| over the allowed error */
    const char *reads;     /* attention: what it does instead, in words, if that is a common mistake; else NULL */
};

#define DEFINITION_PLACES 256

struct definition_report {
    size_t places; /* found, of which the first DEFINITION_PLACES are listed */
    struct definition_place place[DEFINITION_PLACES];
    size_t rows;      /* compared, over all operations */
    double largest;   /* error of those that pass */
    size_t too_sharp; /* attention rows whose scores are too large for single precision to tell right from wrong */
};

/* After gpt_forward(g, w, tokens, B, T, pass) of a training work: compares batch row b and adds to *r (blank to begin
 * with); dropout's masks are drawn again. Attention is held
 * against the declared rule, whatever the run was trained with.
 * The allowed error is 1e-4 (double: 1e-9) times the sizes of the terms that are summed. STATUS_MEMORY. */
enum status definition_check(struct definition_report *r, const struct gpt *g, const struct work *w,
                             const uint32_t *tokens, size_t T, size_t b, const struct gpt_pass *pass,
                             struct error *err);

#endif
