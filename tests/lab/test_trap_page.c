#include "lab/trap_page.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* A trap that has been run, made up: two points, one layer of two heads. */
static struct trap trap;
static struct trap_point points[2];
static double entropy[] = {0.9, (double)NAN}, future[] = {0.1, 0.45}, maps[2 * 3 * 3] = {1, 0, 0, 0.5, 0.5, 0, 1};
static uint32_t tokens[] = {0, 1, 2};
static uint32_t symbols[] = {'\n', '<', 0x2028};
static const struct tokenizer tokenizer = {.kind = TOKENIZER_CHARS, .size = 3, .symbol = symbols};
static const struct dataset data = {.count = 100, .train = 90, .hash = "0123"};
static char hostile[] = "<script>alert(1)</script> ]]> \"'&\n\xe2\x80\xa8";

static void make(void)
{
    trap = (struct trap){.settings = {.config = config_make(1, 2, 4, 3, 3), .schedule = {.steps = 7}},
                         .data = &data,
                         .tokenizer = &tokenizer,
                         .point = points,
                         .points = 2,
                         .step = 7,
                         .snippet = 3,
                         .fooled_at = 7};
    trap.settings.fault = catalogue_find("no-mask");
    points[1].step = 7;
    for (size_t i = 0; i < 2; i++)
        for (size_t side = 0; side < TRAP_SIDES; side++)
            points[i].look[side] = (struct trap_look){1.5, 1.25, side ? 6.125 : 1.25, entropy, future};
    points[0].look[TRAP_LEAKY].train_loss = (double)NAN;
    for (size_t side = 0; side < TRAP_SIDES; side++) {
        struct trap_twin *twin = &trap.twin[side];
        twin->tokens = tokens;
        twin->maps = maps;
        twin->sample = hostile;
        twin->sample_bytes = strlen(hostile);
        verdict_say(&twin->verdict, "suffix", side ? VERDICT_FOUND : VERDICT_CLEAN, 0.1, "%s", hostile);
    }
    trap.twin[TRAP_LEAKY].caught[trap.twin[TRAP_LEAKY].catches++] = (struct trap_catch){"suffix", 0};
}

TestSuite(trap_page, .init = make);

Test(trap_page, nothing_of_the_users_text_is_markup)
{
    struct buffer b = {0};
    trap_page(&b, &trap, hostile);
    cr_assert_not(b.failed);
    cr_assert(!strstr(b.bytes, "<script") && !strstr(b.bytes, "]]>") && !strstr(b.bytes, "\xe2\x80\xa8"));
    cr_assert(strstr(b.bytes, "&lt;script&gt;alert(1)&lt;/script&gt; ]]&gt; &quot;&#39;&amp;"));
    cr_assert(strstr(b.bytes, ">&lt;</text>"), "a label of the map");
    buffer_free(&b);
}

Test(trap_page, needs_no_network_and_shows_no_nan)
{
    struct buffer b = {0};
    trap_page(&b, &trap, "nopeek trap book.txt --steps 7");
    cr_assert(!strstr(b.bytes, "http:") && !strstr(b.bytes, "https:") && !strstr(b.bytes, "src=") &&
              !strstr(b.bytes, "url("));
    cr_assert(!strstr(b.bytes, "nan") && !strstr(b.bytes, "inf "), "a loss that is not known is a gap");
    cr_assert(strstr(b.bytes, "</html>"));
    buffer_free(&b);
}

Test(trap_page, tells_the_figures_the_verdict_and_how_to_repeat_it)
{
    struct buffer b = {0};
    trap_page(&b, &trap, "nopeek trap book.txt --steps 7");
    cr_assert(strstr(b.bytes, "<td class=\"bad\">+4.8750</td>") && strstr(b.bytes, "<td class=\"good\">+0.0000</td>"));
    cr_assert(strstr(b.bytes, "<td class=\"good\">clean</td><td class=\"bad\">step 0</td>"));
    cr_assert(strstr(b.bytes, "At step 7 the leaky twin first looks better"));
    cr_assert(strstr(b.bytes, "<pre>nopeek trap book.txt --steps 7</pre>"));
    buffer_free(&b);
}

Test(trap_page, the_figure_is_a_picture_of_its_own)
{
    struct buffer b = {0};
    trap_figure(&b, &trap);
    cr_assert_eq(strncmp(b.bytes, "<svg ", 5), 0);
    cr_assert(strstr(b.bytes, "xmlns=\"http://www.w3.org/2000/svg\"") && strstr(b.bytes, "prefers-color-scheme:dark"));
    cr_assert(strstr(b.bytes, "ln 3: guessing") && !strstr(b.bytes, "nan") && !strstr(b.bytes, "<script"));
    buffer_free(&b);
}
