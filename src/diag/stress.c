#include "diag/stress.h"

#include <math.h>
#include <stdlib.h>

#include "diag/findings.h"
#include "diag/leak.h"
#include "diag/scores.h"

/* Scores this large are aimed at: past -1e4, and far past -1e9 but not near overflow. */
static const double AIMS[] = {1e5, 1e12};

/* A constant c hides a key while its score plus c is so far below the largest visible one that its weight underflows.
 */
static void say_margin(struct verdict *v, const struct scores *s)
{
    const double reach = s->highest - s->lowest + 104; /* exp(-104) is 0 in single precision */
    verdict_say(
        v, "margin", reach < 1e4 ? VERDICT_CLEAN : VERDICT_NOTED, 0,
        "the largest visible score of a row lies in %.3g .. %.3g: judging by that, adding -1e4 instead of masking "
        "%s, -1e9 %s",
        s->lowest, s->highest, reach < 1e4 ? "would do" : "would leak", reach < 1e9 ? "would do" : "would leak");
}

static enum status run(struct verdict *v, const struct gpt *g, struct work *w, double size, const uint32_t *tokens,
                       struct leak_report *r, uint64_t seed, struct error *err)
{
    struct scores s = {0};
    for (size_t k = 0; k < sizeof AIMS / sizeof *AIMS; k++) {
        struct gpt copy;
        enum status status = scores_scaled(&copy, g, sqrt(AIMS[k] / size), err);
        if (status)
            return status;
        s = scores_measure(&copy, w, tokens);
        status = leak_check(r, &copy, w, LEAK_FULL, seed, 0, err);
        scores_free(&copy);
        if (status == STATUS_NONFINITE) {
            verdict_say(v, "stress", VERDICT_NOTED, 0, "scores aimed at %.0e give logits that are not finite", AIMS[k]);
            return STATUS_OK;
        }
        if (status)
            return status;
        if (r->leak) {
            verdict_say(v, "stress", VERDICT_FOUND, 0, "with scores up to %.1e the future shows", scores_size(&s));
            findings_of_leak(v, "stress", r);
            return STATUS_OK;
        }
    }
    verdict_say(v, "stress", VERDICT_CLEAN, 0, "query and key weights scaled up until scores reach %.1e: no leak",
                scores_size(&s));
    return STATUS_OK;
}

enum status stress_check(struct verdict *v, const struct gpt *g, struct work *w, const uint32_t *tokens, uint64_t seed,
                         struct error *err)
{
    const struct scores s = scores_measure(g, w, tokens);
    say_margin(v, &s);
    struct leak_report *r = malloc(sizeof *r);
    const enum status status =
        r ? run(v, g, w, scores_size(&s), tokens, r, seed, err) : fail(err, STATUS_MEMORY, "check: out of memory");
    free(r);
    return status;
}
