#include "lab/lookups.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

Test(lookups, a_text_has_each_key_once_and_its_answer_is_two_values)
{
    size_t same = 0, asked[LOOKUPS_ITEMS] = {0};
    for (uint32_t row = 0; row < 400; row++) {
        struct lookups_text text, again;
        lookups_draw(&text, 7, 3, row);
        lookups_draw(&again, 7, 3, row);
        cr_assert_eq(memcmp(&text, &again, sizeof text), 0);
        bool seen[LOOKUPS_ITEMS] = {false};
        for (size_t i = 0; i < LOOKUPS_ITEMS; i++) {
            const uint32_t key = text.symbol[i] / LOOKUPS_VALUES;
            cr_assert(key < LOOKUPS_ITEMS && !seen[key]);
            seen[key] = true;
        }
        const uint32_t question = text.symbol[LOOKUPS_ITEMS] - LOOKUPS_QUESTIONS,
                       answer = text.answer - LOOKUPS_ANSWERS, two_back = text.symbol[LOOKUPS_LENGTH - 3];
        cr_assert_lt(question, LOOKUPS_ITEMS);
        cr_assert_eq(text.symbol[text.by_content], question * LOOKUPS_VALUES + answer / LOOKUPS_VALUES);
        cr_assert_eq(text.symbol[text.by_place], two_back);
        cr_assert_eq(answer % LOOKUPS_VALUES, two_back % LOOKUPS_VALUES);
        same += text.by_content == text.by_place;
        asked[question]++;
    }
    cr_assert(same > 60 && same < 140, "a quarter of them, %zu", same);
    for (size_t k = 0; k < LOOKUPS_ITEMS; k++)
        cr_assert(asked[k] > 60 && asked[k] < 140, "%zu", asked[k]);
}

/* Which seeds succeed hangs on the last bits, which another BLAS rounds otherwise; how many of them hardly does. */
Test(lookups, several_heads_learn_what_one_does_not)
{
    static struct lookups r;
    struct error err;
    const struct lookups_options o = {.seeds = 3, .steps = 600, .seed = 1, .team = {.threads = 1}};
    cr_assert_eq(lookups_run(&r, &o, &err), STATUS_OK, "%s", err.message);
    const struct lookups_model *one = &r.model[0], *four = &r.model[2];
    cr_assert(one->heads == 1 && r.model[1].heads == 2 && four->heads == 4);
    cr_assert(one->parameters == four->parameters && one->parameters == r.model[1].parameters);
    cr_assert(one->solved < four->solved && four->solved >= 2, "%zu and %zu", one->solved, four->solved);
    cr_assert(four->accuracy >= LOOKUPS_SOLVED && four->loss < one->loss);
    for (size_t k = 0; k < 3; k++) {
        const struct lookups_result *x = &four->seed[k], *lone = &one->seed[k];
        cr_assert(lone->accuracy > LOOKUPS_ONE_ALONE - 0.1, "one look-up at least: %g", lone->accuracy);
        if (lone->accuracy < 0.5) /* it looks at one item more than at all others */
            cr_assert(lone->head[0].by_place > 0.5 || lone->head[0].by_content > 0.5);
        double content = 0, place = 0;
        for (size_t h = 0; h < 4; h++) {
            content = fmax(content, x->head[h].by_content);
            place = fmax(place, x->head[h].by_place);
            cr_assert(x->head[h].entropy >= 0 && x->head[h].entropy <= 1);
            cr_assert(x->head[h].by_content + x->head[h].by_place <= 1 + 1e-5);
        }
        if (x->accuracy >= LOOKUPS_SOLVED)
            cr_assert(content > 0.7 && place > 0.7, "one head for each: %g, %g", content, place);
    }
}

/* Before anything is learnt: the loss of a guess among all symbols, and weights that are nearly alike. */
Test(lookups, a_first_step_is_a_guess_and_repeats_bit_for_bit)
{
    static struct lookups r, again;
    struct error err;
    const struct lookups_options o = {.seeds = 2, .steps = 1, .seed = 9, .team = {.threads = 2}};
    cr_assert_eq(lookups_run(&r, &o, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(lookups_run(&again, &o, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(memcmp(&r, &again, sizeof r), 0);
    for (size_t i = 0; i < LOOKUPS_MODELS; i++) {
        const struct lookups_result *x = &r.model[i].seed[1];
        cr_assert_float_eq(x->loss, log(LOOKUPS_SYMBOLS), 0.5, "%g", x->loss);
        cr_assert_lt(x->accuracy, 0.1);
        for (size_t h = 0; h < r.model[i].heads; h++)
            cr_assert(x->head[h].by_place < 0.4 && x->head[h].by_content < 0.4 && x->head[h].entropy > 0.9);
        cr_assert_float_eq(r.model[i].loss, (r.model[i].seed[0].loss + x->loss) / 2, 1e-12);
    }
}

static size_t asked_for;

static bool stop_at_third(void *context, size_t done, size_t total)
{
    cr_assert(context == &asked_for && done <= total && total == 3 * 2 * 50);
    return ++asked_for == 3;
}

Test(lookups, stops_when_it_is_told_to)
{
    static struct lookups r;
    struct error err;
    const struct lookups_options o = {
        .seeds = 2, .steps = 50, .seed = 1, .team = {.threads = 1}, .progress = stop_at_third, .context = &asked_for};
    cr_assert_eq(lookups_run(&r, &o, &err), STATUS_INTERRUPTED);
    cr_assert_eq(asked_for, 3);
}
