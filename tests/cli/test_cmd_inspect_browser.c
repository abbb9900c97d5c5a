/* The pages of `nopeek inspect --html` in a real browser. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/page_checks.h"
#include "support/program.h"
#include "support/scratch.h"
#include "support/tiny_run.h"

static struct browser *browser;
static const char *dir, *page, *picture;

static void make_run(void)
{
    static char text[4000];
    browser = browser_open();
    dir = scratch_path("run");
    page = scratch_path("page.html");
    picture = scratch_path("picture.svg");
    for (size_t i = 0; i < 4; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s to be, or not\n", page_hostile);
    const struct tiny_run r = {.dir = dir, .text_path = scratch_path("text.txt"), .text = text, .block_size = 256};
    tiny_run_write(&r);
}

static void shut(void)
{
    browser_close(browser);
    browser = NULL;
    scratch_remove();
}

TestSuite(cmd_inspect_browser, .init = scratch_make, .fini = shut);

static void inspect(const char *text)
{
    struct program p;
    PROGRAM(&p, "inspect", dir, "--text", text, "--html", page, "--svg", picture, "--threads", "1");
    cr_assert_eq(p.status, 0, "%s", p.err);
    program_free(&p);
}

Test(cmd_inspect_browser, the_page_is_sound_and_a_hostile_text_stays_text)
{
    make_run();
    inspect(page_hostile);
    page_expect_sound(browser, page);
    const char *harm = page_harm(browser);
    cr_assert_null(harm, "%s", harm);
}

Test(cmd_inspect_browser, a_picture_alone_is_sound)
{
    make_run();
    inspect("to be,\nor not");
    page_expect_sound_picture(browser, picture);
    inspect(page_hostile);
    page_expect_sound_picture(browser, picture);
}

Test(cmd_inspect_browser, a_map_has_a_cell_of_the_right_strength_where_a_symbol_looks)
{
    make_run();
    inspect("to be,\nor not to be or be not to be, or not");
    page_expect_sound(browser, page);
    cr_assert_eq(browser_number(browser, "document.querySelectorAll('.grid svg').length"), 4, "2 layers of 2 heads");
    /* The first symbol can look only at itself: a full cell in the corner, and paper right of it, which is the future.
     */
    json_t *corner = browser_value(browser, "(() => { const e = document.querySelector('.grid svg .edge'),"
                                            "r = e.getBoundingClientRect(), n = 40;"
                                            "return [r.x + scrollX, r.y + scrollY, r.width / n, r.height / n] })()");
    struct browser_box cell;
    cr_assert_eq(json_unpack(corner, "[F,F,F,F]", &cell.x, &cell.y, &cell.width, &cell.height), 0);
    json_decref(corner);
    struct browser_picture p;
    cell.width *= 2;
    browser_picture(browser, &p, cell);
    /* Below and above the line that parts the past from the future. */
    const uint32_t self = p.pixel[p.height * 3 / 4 * p.width + p.width / 8],
                   future = p.pixel[p.height / 4 * p.width + p.width * 7 / 8];
    cr_assert_eq(self & 0xffffff, 0xb27200, "the blue of weights: %06x", self & 0xffffff);
    cr_assert_eq(future & 0xffffff, 0xffffff, "paper: %06x", future & 0xffffff);
    browser_picture_free(&p);
}
