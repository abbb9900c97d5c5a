/* What every HTML page that nopeek writes is held to, in a real browser. */
#ifndef SUPPORT_PAGE_CHECKS_H
#define SUPPORT_PAGE_CHECKS_H

#include <jansson.h>

#include "support/browser.h"

/* WCAG 2.2, success criterion 1.4.3: the least contrast of text and what is behind it. */
#define PAGE_CONTRAST 4.5

/* What is wrong with the page that is open, an array of strings; `view` is how it is looked at now:
 *   it complained, or asked for anything over a network or from the disk;
 *   nothing was painted; it has no title, no heading, no language;
 *   it is wider than the screen;
 *   a picture is empty, has no name, has words that reach out of it or lie on one another;
 *   words are cut off by their box, without an ellipsis; a thing to be used has no name;
 *   words are too faint: their computed colour against the pixels that are drawn behind them.
 */
json_t *page_findings(struct browser *b, const struct browser_view *view);

/* The same of a page opened and seen so. */
json_t *page_checks(struct browser *b, const char *path, const struct browser_view *view);

/* None of that, on a desk and on a phone, light and dark; leaves it open on a desk, in light. */
void page_expect_sound(struct browser *b, const char *path);

/* None of that on the page that is open, after something was done with it. */
void page_expect_still_sound(struct browser *b, const struct browser_view *view);

/* The same of an SVG file, which has a size of its own: on a desk, light and dark. */
void page_expect_sound_picture(struct browser *b, const char *path);

/* Writing that tries to be markup, in ways that have worked elsewhere: a page where it succeeds is called "hit". */
extern const char page_hostile[];

/* What became of page_hostile on the page that is open, as a sentence; NULL: it is shown, has not run, and nothing of
 * it is an element. */
const char *page_harm(struct browser *b);

#endif
