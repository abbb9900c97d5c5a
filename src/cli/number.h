/* Numbers as people type them, in one grammar whatever the locale: no blanks, no suffixes, no hexadecimal, no
 * "nan" or "inf", and nothing left over. */
#ifndef CLI_NUMBER_H
#define CLI_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Digits alone. False, with *out untouched, for anything else or a number above INT64_MAX. */
bool number_whole(int64_t *out, const char *text);

/* [-]digits[.digits][e[+-]digits], where digits may be missing on one side of the point. Decimal point always
 * ".". False, with *out untouched, for anything else or a number too large for a double; one too small is 0. */
bool number_real(double *out, const char *text);

#endif
