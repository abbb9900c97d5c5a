/* What the leak check found, as findings of a verdict. */
#ifndef DIAG_FINDINGS_H
#define DIAG_FINDINGS_H

#include "diag/leak.h"
#include "diag/verdict.h"

/* One finding for each place of r, or one without a place; none when r has no leak. Places that are among the findings
 * already are left out. */
void findings_of_leak(struct verdict *v, const char *detector, const struct leak_report *r);

#endif
