/* What kind of head it is, by measured scores over several windows of a text. A pattern is a set of keys for each query
 * i; its scores are the share of the head's weight that these keys get, and the share of rows in which one of them gets
 * the largest weight of all; both are means over the rows where there are such keys, and beside them stands chance:
 * what a head that looks at all visible keys alike would score.
 *
 *   previous        j = i - 1                         rows i >= 1
 *   first           j = 0                             rows i >= 2
 *   same            j < i - 1, token j = token i      rows where there is such a j
 *   induction       j < i - 1, token j-1 = token i    rows where there is such a j: what followed the same character
 *   word-start      the first character of i's word and the blank before it, where the word began before i - 1 and
 *                   inside the window
 *   itself          j = i                             rows i >= 1
 *
 * The patterns that look back further leave out i and i - 1, so that a head which only looks there scores nothing on
 * them; rows that see one key, which must look there, count nowhere.
 *
 * A head is of a pattern's kind when its weight there is at least HEAD_KIND_LIFT times chance and one of the two
 * scores, weight or largest, is at least HEAD_KIND_MOST. The first is how Clark et al. (2019, arXiv:1906.04341, section
 * 3) count heads that attend to the previous token, with the same half; the second is how Voita et al. (2019,
 * arXiv:1905.09418) find positional heads, who ask for 90 % and not for half: heads of small models of characters are
 * blurred. "Induction" is the prefix matching of Olsson et al. (2022, arXiv:2209.11895), here of one character. Of
 * several patterns that fit it is the one whose better score is furthest above chance, as a share of what there was to
 * gain. Before all that, a head whose entropy is uniform (entropy.h) is uniform, as the largest of nearly equal weights
 * means nothing; a head of no pattern is sharp by its entropy, or mixed.
 *
 * The name says where a head looks, not what it is for: ablation.h measures whether it matters. */
#ifndef DIAG_HEAD_KIND_H
#define DIAG_HEAD_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/real.h"
#include "kernels/attention_shape.h"

#define HEAD_KIND_MOST 0.5
#define HEAD_KIND_LIFT 2

enum head_kind {
    HEAD_PREVIOUS,
    HEAD_FIRST,
    HEAD_SAME,
    HEAD_INDUCTION,
    HEAD_WORD_START,
    HEAD_ITSELF,
    HEAD_PATTERNS, /* how many patterns there are; the rest have no score */
    HEAD_UNIFORM = HEAD_PATTERNS,
    HEAD_SHARP,
    HEAD_MIXED,
    HEAD_KINDS
};

/* A score: means over `rows` rows, NaN where there is none. */
struct head_score {
    double weight;  /* the share of attention that these keys get */
    double largest; /* the share of rows whose largest weight is one of theirs; keys that tie share the row */
    double chance;  /* what either would be if all visible keys were alike */
    size_t rows;
};

/* Everything that was measured of one head. */
struct head_measure {
    struct head_score score[HEAD_PATTERNS];
    double entropy; /* normalised, mean over rows that see two keys or more; NaN without any */
    double reach;   /* mean distance of what it looks at, in positions, over the same rows */
    size_t rows;
};

/* One window of T symbols as a head reads it. */
struct head_window {
    const uint32_t *tokens; /* (T) */
    const bool *in_word;    /* (T): a letter, a digit or the like; NULL: the text has no words */
    size_t T;
    enum attention_rule rule;
    size_t window; /* of ATTENTION_WINDOW */
};

/* Adds a window's rows to the sums in m, which begins all zero. p (T,T), the head's weights. */
void head_kind_add(struct head_measure *m, const real *p, const struct head_window *w);

/* Turns sums into means, once, after the last window. */
void head_kind_finish(struct head_measure *m);

/* After head_kind_finish. NaN everywhere is mixed. */
enum head_kind head_kind_judge(const struct head_measure *m);

/* "previous-character", "first-character", "same-character-earlier", "induction", "word-start", "itself", "uniform",
 * "sharp", "mixed". */
const char *head_kind_name(enum head_kind k);

/* What such a head does, as a sentence without its subject: "looks at the character just before". */
const char *head_kind_says(enum head_kind k);

/* The figures that make it so: "0.41 of its weight, the largest in 74 % of rows; by chance 0.06". */
#define HEAD_KIND_EVIDENCE 128
void head_kind_evidence(char out[HEAD_KIND_EVIDENCE], const struct head_measure *m, enum head_kind k);

#endif
