#include "report/run_page.h"

#include <string.h>

#include "base/hash.h"
#include "report/assets.h"
#include "report/escape.h"
#include "report/picture.h"
#include "report/script_data.h"

static void put_asset(struct buffer *b, const struct asset *a)
{
    buffer_put(b, a->bytes, a->size);
}

static void put_text(struct buffer *b, const char *text)
{
    escape_text(b, text, strlen(text));
}

/* What the two elements that may run are known by. It depends on every byte of the data, so that no text in the data
 * can name it beforehand. */
static void make_nonce(char nonce[HASH_TEXT_SIZE], const struct run_page *p)
{
    char frames[HASH_TEXT_SIZE], both[2 * HASH_TEXT_SIZE];
    hash_bytes(both, p->data, p->data_size);
    hash_bytes(frames, p->frames, p->frames_size);
    memcpy(both + HASH_TEXT_SIZE, frames, sizeof frames);
    hash_bytes(nonce, both, sizeof both);
}

static void put_head(struct buffer *b, const struct run_page *p, const char *nonce)
{
    buffer_print(b,
                 "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'nonce-%s'; "
                 "style-src 'nonce-%s'; base-uri 'none'; form-action 'none'\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                 "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
                 nonce, nonce);
    put_text(b, p->title);
    /* The reader's own choice comes after the system's. */
    buffer_print(b,
                 "</title>\n<style nonce=\"%s\">%s\n:root[data-theme=light]{%s;color-scheme:light}\n"
                 ":root[data-theme=dark]{%s;color-scheme:dark}\n",
                 nonce, picture_style, picture_light, picture_dark);
    put_asset(b, &assets_css);
    buffer_text(b, "</style>\n</head>\n<body>\n<header>\n<h1>");
    put_text(b, p->title);
    buffer_text(b, "</h1>\n<button id=\"theme\" type=\"button\" hidden></button>\n</header>\n");
}

static void put_facts(struct buffer *b, const struct run_page *p)
{
    buffer_text(b, "<dl id=\"facts\">\n");
    for (size_t i = 0; i < p->facts; i++) {
        buffer_text(b, "<div><dt>");
        put_text(b, p->fact[i].name);
        buffer_print(b, "</dt><dd id=\"%s\">", p->fact[i].id);
        put_text(b, p->fact[i].value);
        buffer_text(b, "</dd></div>\n");
    }
    buffer_text(b, "</dl>\n");
}

void run_page(struct buffer *b, const struct run_page *p)
{
    char nonce[HASH_TEXT_SIZE];
    make_nonce(nonce, p);
    put_head(b, p, nonce);
    put_facts(b, p);
    put_asset(b, &assets_html);
    buffer_text(b, "<script type=\"application/json\" id=\"data\">");
    script_data_put(b, p->data, p->data_size);
    buffer_text(b, "</script>\n<script type=\"application/json\" id=\"frames\">");
    script_data_put(b, p->frames, p->frames_size);
    buffer_print(b, "</script>\n<script nonce=\"%s\">\n", nonce);
    put_asset(b, &assets_js);
    buffer_text(b, "</script>\n</body>\n</html>\n");
}
