#include "diag/verdict.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

void verdict_say(struct verdict *v, const char *detector, enum verdict_outcome outcome, double seconds,
                 const char *format, ...)
{
    assert(v->lines < VERDICT_LINES);
    struct verdict_line *line = &v->line[v->lines++];
    *line = (struct verdict_line){.detector = detector, .outcome = outcome, .seconds = seconds};
    va_list args;
    va_start(args, format);
    vsnprintf(line->evidence, sizeof line->evidence, format, args);
    va_end(args);
}

struct verdict_finding *verdict_find(struct verdict *v, const char *detector, const char *format, ...)
{
    /* Past the last place the last is written over: the first ones matter, the count stays right. */
    const size_t at = v->findings < VERDICT_FINDINGS ? v->findings : VERDICT_FINDINGS - 1;
    struct verdict_finding *f = &v->finding[at];
    v->findings++;
    *f = (struct verdict_finding){
        .detector = detector, .layer = VERDICT_NOWHERE, .head = VERDICT_NOWHERE, .nats = (double)NAN};
    va_list args;
    va_start(args, format);
    vsnprintf(f->what, sizeof f->what, format, args);
    va_end(args);
    return f;
}
