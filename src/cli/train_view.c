#include "cli/train_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/human.h"
#include "cli/interrupt.h"
#include "diag/entropy.h"

#define HEADS_A_LINE 4

enum status train_view_open(struct train_view *v, const struct config *c, size_t steps, struct error *err)
{
    *v = (struct train_view){.config = c, .steps = steps};
    terminal_open(&v->out, stdout);
    terminal_open(&v->err, stderr);
    const size_t heads = c->n_layer * c->n_head;
    v->entropy_before = malloc(heads * sizeof *v->entropy_before);
    v->score_before = malloc(heads * sizeof *v->score_before);
    if (v->entropy_before && v->score_before)
        return STATUS_OK;
    train_view_close(v);
    return fail(err, STATUS_MEMORY, "memory to watch %zu heads was refused", heads);
}

void train_view_close(struct train_view *v)
{
    free(v->entropy_before);
    free(v->score_before);
    v->entropy_before = v->score_before = NULL;
}

static void show_step(void *context, const struct trainer_step *s)
{
    struct train_view *v = context;
    char rate[HUMAN_SIZE], left[HUMAN_SIZE];
    terminal_progress(&v->err, clock_seconds(), s->step == v->steps, "step %zu/%zu  loss %.4f  %s tokens/s  %s left",
                      s->step, v->steps, s->loss, human_rate(rate, s->tokens_per_s),
                      human_duration(left, s->seconds_left));
}

/* A value and the word for it, coloured where there is colour. */
static void show_head(struct train_view *v, double entropy, enum entropy_verdict verdict)
{
    const enum terminal_style style = verdict == ENTROPY_COLLAPSING ? STYLE_RED
                                      : verdict == ENTROPY_ORDINARY ? STYLE_PLAIN
                                                                    : STYLE_YELLOW;
    printf("  %s%4.2f %-10s%s", verdict == ENTROPY_ORDINARY ? "" : terminal_style(&v->out, style), entropy,
           entropy_word(verdict), verdict == ENTROPY_ORDINARY ? "" : terminal_style(&v->out, STYLE_PLAIN));
}

static void show_heads(struct train_view *v, const struct trainer_eval *e)
{
    const struct config *c = v->config;
    printf("  entropy of each head's attention (1: uniform over what it may see, 0: one symbol)\n");
    for (size_t layer = 0; layer < c->n_layer; layer++)
        for (size_t h = 0; h < c->n_head; h++) {
            const size_t i = layer * c->n_head + h;
            if (h == 0)
                printf("  layer %-3zu", layer);
            else if (h % HEADS_A_LINE == 0)
                printf("\n  %9s", "");
            show_head(v, e->entropy[i],
                      entropy_judge(v->looked ? v->entropy_before[i] : (double)NAN, e->entropy[i], v->score_before[i],
                                    e->max_score[i]));
            if (h + 1 == c->n_head)
                printf("\n");
        }
    const size_t heads = c->n_layer * c->n_head;
    memcpy(v->entropy_before, e->entropy, heads * sizeof *e->entropy);
    memcpy(v->score_before, e->max_score, heads * sizeof *e->max_score);
    v->looked = true;
}

/* The sample, indented, control characters made visible. */
static void show_sample(const struct trainer_eval *e)
{
    bool at_start = true;
    for (size_t i = 0; i < e->sample_bytes; i++) {
        const unsigned char byte = (unsigned char)e->sample[i];
        if (at_start)
            printf("  | ");
        at_start = byte == '\n';
        putchar(byte < 0x20 && byte != '\n' && byte != '\t' ? '?' : byte == 0x7f ? '?' : byte);
    }
    if (!at_start)
        printf("\n");
}

static void show_eval(void *context, const struct trainer_eval *e)
{
    struct train_view *v = context;
    terminal_clear(&v->err);
    printf("%sstep %zu%s  train %.4f", terminal_style(&v->out, STYLE_BOLD), e->step,
           terminal_style(&v->out, STYLE_PLAIN), e->train_loss);
    if (!isnan(e->val_loss))
        printf("  val %.4f%s", e->val_loss, e->best && e->step > 0 ? "  (best so far)" : "");
    printf("\n");
    if (e->leak->leak)
        printf("  %sleaks: the training loss means nothing%s\n", terminal_style(&v->out, STYLE_RED),
               terminal_style(&v->out, STYLE_PLAIN));
    if (e->entropy)
        show_heads(v, e);
    if (e->step > 0)
        show_sample(e);
    fflush(stdout);
}

static void show_saved(void *context, size_t step, const char *dir)
{
    (void)context;
    (void)step;
    (void)dir;
}

static void show_note(void *context, const char *line)
{
    struct train_view *v = context;
    terminal_note(&v->err, "%s", line);
}

static bool interrupted(void *context)
{
    (void)context;
    return interrupt_pending();
}

struct trainer_events train_view_events(struct train_view *v)
{
    return (struct trainer_events){v, show_step, show_eval, show_saved, show_note, interrupted};
}
