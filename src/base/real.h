/* The number type of every tensor: float, or double in the exactness build (-DNOPEEK_DOUBLE). */
#ifndef BASE_REAL_H
#define BASE_REAL_H

#include <float.h>

/* Masked scores, refused losses and rows that see nothing are told by infinity, NaN and exact zeros. */
#if defined __FAST_MATH__ || (defined __FINITE_MATH_ONLY__ && __FINITE_MATH_ONLY__) || defined __ASSOCIATIVE_MATH__ || \
    defined __RECIPROCAL_MATH__ || defined __NO_SIGNED_ZEROS__
#error "nopeek needs NaN, infinities and zeros as they are: compile without -ffast-math, -Ofast and what they stand for"
#endif

#ifdef NOPEEK_DOUBLE
typedef double real;
#define REAL_EPSILON DBL_EPSILON
#else
typedef float real;
#define REAL_EPSILON FLT_EPSILON
#endif

#endif
