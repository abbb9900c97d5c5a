#include "lab/recall.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "lab/impossible.h"
#include "lab/specimen.h"

#define TEXT_SIZE 20000
#define LEARNING_TRIALS 2

const char *recall_column(size_t column)
{
    return column == RECALL_LEARNING ? "learning" : detect_names[column];
}

struct job {
    struct recall *r;
    const struct recall_options *o;
    struct specimen_text text;
    struct verdict *v;
    size_t done, total;
};

static enum status tick(struct job *j, struct error *err)
{
    j->done++;
    if (j->o->progress && j->o->progress(j->o->context, j->done, j->total))
        return fail(err, STATUS_INTERRUPTED, "interrupted");
    return STATUS_OK;
}

static bool same_offset(const struct catalogue_entry *e, const struct chart_shape *s, const struct specimen *m)
{
    /* With so few positions several patterns are one. */
    return e->pattern == CHART_CAUSAL || s->pattern == e->pattern ||
           (s->pattern == CHART_ALL_FUTURE && m->model.config.block_size <= (e->fault.block ? e->fault.block : 2));
}

/* Whether a finding says where the fault is: false when it names another place. */
static bool places_it(const struct verdict_finding *f, const struct catalogue_entry *e, const struct fault *planted,
                      const struct specimen *m)
{
    if (strcmp(f->operation, e->operation) != 0)
        return false;
    if (e->one_layer && planted->layer != FAULT_EVERYWHERE && f->layer != planted->layer)
        return false;
    /* one that is planted in all heads alike may be found in any */
    if (e->one_layer && e->one_head && planted->head != FAULT_EVERYWHERE && f->head != planted->head)
        return false;
    return f->shape.pattern == CHART_CAUSAL || same_offset(e, &f->shape, m);
}

/* What locating says, and it says nothing of any other place. Detectors that judge the model as a whole do not count.
 */
static bool located(const struct verdict *v, const struct catalogue_entry *e, const struct fault *planted,
                    const struct specimen *m)
{
    bool right = false, offset = e->pattern == CHART_CAUSAL;
    const size_t kept = v->findings < VERDICT_FINDINGS ? v->findings : VERDICT_FINDINGS;
    for (size_t k = 0; k < kept; k++) {
        const struct verdict_finding *f = &v->finding[k];
        if (f->operation[0] == '\0' || strcmp(f->operation, "gradient") == 0)
            continue;
        /* What leaks in the parallel pass makes the decoder differ from it. */
        if (strcmp(f->detector, "decode") == 0 && strcmp(e->operation, "decode") != 0)
            continue;
        if (!places_it(f, e, planted, m))
            return false;
        right = true;
        offset |= f->shape.pattern != CHART_CAUSAL;
    }
    return right && offset;
}

static enum status ask(struct job *j, struct specimen *m, uint64_t seed, struct error *err)
{
    const struct detect d = {.g = &m->model, .w = &m->work, .data = &m->data, .tokenizer = m->tokenizer, .seed = seed};
    return detect_run(j->v, &d, err);
}

static size_t column_of(const char *detector)
{
    for (size_t k = 0; k < DETECT_COUNT; k++)
        if (strcmp(detect_names[k], detector) == 0)
            return k;
    assert(0 && "a detector that is not listed");
    return 0;
}

static void note_missed(struct recall_fault *f, const char *how, const struct specimen *m, const struct fault *planted)
{
    if (!f->missed[0])
        snprintf(f->missed, sizeof f->missed, "%s: %s, layer %d head %d", how, m->words, (int)planted->layer,
                 (int)planted->head);
}

static enum status try_fault(struct job *j, struct recall_fault *f, uint64_t seed, bool trained, struct error *err)
{
    const struct catalogue_entry *e = f->entry;
    const struct specimen_need need = {.least_layers = e->least_layers,
                                       .least_length = e->needs_tiles ? 0 : e->least_length,
                                       .least_batch = e->least_batch,
                                       /* LayerNorm leaves nothing of one channel, and of two only their order */
                                       .least_head_size = 3,
                                       .dropout = e->needs_dropout,
                                       .window = e->needs_window,
                                       .crosses = e->needs_tiles,
                                       .trained = trained};
    struct specimen m;
    enum status s = specimen_make(&m, &need, &j->text, seed, j->o->team, err);
    if (s)
        return s;
    const struct rng_site site = {.seed = seed, .purpose = RNG_CHECK, .head = 22};
    const size_t L = m.model.config.n_layer, H = m.model.config.n_head;
    /* one in four is planted everywhere; a prefill that is right in the last layer alone must not hide */
    const bool everywhere = rng_below(&site, 0, 4) == 0;
    const size_t layer = everywhere ? FAULT_EVERYWHERE : (size_t)rng_below(&site, 1, L),
                 head = everywhere ? FAULT_EVERYWHERE : (size_t)rng_below(&site, 2, H);
    struct fault fault;
    catalogue_plant(&fault, &m.model, &m.data, e, layer, head);
    s = ask(j, &m, seed, err);
    if (!s) {
        f->models++;
        for (size_t k = 0; k < j->v->lines; k++) {
            const size_t column = column_of(j->v->line[k].detector);
            f->trials[column] += j->v->line[k].outcome != VERDICT_SKIPPED;
            f->caught[column] += j->v->line[k].outcome == VERDICT_FOUND;
        }
        f->caught_by_any += j->v->findings > 0;
        if (j->v->findings == 0)
            note_missed(f, "not caught", &m, &fault);
        else if (located(j->v, e, &fault, &m))
            f->located++;
        else
            note_missed(f, "not located", &m, &fault);
    }
    specimen_free(&m);
    return s ? s : tick(j, err);
}

static enum status try_learning(struct job *j, struct recall_fault *f, struct error *err)
{
    enum status s = STATUS_OK;
    for (size_t k = 0; !s && f->entry->trains && k < LEARNING_TRIALS; k++) {
        struct impossible r;
        s = impossible_run(&r, f->entry, j->o->seed + k, j->o->team.isa, err);
        if (s == STATUS_NONFINITE) { /* training with some faults goes wrong before it tells anything */
            s = STATUS_OK;
            continue;
        }
        f->trials[RECALL_LEARNING]++;
        f->caught[RECALL_LEARNING] += !s && r.below;
    }
    return s;
}

static enum status try_correct(struct job *j, uint64_t seed, bool trained, struct error *err)
{
    const struct specimen_need need = {.trained = trained};
    struct specimen m;
    enum status s = specimen_make(&m, &need, &j->text, seed, j->o->team, err);
    if (s)
        return s;
    s = ask(j, &m, seed, err);
    struct recall *r = j->r;
    if (!s) {
        r->correct++;
        r->alarms += j->v->findings > 0;
        for (size_t k = 0; k < j->v->lines; k++)
            r->alarms_by[column_of(j->v->line[k].detector)] += j->v->line[k].outcome == VERDICT_FOUND;
        if (j->v->findings > 0 && !r->alarm[0])
            snprintf(r->alarm, sizeof r->alarm, "%s: %s: %s", m.words, j->v->finding[0].detector,
                     j->v->finding[0].what);
    }
    specimen_free(&m);
    return s ? s : tick(j, err);
}

/* One model in this many has been trained. */
#define TRAINED 4

static enum status run(struct job *j, struct error *err)
{
    enum status s = STATUS_OK;
    for (size_t i = 0; !s && i < catalogue_size; i++) {
        struct recall_fault *f = &j->r->fault[i];
        f->entry = &catalogue[i];
        if (j->o->only && strcmp(j->o->only, catalogue[i].name) != 0)
            continue;
        for (size_t k = 0; !s && k < j->o->trials; k++)
            s = try_fault(j, f, j->o->seed + 1000 * (i + 1) + k, k % TRAINED == 0, err);
        if (!s && j->o->trials > 0)
            s = try_learning(j, f, err);
    }
    for (size_t k = 0; !s && k < j->o->correct; k++)
        s = try_correct(j, j->o->seed + 1000000 + k, k % TRAINED == 0, err);
    return s;
}

enum status recall_run(struct recall *r, const struct recall_options *o, struct error *err)
{
    assert(catalogue_size <= RECALL_FAULTS);
    *r = (struct recall){0};
    struct job j = {.r = r, .o = o, .total = (o->only ? 1 : catalogue_size) * o->trials + o->correct};
    j.v = malloc(sizeof *j.v);
    if (!j.v)
        return fail(err, STATUS_MEMORY, "lab: out of memory");
    enum status s = specimen_text_make(&j.text, o->seed, TEXT_SIZE, err);
    if (!s) {
        s = run(&j, err);
        specimen_text_free(&j.text);
    }
    free(j.v);
    return s;
}
