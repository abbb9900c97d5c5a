/* What this machine is, and how much memory this process has used: for reports only. */
#ifndef BASE_MACHINE_H
#define BASE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

#define MACHINE_NAME_SIZE 128

/* The processor's name for itself, without runs of blanks; "unknown processor" where it cannot be asked. */
const char *machine_name(char out[MACHINE_NAME_SIZE]);

/* The most memory, in bytes, that was resident at once since the process began, or since the last reset. 0 where it
 * cannot be asked. */
size_t machine_peak_bytes(void);

/* Begins a new peak at what is resident now. False where that is not possible: the peak is then the process's. */
bool machine_peak_reset(void);

#endif
