#include "cli/number.h"

#include <criterion/criterion.h>
#include <float.h>
#include <locale.h>
#include <math.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const char *const junk[] = {"",    " ",     " 1",       "1 ",       "abc",  "1x",  "0x10", "0b1",
                                   "1k",  "1_000", "1,5",      "--1",      "+-1",  "1e",  "1e+",  "e5",
                                   ".",   "-.",    "-",        "nan",      "-nan", "inf", "NaN",  "1e1.5",
                                   "1\n", "0x1p3", "infinity", "\xd9\xa3", "1.2.3"};

Test(number, junk_is_no_number_of_any_type)
{
    for (size_t i = 0; i < COUNT(junk); i++) {
        int64_t n = 7;
        double r = 7;
        cr_assert(!number_whole(&n, junk[i]), "%s", junk[i]);
        cr_assert(!number_real(&r, junk[i]), "%s", junk[i]);
        cr_assert(n == 7 && r == 7);
    }
}

Test(number, whole_numbers_end_exactly_at_their_limit)
{
    int64_t n;
    cr_assert(number_whole(&n, "0") && n == 0);
    cr_assert(number_whole(&n, "007") && n == 7);
    cr_assert(number_whole(&n, "9223372036854775807") && n == INT64_MAX);
    cr_assert(!number_whole(&n, "9223372036854775808"));
    cr_assert(!number_whole(&n, "18446744073709551616"));
    cr_assert(!number_whole(&n, "99999999999999999999999"));
    cr_assert(!number_whole(&n, "-1"));
    cr_assert(!number_whole(&n, "-0"));
    cr_assert(!number_whole(&n, "1.0"));
    cr_assert(!number_whole(&n, "1e3"));
}

Test(number, real_numbers_are_read_to_the_last_bit)
{
    const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0},
                {"-1", -1},
                {"1e3", 1000},
                {"1E-3", 1e-3},
                {".5", 0.5},
                {"5.", 5},
                {"3e-4", 3e-4},
                {"1e-40", 1e-40},
                {"0.1", 0.1},
                {"1e+2", 100},
                {"1e308", 1e308},
                {"1e-400", 0},
                {"5e-324", 5e-324},
                {"-2.5e1", -25},
                {"1.7976931348623157e308", DBL_MAX},
                {"0.30000000000000004", 0.1 + 0.2}};
    for (size_t i = 0; i < COUNT(good); i++) {
        double r = NAN;
        cr_assert(number_real(&r, good[i].text), "%s", good[i].text);
        cr_assert_eq(r, good[i].value, "%s gave %.17g", good[i].text, r);
    }
    double r;
    cr_assert(!number_real(&r, "1e309"));
    cr_assert(!number_real(&r, "-1e999999999999"));
}

Test(number, a_locale_with_another_decimal_point_changes_nothing)
{
    const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE", "ps_AF.UTF-8"};
    for (size_t i = 0; i < COUNT(names); i++) {
        if (!setlocale(LC_ALL, names[i]))
            continue;
        double r = 0;
        cr_assert(number_real(&r, "1.25e-3") && r == 1.25e-3, "%s", names[i]);
        cr_assert(!number_real(&r, "1,25"), "%s", names[i]);
    }
}
