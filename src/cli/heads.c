#include "cli/heads.h"

#include <math.h>
#include <stdbool.h>

#include "cli/terminal.h"
#include "diag/entropy.h"
#include "report/buffer.h"

#define HEADS_A_LINE 12

static enum entropy_verdict judge(const struct heads *now, const struct heads *before, size_t i)
{
    const double none = (double)NAN;
    return entropy_judge(before ? before->entropy[i] : none, now->entropy[i], before ? before->max_score[i] : none,
                         now->max_score[i]);
}

static const char *meaning(enum entropy_verdict v)
{
    switch (v) {
    case ENTROPY_UNIFORM:
        return "looks at everything alike";
    case ENTROPY_SHARP:
        return "picks one or two symbols";
    case ENTROPY_COLLAPSING:
        return "narrowing fast while scores grow: a lower learning rate helps";
    case ENTROPY_ORDINARY:
        break;
    }
    return "";
}

/* "heads 0, 2 to 5", of those of one layer that are so. Returns how many there are. */
static size_t put_layer(struct buffer *b, const struct heads *now, const struct heads *before, size_t layer,
                        enum entropy_verdict v)
{
    const size_t H = now->H;
    size_t found = 0, put = 0;
    for (size_t h = 0; h < H; h++)
        found += judge(now, before, layer * H + h) == v;
    if (found == 0)
        return 0;
    buffer_print(b, "%slayer %zu ", b->count ? "; " : "", layer);
    if (found == H && H > 1) {
        buffer_text(b, "all heads");
        return found;
    }
    buffer_text(b, found == 1 ? "head" : "heads");
    for (size_t h = 0, end; h < H; h = end + 1) {
        for (end = h; end < H && judge(now, before, layer * H + end) == v;)
            end++;
        if (end > h)
            buffer_print(b, "%s %zu", put++ ? "," : "", h);
        if (end > h + 2)
            buffer_print(b, " to %zu", end - 1);
        else if (end == h + 2)
            buffer_print(b, ", %zu", h + 1);
    }
    return found;
}

/* False when no head is so. */
static bool print_verdict(struct terminal *out, const struct heads *now, const struct heads *before,
                          enum entropy_verdict v)
{
    struct buffer places = {0};
    char label[24];
    size_t found = 0;
    for (size_t layer = 0; layer < now->L; layer++)
        found += put_layer(&places, now, before, layer, v);
    snprintf(label, sizeof label, "%s: ", entropy_word(v));
    if (found > 0)
        terminal_entry(out, label, "%s (%s)", places.bytes ? places.bytes : "", meaning(v));
    buffer_free(&places);
    return found > 0;
}

void heads_print(FILE *out, const struct heads *now, const struct heads *before)
{
    fprintf(out, "attention entropy (1: looks at all symbols alike, 0: at one alone)\n");
    if (now->H <= HEADS_A_LINE) {
        fprintf(out, "  head     ");
        for (size_t h = 0; h < now->H; h++)
            fprintf(out, " %4zu", h);
        fputc('\n', out);
    }
    for (size_t layer = 0; layer < now->L; layer++) {
        fprintf(out, "  layer %-3zu", layer);
        for (size_t h = 0; h < now->H; h++) {
            const double e = now->entropy[layer * now->H + h];
            if (h > 0 && h % HEADS_A_LINE == 0)
                fprintf(out, "\n           ");
            if (isnan(e))
                fprintf(out, "    -");
            else
                fprintf(out, " %.2f", e);
        }
        fputc('\n', out);
    }
    struct terminal screen;
    terminal_open(&screen, out);
    const enum entropy_verdict verdicts[] = {ENTROPY_COLLAPSING, ENTROPY_SHARP, ENTROPY_UNIFORM};
    bool any = false;
    for (size_t v = 0; v < 3; v++)
        any |= print_verdict(&screen, now, before, verdicts[v]);
    if (!any)
        fprintf(out, "nothing unusual: no head is collapsing, sharp or uniform\n");
}
