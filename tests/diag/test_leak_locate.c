#include "diag/leak_locate.h"

#include <criterion/criterion.h>
#include <string.h>

#include "support/tiny.h"

static struct leak_report report;

static void make(struct tiny *t, size_t L, size_t H, size_t T, double dropout, int threads)
{
    struct config c = config_make(L, H, 2 * H, T, 5);
    c.dropout = dropout;
    tiny_make(t, &c, 1, 2, T, threads);
}

static void locate(struct tiny *t)
{
    struct error err;
    report = (struct leak_report){0};
    cr_assert_eq(leak_locate(&report, &t->model, &t->work, 1, 0, &err), STATUS_OK, "%s", err.message);
}

Test(leak_locate, finds_nothing_in_a_correct_model)
{
    const size_t lengths[] = {1, 2, 7, 60};
    for (size_t i = 0; i < 4; i++)
        for (size_t mode = 0; mode < 2; mode++) {
            struct tiny t;
            make(&t, 2, 3, lengths[i], mode ? 0.5 : 0, 1);
            locate(&t);
            cr_assert_eq(report.places, 0);
            tiny_free(&t);
        }
}

Test(leak_locate, any_set_of_heads_is_found_exactly)
{
    struct tiny t;
    make(&t, 2, 3, 4, 0, 1);
    for (unsigned set = 0; set < 64; set++) {
        for (size_t i = 0; i < 6; i++)
            t.model.rules[i] = set >> i & 1 ? ATTENTION_FULL : ATTENTION_CAUSAL;
        locate(&t);
        size_t found = 0;
        for (size_t i = 0; i < 6; i++) {
            if (!(set >> i & 1))
                continue;
            const struct leak_place *p = &report.place[found++];
            cr_assert(p->layer == i / 3 && p->head == i % 3 && !p->backward, "set %u", set);
            cr_assert_str_eq(p->operation, "attention");
            cr_assert_eq(p->shape.pattern, CHART_ALL_FUTURE);
        }
        cr_assert_eq(report.places, found, "set %u: %zu places", set, report.places);
    }
    tiny_free(&t);
}

Test(leak_locate, a_long_context_is_searched_over_its_beginning)
{
    struct tiny t;
    make(&t, 2, 2, 200, 0, 1);
    t.model.rules[2] = ATTENTION_FULL;
    locate(&t);
    cr_assert(report.places == 1 && report.place[0].layer == 1 && report.place[0].head == 0);
    cr_assert_eq(report.place[0].shape.pattern, CHART_ALL_FUTURE);
    tiny_free(&t);
}

Test(leak_locate, more_places_than_the_list_holds_are_counted)
{
    struct tiny t;
    struct config c = config_make(3, 90, 90, 3, 5);
    tiny_make(&t, &c, 1, 1, 3, 1);
    for (size_t i = 0; i < 270; i++)
        t.model.rules[i] = ATTENTION_FULL;
    locate(&t);
    cr_assert_eq(report.places, 270);
    report.leak = true;
    char text[1024];
    leak_describe(text, sizeof text, &report);
    cr_assert_eq(strcmp(text, "leak: layers 0-1 heads 0-89: attention sees all later positions; layer 2 heads 0-75: "
                              "attention sees all later positions; 14 more places"),
                 0, "%s", text);
    tiny_free(&t);
}

Test(leak_locate, a_backward_pass_that_disagrees_is_told_apart)
{
    struct tiny t;
    make(&t, 3, 2, 5, 0, 1);
    const struct fault fault = {.attention = ATTENTION_FAULT_BACKWARD_UNMASKED, .layer = 2, .head = FAULT_EVERYWHERE};
    t.model.fault = &fault;
    locate(&t);
    cr_assert_eq(report.places, 2);
    for (size_t h = 0; h < 2; h++) {
        cr_assert(report.place[h].backward && report.place[h].layer == 2 && report.place[h].head == h);
        cr_assert_str_eq(report.place[h].operation, "attention");
    }
    tiny_free(&t);
}
