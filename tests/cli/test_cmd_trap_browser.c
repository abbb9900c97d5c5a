/* The page of `nopeek trap --html` in a real browser. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/page_checks.h"
#include "support/program.h"
#include "support/scratch.h"

static struct browser *browser;

static void shut(void)
{
    browser_close(browser);
    browser = NULL;
    scratch_remove();
}

TestSuite(cmd_trap_browser, .init = scratch_make, .fini = shut);

/* The first point of a series' line and its last, from the left and the top of the picture. */
static void ends_of(const char *path, double from[2], double to[2])
{
    json_t *ends = browser_value(browser,
                                 "(p => { const a = p.getPointAtLength(0), b = p.getPointAtLength(p.getTotalLength());"
                                 "return [a.x, a.y, b.x, b.y] })([...document.querySelectorAll('.line')].filter(p => "
                                 "p.getAttribute('style').includes('%s') && p.getAttribute('d').includes('L'))[0])",
                                 path);
    cr_assert_eq(json_unpack(ends, "[F,F,F,F]", &from[0], &from[1], &to[0], &to[1]), 0);
    json_decref(ends);
}

Test(cmd_trap_browser, the_page_is_sound_its_curves_are_drawn_and_a_hostile_text_stays_text)
{
    browser = browser_open();
    struct program p;
    char letters[3000];
    const size_t n = strlen(page_hostile);
    for (size_t i = 0; i < sizeof letters; i++)
        letters[i] = i % 200 < n ? page_hostile[i % 200] : "the cat sat\n"[i % 12];
    /* Of a file's name all but the slash may stand in the command that the page repeats. */
    const char *text = scratch_path("<img src=x onerror=document.title='hit'>.txt"), *page = scratch_path("page.html");
    scratch_write(text, letters, sizeof letters);
    PROGRAM(&p, "trap", text, "--n-layer", "2", "--n-head", "2", "--n-embd", "16", "--block-size", "12", "--batch-size",
            "4", "--threads", "1", "--eval-windows", "3", "--steps", "40", "--eval-interval", "10", "--html", page);
    cr_assert_eq(p.status, 0, "%s", p.err);
    program_free(&p);
    page_expect_sound(browser, page);
    const char *harm = page_harm(browser);
    cr_assert_null(harm, "%s", harm);
    double from[2], to[2];
    ends_of("--s1", from, to);
    cr_assert(to[0] > from[0] + 100, "the curve of the leaky twin goes to the right: %g to %g", from[0], to[0]);
    cr_assert_eq(browser_number(browser, "document.querySelectorAll('.heads svg').length"), 8,
                 "every head of both twins");
}

Test(cmd_trap_browser, the_picture_that_the_readme_shows_is_sound)
{
    browser = browser_open();
    page_expect_sound_picture(browser, NOPEEK_SOURCE "/data/trap.svg");
}
