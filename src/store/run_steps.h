/* What a run directory holds at this moment: its steps, and which of them a link in it means. Whatever the system does
 * not let one see is an error and never "not there": an earlier step would be taken for the last one. */
#ifndef STORE_RUN_STEPS_H
#define STORE_RUN_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/status.h"

struct run_steps {
    size_t *step; /* (count), ascending */
    size_t count, room;
    bool vanished; /* one went while the folder was read */
};

/* The step that the first n characters of name stand for, STATE_NO_STEP (state.h) when they are no step's name. */
size_t run_steps_number(const char *name, size_t n);

/* DIR/step-NNNNNN, allocated. STATUS_MEMORY. */
enum status run_steps_path(char **path, const char *dir, size_t step, struct error *err);

/* Is DIR/NAME a folder itself, not a link to one (which may dangle, or lead to another run), and, when `complete`, one
 * with trainer_state.json and model.safetensors? STATUS_OPEN, STATUS_MEMORY. */
enum status run_steps_is(bool *is, const char *dir, const char *name, bool complete, struct error *err);

/* Is there a regular file DIR/NAME, links followed, of `least` bytes or more? STATUS_OPEN, STATUS_MEMORY. */
enum status run_steps_has_file(bool *has, const char *dir, const char *name, off_t least, struct error *err);

/* The steps of dir, or its complete ones. STATUS_OPEN, STATUS_MEMORY; free steps->step in every case. */
enum status run_steps_list(struct run_steps *steps, const char *dir, bool complete, struct error *err);

/* Is DIR/NAME a symbolic link? STATUS_OPEN, STATUS_MEMORY. */
enum status run_steps_is_link(bool *is, const char *dir, const char *name, struct error *err);

/* The complete step of this run whose bare name the link DIR/LINK gives; STATE_NO_STEP when it gives anything else or
 * is no link. A link that moves on meanwhile is followed. STATUS_OPEN, STATUS_MEMORY. */
enum status run_steps_linked(size_t *step, const char *dir, const char *link, struct error *err);

#endif
