#include "cli/trap_view.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/scratch.h"

/* A trap that has been run, made up: one layer of two heads. */
static struct trap trap;
static struct trap_point points[2];
static double entropy[] = {0.999, (double)NAN}, future[] = {0, 0.45};
static char right[] = "He said.\nAnd she", leaky[] = "\n\n\n\x1b[2J\xc2\x9b\r<x>";
static struct trap_view view;
static int out_before;

static void make(void)
{
    scratch_make();
    trap = (struct trap){.settings = {.config = config_make(1, 2, 4, 3, 3), .schedule = {.steps = 7}},
                         .point = points,
                         .points = 1,
                         .fooled_at = 7};
    trap.settings.fault = catalogue_find("no-mask");
    points[1].step = 7;
    for (size_t i = 0; i < 2; i++)
        for (size_t side = 0; side < TRAP_SIDES; side++)
            points[i].look[side] = (struct trap_look){1.5, 1.25, side ? 6.125 : 1.2499999, entropy, future};
    trap.twin[TRAP_RIGHT].sample = right;
    trap.twin[TRAP_RIGHT].sample_bytes = strlen(right);
    trap.twin[TRAP_LEAKY].sample = leaky;
    trap.twin[TRAP_LEAKY].sample_bytes = strlen(leaky);
    verdict_say(&trap.twin[TRAP_RIGHT].verdict, "suffix", VERDICT_CLEAN, 0.1, "never shown");
    verdict_say(&trap.twin[TRAP_LEAKY].verdict, "suffix", VERDICT_FOUND, 0.1, "a bit changed");
    trap.twin[TRAP_LEAKY].caught[trap.twin[TRAP_LEAKY].catches++] = (struct trap_catch){"suffix", 0};
}

TestSuite(trap_view, .init = make, .fini = scratch_remove);

/* What stdout got since `show` began; to be freed. */
static char *shown(void (*show)(void))
{
    fflush(stdout);
    out_before = dup(STDOUT_FILENO);
    const int file = open(scratch_path("out"), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    cr_assert(out_before >= 0 && file >= 0 && dup2(file, STDOUT_FILENO) >= 0);
    show();
    fflush(stdout);
    dup2(out_before, STDOUT_FILENO);
    close(out_before);
    close(file);
    return scratch_read(scratch_path("out"), NULL);
}

static void look_twice(void)
{
    trap_view_open(&view, false);
    const struct trap_events events = trap_view_events(&view);
    events.look(events.context, &trap);
    trap.points = 2;
    events.look(events.context, &trap);
}

static void look_silently(void)
{
    trap_view_open(&view, true);
    const struct trap_events events = trap_view_events(&view);
    events.look(events.context, &trap);
}

static void finish(void)
{
    trap.points = 2;
    trap_view_open(&view, false);
    trap_view_result(&view, &trap);
}

Test(trap_view, an_evaluation_is_two_columns_of_losses_heads_and_samples)
{
    char *out = shown(look_twice);
    const char *expected = "step     MASK RIGHT                         FAULT: no-mask\n"
                           "0        train 1.500  val 1.250             train 1.500  val 1.250\n"
                           "         no future 1.250  gap +0.000        no future 6.125  gap +4.875\n"
                           " entropy 9-                                 9-\n"
                           "  future 04                                 04\n"
                           "7        train 1.500  val 1.250             train 1.500  val 1.250\n";
    cr_assert_eq(strncmp(out, expected, strlen(expected)), 0, "%s", out);
    cr_assert(strstr(out, "  writes He said.\u21b5And she                   \u21b5\u21b5\u21b5?[2J?"
                          "?<x>\n"),
              "%s", out);
    cr_assert_null(strchr(out, '\x1b'));
    free(out);
}

Test(trap_view, the_end_tells_heads_verdicts_and_the_lesson)
{
    char *out = shown(finish);
    cr_assert(strstr(out, "layer 0  head 0    1.00   0.00       1.00   0.00\n"), "%s", out);
    cr_assert(strstr(out, "suffix         clean    LEAK     a bit changed\n") && !strstr(out, "never shown"), "%s",
              out);
    cr_assert(strstr(out, "At step 7 the leaky twin first looks better"), "%s", out);
    cr_assert(strstr(out, "its loss is 6.125; guessing all 3 symbols alike gives 1.099"), "%s", out);
    cr_assert(strstr(out, "suffix at step 0."), "%s", out);
    free(out);
}

Test(trap_view, json_leaves_stdout_alone)
{
    char *out = shown(look_silently);
    cr_assert_str_eq(out, "");
    free(out);
}
