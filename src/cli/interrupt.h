/* Ctrl-C and SIGTERM: the first asks for an orderly end, the second ends at once. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <stdbool.h>

/* From now on SIGINT, SIGTERM and SIGHUP set a flag; a second one ends the program with status 130 on the spot,
 * which is safe at any instant because files and checkpoints are committed by a rename. A signal that was ignored
 * when the program began (nohup) stays ignored. */
void interrupt_catch(void);

/* Has one come? */
bool interrupt_pending(void);

#endif
