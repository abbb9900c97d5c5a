#define _POSIX_C_SOURCE 200809L
#include "cli/explain_view.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "cli/explain_file.h"
#include "support/scratch.h"

static struct error err;

static char *page_of_file(const char *path, const char *look_at)
{
    struct explain_file f;
    struct worked w;
    char *text = NULL;
    size_t size = 0;
    cr_assert_eq(explain_file_read(&f, path, look_at, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(worked_make(&w, &f.in, &err), STATUS_OK, "%s", err.message);
    FILE *out = open_memstream(&text, &size);
    explain_view_print(out, &w, f.word);
    cr_assert_eq(fclose(out), 0);
    worked_free(&w);
    explain_file_free(&f);
    return text;
}

static char *page_of(const char *look_at)
{
    return page_of_file(NULL, look_at);
}

static void expect(const char *text, const char *words)
{
    cr_assert(strstr(text, words), "\"%s\" is not in\n%s", words, text);
}

Test(explain_view, shows_the_numbers_of_the_example)
{
    char *text = page_of(NULL);
    expect(text, "    bank   [ 1 3 ]\n");
    expect(text, "  The    1*1 + 3*1 = 4, scaled 2.83\n  bank   1*2 + 3*0 = 2, scaled 1.41\n  river  1*4 + 3*2 = 10, "
                 "scaled 7.07\n");
    expect(text, "  The      1.4 %   (0.2 % if scores were not divided)\n");
    expect(text, "  bank     0.3 %");
    expect(text, "  river   98.2 %   (99.7 % if scores were not divided)\n");
    expect(text, "  = [ 1.98 1.97 ], what \"bank\" knows now\n");
    expect(text, "  river    -     not seen: exactly 0\n");
    expect(text, "  dW_Q   = [       0       0 ]\n           [  0.1112 -0.1112 ]\n");
    expect(text, "  bank     0.804  0.196      -\n");
    free(text);
}

Test(explain_view, fits_a_terminal_of_80_columns)
{
    static const char *const words[] = {"The", "bank", "river"};
    for (size_t i = 0; i < 3; i++) {
        char *text = page_of(words[i]);
        for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1)
            cr_assert_leq(strcspn(line, "\n"), 80u, "%.*s", (int)strcspn(line, "\n"), line);
        free(text);
    }
}

/* The first word sees itself alone under the mask. */
Test(explain_view, a_word_that_sees_only_itself_has_no_entropy_to_speak_of)
{
    char *text = page_of("The");
    expect(text, "  The    100.0 %");
    expect(text, "  = [ 1 0 ], what \"The\" knows now\n\n   Backward");
    free(text);
}

/* Rows of twelve such numbers alone take 90 columns; sums of their products must not. */
Test(explain_view, long_sums_go_on_below_and_wide_words_line_up, .init = scratch_make, .fini = scratch_remove)
{
    static const char file[] =
        "{\"words\": [\"\u94f6\u884c\", \"bank\"], \"x\": [[1, 0.25], [-1, 2]],"
        "\"W_Q\": [[-1.25, 22.75, 3, 4, 5, 6, 7, 8, 9, 10.5, 11, 12], [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]],"
        "\"W_K\": [[1, -2.5, 3, 4, 5, 6, 7, 8, -9.25, 10, 11, 12], [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]],"
        "\"W_V\": [[1], [2]]}";
    scratch_write(scratch_path("e.json"), file, sizeof file - 1);
    char *text = page_of_file(scratch_path("e.json"), NULL);
    expect(text, "    \u94f6\u884c  [    1 0.25 ]\n    bank  [   -1    2 ]\n");
    size_t lines = 0;
    const char *end = strstr(text, "\n3. "), *line = strstr(text, "\n2. ");
    cr_assert(line && end);
    for (line++; line < end; line += strcspn(line, "\n") + 1, lines++)
        cr_assert_leq(strcspn(line, "\n"), 80u, "%.*s", (int)strcspn(line, "\n"), line);
    cr_assert_geq(lines, 3u + 1 + 4, "each of two sums takes two lines or more");
    free(text);
}

/* The largest numbers that a file may have give a gradient of 32 digits: every one of them is there. */
Test(explain_view, no_number_loses_its_last_digits, .init = scratch_make, .fini = scratch_remove)
{
    static const char row[] = "[1e6,1e6,1e6,1e6,1e6,1e6,1e6,1e6,1e6,1e6,1e6,1e6,1e6,1e6,1e6,1e6]";
    const char *path = scratch_path("large.json");
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fprintf(f, "{\"words\":[\"a\",\"b\"],\"x\":[[1e6],[-1e6]],\"W_Q\":[[0]],\"W_K\":[[1e6]],\"W_V\":[%s]}", row);
    cr_assert_eq(fclose(f), 0);
    struct explain_file file;
    struct worked w;
    cr_assert_eq(explain_file_read(&file, path, NULL, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(worked_make(&w, &file.in, &err), STATUS_OK, "%s", err.message);
    char wanted[64];
    snprintf(wanted, sizeof wanted, "dW_Q   = [ %.0f ]", (double)w.full.dwq[0]);
    cr_assert_lt(w.full.dwq[0], (real)-1e31);
    worked_free(&w);
    explain_file_free(&file);
    char *text = page_of_file(path, NULL);
    expect(text, wanted);
    free(text);
}
