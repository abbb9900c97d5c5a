/* What `nopeek inspect` finds out about a saved model: the attention maps of a text, what kind of head each is, and how
 * much it matters. Views of it are inspect_view.h, inspect_json.h and inspect_page.h. */
#ifndef CLI_INSPECTION_H
#define CLI_INSPECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/team.h"
#include "cli/saved.h"
#include "cli/whole_text.h"
#include "diag/ablation.h"
#include "diag/attention_map.h"
#include "diag/head_kind.h"

struct inspection_head {
    struct attention_map_head map; /* of the text */
    struct head_measure measure;   /* over the windows */
    enum head_kind kind;
};

struct inspection {
    struct saved saved;
    size_t L, H;

    /* The text: the last T symbols of what was given, `before` others stand before them. */
    uint32_t *ids; /* (before + T) */
    size_t before, T;
    char (*label)[TOKENIZER_LABEL_SIZE]; /* (T): each symbol made visible */
    struct attention_map map;
    double *row_entropy; /* (L,H,T): normalised, NaN in rows that see one key */

    struct inspection_head *head; /* (L,H) */
    struct ablation ablation;     /* head is NULL where it was not measured */
    size_t windows, window_T;     /* that kinds and losses were measured on; 0: the text has one symbol */
    bool validation;              /* those are of the run's validation part, else of the text */
    struct error no_validation;   /* why they are not, else empty */
};

struct inspection_settings {
    const char *run;
    const struct whole_text *text; /* NULL: the beginning of the run's validation part */
    size_t windows;                /* at most so many; 0: for about 8000 symbols */
    bool quick;                    /* no ablation */
    struct team team;
    ablation_stop *progress; /* or NULL */
    void *context;
};

/* STATUS_FORMAT (a symbol that the vocabulary lacks), STATUS_USAGE (no text), STATUS_NONFINITE, STATUS_MEMORY (also
 * before it is tried, when the maps would take more than there is), and what saved_open says. On failure nothing is
 * left open. */
enum status inspection_make(struct inspection *n, const struct inspection_settings *s, struct error *err);
void inspection_free(struct inspection *n);

/* (T): the tokens that the maps are of. */
const uint32_t *inspection_tokens(const struct inspection *n);

/* Which layers and heads are shown: [begin, end). */
struct inspection_choice {
    size_t layer_begin, layer_end, head_begin, head_end;
};

/* STATUS_LEAK, naming the worst head, when one of a model that promises to be causal looks at its future. */
enum status inspection_verdict(const struct inspection *n, struct error *err);

#endif
