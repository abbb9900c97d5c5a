/* A browser without a window, driven as its own developer tools drive it: JSON messages, each ending in a zero byte,
 * over two pipes (https://chromedevtools.github.io/devtools-protocol/). It is Chromium or one of its kin; it reaches no
 * network, and has a profile of its own in the folder for temporary files.
 *
 * Whatever becomes of the test, the browser ends and its profile goes: a process beside it waits for the test to close
 * the browser, to die, or to take longer than DEVTOOLS_LIFE. Failures stop the test and say what the browser said. */
#ifndef SUPPORT_DEVTOOLS_H
#define SUPPORT_DEVTOOLS_H

#include <jansson.h>

#define DEVTOOLS_PATIENCE 90 /* seconds for one answer */
#define DEVTOOLS_LIFE 600    /* seconds for one browser */

struct devtools;

/* Called for each event while an answer is awaited; `event` has "method", "params" and perhaps "sessionId". It may
 * post, and may not call. */
typedef void devtools_listener(void *context, const json_t *event);

/* $NOPEEK_BROWSER, else the first of chromium-headless-shell, chromium, google-chrome and google-chrome-stable that
 * PATH has, those in a snap aside, which cannot read the folder for temporary files. NULL: there is none. */
const char *devtools_program(void);

struct devtools *devtools_start(const char *program, devtools_listener *listener, void *context);

/* The browser is gone, and so are its children and its profile. NULL is fine. */
void devtools_stop(struct devtools *d);

/* Sends a command and waits for its result, which is a new reference. `session` is a page's, or NULL for the browser
 * itself; `params` is taken over, and may be NULL. */
json_t *devtools_call(struct devtools *d, const char *session, const char *method, json_t *params);

/* The same; NULL when the browser refuses, as it does when the page is left meanwhile. */
json_t *devtools_try(struct devtools *d, const char *session, const char *method, json_t *params);

/* The same without waiting; what it answers is dropped. */
void devtools_post(struct devtools *d, const char *session, const char *method, json_t *params);

#endif
