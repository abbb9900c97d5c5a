/* A page in a real browser, seen and used as a reader does: it is drawn, in light or dark, wide or on a phone; the
 * mouse moves over it and clicks; keys are pressed. Whatever fails stops the test with a sentence.
 *
 * A test that runs where no browser is installed is skipped, and fails when NOPEEK_NEED_BROWSER is set. So it is the
 * test itself that opens the browser, and the fixture after it that closes it: one that is skipped or fails within the
 * fixture before it would not get there. */
#ifndef SUPPORT_BROWSER_H
#define SUPPORT_BROWSER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct browser;

struct browser *browser_open(void);
void browser_close(struct browser *b); /* NULL is fine */

/* How the page is looked at; the default is BROWSER_DESK. */
struct browser_view {
    const char *name;  /* for messages */
    int width, height; /* CSS pixels */
    double scale;      /* of the device: pixels in a CSS pixel */
    bool phone;        /* touched, and laid out as on a phone */
    bool dark, still;  /* prefers-color-scheme, prefers-reduced-motion */
};

extern const struct browser_view BROWSER_DESK, BROWSER_DESK_DARK, BROWSER_PHONE, BROWSER_PHONE_DARK;

void browser_view(struct browser *b, const struct browser_view *view);

/* Opens a file and waits until all of it is loaded and drawn; forgets the complaints and requests of the page before.
 */
void browser_go(struct browser *b, const char *path);

/* What the page has said since it was opened: exceptions, whatever it printed to the console, what the browser itself
 * notes (a blocked script, say), dialogs and windows that it wanted. Strings; borrowed. */
const json_t *browser_complaints(const struct browser *b);

/* The addresses of all that it has asked for, itself and data: aside. Strings; borrowed. */
const json_t *browser_requests(const struct browser *b);

/* How often a page was loaded since browser_go, which is once. */
size_t browser_loads(const struct browser *b);

/* The value of an expression of JavaScript, or what its promise resolves to: a new reference. */
json_t *browser_value(struct browser *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
double browser_number(struct browser *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool browser_true(struct browser *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *browser_text(struct browser *b, const char *format, ...) __attribute__((format(printf, 2, 3))); /* to be freed */

/* Waits until the expression is true, DEVTOOLS_PATIENCE seconds at most. */
void browser_wait(struct browser *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Milliseconds from the start of loading to the first text or picture on the screen; NaN: nothing is there. */
double browser_first_paint(struct browser *b);

struct browser_box {
    double x, y, width, height; /* from the page's top left corner, in CSS pixels */
};

/* Where the first element of a CSS selector is. There must be one. */
struct browser_box browser_box(struct browser *b, const char *selector);

/* The mouse goes to the middle of the selector's first element, which is scrolled into view and must be what lies on
 * top there; then drawn anew. */
void browser_hover(struct browser *b, const char *selector);
void browser_click(struct browser *b, const char *selector);
void browser_tap(struct browser *b, const char *selector); /* with a finger */

/* The same at a place within the element, as a share of its width and height. */
void browser_hover_at(struct browser *b, const char *selector, double x, double y);

/* The mouse goes to the window's corner: where it rests, scrolling brings one thing after another below it. */
void browser_rest(struct browser *b);

/* A key is pressed and let go: "ArrowLeft", "Tab", "Enter", "Home", "Escape", " " and the like, or a letter. */
void browser_key(struct browser *b, const char *key);

/* What is on the screen: (height, width) pixels, row by row. */
struct browser_picture {
    size_t width, height;
    uint32_t *pixel; /* red in the lowest byte, then green, blue */
};

/* The part of the page in a box, one pixel for one of CSS, whether it is scrolled into view or not. */
void browser_picture(struct browser *b, struct browser_picture *picture, struct browser_box box);
void browser_picture_free(struct browser_picture *picture);

#endif
