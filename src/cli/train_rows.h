/* Rows of the option table that the commands share which make the model `nopeek train` would make. The struct that they
 * fill is a struct train_options, or begins with one. A group without its section's heading ends without a comma. */
#ifndef CLI_TRAIN_ROWS_H
#define CLI_TRAIN_ROWS_H

#include <stddef.h>

#include "cli/compute.h"
#include "cli/options.h"
#include "cli/train_options.h"

#define TRAIN_FIELD(f) .offset = offsetof(struct train_options, f)

/* clang-format off */
#define TRAIN_ROW_INIT_FROM \
    {.name = "init-from", .type = OPTION_PATH, TRAIN_FIELD(init_from), .metavar = "RUN", \
     .help = "begin a new run with the weights, sizes and vocabulary of another"}

#define TRAIN_ROW_PRESET \
    {.name = "preset", .type = OPTION_CHOICE, TRAIN_FIELD(preset), .metavar = "NAME", .fallback = "none", \
     .choices = train_options_presets, .saved = "preset", \
     .help = "nano-cpu and nano are nanoGPT's settings for a CPU and a GPU; with none, sizes are chosen to suit the text"}

#define TRAIN_ROWS_MODEL \
    {.name = "n-layer", .type = OPTION_SIZE, TRAIN_FIELD(n_layer), .metavar = "L", .fallback = "4", \
     .fallback_note = "by text", .range = OPTION_BETWEEN(1, 4095), .saved = "n_layer", .help = "blocks, one after another"}, \
    {.name = "n-head", .type = OPTION_SIZE, TRAIN_FIELD(n_head), .metavar = "H", .fallback = "4", \
     .fallback_note = "by text", .range = OPTION_BETWEEN(1, 4095), .saved = "n_head", \
     .help = "attention heads of a block; must divide the channels"}, \
    {.name = "n-embd", .type = OPTION_SIZE, TRAIN_FIELD(n_embd), .metavar = "C", .fallback = "128", \
     .fallback_note = "by text", .range = OPTION_BETWEEN(1, 1048576), .saved = "n_embd", .help = "channels: numbers that stand for one symbol"}, \
    {.name = "block-size", .type = OPTION_SIZE, TRAIN_FIELD(block_size), .metavar = "T", .fallback = "64", \
     .fallback_note = "by text", .range = OPTION_BETWEEN(1, 1073741824), .saved = "block_size", \
     .help = "context: how many symbols the model sees at once"}, \
    {.name = "window", .type = OPTION_SIZE, TRAIN_FIELD(window), .metavar = "W", .fallback = "0", \
     .fallback_note = "the whole context", .range = OPTION_BETWEEN(0, 1073741824), .saved = "window", \
     .help = "attention sees the last W symbols only, itself included; other programs that read the checkpoint do not " \
             "know of it"}, \
    {.name = "dropout", .type = OPTION_NUMBER, TRAIN_FIELD(dropout), .metavar = "P", .fallback = "0", \
     .fallback_note = "0.1 below 200000 symbols, else 0", .range = OPTION_FROM_BELOW(0, 1), .saved = "dropout", \
     .help = "share of numbers dropped in training: embeddings, attention weights, both branches"}, \
    {.name = "bias", .type = OPTION_FLAG, TRAIN_FIELD(bias), .saved = "bias", \
     .help = "biases in linear layers and LayerNorms (default: none)"}, \
    {.name = "tied", .type = OPTION_FLAG, TRAIN_FIELD(tied), .fallback = "true", .saved = "tied", \
     .help = "give the output a matrix of its own instead of the token embedding"}, \
    {.name = "mask", .type = OPTION_CHOICE, TRAIN_FIELD(mask), .metavar = "RULE", .fallback = "causal", \
     .choices = train_options_masks, .saved = "mask", \
     .help = "none leaves the causal mask out, to see what goes wrong; needs --allow-leak"}, \
    {.name = "allow-leak", .type = OPTION_FLAG, TRAIN_FIELD(allow_leak), .saved = "allow_leak", \
     .help = "train although the leak check fails; the run is marked as leaky for good"}

#define TRAIN_ROWS_TEXT \
    {.name = "tokens", .type = OPTION_CHOICE, TRAIN_FIELD(tokens), .metavar = "KIND", .fallback = "char", \
     .choices = train_options_tokens, .saved = "tokens", \
     .help = "a symbol is a Unicode character, or a byte (256 of them, any file), or TEXT is bare ids: whole numbers " \
             "from 0, separated by white space; there are as many symbols as the largest id says, and one more"}, \
    {.name = "val-split", .type = OPTION_NUMBER, TRAIN_FIELD(val_split), .metavar = "SHARE", .fallback = "0.1", \
     .range = OPTION_FROM_BELOW(0, 1), .saved = "val_split", \
     .help = "share of the text, at its end, kept for validation"}

#define TRAIN_ROWS_OPTIMISATION \
    {.name = "steps", .type = OPTION_SIZE, TRAIN_FIELD(steps), .metavar = "N", .fallback = "2000", \
     .fallback_note = "by text", .range = OPTION_BETWEEN(1, 4294967295), .saved = "steps", \
     .help = "optimizer updates"}, \
    {.name = "batch-size", .type = OPTION_SIZE, TRAIN_FIELD(batch_size), .metavar = "B", .fallback = "12", \
     .fallback_note = "by text", .range = OPTION_BETWEEN(1, 4294967295), .saved = "batch_size", \
     .help = "windows in a micro-batch"}, \
    {.name = "grad-accum", .type = OPTION_SIZE, TRAIN_FIELD(grad_accum), .metavar = "N", .fallback = "1", \
     .range = OPTION_BETWEEN(1, 4294967295), .saved = "grad_accum", .help = "micro-batches in a step"}, \
    {.name = "lr", .type = OPTION_NUMBER, TRAIN_FIELD(lr), .metavar = "RATE", .fallback = "3e-3", \
     .range = OPTION_ABOVE(0), .saved = "lr", .help = "highest learning rate"}, \
    {.name = "min-lr", .type = OPTION_NUMBER, TRAIN_FIELD(min_lr), .metavar = "RATE", .fallback = "3e-5", \
     .fallback_note = "lr / 100", .range = OPTION_AT_LEAST(0), .saved = "min_lr", \
     .help = "learning rate at the end of the cosine"}, \
    {.name = "warmup", .type = OPTION_SIZE, TRAIN_FIELD(warmup), .metavar = "N", .fallback = "100", \
     .fallback_note = "100, or a tenth of the steps", .saved = "warmup", .help = "steps of linear warm-up"}, \
    {.name = "weight-decay", .type = OPTION_NUMBER, TRAIN_FIELD(weight_decay), .metavar = "W", .fallback = "0.1", \
     .range = OPTION_AT_LEAST(0), .saved = "weight_decay", \
     .help = "AdamW's decay, on the blocks' matrices and an untied output only"}, \
    {.name = "beta1", .type = OPTION_NUMBER, TRAIN_FIELD(beta1), .metavar = "B", .fallback = "0.9", \
     .range = OPTION_FROM_BELOW(0, 1), .saved = "beta1", .help = "AdamW's first decay rate"}, \
    {.name = "beta2", .type = OPTION_NUMBER, TRAIN_FIELD(beta2), .metavar = "B", .fallback = "0.99", \
     .range = OPTION_FROM_BELOW(0, 1), .saved = "beta2", .help = "AdamW's second decay rate"}, \
    {.name = "grad-clip", .type = OPTION_NUMBER, TRAIN_FIELD(grad_clip), .metavar = "G", .fallback = "1", \
     .range = OPTION_AT_LEAST(0), .saved = "grad_clip", .help = "largest gradient norm; 0 is off"}, \
    {.name = "seed", .type = OPTION_SEED, TRAIN_FIELD(seed), .metavar = "N", .fallback = "1", .saved = "seed", \
     .help = "same seed, same thread count: same bits"}

#define TRAIN_ROWS_COMPUTE \
    {.name = "threads", .type = OPTION_SIZE, TRAIN_FIELD(threads), .metavar = "N", .fallback = "1", \
     .fallback_note = "the cores there are", .range = OPTION_BETWEEN(1, 1024), .saved = "threads", \
     .help = "threads of our own team; OpenBLAS is kept to one each"}, \
    {.name = "precision", .type = OPTION_CHOICE, TRAIN_FIELD(precision), .metavar = "NAME", .fallback = "fp32", \
     .choices = compute_precisions, .saved = "precision", \
     .help = "what matrix products compute with; weights, their updates and checkpoints are fp32 all the same"}

#define TRAIN_ROWS_EVALUATION \
    {.name = "eval-interval", .type = OPTION_SIZE, TRAIN_FIELD(eval_interval), .metavar = "N", .fallback = "250", \
     .fallback_note = "250; 100 below 5000 symbols", \
     .saved = "eval_interval", \
     .help = "steps between evaluations (losses, leak check, heads, a sample, a checkpoint); 0: only at the end"}, \
    {.name = "eval-windows", .type = OPTION_SIZE, TRAIN_FIELD(eval_windows), .metavar = "N", .fallback = "240", \
     .range = OPTION_AT_LEAST(1), .saved = "eval_windows", \
     .help = "windows of each part that an evaluation reads, evenly spread"}

#define TRAIN_ROW_SAMPLE \
    {.name = "sample-size", .type = OPTION_SIZE, TRAIN_FIELD(sample_size), .metavar = "N", .fallback = "120", \
     .range = OPTION_BETWEEN(0, 1000000), .saved = "sample_size", .help = "symbols of the sample at an evaluation"}

/* clang-format on */

#endif
