/* Character n-grams: what counting alone can predict, the bar that a model has to beat.
 *
 * Orders 1 to 5 at once, interpolated after Witten and Bell ("The zero-frequency problem", IEEE Transactions on
 * Information Theory 37(4), 1991, method C; as Chen and Goodman 1998, 2.4, write it). With h the last n - 1 symbols, h'
 * the last n - 2, c(h) how often something followed h, and D(h) how many different symbols did,
 *
 *   p_n(s | h) = (c(h s) + D(h) p_{n-1}(s | h')) / (c(h) + D(h)),    p_0(s) = 1 / V,
 *
 * and p_n = p_{n-1} where h was never seen. Every p_n sums to 1 over the V symbols and none is 0. There is no parameter
 * to tune, and one set of counts serves all orders. */
#ifndef TEXT_NGRAM_H
#define TEXT_NGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "text/dataset.h"

#define NGRAM_ORDERS 5

/* Symbols that ngram_measure counts, and reads, at most: what bounds its memory (200 MB when all differ). */
#define NGRAM_MOST ((size_t)1 << 20)

/* A string that was seen: `symbol` after the string of `parent`. */
struct ngram_node {
    uint32_t parent, symbol;
    uint32_t count;    /* how often it was seen */
    uint32_t followed; /* ... with a symbol after it */
    uint32_t distinct; /* different symbols after it */
};

struct ngram {
    size_t vocab_size;
    struct ngram_node *node; /* (count); node 0 is the empty string */
    size_t count, room;
    uint32_t *slot; /* (slots) node of a key, or 0: open addressing, slots a power of two */
    size_t slots;
};

/* STATUS_MEMORY; V > 0 (asserted). Free with ngram_free. */
enum status ngram_create(struct ngram *m, size_t vocab_size, struct error *err);
void ngram_free(struct ngram *m);

/* Counts symbols [begin, end) of d, one stretch that nothing precedes. STATUS_MEMORY. */
enum status ngram_count(struct ngram *m, const struct dataset *d, size_t begin, size_t end, struct error *err);

/* p_n of `symbol` after the n - 1 symbols of `context`, n 1 .. NGRAM_ORDERS (asserted). */
double ngram_probability(const struct ngram *m, const uint32_t *context, size_t n, uint32_t symbol);

/* What an n-gram model of each order loses on text it was not made from. */
struct ngram_losses {
    double loss[NGRAM_ORDERS];       /* nats per symbol, orders 1, 2, ...; NaN when nothing was read */
    double error[NGRAM_ORDERS];      /* standard error of that mean, symbols taken as independent */
    double gain_error[NGRAM_ORDERS]; /* ... of its difference to order 1, symbol by symbol */
    size_t counted, train;           /* symbols counted, of so many in the train part */
    size_t read, val;                /* targets read in the validation part, of so many */
};

/* Counts the train part of d and reads the validation part, every symbol but the first a target once with what stands
 * before it in that part. Of a part longer than NGRAM_MOST, 16 evenly spread stretches that come to as much. Sums in
 * double, in order. STATUS_MEMORY. */
enum status ngram_measure(struct ngram_losses *l, const struct dataset *d, size_t vocab_size, struct error *err);

#endif
