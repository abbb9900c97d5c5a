/* A run of a small model with all its checkpoints, the report about it, and a browser that shows it, for tests:
 *     static struct reported r;
 *     static void end(void) { reported_end(&r); }
 *     TestSuite(name, .init = scratch_make, .fini = end); */
#ifndef SUPPORT_REPORTED_H
#define SUPPORT_REPORTED_H

#include <sys/types.h>

#include "support/browser.h"

#define REPORTED_STEPS 200
#define REPORTED_EVERY 50 /* steps between evaluations, from 0 on: each a checkpoint */
#define REPORTED_LAYERS 2
#define REPORTED_HEADS 2
#define REPORTED_CONTEXT 32

struct reported {
    struct browser *browser;
    const char *dir, *page; /* RUN and RUN/report.html of the scratch folder */
    pid_t watcher;          /* a report that watches, or 0 */
};

/* Opens the browser; there is no run yet. The test is skipped where there is no browser. */
void reported_begin(struct reported *r);
void reported_end(struct reported *r);

/* nopeek train -o RUN, with the numbers above; WORDS: the text, and more options. */
#define REPORTED_TRAIN(r, ...) reported_train((r), (const char *const[]){__VA_ARGS__, NULL})
void reported_train(const struct reported *r, const char *const *words);

/* nopeek report RUN WORDS..., then the page is opened and waited for. */
#define REPORTED_SHOW(r, ...) reported_show((r), (const char *const[]){__VA_ARGS__, NULL})
void reported_show(struct reported *r, const char *const *words);

/* All of it, with a plain text. */
void reported_make(struct reported *r);

/* Opens the page as it is on the disk, and waits until its script has drawn everything. */
void reported_open(struct reported *r);

/* nopeek report RUN --watch, not waited for. */
void reported_watch(struct reported *r);

/* --- the explorer --- */

void reported_click_head(struct reported *r, size_t layer, size_t head);
void reported_click_frame(struct reported *r, int step);
void reported_hover_character(struct reported *r, size_t i);
void reported_focus(struct reported *r, const char *selector);

/* Layer, head and step are the chosen ones. */
void reported_expect_chosen(struct reported *r, size_t layer, size_t head, int step);

#endif
