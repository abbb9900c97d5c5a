/* The frames of a report's film-strip: what every head looks at in one text, at several steps of a run. They come from
 * the log, where training recorded them, or from the checkpoints that were kept. Weights are those that inspect gives,
 * as text (diag/attention_pack.h). */
#ifndef CLI_REPORT_FILM_H
#define CLI_REPORT_FILM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "base/team.h"
#include "cli/report_log.h"
#include "cli/saved.h"
#include "cli/whole_text.h"

/* What all frames of a page may take. */
#define REPORT_FILM_BYTES ((size_t)2800 << 10)

struct report_frame {
    size_t step;
    bool square; /* rows are whole; else they end at the diagonal */
    char *weights;
};

struct report_film {
    size_t T;     /* symbols; 0: there is no film, and `why_not` says why */
    char **label; /* (T) */
    size_t count;
    struct report_frame *frame; /* (count), ascending by step */
    bool from_log;
    size_t steps;  /* that there were frames for, of which `count` are shown */
    size_t before; /* symbols of the text that was given which stand before those shown, for want of room */
    char why_not[256];
};

struct report_film_settings {
    const struct whole_text *text; /* NULL: what the log has, else the beginning of the validation part */
    struct team team;
};

/* STATUS_FORMAT (a symbol of the text that the vocabulary lacks), STATUS_USAGE (an empty text), STATUS_NONFINITE and
 * STATUS_RANGE (attention_map_make), what reading a checkpoint says, STATUS_MEMORY. A step that training removes
 * meanwhile is passed over. Free in every case. */
enum status report_film_make(struct report_film *f, struct saved *s, const struct report_log *log,
                             const struct report_film_settings *settings, struct error *err);
void report_film_free(struct report_film *f);

#endif
