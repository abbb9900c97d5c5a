/* What the operating system says of memory. Where it says nothing the answer is 0 or false. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes that can be taken without swapping, a cgroup's limit respected. */
size_t memory_available(void);

/* Bytes of memory that the process had at most since it began, or since memory_forget_peak. */
size_t memory_peak(void);

/* Lets memory_peak begin anew from what is held now. */
bool memory_forget_peak(void);

#endif
