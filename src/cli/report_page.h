/* Everything a report is made of, gathered from a run directory, and the page of it. */
#ifndef CLI_REPORT_PAGE_H
#define CLI_REPORT_PAGE_H

#include <stdbool.h>

#include "base/status.h"
#include "base/team.h"
#include "cli/inspection.h"
#include "cli/report_facts.h"
#include "cli/report_film.h"
#include "cli/report_log.h"
#include "cli/saved.h"
#include "cli/whole_text.h"
#include "report/buffer.h"

struct report_page_settings {
    const char *run;
    const struct whole_text *text; /* for the explorer, or NULL */
    struct team team;
    bool quick; /* kinds of heads are not measured */
    bool hurry; /* they are measured on few windows */
};

/* A zeroed one is empty. */
struct report_page {
    struct saved saved;
    struct report_log log;
    struct report_film film;
    bool entropy_sought;
    struct report_entropy entropy;
    struct inspection kinds;
    bool kinds_hurried;
    size_t kinds_step; /* of the checkpoint that `kinds` is of, plus 1; 0: there are none */
    char no_kinds[256];
};

/* Reads the checkpoint alone. Errors of saved_open. */
enum status report_page_open(struct report_page *p, const char *run, struct error *err);

/* Reads the run as it is now: again and again, while it trains. Errors of saved_open, report_log_read and
 * report_film_make; STATUS_MEMORY. What cannot be had of the rest is said on the page instead. */
enum status report_page_renew(struct report_page *p, const struct report_page_settings *s, struct error *err);

/* The run's last step is done and saved, or it is none that trains. */
bool report_page_finished(const struct report_page *p);

/* Appends the page. watching: it will be written again, and looks for that by itself. STATUS_MEMORY. */
enum status report_page_put(struct buffer *b, const struct report_page *p, bool watching, struct error *err);

void report_page_free(struct report_page *p);

#endif
