#include "cli/trap_view.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "cli/human.h"
#include "cli/interrupt.h"
#include "text/utf8.h"

#define INDENT 9

void trap_view_open(struct trap_view *v, bool silent)
{
    *v = (struct trap_view){.silent = silent};
    terminal_open(&v->out, stdout);
    terminal_open(&v->err, stderr);
}

/* Columns that one twin has, of the screen or of 80. */
static size_t column_width(const struct trap_view *v)
{
    const size_t width = v->out.screen && v->out.width > 80 ? v->out.width : 80;
    return (width - 1 - INDENT) / 2;
}

/* A line of two columns. The text of each is cut to its width. */
static void print_pair(const struct trap_view *v, const char *label, const char *left, const char *right, bool alarm)
{
    const size_t width = column_width(v);
    size_t columns, rest;
    const size_t n = utf8_fit(&columns, left, width - 1), m = utf8_fit(&rest, right, width);
    printf("%-*s%.*s%*s%s%.*s%s\n", INDENT, label, (int)n, left, (int)(width - columns), "",
           alarm ? terminal_style(&v->out, TERMINAL_RED) : "", (int)m, right,
           alarm ? terminal_style(&v->out, TERMINAL_PLAIN) : "");
}

static void print_heading(struct trap_view *v, const struct trap *t)
{
    char right[64];
    snprintf(right, sizeof right, "FAULT: %s", t->settings.fault->name);
    fputs(terminal_style(&v->out, TERMINAL_BOLD), stdout);
    print_pair(v, "step", "MASK RIGHT", right, false);
    fputs(terminal_style(&v->out, TERMINAL_PLAIN), stdout);
    v->headed = true;
}

#define LINE 160
#define ROW 960
#define SAMPLE_ROWS 8

static void losses(char out[LINE], const struct trap_look *l)
{
    snprintf(out, LINE, "train %.3f  val %.3f", l->train_loss, l->val_loss);
}

static void writing(char out[LINE], const struct trap_look *l)
{
    const double gap = l->generation_loss - l->val_loss;
    snprintf(out, LINE, "no future %.3f  gap %+.3f", l->generation_loss, fabs(gap) < 5e-4 ? 0 : gap);
}

/* One digit a head, in tenths, layers apart: "9987 6654"; "-" for none. */
static void digits(char out[LINE], const double *values, const struct config *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_layer * c->n_head && n + 2 < LINE; i++) {
        if (i > 0 && i % c->n_head == 0)
            out[n++] = ' ';
        out[n++] = isnan(values[i]) ? '-' : (char)('0' + (int)fmin(9, 10 * fmax(0, values[i])));
    }
    out[n] = '\0';
}

/* What stands for the character at `at` in a sample, terminated, and in *length its bytes there. A line feed is a sign,
 * so that a text of nothing else is seen; what would move the cursor is a question mark. */
static void sample_character(char out[8], size_t *length, const char *at, const char *end)
{
    const unsigned char c = (unsigned char)*at;
    const bool c1 = c == 0xc2 && at + 1 < end && (unsigned char)at[1] < 0xa0;
    *length = 1;
    while (*length < 4 && at + *length < end && ((unsigned char)at[*length] & 0xC0u) == 0x80u)
        ++*length;
    if (c == '\n')
        snprintf(out, 8, "\u21b5");
    else if (c < 0x20 || c == 0x7f || c1)
        snprintf(out, 8, "?");
    else
        snprintf(out, 8, "%.*s", (int)*length, at);
}

/* Copies a sample from `at` on, at most `columns` columns of it, and returns where it stopped. */
static const char *sample_row(char out[ROW], const char *at, const char *end, size_t columns)
{
    size_t n = 0;
    out[0] = '\0';
    for (size_t length; at < end && n + 8 < ROW; at += length) {
        char shown[8];
        sample_character(shown, &length, at, end);
        const size_t more = utf8_columns(shown);
        if (more > columns)
            break;
        columns -= more;
        n += (size_t)snprintf(out + n, ROW - n, "%s", shown);
    }
    return at;
}

static void print_samples(const struct trap_view *v, const struct trap *t, size_t rows)
{
    const char *at[TRAP_SIDES] = {t->twin[0].sample, t->twin[1].sample};
    for (size_t i = 0; i < rows; i++) {
        char text[TRAP_SIDES][ROW];
        for (size_t s = 0; s < TRAP_SIDES; s++)
            at[s] = sample_row(text[s], at[s], t->twin[s].sample + t->twin[s].sample_bytes, column_width(v) - 2);
        if (text[0][0] || text[1][0])
            print_pair(v, i == 0 ? "  writes" : "", text[0], text[1], false);
    }
}

static void show_look(void *context, const struct trap *t)
{
    struct trap_view *v = context;
    if (t->points == 1) /* the first look takes longer than the others: it is no part of the rate */
        v->began = clock_seconds();
    const struct trap_point *p = &t->point[t->points - 1];
    const struct trap_look *right = &p->look[TRAP_RIGHT], *leaky = &p->look[TRAP_LEAKY];
    char a[LINE], b[LINE], step[24];
    terminal_clear(&v->err);
    if (v->silent)
        return;
    if (!v->headed)
        print_heading(v, t);
    snprintf(step, sizeof step, "%zu", p->step);
    losses(a, right);
    losses(b, leaky);
    print_pair(v, step, a, b, false);
    writing(a, right);
    writing(b, leaky);
    print_pair(v, "", a, b, fabs(leaky->generation_loss - leaky->val_loss) > 0.1);
    digits(a, right->entropy, &t->settings.config);
    digits(b, leaky->entropy, &t->settings.config);
    print_pair(v, " entropy", a, b, false);
    digits(a, right->future, &t->settings.config);
    digits(b, leaky->future, &t->settings.config);
    print_pair(v, "  future", a, b, false);
    if (p->step > 0)
        print_samples(v, t, 1);
    fflush(stdout);
}

static void show_step(void *context, const struct trap *t)
{
    struct trap_view *v = context;
    const double now = clock_seconds(), passed = now - v->began;
    const size_t steps = t->settings.schedule.steps;
    char left[HUMAN_SIZE];
    terminal_progress(&v->err, now, false, "step %zu/%zu  training loss: right %.4f, leaky %.4f  %s left", t->step,
                      steps, t->twin[TRAP_RIGHT].loss, t->twin[TRAP_LEAKY].loss,
                      human_duration(left, passed / (double)t->step * (double)(steps - t->step)));
}

static bool interrupted(void *context)
{
    (void)context;
    return interrupt_pending();
}

struct trap_events trap_view_events(struct trap_view *v)
{
    return (struct trap_events){v, show_step, show_look, interrupted};
}

/* --- at the end --------------------------------------------------------------------------------- */

static void print_heads(const struct trap *t)
{
    const struct config *c = &t->settings.config;
    const struct trap_look *look = t->point[t->points - 1].look;
    printf("\nheads (entropy 1: looks at all alike, 0: at one; future: weight on what follows)\n"
           "                    right             leaky\n"
           "               entropy future    entropy future\n");
    for (size_t i = 0; i < c->n_layer * c->n_head; i++)
        printf("layer %-2zu head %-2zu %6.2f %6.2f  %9.2f %6.2f\n", i / c->n_head, i % c->n_head,
               look[TRAP_RIGHT].entropy[i], look[TRAP_RIGHT].future[i], look[TRAP_LEAKY].entropy[i],
               look[TRAP_LEAKY].future[i]);
}

static const char *outcome(const struct verdict_line *line)
{
    switch (line->outcome) {
    case VERDICT_CLEAN:
        return "clean";
    case VERDICT_FOUND:
        return "LEAK";
    case VERDICT_NOTED:
        return "noted";
    case VERDICT_SKIPPED:
        return "skipped";
    }
    return "";
}

/* Both twins are looked at by the same detectors. */
static void print_verdicts(struct trap_view *v, const struct trap *t)
{
    const struct verdict *right = &t->twin[TRAP_RIGHT].verdict, *leaky = &t->twin[TRAP_LEAKY].verdict;
    printf("\ndetectors      right    leaky\n");
    for (size_t i = 0; i < right->lines && i < leaky->lines; i++) {
        const struct verdict_line *line = &leaky->line[i];
        const bool found = line->outcome == VERDICT_FOUND;
        char label[40];
        snprintf(label, sizeof label, "%-14s %-8s %-8s ", line->detector, outcome(&right->line[i]), outcome(line));
        fputs(found ? terminal_style(&v->out, TERMINAL_RED) : "", stdout);
        terminal_entry(&v->out, label, "%s", found || line->outcome == VERDICT_SKIPPED ? line->evidence : "");
        fputs(found ? terminal_style(&v->out, TERMINAL_PLAIN) : "", stdout);
    }
}

/* "suffix, gradient at step 0; blocks, stress at step 600" */
static void catches(char *out, size_t size, const struct trap_twin *twin)
{
    out[0] = '\0';
    for (size_t i = 0; i < twin->catches; i++) {
        const struct trap_catch *c = &twin->caught[i];
        const size_t used = strlen(out);
        const bool last = i + 1 == twin->catches || twin->caught[i + 1].step != c->step;
        if (last)
            snprintf(out + used, size - used, "%s at step %zu%s", c->detector, c->step,
                     i + 1 < twin->catches ? "; " : "");
        else
            snprintf(out + used, size - used, "%s, ", c->detector);
    }
}

static void print_lesson(struct trap_view *v, const struct trap *t)
{
    const struct trap_point *p = &t->point[t->points - 1];
    const struct trap_look *right = &p->look[TRAP_RIGHT], *leaky = &p->look[TRAP_LEAKY];
    const double uniform = log((double)t->settings.config.vocab_size);
    char caught[512], time[HUMAN_SIZE];
    printf("\n%swhat this shows%s\n", terminal_style(&v->out, TERMINAL_BOLD), terminal_style(&v->out, TERMINAL_PLAIN));
    if (t->fooled_at != TRAP_NEVER)
        terminal_entry(
            &v->out, "  ",
            "At step %zu the leaky twin first looks better and writes worse. At the end its validation loss is "
            "%.3f against %.3f%s.",
            t->fooled_at, leaky->val_loss, right->val_loss,
            leaky->val_loss < right->val_loss ? ": judged by that, it is the one to keep" : "");
    else
        terminal_entry(&v->out, "  ", "At no evaluation did the leaky twin look better and write worse.");
    terminal_entry(
        &v->out, "  ",
        "With no future to look at, as when it writes, its loss is %.3f; guessing all %zu symbols alike gives "
        "%.3f. The right twin has %.3f either way.",
        leaky->generation_loss, t->settings.config.vocab_size, uniform, right->generation_loss);
    catches(caught, sizeof caught, &t->twin[TRAP_LEAKY]);
    if (caught[0])
        terminal_entry(&v->out, "  ", "No curve of training or validation loss tells. What does: %s.", caught);
    else
        terminal_entry(&v->out, "  ", "No detector caught it.");
    printf("\n");
    terminal_note(&v->err, "done, %zu steps of both twins in %s", t->step, human_duration(time, t->seconds));
}

void trap_view_result(struct trap_view *v, const struct trap *t)
{
    printf("\nafter %zu steps\n", t->step);
    print_samples(v, t, SAMPLE_ROWS);
    print_heads(t);
    print_verdicts(v, t);
    print_lesson(v, t);
    fflush(stdout);
}
