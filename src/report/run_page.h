/* A run as one HTML file with its own script: src/report/assets holds what it looks like and how it behaves. It fetches
 * nothing and can fetch nothing, and no text in it can run: the script's data is JSON in which no markup can stand, the
 * script puts it on the page as text only, and a Content-Security-Policy lets nothing run but the page's own two
 * elements, which carry a nonce. Without script it says the main figures. */
#ifndef REPORT_RUN_PAGE_H
#define REPORT_RUN_PAGE_H

#include <stddef.h>

#include "report/buffer.h"

/* A figure that stands there without script too: any text. */
struct run_page_fact {
    const char *name, *value;
    const char *id; /* "run-step"; of the element that holds the value */
};

struct run_page {
    const char *title; /* any text */
    const char *data;  /* (data_size) JSON: an object */
    size_t data_size;
    const char *frames; /* (frames_size) JSON: read when they are looked at */
    size_t frames_size;
    const struct run_page_fact *fact;
    size_t facts;
};

/* Same input, same bytes. */
void run_page(struct buffer *b, const struct run_page *p);

#endif
