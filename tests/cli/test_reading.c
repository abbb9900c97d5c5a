#include "cli/reading.h"

#include <criterion/criterion.h>
#include <string.h>

#include "support/program.h"

/* Too short for its context in the end, so that nothing but the reading happens. */
Test(reading, a_slow_text_is_waited_for_with_a_line_of_progress)
{
    struct program p;
    program_shell(
        &p,
        "(printf %97s a; sleep 1.2; printf %6s b; sleep 0.2) | \"$NOPEEK\" train - --block-size 200 -o /dev/null/x");
    cr_assert_neq(p.status, 0);
    cr_assert(strstr(p.err, "reading the text: 103 B\n"), "%s", p.err);
    program_free(&p);
}

Test(reading, a_text_that_is_read_at_once_is_not_talked_about)
{
    struct program p;
    program_shell(&p, "printf abcabc | \"$NOPEEK\" train - --block-size 200 -o /dev/null/x");
    cr_assert_neq(p.status, 0);
    cr_assert_null(strstr(p.err, "reading the text"), "%s", p.err);
    program_free(&p);
}
