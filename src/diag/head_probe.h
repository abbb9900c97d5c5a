/* Measures what head_watch.h asks of a model while it is trained: on weights, on what the last pass left behind, and on
 * the attention maps of a short text. Cheap, and without a trace on training: nothing of the model or its work is
 * written. */
#ifndef DIAG_HEAD_PROBE_H
#define DIAG_HEAD_PROBE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/real.h"
#include "base/status.h"
#include "base/team.h"
#include "diag/head_watch.h"
#include "model/gpt.h"
#include "model/work.h"

#define HEAD_PROBE_WEIGHTS 256 /* of W_Q and W_K each, at most, that stand for a head's */
#define HEAD_PROBE_ROWS 16     /* of the batch, at most, that `share` is measured on */
#define HEAD_PROBE_LENGTH 64   /* symbols, at most, of the text whose maps are compared */

struct head_probe {
    size_t L, H, hs;
    size_t weights;                           /* kept of each head, queries' and keys' */
    real *first;                              /* (L,H,weights): as they were at first */
    double *rms;                              /* (L,H): root mean square of those */
    double path;                              /* sum of learning rates since */
    double *turn, *due, *share, *temperature; /* (L,H) each */
    double *distance, *from_uniform;          /* (L,H,H), (L,H) */
    struct arena arena;
};

/* Keeps a sample of the model's query and key weights as they are now. STATUS_RANGE, STATUS_MEMORY; on failure nothing
 * is left allocated. */
enum status head_probe_create(struct head_probe *p, const struct gpt *g, struct error *err);
void head_probe_free(struct head_probe *p);

/* After every update. */
void head_probe_count(struct head_probe *p, double lr);

/* After an update, w as the last training pass of B rows of T symbols left it. The arrays stay valid until the next
 * call.
 *   turn         |sin| of the angle between the weights kept and those now: decay, which only shrinks them, is no turn
 *   due          path / rms: Adam moves a weight by about its learning rate a step, and no further
 *   share        |a head's part of attention's output, through W_O| / |residual stream after attention|, root mean
 *                squares over rows of the batch
 *   temperature  q.k / sqrt(hs), largest over visible keys, over the largest score of that row, for the row of the
 *                batch's last positions where it is largest; NaN where scores are too small to tell */
struct head_watch_probe head_probe_measure(struct head_probe *p, const struct gpt *g, const struct work *w, size_t B,
                                           size_t T);

/* Fills distance and from_uniform (head_watch_maps) from the maps of one text. tokens (T), 1 < T <=
 * HEAD_PROBE_LENGTH and <= block_size (asserted). Errors of attention_map_make. */
enum status head_probe_maps(struct head_probe *p, const struct gpt *g, const uint32_t *tokens, size_t T,
                            struct team team, struct error *err);

#endif
