#include "diag/catalogue.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "support/tiny.h"

Test(catalogue, names_are_unique_and_found)
{
    for (size_t i = 0; i < catalogue_size; i++) {
        cr_assert_eq(catalogue_find(catalogue[i].name), &catalogue[i]);
        cr_assert(catalogue[i].says && strlen(catalogue[i].says) < 100);
    }
    cr_assert_null(catalogue_find("nothing-wrong"));
    cr_assert_null(catalogue_find(""));
}

/* Every fault of the model, in a model large enough to suffer from it, changes what a whole-window pass gives unless it
 * belongs to decoding, to the backward pass, or to scores larger than these; and taking it out gives the same bits. */
Test(catalogue, what_is_planted_shows_and_can_be_taken_out)
{
    struct config c = config_make(2, 2, 8, 11, 7);
    c.dropout = 0.2;
    struct tiny t;
    c.declared = c.trained = ATTENTION_WINDOW;
    c.window = 9;
    tiny_make(&t, &c, 1, 3, 11, 1);
    t.model.attention_tile = 4;
    const struct gpt_pass pass = {.training = true, .seed = 1, .step = 2};
    const size_t n = 3 * 11 * 7;
    real *right = malloc(n * sizeof *right);
    gpt_forward(&t.model, &t.work, t.tokens, 3, 11, &pass);
    memcpy(right, t.work.logits, n * sizeof *right);
    for (size_t i = 0; i < catalogue_size; i++) {
        const struct catalogue_entry *e = &catalogue[i];
        if (e->data != DATASET_FAULT_NONE)
            continue;
        const bool quiet = !e->trains || e->backward || strcmp(e->name, "minus-1e4") == 0 ||
                           strcmp(e->name, "minus-1e9") == 0 || strcmp(e->name, "renormalised") == 0;
        struct fault fault;
        catalogue_plant(&fault, &t.model, NULL, e, 1, 0);
        gpt_forward(&t.model, &t.work, t.tokens, 3, 11, &pass);
        const double off = tiny_distance(right, t.work.logits, n);
        cr_expect(quiet ? off < 1e-5 : off > 1e-4, "%s: logits are off by %g", e->name, off);
        catalogue_remove(&t.model, NULL);
        gpt_forward(&t.model, &t.work, t.tokens, 3, 11, &pass);
        cr_assert_eq(memcmp(right, t.work.logits, n * sizeof *right), 0, "%s", e->name);
    }
    free(right);
    tiny_free(&t);
}
