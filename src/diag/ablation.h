/* How much a head matters: the loss over some windows with the head's output removed, beside the loss with all heads,
 * on the same windows (as Voita et al. 2019, arXiv:1905.09418, and Michel et al. 2019, arXiv:1905.10650, take heads
 * away). What a head adds to the residual stream is its (N,hs) output times its hs rows of W_O, so with those rows zero
 * the model computes what it would without the head; the bias of the projection stays. */
#ifndef DIAG_ABLATION_H
#define DIAG_ABLATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "model/gpt.h"

/* Windows to measure on. */
struct ablation_windows {
    const uint32_t *tokens, *targets; /* (n,T), each < V */
    size_t n, T;
};

/* One head. */
struct ablation_head {
    double loss;  /* without it: mean over windows and positions, nats per symbol */
    double more;  /* that less the loss of the whole model */
    double error; /* of `more`: its standard error over windows; NaN for fewer than two */
};

struct ablation {
    double loss;                /* of the whole model */
    struct ablation_head *head; /* (L,H) */
};

/* Asked after each pass over the windows, of which there are L H + 1; true stops with STATUS_INTERRUPTED. */
typedef bool ablation_stop(void *context, size_t done, size_t passes);

/* g's weights are changed meanwhile, and are the same bits again on return, also on failure. n > 0, 0 < T <= w->T
 * (asserted). No dropout; sums in double, in order. `stop` may be NULL. STATUS_NONFINITE, STATUS_INTERRUPTED,
 * STATUS_MEMORY. On failure nothing is left allocated. */
enum status ablation_measure(struct ablation *a, struct gpt *g, struct work *w, const struct ablation_windows *windows,
                             ablation_stop *stop, void *context, struct error *err);
void ablation_free(struct ablation *a);

#endif
