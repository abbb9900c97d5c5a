/* What a person sees of an inspection in a terminal: a heat map a head, then a table of the heads. */
#ifndef CLI_INSPECT_VIEW_H
#define CLI_INSPECT_VIEW_H

#include "cli/inspection.h"
#include "cli/terminal.h"

/* Positions of a text that are shown side by side, as many as fit: [first, first + n). */
struct inspect_window {
    size_t first, n;
    unsigned cell; /* terminal columns of a position: 1 or 2 */
};

/* Of positions [0, end) those from `from` on or, when that is INSPECT_LAST, the last ones; `reserved` terminal columns
 * are taken by what stands left and right of the cells. Where first > 0 there is room for one cell more, for what lies
 * before. from < end unless INSPECT_LAST. */
#define INSPECT_LAST ((size_t)-1)
struct inspect_window inspect_view_fit(const struct inspection *n, size_t width, size_t reserved, size_t from,
                                       size_t end);

/* A map for each head of the choice, entropy right of each row; on a screen as many heads of a layer side by side as
 * it has room for and, with `from` INSPECT_LAST, of several heads no more rows than make a few screens.
 * STATUS_MEMORY. */
enum status inspect_view_maps(struct terminal *out, const struct inspection *n, const struct inspection_choice *c,
                              size_t from, struct error *err);

/* What position `token` looks at: a line for each head. token < T. STATUS_MEMORY. */
enum status inspect_view_token(struct terminal *out, const struct inspection *n, const struct inspection_choice *c,
                               size_t token, struct error *err);

/* Kind, evidence, entropy, future and loss of each head, and what the kinds mean. */
void inspect_view_heads(struct terminal *out, const struct inspection *n, const struct inspection_choice *c);

#endif
