/* Figures as people read them. */
#ifndef CLI_HUMAN_H
#define CLI_HUMAN_H

#include <stdint.h>

#define HUMAN_SIZE 32

/* "4.2 ms", "42 ms", "0.42 s", "8.3 s", "47 s", "3 min 05 s", "2 h 07 min", "3 d 4 h"; "?" for a negative or non-finite
 * time. */
const char *human_duration(char out[HUMAN_SIZE], double seconds);

/* Three digits and a unit of a thousand: "0.5", "812", "34.1k", "2.05M"; "?" for NaN and infinities. */
const char *human_rate(char out[HUMAN_SIZE], double per_second);

/* "1,115,394" */
const char *human_count(char out[HUMAN_SIZE], uint64_t n);

/* "812 B", "34.1 kB", "2.05 MB": units of 1000 bytes. */
const char *human_bytes(char out[HUMAN_SIZE], uint64_t bytes);

#endif
