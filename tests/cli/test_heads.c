#define _POSIX_C_SOURCE 200809L
#include "cli/heads.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *table(const struct heads *now, const struct heads *before)
{
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    heads_print(f, now, before);
    fclose(f);
    return text;
}

Test(heads, ordinary_heads_give_the_figures_and_are_said_to_be_ordinary)
{
    const double entropy[] = {0.5, 0.61, NAN, 0.7}, score[] = {1, 1, 1, 1};
    const struct heads now = {2, 2, entropy, score};
    char *text = table(&now, NULL);
    cr_assert(strstr(text, "layer 0   0.50 0.61\n"), "%s", text);
    cr_assert(strstr(text, "layer 1      - 0.70\n"), "%s", text);
    cr_assert(strstr(text, "  head         0    1\n  layer 0   0.50"), "%s", text);
    cr_assert(strstr(text, "nothing unusual"), "%s", text);
    cr_assert_null(strstr(text, "sharp:"));
    cr_assert_null(strstr(text, "uniform:"));
    free(text);
}

Test(heads, what_is_worth_noticing_is_said_by_layer_and_head)
{
    const double entropy[] = {0.1, 0.99, 0.15, 0.5, 0.02, 0.2}, score[] = {1, 1, 1, 1, 90, 1};
    const double entropy_before[] = {0.1, 0.99, 0.15, 0.5, 0.6, 0.2}, score_before[] = {1, 1, 1, 1, 3, 1};
    const struct heads now = {2, 3, entropy, score}, before = {2, 3, entropy_before, score_before};
    char *text = table(&now, &before);
    cr_assert(strstr(text, "\nsharp: layer 0 heads 0, 2 (picks one or two symbols)\n"), "%s", text);
    cr_assert(strstr(text, "\nuniform: layer 0 head 1 (looks at everything alike)\n"), "%s", text);
    cr_assert_null(strstr(text, "nothing unusual"));
    cr_assert(strstr(text, "\ncollapsing: layer 1 head 1 ("), "%s", text);
    free(text);
    text = table(&now, NULL);
    cr_assert(strstr(text, "\nsharp: layer 0 heads 0, 2; layer 1 head 1 ("), "%s", text);
    cr_assert_null(strstr(text, "collapsing"));
    free(text);
}

Test(heads, many_heads_are_named_in_few_words)
{
    const double entropy[] = {0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.5, 0.1, 0.1, 0.1, 0.1, 0.5, 0.1, 0.1, 0.5};
    const double score[15] = {0};
    const struct heads now = {3, 5, entropy, score}, one = {2, 1, entropy, score};
    char *text = table(&now, NULL);
    cr_assert(strstr(text, "sharp: layer 0 all heads; layer 1 heads 0, 2 to 4; layer 2 heads 0, 2, 3 ("), "%s", text);
    free(text);
    text = table(&one, NULL);
    cr_assert(strstr(text, "sharp: layer 0 head 0; layer 1 head 0 ("), "%s", text);
    free(text);
}
