#include "lab/specimen.h"
#include "support/machine.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static struct specimen_text text;

static void make_text(void)
{
    struct error err;
    cr_assert_eq(specimen_text_make(&text, 1, 3000, &err), STATUS_OK, "%s", err.message);
}

static void free_text(void)
{
    specimen_text_free(&text);
}

TestSuite(specimen, .init = make_text, .fini = free_text);

Test(specimen, has_what_it_needs_and_is_the_same_for_the_same_seed)
{
    struct error err;
    for (uint64_t seed = 0; seed < 40; seed++) {
        const struct specimen_need need = {.least_layers = 2,
                                           .least_length = 5,
                                           .least_batch = 3,
                                           .least_head_size = 3,
                                           .dropout = seed % 2,
                                           .trained = seed % 8 == 0};
        struct specimen a, b;
        cr_assert_eq(specimen_make(&a, &need, &text, seed, support_team(2), &err), STATUS_OK, "%s", err.message);
        cr_assert_eq(specimen_make(&b, &need, &text, seed, support_team(2), &err), STATUS_OK, "%s", err.message);
        const struct config *c = &a.model.config;
        cr_assert(c->n_layer >= 2 && c->block_size >= 5 && a.work.B >= 3 && c->head_size >= 3);
        cr_assert(!need.dropout || c->dropout > 0);
        cr_assert(a.work.training && a.work.T == c->block_size && a.data.count > c->block_size);
        cr_assert_eq(a.model.table.size, b.model.table.size);
        cr_assert_eq(memcmp(a.model.params, b.model.params, a.model.table.size * sizeof(real)), 0);
        for (size_t k = 0; k < a.model.table.size; k++)
            cr_assert(isfinite(a.model.params[k]));
        specimen_free(&a);
        specimen_free(&b);
    }
}

Test(specimen, shapes_vary)
{
    struct error err;
    bool biases[2] = {0}, ties[2] = {0}, drops[2] = {0}, one_symbol_context = false;
    for (uint64_t seed = 0; seed < 60; seed++) {
        const struct specimen_need need = {0};
        struct specimen s;
        cr_assert_eq(specimen_make(&s, &need, &text, seed, support_team(2), &err), STATUS_OK);
        biases[s.model.config.bias] = ties[s.model.config.tied] = drops[s.model.config.dropout > 0] = true;
        one_symbol_context |= s.model.config.block_size == 1;
        specimen_free(&s);
    }
    cr_assert(biases[0] && biases[1] && ties[0] && ties[1] && drops[0] && drops[1] && one_symbol_context);
}
