#include "diag/findings.h"

#include <stdio.h>
#include <string.h>

static bool known(const struct verdict *v, const struct leak_place *p)
{
    for (size_t k = 0; k < v->findings && k < VERDICT_FINDINGS; k++) {
        const struct verdict_finding *f = &v->finding[k];
        if (f->layer == p->layer && f->head == p->head && f->backward == p->backward &&
            strcmp(f->operation, p->operation) == 0)
            return true;
    }
    return false;
}

void findings_of_leak(struct verdict *v, const char *detector, const struct leak_report *r)
{
    const size_t listed = r->places < LEAK_PLACES ? r->places : LEAK_PLACES;
    for (size_t k = 0; k < listed; k++) {
        const struct leak_place *p = &r->place[k];
        if (known(v, p))
            continue;
        char seen[CHART_WORDS_SIZE];
        chart_words(seen, &p->shape);
        struct verdict_finding *f = verdict_find(v, detector, "%s sees %s%s", p->operation, seen,
                                                 p->backward ? ", in the backward pass only" : "");
        f->layer = p->layer;
        f->head = p->head;
        f->backward = p->backward;
        f->shape = p->shape;
        snprintf(f->operation, sizeof f->operation, "%s", p->operation);
    }
    v->findings += r->places - listed;
    if (r->leak && r->places == 0)
        verdict_find(v, detector,
                     r->logging_leaks && !r->suffix_leaks ? "logits are other bits when attention logs nothing"
                                                          : "later positions are seen, by no operation alone");
}
