#include "report/picture.h"

#include <string.h>

#include "report/escape.h"

#define LIGHT                                                                                                          \
    "--paper:#fff;--tint:#f3f4f6;--ink:#1c1f24;--faint:#5b6470;--grid:#dfe3e8;--good:#00684a;--bad:#b3410e;"           \
    "--s0:#0072b2;--s1:#d55e00;--s2:#009e73;--s3:#cc79a7;--s4:#56b4e9;--s5:#e69f00;--s6:#1c1f24;--s7:#9a8c00"
#define DARK                                                                                                           \
    "--paper:#14171c;--tint:#1f242b;--ink:#e8eaed;--faint:#a4adb8;--grid:#363d47;--good:#5fd3a8;--bad:#ff9a5c;"        \
    "--s0:#56b4e9;--s1:#f0803c;--s2:#2fc79b;--s3:#e3a0c6;--s4:#9bd3f5;--s5:#f2bc4b;--s6:#e8eaed;--s7:#f0e442"

const char picture_light[] = LIGHT, picture_dark[] = DARK;

const char picture_style[] =
    ":root{" LIGHT "}@media(prefers-color-scheme:dark){:root{" DARK "}}"
    ".pic{font:12px system-ui,sans-serif;fill:var(--ink)}.pic .back{fill:var(--paper)}.pic .b{font-weight:600}"
    ".pic .faint{fill:var(--faint)}.pic .end{text-anchor:end}.pic .mid{text-anchor:middle}"
    ".pic .line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}.pic .thin{stroke-width:1.4}"
    ".pic .grid{stroke:var(--grid);fill:none}.pic .ref{stroke:var(--faint);stroke-dasharray:2 4;fill:none}"
    ".pic .past{fill:var(--s0)}.pic .future{fill:var(--s1)}.pic .edge{stroke:var(--faint);fill:none}"
    ".pic .cell{font-family:ui-monospace,monospace}";

void picture_begin(struct buffer *b, double width, double height, bool alone, const char *title,
                   const char *description)
{
    buffer_print(b, "<svg class=\"pic\"%s viewBox=\"0 0 %g %g\" width=\"%g\" height=\"%g\" role=\"img\">\n<title>",
                 alone ? " xmlns=\"http://www.w3.org/2000/svg\"" : "", width, height, width, height);
    escape_text(b, title, strlen(title));
    buffer_text(b, "</title>\n<desc>");
    escape_text(b, description, strlen(description));
    buffer_text(b, "</desc>\n");
    if (alone)
        buffer_print(b, "<style>%s</style>\n<rect class=\"back\" width=\"%g\" height=\"%g\" rx=\"6\"/>\n",
                     picture_style, width, height);
}

void picture_end(struct buffer *b)
{
    buffer_text(b, "</svg>\n");
}

void picture_text(struct buffer *b, double x, double y, const char *classes, const char *text)
{
    buffer_print(b, "<text x=\"%.1f\" y=\"%.1f\"", x, y);
    if (classes[0])
        buffer_print(b, " class=\"%s\"", classes);
    buffer_text(b, ">");
    escape_text(b, text, strlen(text));
    buffer_text(b, "</text>\n");
}
