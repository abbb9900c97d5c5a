/* A model in another program: a child that speaks diag/protocol, as a struct blackbox. It stands in cli because it
 * joins io (the child) to diag (what is asked), which know nothing of each other, and hands over the environment. */
#ifndef CLI_EXEC_MODEL_H
#define CLI_EXEC_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "diag/blackbox.h"
#include "io/child.h"

struct exec_model {
    struct child child;
    struct blackbox blackbox; /* its owner is this struct, which must not move */
};

/* Starts `command` and greets it. timeout: seconds for each answer, the first (which waits for the model to be loaded)
 * too. STATUS_OPEN, STATUS_READ, STATUS_FORMAT, STATUS_MEMORY, STATUS_INTERRUPTED; on failure it is stopped. */
enum status exec_model_start(struct exec_model *m, const char *command, double timeout, bool (*interrupted)(void),
                             struct error *err);
void exec_model_stop(struct exec_model *m);

#endif
