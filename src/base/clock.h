/* Time, for rates and progress only: nothing that is computed may depend on it. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

/* Seconds on the monotonic clock, from an arbitrary start. */
double clock_seconds(void);

#endif
