/* A probabilistic grammar with memory. Each rule is a choice among weighted alternatives; what has been said
 * so far is kept in a state of features ("the sense is river", "the thing is a net"), which an alternative may
 * ask for and may set. Weights are integers, so that a choice comes out the same on every machine.
 *
 *     {"water", 2, 0, 0, "high|low"},               two alternatives of weight 2
 *     {"water", 1, RAIN, 0, "rising"},              only where it rains
 *     {"lake", 1, 0, CALM, "The lake is {depth}."}, sets a feature, then goes on with another rule
 *
 * A feature is one bit, and features that exclude one another form a group: setting one clears the rest of its
 * group. An alternative applies when, of every group that `when` mentions, the state holds a mentioned bit. */
#ifndef TEXT_GRAMMAR_H
#define TEXT_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

/* A rule whose alternatives differ in weight or features takes several rows, one after the other. */
struct grammar_row {
    const char *rule;
    uint32_t weight;    /* > 0, of each alternative in this row */
    uint64_t when, set; /* features asked for, features set once the alternative is chosen */
    const char *text;   /* alternatives parted by '|'; {rule} stands for that rule's text */
};

struct grammar_source {
    const struct grammar_row *row; /* the first row's rule is the root */
    size_t n_rows;
    const uint64_t *group;
    size_t n_groups;
};

/* Symbols: a character is itself; GRAMMAR_RULE + r is rule r. */
#define GRAMMAR_RULE 256
#define GRAMMAR_DEPTH 16 /* how deep alternatives may nest */

struct grammar_alternative {
    uint32_t weight;
    uint64_t when, set;
    size_t begin, end; /* its symbols */
};

struct grammar_rule {
    const char *name;  /* borrowed from the rows */
    size_t begin, end; /* its alternatives */
    uint64_t touches;  /* every group that the rule, or a rule below it, asks for or sets */
    bool reached;      /* from the root */
};

struct grammar {
    struct grammar_rule *rule;
    struct grammar_alternative *alternative;
    uint16_t *symbol;
    const uint64_t *group; /* borrowed from the source */
    size_t n_rules, n_alternatives, n_symbols, n_groups;
    struct arena arena;
};

/* Checks and compiles a source, which must outlive the grammar. STATUS_FORMAT, naming the rule: a reference to
 * no rule, rows of one rule apart from each other, a rule that nothing refers to or that leads back to itself, nesting
 * beyond GRAMMAR_DEPTH, weight 0, weights that add up beyond 32 bits, a '{' without '}', a character outside ASCII,
 * features outside the groups or several of one group set at once. STATUS_MEMORY. */
enum status grammar_make(struct grammar *g, const struct grammar_source *source, struct error *err);
void grammar_free(struct grammar *g);

/* Whether alternative a applies in this state. */
bool grammar_applies(const struct grammar *g, size_t a, uint64_t state);

/* The sum of the weights of those alternatives of a rule that apply. */
uint64_t grammar_total(const struct grammar *g, size_t rule, uint64_t state);

/* The state once alternative a is chosen. */
uint64_t grammar_after(const struct grammar *g, size_t a, uint64_t state);

#endif
