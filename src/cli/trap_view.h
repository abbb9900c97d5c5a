/* What a person sees of the trap: both twins side by side, in 80 columns. */
#ifndef CLI_TRAP_VIEW_H
#define CLI_TRAP_VIEW_H

#include "cli/terminal.h"
#include "lab/trap.h"

struct trap_view {
    struct terminal out, err; /* results; progress */
    bool silent;              /* progress only: --json */
    bool headed;              /* the heading has been printed */
    double began;
};

void trap_view_open(struct trap_view *v, bool silent);

/* The trap's callbacks, drawing on v: an entry per evaluation, a line of progress in between. */
struct trap_events trap_view_events(struct trap_view *v);

/* After trap_run: what each writes, the heads, the verdicts, and what it all means. */
void trap_view_result(struct trap_view *v, const struct trap *t);

#endif
