/* What this machine is: for reports only. */
#ifndef BASE_MACHINE_H
#define BASE_MACHINE_H

#define MACHINE_NAME_SIZE 128

/* The processor's name for itself, without runs of blanks; "unknown processor" where it cannot be asked. */
const char *machine_name(char out[MACHINE_NAME_SIZE]);

#endif
