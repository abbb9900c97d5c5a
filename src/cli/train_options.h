/* The options of `nopeek train`: their table, the presets, and sizes that suit a text. */
#ifndef CLI_TRAIN_OPTIONS_H
#define CLI_TRAIN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "cli/options.h"
#include "model/config.h"
#include "train/trainer.h"

enum train_mask { TRAIN_MASK_CAUSAL, TRAIN_MASK_NONE };

struct train_options {
    const char *out, *resume, *init_from;
    int preset; /* 0: none */
    size_t n_layer, n_head, n_embd, block_size, window;
    double dropout;
    bool bias, tied;
    int mask; /* enum train_mask */
    bool allow_leak;
    int tokens; /* enum tokenizer_kind */
    double val_split;
    size_t batch_size, grad_accum, steps, warmup;
    double lr, min_lr, weight_decay, beta1, beta2, grad_clip;
    uint64_t seed;
    size_t threads;
    int precision; /* enum precision */
    size_t eval_interval, eval_windows, log_interval, save_every, keep, stop_after, sample_size;
    double max_time;
    bool force, dry_run, verify_resume;
};

extern const struct option_spec train_options_table[]; /* train_rows.h has most of its rows */

/* Words of --preset, --mask and --tokens; then NULL. */
extern const char *const train_options_presets[], *const train_options_masks[], *const train_options_tokens[];

/* What a preset sets: an option and its value, as one would type it; ends in {NULL, NULL}. NULL: there is no such
 * preset. */
struct train_preset {
    const char *option, *value;
};
const struct train_preset *train_options_values(const char *preset);

/* Sets what the preset names, unless the command line or a config file did. STATUS_USAGE. */
enum status train_options_preset(struct options *o, struct train_options *t, struct error *err);

/* With no preset: sizes that suit a text of `symbols` training symbols, for whatever was not given.
 * STATUS_USAGE. */
enum status train_options_suit(struct options *o, struct train_options *t, size_t symbols, struct error *err);

/* The model these options describe. */
struct config train_options_config(const struct train_options *t, size_t vocab_size);

struct trainer_settings train_options_settings(const struct train_options *t);

#endif
