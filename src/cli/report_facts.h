/* What a report says beside what was measured: the text's true entropy where it can be known, and the command that
 * makes the run again. */
#ifndef CLI_REPORT_FACTS_H
#define CLI_REPORT_FACTS_H

#include <stdbool.h>

#include "base/status.h"
#include "cli/saved.h"
#include "report/buffer.h"

struct report_entropy {
    bool known;
    double train, validation; /* nats per symbol, means over each part; NaN for an empty one */
    char why_not[160];        /* in words, when it is not known */
    bool unread;              /* because the text could not be read again */
};

/* The run's text is read again: when it is what it was and every sentence of it is of the grammar of `nopeek corpus`,
 * its entropy is known, whatever seed wrote it. Everything that hinders is a why_not; STATUS_MEMORY alone is an error.
 */
enum status report_entropy_find(struct report_entropy *e, const struct saved *s, struct error *err);

/* "nopeek train ..." with every setting that was saved, named; or "nopeek import FOLDER". False, and nothing, when the
 * checkpoint does not say how it was made. */
bool report_command(struct buffer *b, const struct saved *s);

#endif
