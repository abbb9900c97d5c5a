/* JSON inside an HTML page: in a <script type="application/json">, where a parser of HTML looks for nothing but what
 * could end the element or begin a comment. */
#ifndef REPORT_SCRIPT_DATA_H
#define REPORT_SCRIPT_DATA_H

#include <stddef.h>

#include "report/buffer.h"

/* Appends JSON text with <, > and & written as \u003C and so on, and U+2028, U+2029 likewise: in JSON they can stand
 * within strings only, so it says the same as before. */
void script_data_put(struct buffer *b, const char *json, size_t n);

#endif
