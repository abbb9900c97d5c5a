#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diag/catalogue.h"
#include "support/program.h"
#include "support/scratch.h"

static const char *text;

static void make(void)
{
    static char letters[3000];
    for (size_t i = 0; i < sizeof letters; i++)
        letters[i] = "the <cat> sat & on a mat; a dog\nran"[i * i % 34];
    scratch_make();
    text = scratch_path("text.txt");
    scratch_write(text, letters, sizeof letters);
}

TestSuite(cmd_trap, .init = make, .fini = scratch_remove);

/* Twins of a second. */
#define TRAP(p, ...)                                                                                                   \
    PROGRAM(p, "trap", text, "--n-layer", "2", "--n-head", "2", "--n-embd", "16", "--block-size", "12",                \
            "--batch-size", "4", "--threads", "1", "--eval-windows", "3", __VA_ARGS__)

static double number(const json_t *o, const char *side, const char *key)
{
    const json_t *value = json_object_get(json_object_get(o, side), key);
    cr_assert(json_is_number(value), "%s %s", side, key);
    return json_number_value(value);
}

static bool detected(const json_t *o, const char *side, const char *detector)
{
    const json_t *names = json_object_get(json_object_get(o, side), "detected_by");
    cr_assert(json_is_array(names));
    for (size_t i = 0; i < json_array_size(names); i++)
        if (strcmp(json_string_value(json_array_get(names, i)), detector) == 0)
            return true;
    return false;
}

Test(cmd_trap, json_is_one_line_with_both_twins_and_their_history)
{
    struct program p;
    TRAP(&p, "--steps", "20", "--eval-interval", "10", "--json");
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert_str_eq(strchr(p.out, '\n'), "\n", "one line");
    json_t *o = json_loads(p.out, 0, NULL);
    cr_assert_not_null(o, "%s", p.out);
    cr_assert_float_eq(number(o, "right", "generation_loss"), number(o, "right", "val_loss"), 1e-4);
    cr_assert(number(o, "right", "train_loss") > 0 && number(o, "leaky", "train_loss") > 0);
    cr_assert(detected(o, "leaky", "suffix") && detected(o, "leaky", "gradient"));
    cr_assert_eq(json_array_size(json_object_get(json_object_get(o, "right"), "detected_by")), 0);
    cr_assert_str_eq(json_string_value(json_object_get(o, "fault")), "no-mask");
    cr_assert_eq(json_integer_value(json_object_get(o, "steps")), 20);
    cr_assert(json_object_get(o, "fooled_at_step") && json_is_number(json_object_get(o, "seconds")));
    const json_t *history = json_object_get(o, "history");
    cr_assert_eq(json_array_size(history), 3);
    const json_t *last = json_array_get(history, 2);
    cr_assert_eq(number(last, "leaky", "generation_loss"), number(o, "leaky", "generation_loss"));
    cr_assert_eq(json_array_size(json_object_get(json_object_get(last, "right"), "future")), 2, "layers");
    json_decref(o);
    program_free(&p);
}

Test(cmd_trap, the_same_seed_gives_the_same_figures_and_the_text_fits_eighty_columns)
{
    struct program a, b;
    TRAP(&a, "--steps", "5");
    TRAP(&b, "--steps", "5");
    cr_assert_eq(a.status, 0, "%s", a.err);
    cr_assert_str_eq(a.out, b.out);
    cr_assert(strstr(a.out, "MASK RIGHT") && strstr(a.out, "no future") && strstr(a.out, "what this shows"));
    cr_assert_null(strchr(a.out, '\x1b'), "no colour in a pipe");
    for (const char *line = a.out; strncmp(line, "\ndetectors", 10) != 0; line++) {
        cr_assert(*line, "the table of detectors comes after the twins");
        if (*line != '\n')
            continue;
        size_t columns = 0;
        for (const char *c = line + 1; *c && *c != '\n'; c++)
            columns += ((unsigned char)*c & 0xC0u) != 0x80u;
        cr_assert_lt(columns, 81, "%.100s", line + 1);
    }
    program_free(&a);
    program_free(&b);
}

Test(cmd_trap, writes_a_page_and_a_picture)
{
    struct program p;
    const char *html = scratch_path("trap.html"), *svg = scratch_path("trap.svg");
    TRAP(&p, "--steps", "5", "--html", html, "--svg", svg);
    cr_assert_eq(p.status, 0, "%s", p.err);
    char *page = scratch_read(html, NULL), *picture = scratch_read(svg, NULL);
    cr_assert(strstr(page, "<!DOCTYPE html>") && strstr(page, "</html>"));
    cr_assert(strstr(page, "<pre>nopeek trap &#39;") && strstr(page, " --n-layer 2 --n-head 2 ") &&
              strstr(page, " --steps 5 ") && strstr(page, " --threads 1</pre>"));
    cr_assert(!strstr(page, "http:") && !strstr(page, "https:") && !strstr(page, "<cat>"));
    cr_assert(strstr(picture, "</svg>") && !strstr(picture, "nan"));
    cr_assert_eq(scratch_count(scratch_folder()), 3, "and nothing else");
    free(page);
    free(picture);
    program_free(&p);
}

Test(cmd_trap, a_page_that_cannot_be_written_is_known_before_the_work_is_done)
{
    struct program p;
    TRAP(&p, "--steps", "5", "--html", scratch_path("no/such/folder.html"));
    program_expect_refused(&p, 1, "folder.html");
    program_free(&p);
}

Test(cmd_trap, a_page_does_not_take_the_place_of_the_text)
{
    struct program p;
    TRAP(&p, "--steps", "5", "--html", scratch_path("./text.txt"));
    program_expect_refused(&p, 2, "is the text itself");
    program_free(&p);
    TRAP(&p, "--steps", "5", "--svg", text);
    program_expect_refused(&p, 2, "is the text itself");
    program_free(&p);
}

Test(cmd_trap, an_interrupted_trap_leaves_nothing)
{
    struct program p;
    char line[1024];
    snprintf(line, sizeof line,
             "cd '%s'; $NOPEEK trap text.txt --n-layer 1 --n-head 1 --n-embd 8 --block-size 12 --steps 1000000 "
             "--threads 1 --eval-interval 0 --html trap.html >out 2>err & pid=$!; "
             "while ! grep -q '^step 1/' '%s/err'; do sleep 0.05; done; kill -TERM $pid; wait $pid; echo $?; "
             "cat '%s/err' >&2",
             scratch_folder(), scratch_folder(), scratch_folder());
    program_shell(&p, line);
    cr_assert_str_eq(p.out, "130\n", "%s", p.err);
    cr_assert(strstr(p.err, "interrupted after step"), "%s", p.err);
    cr_assert_not(scratch_exists(scratch_path("trap.html")));
    program_free(&p);
}

Test(cmd_trap, what_makes_no_sense_is_one_line)
{
    struct program p;
    TRAP(&p, "--fault", "no-musk");
    program_expect_refused(&p, 2, "no-mask, transposed");
    program_free(&p);
    TRAP(&p, "--fault", "cache-one-back");
    program_expect_refused(&p, 2, "only while writing");
    program_free(&p);
    TRAP(&p, "--val-split", "0.001");
    program_expect_refused(&p, 1, "--val-split");
    program_free(&p);
    PROGRAM(&p, "trap");
    program_expect_refused(&p, 2, "expected TEXT");
    program_free(&p);
    PROGRAM(&p, "trap", scratch_path("none.txt"));
    program_expect_refused(&p, 1, "none.txt");
    program_free(&p);
}

Test(cmd_trap, help_lists_every_fault_that_trains)
{
    struct program p;
    PROGRAM(&p, "help", "trap");
    for (size_t i = 0; i < catalogue_size; i++)
        cr_assert_eq(strstr(p.out, catalogue[i].name) != NULL, catalogue[i].trains, "%s", catalogue[i].name);
    program_free(&p);
}
