/* A model of a few lines, seen as a black box: which position sees which is whatever a test says. */
#ifndef SUPPORT_PUPPET_H
#define SUPPORT_PUPPET_H

#include <stdbool.h>
#include <stddef.h>

#include "diag/blackbox.h"
#include "diag/blackbox_session.h"

/* How strongly the answer at i depends on the token at j, in a window of n. */
typedef double puppet_weight(size_t i, size_t j, size_t n);

/* logits[i,v] = sum_j weight(i,j,n) e(tokens[j],v), with |e| <= 1 */
struct puppet {
    struct blackbox box;
    puppet_weight *weight;
    double knows_next;    /* nats more for the token that does come next, where it is in the window */
    double noise;         /* other numbers at every question, this large at most */
    bool remembers;       /* its answer depends on the question before */
    bool counts_length;   /* its answers depend on how many tokens there are */
    bool confuses_rows;   /* rows asked for by number are those one later */
    double poison;        /* when not 0: stands in row 1 for symbol 2 */
    bool bars_last;       /* the last symbol can never come */
    size_t refuses_below; /* shorter questions fail */
    double step;          /* when not 0: logits are rounded to multiples of it, by position and length */
    size_t asked;         /* questions so far */
    size_t most_numbers;  /* of the largest answer */
    size_t memory;
};

puppet_weight puppet_causal, puppet_blind, puppet_next, puppet_block_16;

/* V symbols, context T; stops the test on failure. */
void puppet_make(struct puppet *p, size_t V, size_t T, puppet_weight *weight);
void puppet_free(struct puppet *p);

/* A session about it, with ten seconds for every detector, and its verdict, after one question that tells which symbols
 * there are; both to be closed with puppet_close. */
void puppet_open(struct session *s, struct puppet *p);
void puppet_close(struct session *s);

#endif
