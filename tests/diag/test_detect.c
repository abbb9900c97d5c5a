#include "diag/detect.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diag/catalogue.h"
#include "support/tiny.h"

enum { T = 11, V = 7, COUNT = 900 };

/* A model that is large enough to suffer from every fault, and a text. */
struct subject {
    struct tiny tiny;
    struct dataset data;
    uint8_t ids[COUNT];
};

static void make(struct subject *s)
{
    struct config c = config_make(2, 2, 8, T, V);
    c.dropout = 0.2;
    tiny_make(&s->tiny, &c, 1, 3, T, 1);
    for (size_t k = 0; k < COUNT; k++)
        s->ids[k] = (uint8_t)(k * k % 11 % V);
    s->data = (struct dataset){.ids = s->ids, .width = 1, .count = COUNT, .train = COUNT - COUNT / 10};
}

static struct verdict *run(struct subject *s, bool quick)
{
    struct error err;
    struct verdict *v = malloc(sizeof *v);
    const struct detect d = {.g = &s->tiny.model, .w = &s->tiny.work, .data = &s->data, .seed = 5, .quick = quick};
    cr_assert_eq(detect_run(v, &d, &err), STATUS_OK, "%s", err.message);
    return v;
}

Test(detect, a_correct_model_is_clean_and_left_as_it_was)
{
    struct subject s;
    make(&s);
    const size_t bytes = s.tiny.model.table.size * sizeof(real);
    real *before = malloc(bytes);
    memcpy(before, s.tiny.model.params, bytes);
    for (int quick = 0; quick < 2; quick++) {
        struct verdict *v = run(&s, quick);
        cr_expect_eq(v->findings, 0, "%s: %s", v->finding[0].detector, v->finding[0].what);
        if (!quick) {
            cr_assert_eq(v->lines, DETECT_COUNT);
            for (size_t k = 0; k < DETECT_COUNT; k++)
                cr_expect_str_eq(v->line[k].detector, detect_names[k]);
        }
        cr_expect_lt(fabs(v->nats), 1e-4);
        free(v);
    }
    cr_assert_eq(memcmp(before, s.tiny.model.params, bytes), 0);
    free(before);
    tiny_free(&s.tiny);
}

Test(detect, every_fault_of_the_catalogue_is_caught_and_located)
{
    struct subject s;
    make(&s);
    for (size_t i = 0; i < catalogue_size; i++) {
        const struct catalogue_entry *e = &catalogue[i];
        struct fault fault;
        struct gpt *g = &s.tiny.model;
        const enum attention_rule rule = e->needs_window ? ATTENTION_WINDOW : ATTENTION_CAUSAL;
        g->attention_tile = 4;
        g->config.window = e->needs_window ? 3 : 0;
        g->config.declared = g->config.trained = rule;
        for (size_t k = 0; k < g->config.n_layer * g->config.n_head; k++)
            g->rules[k] = rule;
        struct verdict *right = run(&s, false);
        cr_expect_eq(right->findings, 0, "without %s: %s", e->name, right->finding[0].what);
        free(right);
        catalogue_plant(&fault, g, &s.data, e, 1, 0);
        struct verdict *v = run(&s, false);
        cr_expect_gt(v->findings, 0, "%s is not caught", e->name);
        bool named = false;
        for (size_t k = 0; k < v->findings && k < VERDICT_FINDINGS; k++) {
            const struct verdict_finding *f = &v->finding[k];
            named |= strcmp(f->operation, e->operation) == 0 && (!e->one_layer || f->layer == 1) &&
                     (!e->one_head || !e->one_layer || f->head == 0) && f->backward == e->backward;
        }
        cr_expect(named, "%s is not located: %s", e->name, v->finding[0].what);
        catalogue_remove(&s.tiny.model, &s.data);
        free(v);
    }
    tiny_free(&s.tiny);
}

Test(detect, what_is_seen_has_a_price)
{
    struct subject s;
    make(&s);
    struct fault fault;
    catalogue_plant(&fault, &s.tiny.model, &s.data, catalogue_find("no-mask"), FAULT_EVERYWHERE, FAULT_EVERYWHERE);
    struct verdict *v = run(&s, true);
    cr_assert_gt(v->findings, 0);
    cr_expect(isfinite(v->nats) && fabs(v->nats) > 1e-4);
    for (size_t k = 0; k < v->findings; k++)
        cr_expect(v->finding[k].shape.pattern == CHART_CAUSAL || v->finding[k].nats == v->nats);
    free(v);
    tiny_free(&s.tiny);
}

Test(detect, weights_that_are_not_finite_are_an_error)
{
    struct subject s;
    make(&s);
    s.tiny.model.params[3] = (real)NAN;
    struct error err;
    struct verdict *v = malloc(sizeof *v);
    const struct detect d = {.g = &s.tiny.model, .w = &s.tiny.work, .seed = 5};
    cr_assert_eq(detect_run(v, &d, &err), STATUS_NONFINITE);
    free(v);
    tiny_free(&s.tiny);
}
