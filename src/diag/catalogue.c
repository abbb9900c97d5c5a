#include "diag/catalogue.h"

#include <assert.h>
#include <string.h>

#include "kernels/attention_tile.h"

/* A mistake in the attention of a layer and head. */
#define ATTENTION(NAME, FAULT, WHEN, PATTERN, SAYS)                                                                    \
    .name = (NAME), .says = (SAYS), .fault = {.attention = (FAULT), .when = (WHEN)}, .operation = "attention",         \
    .pattern = (PATTERN), .one_layer = true, .one_head = true, .trains = true, .least_length = 2
/* Positions mixed up with each other after an operation, or rows of the batch. */
#define MIXING(NAME, MIX, PLACE, OPERATION, SAYS)                                                                      \
    .name = (NAME), .says = (SAYS), .fault = {.mixing = (MIX), .place = (PLACE), .block = 4},                          \
    .operation = (OPERATION), .trains = true
#define DATA(NAME, FAULT, SAYS) .name = (NAME), .says = (SAYS), .data = (FAULT), .trains = true, .operation = "dataset"
#define DECODE(NAME, FAULT, SAYS)                                                                                      \
    .name = (NAME), .says = (SAYS), .fault = {.decode = (FAULT)}, .operation = "decode", .least_length = 2

const struct catalogue_entry catalogue[] = {
    {ATTENTION("no-mask", ATTENTION_FAULT_NO_MASK, FAULT_ALWAYS, CHART_ALL_FUTURE,
               "no causal mask: every position is seen")},
    {ATTENTION("transposed", ATTENTION_FAULT_TRANSPOSED, FAULT_ALWAYS, CHART_ALL_FUTURE,
               "the triangle the wrong way round: only itself and what comes after is seen")},
    {ATTENTION("one-ahead", ATTENTION_FAULT_ONE_AHEAD, FAULT_ALWAYS, CHART_ONE_AHEAD,
               "diagonal off by one: the next position is seen too")},
    {ATTENTION("not-itself", ATTENTION_FAULT_NOT_ITSELF, FAULT_ALWAYS, CHART_CAUSAL, "the diagonal is masked too")},
    {ATTENTION("after-softmax", ATTENTION_FAULT_AFTER_SOFTMAX, FAULT_ALWAYS, CHART_ALL_FUTURE,
               "weights are masked after the softmax: its sum still counts the future")},
    {ATTENTION("renormalised", ATTENTION_FAULT_RENORMALISED, FAULT_ALWAYS, CHART_CAUSAL,
               "weights are masked after the softmax and divided by what is left")},
    {ATTENTION("minus-1e4", ATTENTION_FAULT_MINUS_1E4, FAULT_ALWAYS, CHART_CAUSAL,
               "-1e4 stands for minus infinity: scores can be larger")},
    {ATTENTION("minus-1e9", ATTENTION_FAULT_MINUS_1E9, FAULT_ALWAYS, CHART_CAUSAL,
               "-1e9 stands for minus infinity: scores can be larger")},
    {ATTENTION("lost-with-dropout", ATTENTION_FAULT_NO_MASK, FAULT_WITH_DROPOUT, CHART_ALL_FUTURE,
               "the mask is lost while training with dropout"),
     .needs_dropout = true},
    {ATTENTION("lost-when-logged", ATTENTION_FAULT_NO_MASK, FAULT_WHEN_LOGGED, CHART_ALL_FUTURE,
               "the mask is lost while entropy and scores are logged")},
    {ATTENTION("forward-unmasked", ATTENTION_FAULT_FORWARD_UNMASKED, FAULT_ALWAYS, CHART_ALL_FUTURE,
               "no mask in the forward pass, the right one in the backward pass")},
    {ATTENTION("backward-unmasked", ATTENTION_FAULT_BACKWARD_UNMASKED, FAULT_ALWAYS, CHART_ALL_FUTURE,
               "the right mask in the forward pass, none in the backward pass"),
     .backward = true},
    {ATTENTION("tile-diagonal", ATTENTION_FAULT_TILE_DIAGONAL, FAULT_ALWAYS, CHART_ONE_AHEAD,
               "tiled attention: diagonal off by one inside the tiles that it crosses")},
    {ATTENTION("tile-backward", ATTENTION_FAULT_TILE_BACKWARD, FAULT_ALWAYS, CHART_ONE_AHEAD,
               "the same in the backward pass alone"),
     .backward = true},
    {.name = "tile-edge",
     .says = "tiled attention: the last position of a tile sees the first of the next",
     .fault = {.attention = ATTENTION_FAULT_TILE_EDGE},
     .operation = "attention",
     .pattern = CHART_ONE_AHEAD,
     .one_layer = true,
     .one_head = true,
     .trains = true,
     .needs_tiles = true,
     .least_length = ATTENTION_TILE_SHORT + 1},
    {.name = "window-edge",
     .says = "the window is one position longer than declared",
     .fault = {.attention = ATTENTION_FAULT_WINDOW_EDGE},
     .operation = "attention",
     .one_layer = true,
     .one_head = true,
     .trains = true,
     .needs_window = true,
     .least_length = 2},
    {MIXING("time-mean-embeddings", FAULT_TIME_MEAN, FAULT_EMBEDDINGS, "embeddings",
            "embeddings are centred over the whole window"),
     .pattern = CHART_ALL_FUTURE, .least_length = 2},
    {MIXING("time-mean-ln1", FAULT_TIME_MEAN, FAULT_LN1, "LayerNorm 1",
            "the norm before attention takes the mean over the whole window"),
     .pattern = CHART_ALL_FUTURE, .least_length = 2, .one_layer = true},
    {MIXING("time-mean-ln2", FAULT_TIME_MEAN, FAULT_LN2, "LayerNorm 2",
            "the norm before the MLP takes the mean over the whole window"),
     .pattern = CHART_ALL_FUTURE, .least_length = 2, .one_layer = true},
    {MIXING("time-mean-lnf", FAULT_TIME_MEAN, FAULT_LNF, "final LayerNorm",
            "the last norm takes the mean over the whole window"),
     .pattern = CHART_ALL_FUTURE, .least_length = 2},
    {MIXING("block-mean-attention", FAULT_BLOCK_MEAN, FAULT_ATTENTION, "attention",
            "the mean over a block of positions is added to what attention gives"),
     .pattern = CHART_WITHIN_BLOCK, .one_layer = true, .least_length = 5},
    {MIXING("block-mean-gelu", FAULT_BLOCK_MEAN, FAULT_GELU, "GELU",
            "the mean over a block of positions is added inside the MLP"),
     .pattern = CHART_WITHIN_BLOCK, .one_layer = true, .least_length = 5},
    {MIXING("batch-mean", FAULT_BATCH_MEAN, FAULT_LN1, "LayerNorm 1",
            "the norm before attention takes the mean over the batch"),
     .pattern = CHART_CAUSAL, .one_layer = true, .least_batch = 2},
    {MIXING("batch-next", FAULT_BATCH_NEXT, FAULT_ATTENTION, "attention",
            "half of the next row of the batch is added to what attention gives"),
     .pattern = CHART_CAUSAL, .one_layer = true, .least_batch = 2},
    {DECODE("cache-one-back", FAULT_CACHE_ONE_BACK, "a new key takes the place of the one before it in the cache")},
    {DECODE("cache-not-reset", FAULT_CACHE_NOT_RESET, "a new text finds the cache of the last one")},
    {DECODE("cache-not-refilled", FAULT_CACHE_NOT_REFILLED, "the window slides and the cache stays as it is")},
    {DECODE("cache-next-row", FAULT_CACHE_NEXT_ROW,
            "of several texts at once, each reads the cache of the one before")},
    {.name = "prefill-unmasked",
     .says = "no mask while a prompt enters the cache",
     .fault = {.attention = ATTENTION_FAULT_NO_MASK, .when = FAULT_IN_PREFILL},
     .operation = "decode",
     .one_head = true,
     /* The last layer gives the last row's logits, and that row may see everything. */
     .least_layers = 2,
     .least_length = 3},
    {DATA("targets-not-shifted", DATASET_FAULT_NOT_SHIFTED, "each target is the symbol just read")},
    {DATA("targets-shifted-twice", DATASET_FAULT_SHIFTED_TWICE, "each target lies two ahead")},
    {DATA("draws-all", DATASET_FAULT_DRAWS_ALL, "training windows are drawn from the validation part too")},
    {DATA("val-early", DATASET_FAULT_VAL_EARLY, "the validation part begins inside the train part")},
};
const size_t catalogue_size = sizeof catalogue / sizeof *catalogue;

const struct catalogue_entry *catalogue_find(const char *name)
{
    for (size_t i = 0; i < catalogue_size; i++)
        if (strcmp(catalogue[i].name, name) == 0)
            return &catalogue[i];
    return NULL;
}

void catalogue_plant(struct fault *fault, struct gpt *g, struct dataset *data, const struct catalogue_entry *e,
                     size_t layer, size_t head)
{
    assert(data || e->data == DATASET_FAULT_NONE);
    assert(layer == FAULT_EVERYWHERE || layer < g->config.n_layer);
    assert(head == FAULT_EVERYWHERE || head < g->config.n_head);
    *fault = e->fault;
    fault->layer = e->one_layer ? layer : FAULT_EVERYWHERE;
    fault->head = e->one_head ? head : FAULT_EVERYWHERE;
    if (e->data == DATASET_FAULT_NONE)
        g->fault = fault;
    else
        data->fault = e->data;
}

void catalogue_remove(struct gpt *g, struct dataset *data)
{
    g->fault = NULL;
    if (data)
        data->fault = DATASET_FAULT_NONE;
}
