#include "diag/head_finding.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const size_t heads[] = {0, 1, 2, 3, 4, 5, 6, 7};

static struct head_finding of(enum head_finding_kind kind, size_t layer, size_t first, size_t count)
{
    return (struct head_finding){.kind = kind,
                                 .step = 120,
                                 .layer = layer,
                                 .count = count,
                                 .of = 4,
                                 .head = heads + first,
                                 .lr = 0.09,
                                 .entropy = 0.1,
                                 .entropy_before = 0.9,
                                 .max_score = 45.3,
                                 .max_score_before = -182.4,
                                 .turn = 0.4,
                                 .temperature = 20,
                                 .share = 2e-6,
                                 .distance = 0.004};
}

static char words[HEAD_FINDING_WORDS];

static const char *say(const struct head_finding *f, size_t n)
{
    head_finding_say(words, f, n);
    return words;
}

Test(head_finding, names_and_kinds_are_one_to_one)
{
    for (int k = 0; k < HEAD_FINDING_KINDS; k++)
        cr_assert_eq(head_finding_of(head_finding_name((enum head_finding_kind)k)), (enum head_finding_kind)k);
    cr_assert_eq(head_finding_of("collapsed"), HEAD_FINDING_KINDS);
    cr_assert_eq(head_finding_of(""), HEAD_FINDING_KINDS);
}

Test(head_finding, a_collapse_has_its_place_and_its_figures)
{
    struct head_finding f = of(HEAD_FINDING_COLLAPSE, 2, 1, 2);
    cr_assert_str_eq(say(&f, 1),
                     "layer 2 heads 1, 2: entropy fell from 0.90 to 0.10 while the largest score rose from -182 to 45");
    f.max_score_before = 0.7671;
    f.count = 1;
    cr_assert(strstr(say(&f, 1), "layer 2 head 1: ") && strstr(words, "from 0.77 to 45"), "%s", words);
    head_finding_advise(words, &f);
    cr_assert(strstr(words, "lower --lr or lengthen --warmup (the rate is 0.09 now)"), "%s", words);
}

Test(head_finding, layers_are_told_together_and_whole_ones_as_a_span)
{
    struct head_finding f[] = {of(HEAD_FINDING_FROZEN, 0, 0, 4), of(HEAD_FINDING_FROZEN, 1, 0, 4),
                               of(HEAD_FINDING_FROZEN, 2, 0, 4), of(HEAD_FINDING_FROZEN, 4, 3, 1)};
    cr_assert_eq(strncmp(say(f, 4), "layers 0 to 2 all heads; layer 4 head 3: ", 41), 0, "%s", words);
    cr_assert_eq(strncmp(say(f, 1), "layer 0 all heads: ", 19), 0, "%s", words);
    for (size_t i = 0; i < 4; i++) { /* a layer that has one head */
        f[i].of = f[i].count = 1;
        f[i].head = heads;
    }
    cr_assert_eq(strncmp(say(&f[3], 1), "layer 4 head 0: ", 16), 0, "%s", words);
}

Test(head_finding, figures_of_a_group_are_its_mean_and_its_extremes)
{
    struct head_finding f[] = {of(HEAD_FINDING_COLLAPSE, 0, 0, 1), of(HEAD_FINDING_COLLAPSE, 1, 0, 3)};
    f[0].entropy = 0.2;
    f[1].entropy = 0.04;
    f[1].max_score = 900;
    f[1].max_score_before = 3;
    cr_assert(strstr(say(f, 2), "from 0.90 to 0.08 while the largest score rose from -182 to 900"), "%s", words);
}

Test(head_finding, each_cause_of_uniform_heads_has_its_own_words_and_advice)
{
    const char *const said[] = {NULL, "do not learn", "temperature of 20", "have turned by 0.40"};
    const char *const advised[] = {NULL, "optimizer", "sqrt(head size)", "raise --lr (the rate is 0.09 now)"};
    for (int cause = HEAD_FINDING_STILL; cause <= HEAD_FINDING_FLAT; cause++) {
        struct head_finding f = of(HEAD_FINDING_UNIFORM, 1, 0, 4);
        f.cause = (enum head_finding_cause)cause;
        cr_assert(strstr(say(&f, 1), said[cause]), "%s", words);
        head_finding_advise(words, &f);
        cr_assert(strstr(words, advised[cause]), "%s", words);
    }
}

Test(head_finding, dead_and_duplicate_heads_are_told_with_what_was_measured)
{
    struct head_finding f = of(HEAD_FINDING_DEAD, 1, 2, 1);
    cr_assert(strstr(say(&f, 1), "layer 1 head 2: adds nothing") && strstr(words, "2e-06"), "%s", words);
    f = of(HEAD_FINDING_DUPLICATE, 1, 2, 2);
    cr_assert(strstr(say(&f, 1), "layer 1 heads 2, 3: look at the same places: at most 0.004"), "%s", words);
}

Test(head_finding, a_thousand_places_leave_room_for_the_figures)
{
    static size_t many[1000];
    static struct head_finding f[1000];
    for (size_t i = 0; i < 1000; i++)
        many[i] = i;
    for (size_t i = 0; i < 1000; i++) {
        f[i] = of(HEAD_FINDING_COLLAPSE, i, 0, 1000);
        f[i].of = 2000;
        f[i].head = many;
    }
    cr_assert(strstr(say(f, 1), ", ...") && strstr(words, "rose from -182 to 45"), "%s", words);
    for (size_t i = 0; i < 1000; i++)
        f[i].count = 1;
    cr_assert(strstr(say(f, 1000), "; and more") && strstr(words, "rose from -182 to 45"), "%s", words);
    cr_assert_lt(strlen(words), HEAD_FINDING_WORDS);
}
