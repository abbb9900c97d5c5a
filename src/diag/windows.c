#include "diag/windows.h"

#include <stdio.h>
#include <stdlib.h>

/* What is wrong with windows of one text. */
struct faults {
    size_t shift;                     /* how far ahead targets lie where it is not 1; SIZE_MAX: nowhere near */
    bool inputs, targets, draws, val; /* wrong */
    size_t windows;                   /* looked at */
};

#define DRAWS 4000

/* The text as it is stored, read without dataset_id. */
static size_t stored_id(const struct dataset *d, size_t i)
{
    if (d->width == 1)
        return ((const uint8_t *)d->ids)[i];
    return d->width == 2 ? ((const uint16_t *)d->ids)[i] : ((const uint32_t *)d->ids)[i];
}

/* How far targets lie ahead of where the window begins, found in the text itself. */
static size_t find_shift(const struct dataset *d, const uint32_t *targets, size_t start, size_t T)
{
    for (size_t shift = 0; shift <= 4 && start + T + shift < d->count; shift++) {
        bool fits = true;
        for (size_t t = 0; t < T && fits; t++)
            fits = targets[t] == stored_id(d, start + t + shift);
        if (fits)
            return shift;
    }
    return SIZE_MAX;
}

static void look_at_window(struct faults *f, const struct dataset *d, uint32_t *inputs, uint32_t *targets, size_t start,
                           size_t T)
{
    dataset_window(d, inputs, targets, start, T);
    f->windows++;
    for (size_t t = 0; t < T; t++) {
        f->inputs |= inputs[t] != stored_id(d, start + t);
        if (targets[t] != stored_id(d, start + t + 1) && !f->targets) {
            f->targets = true;
            f->shift = find_shift(d, targets, start, T);
        }
    }
}

static void look_at_text(struct faults *f, const struct dataset *d, uint32_t *inputs, uint32_t *targets, size_t T,
                         uint64_t seed)
{
    for (uint32_t k = 0; k < DRAWS && T < d->train; k++) {
        /* rows of a large batch, steps of a long run; an odd multiplier visits steps near and far */
        const size_t start = dataset_draw(d, T, seed, k % 2 ? k / 32 : k * 2654435761u >> 12, k % 77);
        if (start + T >= d->train)
            f->draws = true;
        else
            look_at_window(f, d, inputs, targets, start, T);
    }
    size_t begin, end, train_begin, train_end;
    dataset_bounds(d, DATASET_TRAIN, &train_begin, &train_end);
    dataset_bounds(d, DATASET_VAL, &begin, &end);
    f->val |= begin < train_end || begin != d->train || end != d->count || train_begin != 0;
    /* the first and the last whole window of each part, as evaluation reads them */
    const size_t bounds[][2] = {{train_begin, train_end}, {begin, end}};
    for (size_t part = 0; part < 2; part++)
        if (bounds[part][0] + T < bounds[part][1]) {
            look_at_window(f, d, inputs, targets, bounds[part][0], T);
            look_at_window(f, d, inputs, targets, bounds[part][1] - T - 1, T);
        }
}

static void set_id(struct dataset *d, size_t i, size_t id)
{
    switch (d->width) {
    case 1:
        ((uint8_t *)d->ids)[i] = (uint8_t)id;
        break;
    case 2:
        ((uint16_t *)d->ids)[i] = (uint16_t)id;
        break;
    default:
        ((uint32_t *)d->ids)[i] = (uint32_t)id;
    }
}

/* A text of each width in which neighbours differ, faults as in `like`. */
static enum status look_at_made_texts(struct faults *f, const struct dataset *like, uint32_t *inputs, uint32_t *targets,
                                      size_t T, uint64_t seed, struct error *err)
{
    for (unsigned width = 1; width <= 4; width *= 2) {
        struct dataset d = like ? *like : (struct dataset){0};
        d.count = 4 * T + 40;
        d.train = 3 * T + 20;
        d.width = width;
        d.ids = malloc(d.count * width);
        if (!d.ids)
            return fail(err, STATUS_MEMORY, "check: memory for a text of %zu symbols was refused", d.count);
        for (size_t i = 0; i < d.count; i++)
            set_id(&d, i, width == 1 ? i % 251 : i);
        look_at_text(f, &d, inputs, targets, T, seed);
        free(d.ids);
    }
    return STATUS_OK;
}

static void find(struct verdict *v, const char *detector, const char *what)
{
    struct verdict_finding *f = verdict_find(v, detector, "%s", what);
    snprintf(f->operation, sizeof f->operation, "dataset");
}

static void say(struct verdict *v, const struct faults *f)
{
    char what[128];
    verdict_say(v, "targets", f->inputs || f->targets ? VERDICT_FOUND : VERDICT_CLEAN, 0,
                f->inputs || f->targets ? "%zu windows: not every target is the symbol after its input"
                                        : "%zu windows: every target the symbol after its input",
                f->windows);
    if (f->targets && f->shift == SIZE_MAX)
        find(v, "targets", "targets are not the symbols that follow");
    else if (f->targets) {
        snprintf(what, sizeof what, "targets lie %zu ahead of their inputs instead of 1%s", f->shift,
                 f->shift == 0 ? ": the model is asked for what it has just read" : "");
        find(v, "targets", what);
    }
    if (f->inputs)
        find(v, "targets", "inputs are not the symbols of the window");
    verdict_say(v, "overlap", f->draws || f->val ? VERDICT_FOUND : VERDICT_CLEAN, 0,
                f->draws || f->val ? "training and validation share symbols"
                                   : "no training window reaches into the validation part, which begins where training "
                                     "ends");
    if (f->draws)
        find(v, "overlap", "training windows are drawn from the validation part too");
    if (f->val)
        find(v, "overlap", "the validation part does not begin where the train part ends");
}

enum status windows_check(struct verdict *v, const struct dataset *d, size_t T, uint64_t seed, struct error *err)
{
    struct faults f = {0};
    uint32_t *inputs = malloc(T * sizeof *inputs), *targets = malloc(T * sizeof *targets);
    enum status s = STATUS_OK;
    if (!inputs || !targets) {
        s = fail(err, STATUS_MEMORY, "check: out of memory");
    } else {
        if (d)
            look_at_text(&f, d, inputs, targets, T, seed);
        s = look_at_made_texts(&f, d, inputs, targets, T, seed, err);
    }
    free(inputs);
    free(targets);
    if (!s)
        say(v, &f);
    return s;
}
