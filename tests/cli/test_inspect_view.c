#include "cli/inspect_view.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/inspected.h"
#include "support/scratch.h"

TestSuite(inspect_view, .init = scratch_make, .fini = scratch_remove);

/* A terminal of no kind, of so many columns, that writes into memory. */
struct page {
    struct terminal out;
    char *bytes;
    size_t n;
};

static void page_open(struct page *p, size_t width)
{
    *p = (struct page){.out = {.width = width}};
    p->out.stream = open_memstream(&p->bytes, &p->n);
    cr_assert_not_null(p->out.stream);
}

static const char *page_text(struct page *p)
{
    fflush(p->out.stream);
    return p->bytes;
}

static void page_close(struct page *p)
{
    fclose(p->out.stream);
    free(p->bytes);
}

/* Row i looks at i - 1 alone. */
static void set_previous(struct inspected *x, size_t layer, size_t head)
{
    for (size_t i = 0; i < x->inspection.T; i++) {
        real *row = inspected_row(x, layer, head, i);
        memset(row, 0, x->inspection.T * sizeof *row);
        row[i ? i - 1 : 0] = 1;
        x->inspection.row_entropy[(layer * x->inspection.H + head) * x->inspection.T + i] = i ? 0 : (double)NAN;
    }
}

Test(inspect_view, a_map_has_a_named_row_for_each_symbol)
{
    struct inspected x;
    struct page p;
    struct error err;
    inspected_make(&x, "a\n\tb", 8);
    set_previous(&x, 1, 0);
    page_open(&p, 80);
    const struct inspection_choice one = {1, 2, 0, 1};
    cr_assert_eq(inspect_view_maps(&p.out, &x.inspection, &one, INSPECT_LAST, &err), STATUS_OK);
    const char *map = strstr(page_text(&p), "layer 1 head 0: ");
    cr_assert_not_null(map);
    cr_assert_str_eq(strchr(map, '\n'), "\n     a \\n\\tb \n"
                                        "0 a  \u2588\u2588          -\n"
                                        "1 \\n \u2588\u2588       0.00\n"
                                        "2 \\t   \u2588\u2588     0.00\n"
                                        "3 b      \u2588\u2588   0.00\n");
    page_close(&p);
    inspection_free(&x.inspection);
}

Test(inspect_view, the_future_is_an_alarm)
{
    struct inspected x;
    struct page p;
    struct error err;
    inspected_make(&x, "abcd", 8);
    set_previous(&x, 0, 0);
    inspected_row(&x, 0, 0, 1)[2] = (real)1e-6;
    const struct inspection_choice one = {0, 1, 0, 1};
    page_open(&p, 80);
    cr_assert_eq(inspect_view_maps(&p.out, &x.inspection, &one, INSPECT_LAST, &err), STATUS_OK);
    cr_assert(strstr(page_text(&p), "\n1 b \u2588\u2588  !!   0.00\n"), "%s", page_text(&p));
    page_close(&p);
    page_open(&p, 80);
    cr_assert_eq(inspect_view_maps(&p.out, &x.inspection, &one, 1, &err), STATUS_OK);
    cr_assert(strstr(page_text(&p), "\n1 b \u2588\u2588  !!   0.00\n"), "%s", page_text(&p));
    page_close(&p);
    inspection_free(&x.inspection);
}

/* The page as it stands, from "layer 0" on. */
static void expect_maps(const struct inspected *x, size_t width, bool screen, const char *expected)
{
    struct page p;
    struct error err;
    const struct inspection_choice all = {0, 1, 0, x->inspection.H};
    page_open(&p, width);
    p.out.screen = screen;
    cr_assert_eq(inspect_view_maps(&p.out, &x->inspection, &all, INSPECT_LAST, &err), STATUS_OK);
    const char *map = strstr(page_text(&p), "\nlayer 0 head 0");
    cr_assert_not_null(map);
    cr_assert_eq(strncmp(map, expected, strlen(expected)), 0, "%s", map);
    page_close(&p);
}

Test(inspect_view, a_screen_shows_as_many_heads_beside_each_other_as_it_has_room_for)
{
    struct inspected x;
    inspected_make(&x, "ab", 8);
    for (size_t head = 0; head < x.inspection.H; head++) {
        set_previous(&x, 0, head);
        x.inspection.head[head].map.entropy = 0.5;
        x.inspection.head[head].kind = HEAD_UNIFORM; /* "uniform, entropy 0.50" takes 21 columns, a map 12 */
    }
    const char *one =
        "\nlayer 0 head 0: uniform, entropy 0.50\n    a b \n0 a \u2588\u2588      -\n1 b \u2588\u2588   0.00\n";
    expect_maps(&x, 43, true, one);
    expect_maps(&x, 44, true,
                "\nlayer 0 head 0         layer 0 head 1\n"
                "uniform, entropy 0.50  uniform, entropy 0.50\n"
                "    a b                    a b \n"
                "0 a \u2588\u2588      -          0 a \u2588\u2588      -\n"
                "1 b \u2588\u2588   0.00          1 b \u2588\u2588   0.00\n");
    expect_maps(&x, 200, false, one); /* a pipe has them below each other */
    inspection_free(&x.inspection);
}

/* U+200E takes no column, and keeps a terminal from turning the row round. */
Test(inspect_view, a_label_that_runs_from_right_to_left_stands_between_marks)
{
    struct inspected x;
    inspected_make(&x, "ab", 8);
    for (size_t head = 0; head < x.inspection.H; head++)
        set_previous(&x, 0, head);
    snprintf(x.inspection.label[0], sizeof x.inspection.label[0], "\u05e9");
    struct page p;
    struct error err;
    const struct inspection_choice one = {0, 1, 0, 1};
    page_open(&p, 80);
    cr_assert_eq(inspect_view_maps(&p.out, &x.inspection, &one, INSPECT_LAST, &err), STATUS_OK);
    cr_assert_eq(inspect_view_token(&p.out, &x.inspection, &one, 1, &err), STATUS_OK);
    const char *text = page_text(&p);
    cr_assert(
        strstr(text,
               "\n    \u200e\u05e9\u200e b \n0 \u200e\u05e9\u200e \u2588\u2588      -\n1 b \u2588\u2588   0.00\n"),
        "%s", text);
    cr_assert(strstr(text, "  0:\u200e\u05e9\u200e 1.00"), "%s", text);
    page_close(&p);
    inspection_free(&x.inspection);
}

static void long_text(char *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = "abcde"[i % 5];
    out[n] = '\0';
}

Test(inspect_view, as_many_positions_as_fit_and_never_too_wide_a_line)
{
    struct inspected x;
    char text[101];
    long_text(text, 100);
    inspected_make(&x, text, 100);
    for (size_t width = 20; width <= 260; width += 7)
        for (size_t from = 0; from < 3; from++) {
            struct page p;
            struct error err;
            page_open(&p, width);
            const struct inspection_choice one = {0, 1, 0, 1};
            const size_t first[] = {INSPECT_LAST, 0, 37};
            cr_assert_eq(inspect_view_maps(&p.out, &x.inspection, &one, first[from], &err), STATUS_OK);
            char *line = strtok(strstr(page_text(&p), "layer 0 head 0"), "\n");
            size_t rows = 0;
            while ((line = strtok(NULL, "\n")) != NULL && strncmp(line, "shown", 5) != 0) {
                cr_assert_leq(utf8_columns(line), width > 28 ? width : 28, "%zu: %s", width, line);
                rows++;
            }
            const size_t wanted = from == 2 ? 63 : 100;
            cr_assert(rows >= 1 + 7 && rows <= 1 + wanted);
            cr_assert(width < 120 || rows == 1 + wanted, "%zu columns show %zu rows", width, rows);
            cr_assert((line != NULL) == (rows < 1 + 100), "what is left out is said");
            page_close(&p);
        }
    inspection_free(&x.inspection);
}

Test(inspect_view, what_lies_before_the_window_has_a_column_of_its_own)
{
    struct inspected x;
    struct page p;
    struct error err;
    inspected_make(&x, "abcde", 8);
    for (size_t i = 0; i < 5; i++) {
        real *row = inspected_row(&x, 0, 0, i);
        memset(row, 0, 5 * sizeof *row);
        row[0] = row[1 < i ? 1 : i] = (real)0.5;
    }
    page_open(&p, 80);
    const struct inspection_choice one = {0, 1, 0, 1};
    cr_assert_eq(inspect_view_maps(&p.out, &x.inspection, &one, 2, &err), STATUS_OK);
    cr_assert(strstr(page_text(&p), "\n    \u2026 c d e \n2 c \u2588\u2588       "), "%s", page_text(&p));
    cr_assert(strstr(page_text(&p), "positions 2 to 4 of 0 to 4"), "%s", page_text(&p));
    page_close(&p);
    inspection_free(&x.inspection);
}

Test(inspect_view, wide_symbols_get_two_columns)
{
    struct inspected x;
    inspected_make(&x,
                   "a\xF0\x9F\x98\x80"
                   "b",
                   8);
    cr_assert_eq(inspect_view_fit(&x.inspection, 12, 4, INSPECT_LAST, 3).cell, 2);
    inspection_free(&x.inspection);
}

Test(inspect_view, a_token_has_a_line_for_each_head_with_what_it_looks_at_most)
{
    struct inspected x;
    struct page p;
    struct error err;
    inspected_make(&x, "a\ncd", 8);
    set_previous(&x, 0, 1);
    real *row = inspected_row(&x, 1, 0, 2);
    row[0] = row[2] = (real)0.25;
    row[1] = (real)0.5;
    page_open(&p, 80);
    cr_assert_eq(inspect_view_token(&p.out, &x.inspection, &x.all, 2, &err), STATUS_OK);
    const char *text = page_text(&p);
    cr_assert(strstr(text, "what c at position 2 looks at"), "%s", text);
    cr_assert(strstr(text, "\n          a \\nc \n"), "%s", text);
    cr_assert(strstr(text, "0.1         \u2588\u2588    1:\\n 1.00\n"), "%s", text);
    cr_assert(strstr(text, "1.0       \u2592\u2592\u2593\u2593\u2592\u2592  1:\\n 0.50  0:a 0.25  2:c 0.25\n"), "%s",
              text);
    page_close(&p);
    inspection_free(&x.inspection);
}

Test(inspect_view, the_table_has_each_head_and_says_what_kinds_mean)
{
    struct inspected x;
    struct page p;
    inspected_make(&x, "abcd", 8);
    for (size_t k = 0; k < 4; k++)
        x.inspection.head[k].kind = HEAD_UNIFORM;
    x.inspection.head[2].kind = HEAD_PREVIOUS;
    x.inspection.head[2].measure.score[HEAD_PREVIOUS] = (struct head_score){0.75, 0.9, 0.125, 3};
    x.inspection.ablation.head[2] = (struct ablation_head){.loss = 2, .more = 0.5, .error = 0.0625};
    page_open(&p, 80);
    inspect_view_heads(&p.out, &x.inspection, &x.all);
    const char *text = page_text(&p);
    cr_assert(strstr(text, "\n1.0     previous-character "), "%s", text);
    cr_assert(strstr(text, "+0.5000 \u00b1 0.0625"), "%s", text);
    cr_assert(strstr(text, "0.75 of its weight, the largest in 90 % of rows; by chance 0.12"), "%s", text);
    cr_assert(strstr(text, "looks at the character just before") && strstr(text, "looks at everything alike"));
    cr_assert(!strstr(text, "looks at several things"), "a kind that no head has is not explained");
    page_close(&p);
    inspection_free(&x.inspection);
}

static bool whole(const struct inspected *x, const struct inspection_choice *c, size_t from, bool screen)
{
    struct page p;
    struct error err;
    page_open(&p, 450);
    p.out.screen = screen;
    cr_assert_eq(inspect_view_maps(&p.out, &x->inspection, c, from, &err), STATUS_OK);
    const bool cut = strstr(page_text(&p), "\nshown: positions 75 to 199 of 0 to 199,");
    cr_assert(cut || !strstr(page_text(&p), "\nshown: "), "%s", strstr(page_text(&p), "\nshown: "));
    page_close(&p);
    return !cut;
}

/* Four maps of 200 rows are 800 lines. */
Test(inspect_view, many_maps_of_a_long_text_show_its_end_on_a_screen)
{
    struct inspected x;
    char text[201];
    long_text(text, 200);
    inspected_make(&x, text, 256);
    const struct inspection_choice all = {0, 2, 0, 2}, one = {0, 1, 1, 2};
    cr_assert_not(whole(&x, &all, INSPECT_LAST, true));
    cr_assert(whole(&x, &one, INSPECT_LAST, true), "one map is shown as far as it fits");
    cr_assert(whole(&x, &all, 0, true), "a place that was asked for is where it begins");
    cr_assert(whole(&x, &all, INSPECT_LAST, false), "a file takes all");
    inspection_free(&x.inspection);
}
