/* What a grammar's texts are like on average, exactly: the choices of all derivations, weighed by how often each
 * is made, with no sampling. */
#ifndef TEXT_GRAMMAR_ENTROPY_H
#define TEXT_GRAMMAR_ENTROPY_H

#include "text/grammar.h"

struct grammar_entropy {
    double nats;       /* expected -ln P of a derivation of the root */
    double characters; /* expected length of its text */
};

/* Visits every rule in every state in which it can be reached. Where a text has one derivation, nats is the entropy
 * of the root's text, and of an endless sequence of such texts nats / characters is the entropy rate (when a
 * text shows where it ends). STATUS_FORMAT: a rule of which no alternative applies in a state that can be
 * reached, so that a derivation could get stuck (the rule is named). STATUS_MEMORY. */
enum status grammar_entropy_expect(struct grammar_entropy *e, const struct grammar *g, struct error *err);

#endif
