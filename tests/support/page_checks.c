#include "support/page_checks.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char page_hostile[] =
    "</script><img src=x onerror=document.title='hit'><svg onload=document.title='hit'>\xe2\x80\xa8"
    "\"'`;document.title='hit'//</style></textarea></title>]]>--><mark id=hit>&lt;\xe2\x80\xae\xe2\x81\xa6";

static void find(json_t *findings, const struct browser_view *view, const char *what, const char *detail)
{
    json_array_append_new(findings, json_sprintf("%s: %s: %s", view->name, what, detail));
}

static void find_all(json_t *findings, const struct browser_view *view, const char *what, const json_t *details)
{
    for (size_t i = 0; i < json_array_size(details); i++)
        find(findings, view, what, json_string_value(json_array_get(details, i)));
}

/* --- the frame --------------------------------------------------------------------------------- */

static void check_frame(struct browser *b, const struct browser_view *view, json_t *findings)
{
    char detail[80];
    find_all(findings, view, "complaint", browser_complaints(b));
    find_all(findings, view, "request", browser_requests(b));
    if (!(browser_first_paint(b) > 0))
        find(findings, view, "paint", "nothing was drawn");
    const bool picture = browser_true(b, "document.documentElement.matches('svg')");
    if (!picture && !browser_true(b, "document.title !== '' && document.documentElement.lang !== '' && "
                                     "document.querySelectorAll('h1').length === 1"))
        find(findings, view, "frame", "a title, a language and one heading are wanted");
    const double wide = browser_number(b, "document.documentElement.scrollWidth");
    if (!picture && wide > view->width) {
        snprintf(detail, sizeof detail, "%g px on a screen of %d", wide, view->width);
        find(findings, view, "scrolls sideways", detail);
    }
}

/* --- pictures ---------------------------------------------------------------------------------- */

/* Functions that the checks below share; a picture or box that is not shown has no size and is passed over. */
#define SHOWN "const shown = e => e.checkVisibility({visibilityProperty: true, opacityProperty: true});"
#define NAMED                                                                                                          \
    "const named = e => !!(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.labels?.length ||"   \
    "e.closest('[aria-hidden=true], [role=group][aria-label]') || (e.closest('svg') ? e.querySelector(':scope > "      \
    "title') : "                                                                                                       \
    "e)?.textContent.trim());"
#define WHO "const who = e => e.tagName.toLowerCase() + (e.id && '#' + e.id) + ' ' + e.textContent.trim().slice(0, 30);"

static void check_words_and_pictures(struct browser *b, const struct browser_view *view, json_t *findings)
{
    json_t *empty =
        browser_value(b, "(() => {" SHOWN NAMED WHO
                         "return [...document.querySelectorAll('svg, canvas')].filter(shown).filter(e => { const r = "
                         "e.getBoundingClientRect();"
                         "return r.width < 8 || r.height < 8 || !named(e) }).map(who) })()");
    json_t *outside = browser_value(
        b, "(() => {" SHOWN "return [...document.querySelectorAll('svg text')].filter(shown).filter(t => {"
           "const a = t.getBoundingClientRect(), s = t.closest('svg').getBoundingClientRect();"
           "return a.width > 0 && (a.left < s.left - 1 || a.right > s.right + 1 || a.top < s.top - 1 || a.bottom > "
           "s.bottom + 1) }).map(t => t.textContent) })()");
    /* A box of letters has room above and below them, so boxes may touch by a third. */
    json_t *crossing = browser_value(
        b, "(() => {" SHOWN "const bad = []; for (const s of document.querySelectorAll('svg')) {"
           "const all = [...s.querySelectorAll('text')].filter(shown).filter(t => t.textContent.trim())"
           ".map(t => [t, t.getBoundingClientRect()]).sort((a, b) => a[1].left - b[1].left);"
           "all.forEach(([t, a], i) => { for (let k = i + 1; k < all.length && all[k][1].left < a.right - 1; k++) {"
           "const c = all[k][1], y = Math.min(a.bottom, c.bottom) - Math.max(a.top, c.top);"
           "if (y > 0.35 * Math.min(a.height, c.height)) bad.push(t.textContent + ' | ' + all[k][0].textContent) } }) }"
           "return bad })()");
    json_t *nameless = browser_value(b, "(() => {" SHOWN NAMED WHO
                                        "return [...document.querySelectorAll('a, button, input, select, textarea, "
                                        "[tabindex=\"0\"]')].filter(shown).filter(e => !named(e)).map(who) })()");
    json_t *cut = browser_value(
        b, "(() => {" SHOWN WHO
           "return [...document.querySelectorAll('body *')].filter(e => e.scrollWidth > e.clientWidth "
           "+ 1 && e.textContent.trim() && shown(e)).filter(e => { const o = getComputedStyle(e); return "
           "['hidden', 'clip'].includes(o.overflowX) && o.textOverflow !== 'ellipsis' && e.clientWidth > 1 })"
           ".map(who) })()");
    find_all(findings, view, "words cut off", cut);
    json_decref(cut);
    find_all(findings, view, "empty or nameless picture", empty);
    find_all(findings, view, "words outside their picture", outside);
    find_all(findings, view, "words on one another", crossing);
    find_all(findings, view, "nameless control", nameless);
    json_decref(empty);
    json_decref(outside);
    json_decref(crossing);
    json_decref(nameless);
}

/* --- contrast ---------------------------------------------------------------------------------- */

/* [text, x, y, width, height, red, green, blue, alpha] for each line of words that is to be seen: what scrolling boxes
 * cut away is not. A colour is read off a canvas, whatever way it is written. */
static const char lines_of_words[] =
    "(() => {" SHOWN
    "const c = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true}), memo = new Map();"
    "const rgba = s => { if (!memo.has(s)) { c.clearRect(0, 0, 1, 1); c.fillStyle = s; c.fillRect(0, 0, 1, 1);"
    "memo.set(s, [...c.getImageData(0, 0, 1, 1).data]) } return memo.get(s) };"
    "const cut = new Map(), lines = [];"
    "const cutters = e => { if (!e) return []; if (!cut.has(e)) { const o = getComputedStyle(e);"
    "const mine = e !== document.documentElement && e !== document.body && o.overflow !== 'visible' ? [e] : [];"
    "cut.set(e, [...cutters(e.parentElement), ...mine]) } return cut.get(e) };"
    "const add = (e, text, r) => { let l = r.left, t = r.top, R = r.right, B = r.bottom;"
    "for (const k of cutters(e)) { const q = k.getBoundingClientRect();"
    "l = Math.max(l, q.left); t = Math.max(t, q.top); R = Math.min(R, q.right); B = Math.min(B, q.bottom) }"
    "if (R - l < 0.6 * r.width || B - t < 0.6 * r.height || R - l < 2 || B - t < 2) return;"
    "const o = getComputedStyle(e), k = rgba(e.closest('svg') ? o.fill : o.color); let a = k[3] / 255;"
    "if (e.closest('svg')) a *= o.fillOpacity;"
    "for (let p = e; p; p = p.parentElement) a *= getComputedStyle(p).opacity;"
    "lines.push([text.trim().slice(0, 40), l + scrollX, t + scrollY, R - l, B - t, k[0], k[1], k[2], a]) };"
    "const walk = document.createTreeWalker(document.body ?? document.documentElement, NodeFilter.SHOW_TEXT), range = "
    "document.createRange();"
    "for (let n; n = walk.nextNode();) { const e = n.parentElement;"
    "if (!n.data.trim() || e.closest('option, :disabled, noscript') || !shown(e)) continue;"
    "range.selectNodeContents(n); for (const r of range.getClientRects()) add(e, n.data, r) }"
    "for (const e of document.querySelectorAll('select, input'))"
    "if (shown(e) && !e.disabled && !['range', 'checkbox', 'radio'].includes(e.type))"
    "add(e, e.selectedOptions?.[0]?.text ?? e.value, e.getBoundingClientRect());"
    "return lines })()";

/* Words go, what is behind them stays; nothing moves meanwhile. */
static const char hide_words[] =
    "(() => { const s = new CSSStyleSheet(); s.replaceSync('*, *::before, *::after, *::placeholder {"
    "-webkit-text-fill-color: transparent !important; text-shadow: none !important; transition: none !important;"
    "animation: none !important; caret-color: transparent !important }"
    "svg text, svg tspan { fill: transparent !important; stroke: none !important }');"
    "document.adoptedStyleSheets = [...document.adoptedStyleSheets, s]; return 0 })()";
static const char show_words[] = "document.adoptedStyleSheets = document.adoptedStyleSheets.slice(0, -1), 0";

static double brightness(const double rgb[3])
{
    double linear[3];
    for (int i = 0; i < 3; i++) {
        const double v = rgb[i] / 255;
        linear[i] = v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
    }
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

static int by_value(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The most frequent of n colours. Reorders them. */
static uint32_t commonest(uint32_t *colour, size_t n)
{
    size_t most = 0;
    uint32_t best = 0;
    qsort(colour, n, sizeof *colour, by_value);
    for (size_t i = 0, run; i < n; i += run) {
        for (run = 1; i + run < n && colour[i + run] == colour[i]; run++)
            ;
        if (run > most) {
            most = run;
            best = colour[i];
        }
    }
    return best;
}

/* What is behind a box of words, for the most part; false when the box is not on the picture. */
static bool behind(const struct browser_picture *p, struct browser_box box, double rgb[3])
{
    enum { MOST = 4096 };
    uint32_t colour[MOST];
    const size_t left = (size_t)fmax(0, ceil(box.x)), top = (size_t)fmax(0, ceil(box.y));
    const size_t right = (size_t)fmax(0, floor(box.x + box.width)), bottom = (size_t)fmax(0, floor(box.y + box.height));
    size_t n = 0;
    for (size_t y = top; y < bottom && y < p->height; y++)
        for (size_t x = left; x < right && x < p->width && n < MOST; x++)
            colour[n++] = p->pixel[y * p->width + x];
    const uint32_t c = n ? commonest(colour, n) : 0;
    for (int i = 0; i < 3; i++)
        rgb[i] = c >> 8 * i & 255;
    return n > 0;
}

static double contrast(const double words[3], double alpha, const double ground[3])
{
    double mixed[3];
    for (int i = 0; i < 3; i++)
        mixed[i] = alpha * words[i] + (1 - alpha) * ground[i];
    const double a = brightness(mixed), b = brightness(ground);
    return (fmax(a, b) + 0.05) / (fmin(a, b) + 0.05);
}

static void check_line(const struct browser_picture *p, const json_t *line, const struct browser_view *view,
                       json_t *findings)
{
    struct browser_box box;
    double words[3], alpha, ground[3];
    const char *text;
    cr_assert_eq(json_unpack((json_t *)line, "[s,F,F,F,F,F,F,F,F]", &text, &box.x, &box.y, &box.width, &box.height,
                             &words[0], &words[1], &words[2], &alpha),
                 0);
    if (!behind(p, box, ground))
        return;
    const double ratio = contrast(words, alpha, ground);
    char detail[200];
    snprintf(detail, sizeof detail, "%.2f, rgb(%g %g %g) at %.2g on rgb(%g %g %g): %s", ratio, words[0], words[1],
             words[2], alpha, ground[0], ground[1], ground[2], text);
    if (ratio < PAGE_CONTRAST)
        find(findings, view, "contrast", detail);
}

static void check_contrast(struct browser *b, const struct browser_view *view, json_t *findings)
{
    struct browser_picture p;
    json_t *lines = browser_value(b, "%s", lines_of_words);
    json_decref(browser_value(b, "%s", hide_words));
    browser_picture(b, &p,
                    (struct browser_box){.width = browser_number(b, "innerWidth"),
                                         .height = browser_number(b, "document.documentElement.scrollHeight")});
    json_decref(browser_value(b, "%s", show_words));
    if (json_array_size(lines) == 0)
        find(findings, view, "contrast", "no words are seen");
    for (size_t i = 0; i < json_array_size(lines); i++)
        check_line(&p, json_array_get(lines, i), view, findings);
    json_decref(lines);
    browser_picture_free(&p);
}

/* --- all of it --------------------------------------------------------------------------------- */

json_t *page_findings(struct browser *b, const struct browser_view *view)
{
    json_t *findings = json_array();
    check_frame(b, view, findings);
    check_words_and_pictures(b, view, findings);
    check_contrast(b, view, findings);
    return findings;
}

json_t *page_checks(struct browser *b, const char *path, const struct browser_view *view)
{
    browser_view(b, view);
    browser_go(b, path);
    return page_findings(b, view);
}

static void expect_none(json_t *findings, const char *what)
{
    char *all = json_dumps(findings, JSON_INDENT(1) | JSON_ENSURE_ASCII);
    cr_assert_eq(json_array_size(findings), 0, "%s: %.4000s", what, all);
    free(all);
    json_decref(findings);
}

void page_expect_still_sound(struct browser *b, const struct browser_view *view)
{
    expect_none(page_findings(b, view), "the page as it is now");
}

static void expect_sound(struct browser *b, const char *path, const struct browser_view *const *views)
{
    json_t *findings = json_array();
    for (size_t i = 0; views[i]; i++) {
        json_t *found = page_checks(b, path, views[i]);
        json_array_extend(findings, found);
        json_decref(found);
    }
    expect_none(findings, path);
    browser_view(b, &BROWSER_DESK);
    browser_go(b, path);
}

void page_expect_sound(struct browser *b, const char *path)
{
    expect_sound(b, path,
                 (const struct browser_view *const[]){&BROWSER_DESK, &BROWSER_DESK_DARK, &BROWSER_PHONE,
                                                      &BROWSER_PHONE_DARK, NULL});
}

void page_expect_sound_picture(struct browser *b, const char *path)
{
    expect_sound(b, path, (const struct browser_view *const[]){&BROWSER_DESK, &BROWSER_DESK_DARK, NULL});
}

const char *page_harm(struct browser *b)
{
    if (browser_true(b, "document.title === 'hit'"))
        return "the words have run as a script";
    if (browser_true(b,
                     "document.querySelector('img, iframe, object, embed, link, base, #hit, [onload], [onerror]') !== "
                     "null"))
        return "the words have become an element";
    if (!browser_true(b, "document.body.innerText.includes('onerror=')"))
        return "the words are not shown";
    return NULL;
}
