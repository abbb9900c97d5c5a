#include "report/page.h"

#include <string.h>

#include "report/escape.h"
#include "report/picture.h"

static const char style[] =
    "body{margin:0 auto;padding:1rem;max-width:62rem;background:var(--paper);color:var(--ink);"
    "font:1rem/1.5 system-ui,sans-serif;overflow-wrap:break-word}"
    "h1{font-size:1.6rem;line-height:1.2}h2{font-size:1.2rem;margin:2rem 0 .5rem}h3{font-size:1rem;margin:0}"
    "svg{width:100%;height:auto;display:block}"
    "pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--tint);padding:.7rem;border-radius:.4rem;"
    "font:.85rem/1.45 ui-monospace,monospace;margin:.3rem 0;max-height:18rem;overflow-y:auto}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "th,td{padding:.25rem .7rem .25rem 0;text-align:right;border-bottom:1px solid var(--grid);white-space:nowrap}"
    "th:first-child,td:first-child{text-align:left}.text{text-align:left!important;min-width:16rem}td.text{white-space:"
    "normal}"
    "figure{margin:0}.grid{display:grid;gap:1.2rem;grid-template-columns:repeat(auto-fit,minmax(min(22rem,100%),1fr))}"
    ".heads{display:grid;gap:.5rem;grid-template-columns:repeat(4,1fr)}.wide{overflow-x:auto}.faint{color:var(--faint)}"
    ".good{color:var(--good)}.bad{color:var(--bad);font-weight:600}";

void page_begin(struct buffer *b, const char *title)
{
    buffer_text(b, "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                   "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    escape_text(b, title, strlen(title));
    buffer_print(b, "</title>\n<style>%s%s</style>\n<body>\n<main>\n<h1>", picture_style, style);
    escape_text(b, title, strlen(title));
    buffer_text(b, "</h1>\n");
}

void page_end(struct buffer *b)
{
    buffer_text(b, "</main>\n</body>\n</html>\n");
}
