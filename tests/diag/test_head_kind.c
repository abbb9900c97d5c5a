#include "diag/head_kind.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define LENGTH 24

/* Letters are in words, blanks and the comma are not. */
static const char text[LENGTH + 1] = "ab cabde, fabcde bacd fe";

struct page {
    real p[LENGTH * LENGTH];
    uint32_t tokens[LENGTH];
    bool in_word[LENGTH];
    struct head_window w;
};

static void make(struct page *g)
{
    memset(g, 0, sizeof *g);
    for (size_t i = 0; i < LENGTH; i++) {
        g->tokens[i] = (uint32_t)text[i];
        g->in_word[i] = text[i] >= 'a' && text[i] <= 'z';
    }
    g->w = (struct head_window){.tokens = g->tokens, .in_word = g->in_word, .T = LENGTH, .rule = ATTENTION_CAUSAL};
}

/* Each row gives `share` to the keys in the list, alike, and the rest to all visible keys, alike. */
static void set_row(struct page *g, size_t i, const size_t *keys, size_t n, double share)
{
    for (size_t j = 0; j <= i; j++)
        g->p[i * LENGTH + j] = (real)((n ? 1 - share : 1) / (double)(i + 1));
    for (size_t k = 0; k < n; k++)
        g->p[i * LENGTH + keys[k]] += (real)(share / (double)n);
}

/* The keys of a pattern, found another way than in head_kind.c: by looking at the text. */
static size_t keys_of(size_t keys[LENGTH], enum head_kind kind, size_t i)
{
    size_t n = 0;
    for (size_t j = 0; j <= i; j++) {
        const bool far = j + 2 <= i;
        size_t end = j + 1;
        while (end < i && text[end] >= 'a' && text[end] <= 'z')
            end++;
        const bool begins = j > 0 && (text[j - 1] == ' ') && far && end == i && text[i] >= 'a' && text[i] <= 'z' &&
                            text[j] != ' ' && text[j] != ',';
        const bool yes = kind == HEAD_PREVIOUS     ? j + 1 == i
                         : kind == HEAD_FIRST      ? j == 0 && far
                         : kind == HEAD_SAME       ? far && text[j] == text[i]
                         : kind == HEAD_INDUCTION  ? far && j > 0 && text[j - 1] == text[i]
                         : kind == HEAD_WORD_START ? begins
                                                   : kind == HEAD_ITSELF && j == i;
        if (yes)
            keys[n++] = j;
    }
    return n;
}

static struct head_measure measure(const struct page *g)
{
    struct head_measure m = {0};
    head_kind_add(&m, g->p, &g->w);
    head_kind_finish(&m);
    return m;
}

static void set_kind(struct page *g, enum head_kind kind, double share)
{
    for (size_t i = 0; i < LENGTH; i++) {
        size_t keys[LENGTH];
        const size_t n = keys_of(keys, kind, i);
        set_row(g, i, keys, n, share);
    }
}

Test(head_kind, each_pattern_is_told_from_the_others)
{
    for (size_t k = 0; k < HEAD_PATTERNS; k++) {
        struct page g;
        make(&g);
        set_kind(&g, (enum head_kind)k, 0.8);
        const struct head_measure m = measure(&g);
        cr_assert_eq(head_kind_judge(&m), k, "%s is taken for %s", head_kind_name((enum head_kind)k),
                     head_kind_name(head_kind_judge(&m)));
        cr_assert_geq(m.score[k].weight, 0.8);
        cr_assert_float_eq(m.score[k].largest, 1, 1e-12);
        cr_assert_float_eq((m.score[k].weight - 0.8) / 0.2, m.score[k].chance, 1e-6,
                           "of a row that shares 0.2 alike the pattern gets its chance of that");
    }
}

Test(head_kind, figures_of_the_previous_character_by_hand)
{
    struct page g;
    make(&g);
    set_kind(&g, HEAD_PREVIOUS, 1);
    const struct head_measure m = measure(&g);
    double chance = 0;
    for (size_t i = 1; i < LENGTH; i++)
        chance += 1.0 / (double)(i + 1) / (LENGTH - 1);
    cr_assert_eq(m.rows, LENGTH - 1);
    cr_assert_eq(m.score[HEAD_PREVIOUS].rows, LENGTH - 1);
    cr_assert_float_eq(m.score[HEAD_PREVIOUS].weight, 1, 1e-12);
    cr_assert_float_eq(m.score[HEAD_PREVIOUS].chance, chance, 1e-12);
    cr_assert_eq(m.entropy, 0);
    cr_assert_float_eq(m.reach, 1, 1e-12);
    for (size_t k = HEAD_PREVIOUS + 1; k < HEAD_PATTERNS; k++)
        cr_assert(m.score[k].rows > 0 && m.score[k].weight == 0, "%s", head_kind_name((enum head_kind)k));
    char evidence[HEAD_KIND_EVIDENCE];
    head_kind_evidence(evidence, &m, HEAD_PREVIOUS);
    cr_assert_str_eq(evidence, "1.00 of its weight, the largest in 100 % of rows; by chance 0.12");
}

/* Below half of the weight, yet mostly the largest: and the other way round. */
Test(head_kind, either_score_is_enough_and_neither_is_not)
{
    struct page g;
    make(&g);
    set_kind(&g, HEAD_PREVIOUS, 0.3);
    struct head_measure m = measure(&g);
    cr_assert(m.score[HEAD_PREVIOUS].weight < HEAD_KIND_MOST && m.score[HEAD_PREVIOUS].largest == 1);
    cr_assert_eq(head_kind_judge(&m), HEAD_PREVIOUS);
    m.score[HEAD_PREVIOUS].largest = 0.49;
    cr_assert_eq(head_kind_judge(&m), HEAD_MIXED);
    m.score[HEAD_PREVIOUS].weight = 0.5;
    cr_assert_eq(head_kind_judge(&m), HEAD_PREVIOUS);
    m.score[HEAD_PREVIOUS].chance = 0.26;
    cr_assert_eq(head_kind_judge(&m), HEAD_MIXED, "half is not twice 0.26");
}

Test(head_kind, uniform_is_uniform_although_some_key_is_the_largest)
{
    struct page g;
    make(&g);
    set_kind(&g, HEAD_MIXED, 0);
    struct head_measure m = measure(&g);
    cr_assert_float_eq(m.entropy, 1, 1e-6);
    for (size_t k = 0; k < HEAD_PATTERNS; k++) {
        cr_assert_float_eq(m.score[k].weight, m.score[k].chance, 1e-6);
        cr_assert_float_eq(m.score[k].largest, m.score[k].chance, 1e-12, "ties share a row");
    }
    cr_assert_eq(head_kind_judge(&m), HEAD_UNIFORM);
    make(&g);
    set_kind(&g, HEAD_PREVIOUS, 0.05);
    m = measure(&g);
    cr_assert_eq(m.score[HEAD_PREVIOUS].largest, 1);
    cr_assert_eq(head_kind_judge(&m), HEAD_UNIFORM);
}

Test(head_kind, sharp_by_no_pattern_and_mixed)
{
    struct page g;
    make(&g);
    for (size_t i = 0; i < LENGTH; i++) {
        const size_t key = (i * 7 + 3) % (i + 1); /* here and there */
        set_row(&g, i, &key, 1, 0.98);
    }
    g.w.in_word = NULL;
    struct head_measure m = measure(&g);
    cr_assert_eq(head_kind_judge(&m), HEAD_SHARP, "%s", head_kind_name(head_kind_judge(&m)));
    for (size_t i = 0; i < LENGTH; i++) {
        const size_t keys[] = {i, i / 2, i / 3};
        set_row(&g, i, keys, 3, 0.6);
    }
    m = measure(&g);
    cr_assert_eq(head_kind_judge(&m), HEAD_MIXED, "%s", head_kind_name(head_kind_judge(&m)));
}

Test(head_kind, several_windows_count_by_their_rows)
{
    struct page g, other;
    make(&g);
    make(&other);
    set_kind(&g, HEAD_PREVIOUS, 1);
    set_kind(&other, HEAD_ITSELF, 1);
    struct head_measure m = {0};
    head_kind_add(&m, g.p, &g.w);
    head_kind_add(&m, other.p, &other.w);
    head_kind_add(&m, other.p, &other.w);
    head_kind_finish(&m);
    cr_assert_float_eq(m.score[HEAD_PREVIOUS].weight, 1.0 / 3, 1e-12);
    cr_assert_float_eq(m.score[HEAD_ITSELF].weight, 2.0 / 3, 1e-12);
    cr_assert_eq(m.rows, 3 * (LENGTH - 1));
}

Test(head_kind, a_window_hides_what_lies_before_it)
{
    struct page g;
    make(&g);
    g.w.rule = ATTENTION_WINDOW;
    g.w.window = 4;
    for (size_t i = 0; i < LENGTH; i++)
        g.p[i * LENGTH + (i ? i - 1 : 0)] = 1;
    const struct head_measure m = measure(&g);
    cr_assert_eq(m.score[HEAD_FIRST].rows, 2, "rows 2 and 3 alone see position 0");
    cr_assert_float_eq(m.score[HEAD_PREVIOUS].chance, (1.0 / 2 + 1.0 / 3 + 0.25 * (LENGTH - 3)) / (LENGTH - 1), 1e-12);
    cr_assert_eq(head_kind_judge(&m), HEAD_PREVIOUS);
}

Test(head_kind, one_symbol_or_no_words_is_no_reason_to_fail)
{
    struct page g;
    make(&g);
    g.p[0] = 1;
    g.w.T = 1;
    struct head_measure m = measure(&g);
    char evidence[HEAD_KIND_EVIDENCE];
    cr_assert_eq(head_kind_judge(&m), HEAD_MIXED);
    head_kind_evidence(evidence, &m, HEAD_MIXED);
    cr_assert_str_eq(evidence, "no row sees two characters");
    make(&g);
    g.w.in_word = NULL;
    set_kind(&g, HEAD_WORD_START, 1);
    m = measure(&g);
    cr_assert(m.score[HEAD_WORD_START].rows == 0 && isnan(m.score[HEAD_WORD_START].weight));
    cr_assert_neq(head_kind_judge(&m), HEAD_WORD_START);
}
