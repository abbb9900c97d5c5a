/* What a report's page carries, for tests. */
#ifndef SUPPORT_REPORT_HTML_H
#define SUPPORT_REPORT_HTML_H

#include <jansson.h>

/* The JSON in <script type="application/json" id="ID"> of the file at `path`, a new reference; stops the test when
 * there is none. */
json_t *report_html_json(const char *path, const char *id);

/* What a path of keys gives, as report_html_at(data, "run", "step", NULL); stops the test when there is nothing. */
const json_t *report_html_at(const json_t *data, ...);

#endif
