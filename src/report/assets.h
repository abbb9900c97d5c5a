/* The files of src/report/assets, which scripts/embed.sh turns into C while building. */
#ifndef REPORT_ASSETS_H
#define REPORT_ASSETS_H

#include <stddef.h>

/* No zero at the end. */
struct asset {
    const unsigned char *bytes; /* (size) */
    size_t size;
};

/* Style; the page's body, down to where the data goes; script, in the order of the files' names. */
extern const struct asset assets_css, assets_html, assets_js;

#endif
