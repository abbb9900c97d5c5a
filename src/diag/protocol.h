/* The lines in which a program that holds a model is asked: one JSON object each way.
 *
 *   {"hello":1}                          {"vocab_size":V,"context":T}     with "one_length":true where answers to
 *                                        questions of different lengths cannot be compared
 *   {"tokens":[...]}                     {"logits":[[...],...]}     a row of V numbers for each token
 *   {"tokens":[...],"rows":[...]}        the same, of those rows only (or of all: the rest is passed over)
 *   any                                  {"error":"words"}          the program gives up, and says why
 *
 * Numbers are read as Python's json module writes them too: NaN, Infinity, -Infinity; null counts as NaN. Other keys
 * beside "logits" are passed over. */
#ifndef DIAG_PROTOCOL_H
#define DIAG_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define PROTOCOL_HELLO "{\"hello\":1}\n"
#define PROTOCOL_LARGEST ((size_t)1 << 24) /* the largest vocabulary and the longest context that are believed */

/* STATUS_FORMAT when the line is anything but the answer to PROTOCOL_HELLO. */
enum status protocol_read_hello(size_t *V, size_t *T, bool *one_length, const char *line, size_t length,
                                struct error *err);

/* A question about n tokens, with its newline; to be freed. rows NULL: all of them. NULL when memory is refused. */
char *protocol_question(size_t *length, const uint32_t *tokens, size_t n, const size_t *rows, size_t n_rows);

/* Reads the answer to that question; line[length] is a zero.
 *   logits (n_rows,V), or (n,V) when rows is NULL   rows: ascending, each < n
 * STATUS_FORMAT: no JSON, {"error"}, another shape: what was found and what was expected. */
enum status protocol_read_logits(double *logits, const char *line, size_t length, size_t n, const size_t *rows,
                                 size_t n_rows, size_t V, struct error *err);

#endif
