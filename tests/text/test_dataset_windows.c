/* The split of a dataset and the windows drawn from it. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/textfile.h"
#include "text/dataset.h"

static struct textfile_folder folder;

static void begin(void)
{
    textfile_begin(&folder);
}

static void end(void)
{
    textfile_end(&folder);
}

TestSuite(dataset_windows, .init = begin, .fini = end);

static void write_text(char path[TEXTFILE_PATH_SIZE], const char *name, const char *text)
{
    textfile_write(path, &folder, name, text, strlen(text));
}

static void open_well(struct dataset *d, struct tokenizer *t, const char *const *paths, size_t n, double val_split)
{
    struct error err;
    cr_assert_eq(dataset_open(d, t, paths, n, val_split, &err), STATUS_OK, "%s", err.message);
}

static void open_string(struct dataset *d, struct tokenizer *t, const char *text, double val_split)
{
    char path[TEXTFILE_PATH_SIZE];
    write_text(path, "text", text);
    *t = (struct tokenizer){.kind = TOKENIZER_CHARS};
    open_well(d, t, (const char *[]){path}, 1, val_split);
}

static void close_both(struct dataset *d, struct tokenizer *t)
{
    dataset_free(d);
    tokenizer_free(t);
    cr_assert_null(d->ids);
    cr_assert_eq(d->count, 0u);
}

/* A text of V distinct characters, each twice. */
static uint8_t *text_of(size_t V, size_t *n)
{
    uint8_t *text = malloc(8 * V);
    cr_assert_not_null(text);
    *n = 0;
    for (size_t i = 0; i < 2 * V; i++) {
        const uint32_t code = 0x21 + (uint32_t)(i % V);
        *n += utf8_encode(code < 0xD800 ? code : code + 0x800, text + *n);
    }
    return text;
}

static char *letters(size_t n)
{
    char *text = malloc(n + 1);
    cr_assert_not_null(text);
    for (size_t i = 0; i < n; i++)
        text[i] = (char)('a' + i % 23);
    text[n] = '\0';
    return text;
}

Test(dataset_windows, the_split_is_one_cut_that_loses_nothing)
{
    static const double shares[] = {0, 0.0001, 0.1, 0.5, 0.999, 0x1.fffffffffffffp-1};
    static const size_t sizes[] = {1, 2, 3, 10, 999, 1000, 10007};
    for (size_t k = 0; k < sizeof shares / sizeof shares[0]; k++)
        for (size_t l = 0; l < sizeof sizes / sizeof sizes[0]; l++) {
            const size_t N = sizes[l];
            char *text = letters(N);
            struct dataset d;
            struct tokenizer t;
            open_string(&d, &t, text, shares[k]);
            const size_t val = (size_t)floor((double)N * shares[k]);
            cr_assert_eq(d.count, N);
            cr_assert_eq(d.train, N - val);
            cr_assert_gt(d.train, 0u);
            size_t begin_all, end_all, begin_train, end_train, begin_val, end_val;
            dataset_bounds(&d, DATASET_ALL, &begin_all, &end_all);
            dataset_bounds(&d, DATASET_TRAIN, &begin_train, &end_train);
            dataset_bounds(&d, DATASET_VAL, &begin_val, &end_val);
            cr_assert(begin_all == 0 && end_all == N && begin_train == 0 && end_val == N);
            cr_assert(end_train == N - val && begin_val == end_train);
            close_both(&d, &t);
            free(text);
        }
}

/* Files around one and two windows, as a person with a small file has them. */
Test(dataset_windows, a_train_part_below_one_window_is_refused_with_both_counts)
{
    const size_t T = 16, sizes[] = {1, 15, 16, 17, 32};
    static const double shares[] = {0, 0.0001, 0.5, 0.999};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
        for (size_t l = 0; l < sizeof shares / sizeof shares[0]; l++) {
            char *text = letters(sizes[k]), words[64];
            struct dataset d;
            struct tokenizer t;
            struct error err;
            open_string(&d, &t, text, shares[l]);
            const enum status s = dataset_check(&d, T, &err);
            cr_assert_eq(s, d.train >= T + 1 ? STATUS_OK : STATUS_RANGE);
            if (s != STATUS_OK) {
                snprintf(words, sizeof words, "at least 17 symbols in the train part, found %zu", d.train);
                cr_assert(strstr(err.message, words), "%s", err.message);
            } else {
                for (uint32_t step = 0; step < 100; step++)
                    cr_assert_lt(dataset_draw(&d, T, 1, step, 0) + T, d.train);
            }
            close_both(&d, &t);
            free(text);
        }
}

/* Draws until every place that may be drawn has been, and holds each window, targets included, against the split. */
Test(dataset_windows, no_window_nor_its_targets_reach_the_validation_part)
{
    struct dataset d;
    struct tokenizer t;
    char *text = letters(61);
    open_string(&d, &t, text, 0.2);
    cr_assert_eq(d.train, 49u);
    for (size_t T = 1; T < d.train; T++) {
        const size_t places = d.train - T;
        size_t drawn[64] = {0}, found = 0;
        for (uint32_t step = 0; step < 4000; step++) {
            uint32_t inputs[64], targets[64];
            const size_t start = dataset_draw(&d, T, 7, step, step % 5);
            cr_assert_lt(start, places);
            found += drawn[start]++ == 0;
            dataset_window(&d, inputs, targets, start, T);
            for (size_t i = 0; i < T; i++) {
                cr_assert_lt(start + i + 1, d.train);
                cr_assert_eq(inputs[i], dataset_id(&d, start + i));
                cr_assert_eq(targets[i], dataset_id(&d, start + i + 1));
                cr_assert(i == 0 || inputs[i] == targets[i - 1]);
            }
        }
        cr_assert_eq(found, places, "T %zu: %zu places of %zu were drawn", T, found, places);
    }
    close_both(&d, &t);
    free(text);
}

Test(dataset_windows, draws_are_uniform)
{
    struct dataset d;
    struct tokenizer t;
    char *text = letters(120);
    open_string(&d, &t, text, 0.1);
    const size_t T = 8, places = d.train - T, draws = 100 * places;
    double seen[128] = {0};
    for (size_t k = 0; k < draws; k++)
        seen[dataset_draw(&d, T, 1337, (uint32_t)(k / 12), (uint32_t)(k % 12))]++;
    double chi2 = 0;
    for (size_t p = 0; p < places; p++)
        chi2 += (seen[p] - 100) * (seen[p] - 100) / 100;
    /* mean places - 1, variance twice that: five standard deviations either way */
    const double mean = (double)places - 1;
    cr_assert(fabs(chi2 - mean) < 5 * sqrt(2 * mean), "chi-square %g for %g degrees of freedom", chi2, mean);
    close_both(&d, &t);
    free(text);
}

Test(dataset_windows, a_draw_depends_on_seed_step_and_row_alone)
{
    struct dataset d;
    struct tokenizer t;
    char *text = letters(5000);
    open_string(&d, &t, text, 0.1);
    const size_t T = 16, one = dataset_draw(&d, T, 1, 2, 3);
    size_t differ[3] = {0};
    for (uint32_t k = 0; k < 100; k++) {
        differ[0] += dataset_draw(&d, T, 100 + k, 2, 3) != one;
        differ[1] += dataset_draw(&d, T, 1, 100 + k, 3) != one;
        differ[2] += dataset_draw(&d, T, 1, 2, 100 + k) != one;
        cr_assert_eq(dataset_draw(&d, T, 1, 2, 3), one, "other draws between change nothing");
    }
    for (size_t k = 0; k < 3; k++)
        cr_assert_gt(differ[k], 95u);
    close_both(&d, &t);
    free(text);
}

Test(dataset_windows, windows_are_read_from_ids_of_every_width)
{
    static const size_t sizes[] = {200, 300, 70000};
    for (size_t k = 0; k < 3; k++) {
        size_t n;
        uint8_t *text = text_of(sizes[k], &n);
        char path[TEXTFILE_PATH_SIZE];
        textfile_write(path, &folder, "wide", text, n);
        struct dataset d;
        struct tokenizer t = {.kind = TOKENIZER_CHARS};
        open_well(&d, &t, (const char *[]){path}, 1, 0);
        uint32_t inputs[10], targets[10];
        const size_t start = d.count - 11; /* the last window there is */
        dataset_window(&d, inputs, targets, start, 10);
        for (size_t i = 0; i < 10; i++)
            cr_assert(inputs[i] == (start + i) % sizes[k] && targets[i] == (start + i + 1) % sizes[k]);
        close_both(&d, &t);
        free(text);
    }
}
