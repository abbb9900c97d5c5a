/* The one small model that harnesses and seeds speak of. */
#ifndef FUZZ_SAMPLE_H
#define FUZZ_SAMPLE_H

#include "model/gpt.h"
#include "store/checkpoint.h"

#define SAMPLE_TEXT "\n\"\\abc \xC3\xA9\xE2\x80\xA8\xF0\x9F\x90\x81"

/* One layer, two heads of two channels, context 3, the characters of SAMPLE_TEXT. Ends the process on failure. */
struct sample {
    struct gpt model;
    struct tokenizer tokenizer;
    struct checkpoint_moments moments;
};

void sample_make(struct sample *s, bool bias, bool tied);
void sample_free(struct sample *s);

/* What trainer_state.json says of it, without the files' hashes; a new reference. */
json_t *sample_state(void);

#endif
