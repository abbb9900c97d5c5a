#include "cli/train_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/heads.h"
#include "cli/human.h"
#include "cli/interrupt.h"
#include "text/utf8.h"

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
    const bool last = s->step == v->steps;
    char rate[HUMAN_SIZE], left[HUMAN_SIZE];
    terminal_progress(&v->err, clock_seconds(), last, "step %zu/%zu  loss %.4f  %s tokens/s%s%s%s", s->step, v->steps,
                      s->loss, human_rate(rate, s->tokens_per_s), last ? "" : "  ",
                      last ? "" : human_duration(left, s->seconds_left), last ? "" : " left");
}

static void show_heads(struct train_view *v, const struct trainer_eval *e)
{
    const struct config *c = v->config;
    const struct heads now = {c->n_layer, c->n_head, e->entropy, e->max_score},
                       before = {c->n_layer, c->n_head, v->entropy_before, v->score_before};
    heads_print(stdout, &now, v->looked ? &before : NULL);
    const size_t heads = c->n_layer * c->n_head;
    memcpy(v->entropy_before, e->entropy, heads * sizeof *e->entropy);
    memcpy(v->score_before, e->max_score, heads * sizeof *e->max_score);
    v->looked = true;
}

/* Bytes of the control character that begins here, 0 if none does: C0 but line ends (CRLF too) and tabs, DEL, and C1
 * (U+0080 to U+009F, which some terminals obey). */
static size_t control_length(const unsigned char *at, size_t left)
{
    if (at[0] == '\r' && left > 1 && at[1] == '\n')
        return 0;
    if ((at[0] < 0x20 && at[0] != '\n' && at[0] != '\t') || at[0] == 0x7f)
        return 1;
    return at[0] == 0xc2 && left > 1 && at[1] < 0xa0 ? 2 : 0;
}

#define SAMPLE_INDENT 4

/* Columns of the character at `at`, of *length bytes, as it is shown. */
static size_t shown_columns(const unsigned char *at, size_t left, size_t *length)
{
    char one[5] = "";
    const size_t control = control_length(at, left);
    *length = 1;
    while (!control && *length < 4 && *length < left && (at[*length] & 0xC0u) == 0x80u)
        ++*length;
    *length = control ? control : *length;
    if (control || *at == '\t')
        return control ? 1 : 8;
    memcpy(one, at, *length);
    return utf8_columns(one);
}

/* The sample, indented, with a question mark for what would move the cursor. A line that is too long for the screen
 * goes on below without the bar. */
static void show_sample(const struct terminal *out, const struct trainer_eval *e)
{
    size_t column = 0, length;
    for (size_t i = 0; i < e->sample_bytes; i += length) {
        const unsigned char *at = (const unsigned char *)e->sample + i;
        const size_t columns = shown_columns(at, e->sample_bytes - i, &length);
        if (out->screen && column > SAMPLE_INDENT && column + columns > out->width) {
            printf("\n%*s", SAMPLE_INDENT, "");
            column = SAMPLE_INDENT;
        }
        if (column == 0) {
            fputs("  | ", stdout);
            column = SAMPLE_INDENT;
        }
        if (control_length(at, e->sample_bytes - i))
            putchar('?');
        else
            fwrite(at, 1, length, stdout);
        column = *at == '\n' ? 0 : column + columns;
    }
    if (column > 0)
        printf("\n");
}

static void show_eval(void *context, const struct trainer_eval *e)
{
    struct train_view *v = context;
    terminal_clear(&v->err);
    printf("%sstep %zu%s  train %.4f", terminal_style(&v->out, TERMINAL_BOLD), e->step,
           terminal_style(&v->out, TERMINAL_PLAIN), e->train_loss);
    if (!isnan(e->val_loss))
        printf("  val %.4f%s", e->val_loss, e->best && e->step > 0 ? "  (best so far)" : "");
    printf("\n");
    if (e->leak->leak)
        printf("  %sleaks: the training loss means nothing%s\n", terminal_style(&v->out, TERMINAL_RED),
               terminal_style(&v->out, TERMINAL_PLAIN));
    if (e->entropy)
        show_heads(v, e);
    if (e->step > 0)
        show_sample(&v->out, e);
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
