/* The number type of every tensor: float, or double in the exactness build (-DNOPEEK_DOUBLE). */
#ifndef BASE_REAL_H
#define BASE_REAL_H

#include <float.h>

#ifdef NOPEEK_DOUBLE
typedef double real;
#define REAL_EPSILON DBL_EPSILON
#else
typedef float real;
#define REAL_EPSILON FLT_EPSILON
#endif

#endif
