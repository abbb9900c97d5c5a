/* A small run and an inspection of a text with it, for tests of the views. All in the header, since what stands in
 * tests/support/ is linked without cli/ too. */
#ifndef SUPPORT_INSPECTED_H
#define SUPPORT_INSPECTED_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "cli/inspection.h"
#include "support/machine.h"
#include "support/scratch.h"
#include "support/tiny_run.h"

struct inspected {
    struct inspection inspection;
    struct inspection_choice all;
};

/* The run is RUN in the test's scratch folder, with 2 layers of 2 heads and context `block`, trained on text that holds
 * every symbol of `text`. Stops the test on failure; inspection_free ends it. */
static inline void inspected_make(struct inspected *x, const char *text, size_t block)
{
    struct error err;
    char learnt[4096];
    snprintf(learnt, sizeof learnt, "%s%s%s%s", text, text, text, text);
    const struct tiny_run r = {
        .dir = scratch_path("RUN"), .text_path = scratch_path("text"), .text = learnt, .block_size = block};
    tiny_run_write(&r);
    struct whole_text given = {.bytes = (char *)text, .size = strlen(text), .name = "--text"};
    const struct inspection_settings s = {.run = r.dir, .text = &given, .team = support_team(1)};
    cr_assert_eq(inspection_make(&x->inspection, &s, &err), STATUS_OK, "%s", err.message);
    x->all = (struct inspection_choice){0, x->inspection.L, 0, x->inspection.H};
}

/* What position i of a layer and head looks at, to be written over by a test that wants a certain map. */
static inline real *inspected_row(struct inspected *x, size_t layer, size_t head, size_t i)
{
    const struct attention_map *m = &x->inspection.map;
    return m->work.block[layer].weights + (head * m->T + i) * m->T;
}

#endif
