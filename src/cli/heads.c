#include "cli/heads.h"

#include <math.h>
#include <stdbool.h>

#include "diag/entropy.h"

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

/* False when no head is so. */
static bool print_verdict(FILE *out, const struct heads *now, const struct heads *before, enum entropy_verdict v)
{
    size_t found = 0, layer_before = 0;
    for (size_t i = 0; i < now->L * now->H; i++) {
        if (judge(now, before, i) != v)
            continue;
        const size_t layer = i / now->H;
        if (found == 0)
            fprintf(out, "%s (%s):", entropy_word(v), meaning(v));
        if (found == 0 || layer != layer_before)
            fprintf(out, "%s layer %zu head %zu", found ? ";" : "", layer, i % now->H);
        else
            fprintf(out, ", %zu", i % now->H);
        layer_before = layer;
        found++;
    }
    if (found)
        fputc('\n', out);
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
    const enum entropy_verdict verdicts[] = {ENTROPY_COLLAPSING, ENTROPY_SHARP, ENTROPY_UNIFORM};
    bool any = false;
    for (size_t v = 0; v < 3; v++)
        any |= print_verdict(out, now, before, verdicts[v]);
    if (!any)
        fprintf(out, "nothing unusual: no head is collapsing, sharp or uniform\n");
}
