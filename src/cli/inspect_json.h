/* An inspection for other programs. Weights are printed with nine digits, which tell any two floats apart, as they
 * come, so that memory is not taken for them twice. */
#ifndef CLI_INSPECT_JSON_H
#define CLI_INSPECT_JSON_H

#include <stdio.h>

#include "cli/inspection.h"

/* More weights than this are refused: about a gigabyte of text. */
#define INSPECT_MOST_WEIGHTS ((size_t)1 << 26)

/* STATUS_RANGE when the maps of the choice hold more weights than INSPECT_MOST_WEIGHTS. */
enum status inspect_json_check(const struct inspection *n, const struct inspection_choice *c, struct error *err);

/* One object on one line:
 *   "checkpoint", "text" (null where the bytes are no UTF-8), "labels" (T), "tokens" (T), "cut" (symbols before them),
 *   "loss" (of all heads; null when it was not measured), "measured_on" ("validation", "text" or null), "windows",
 *   "window_length", "layers":[{"layer", "heads":[{"head", "kind", "evidence", "entropy", "row_entropy" (T),
 *   "future_mass", "row_error", "reach", "scores":{NAME:{"weight", "largest", "chance", "rows"}}, "loss_without",
 * "loss_more", "loss_more_error", "weights" (T,T)}]}]
 *
 * Numbers that there are none of are null. STATUS_MEMORY, and then nothing is printed. */
enum status inspect_json_print(FILE *out, const struct inspection *n, const struct inspection_choice *c,
                               struct error *err);

/* Lines "layer,head,query,key,weight", under a heading with these names; all keys of all queries. */
void inspect_json_csv(FILE *out, const struct inspection *n, const struct inspection_choice *c);

#endif
