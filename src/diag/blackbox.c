#include "diag/blackbox.h"

#include <math.h>
#include <stdlib.h>

#define HOPELESS                                                                                                       \
    1e4 /* nats below the best: a symbol barred by a large number, whose size says nothing of the model                \
         */

enum status blackbox_open(struct blackbox *b, size_t V, size_t T, struct error *err)
{
    *b = (struct blackbox){.V = V, .T = T, .bits = 8};
    b->barred = calloc(V, sizeof *b->barred);
    b->allowed = calloc(V, sizeof *b->allowed);
    if (b->barred && b->allowed)
        return STATUS_OK;
    blackbox_close(b);
    return fail(err, STATUS_MEMORY, "out of memory for a vocabulary of %zu symbols", V);
}

void blackbox_close(struct blackbox *b)
{
    free(b->barred);
    free(b->allowed);
    *b = (struct blackbox){0};
}

double blackbox_epsilon(const struct blackbox *b)
{
    return ldexp(1, -b->bits);
}

/* The first row of the first answer tells which symbols are barred. */
static void learn_barred(struct blackbox *b, const double *row)
{
    b->n_allowed = 0;
    for (size_t v = 0; v < b->V; v++) {
        b->barred[v] = row[v] == -INFINITY;
        if (!b->barred[v])
            b->allowed[b->n_allowed++] = (uint32_t)v;
    }
}

/* Nine digits are enough to write an fp32 number, and are not the number: it is taken as fp32 first. */
static void learn_precision(struct blackbox *b, double x)
{
    int exponent;
    const double mantissa = frexp((double)(float)x, &exponent);
    while (b->bits < 24 && ldexp(mantissa, b->bits) != rint(ldexp(mantissa, b->bits)))
        b->bits = b->bits == 8 ? 11 : 24;
}

static enum status normalise(struct blackbox *b, double *row, size_t t, struct error *err)
{
    double max = -INFINITY, sum = 0;
    for (size_t v = 0; v < b->V; v++) {
        if (isnan(row[v]) || row[v] == INFINITY)
            return fail(
                err, STATUS_NONFINITE,
                "the answer is not finite: row %zu has %s for symbol %zu; nothing can be said about leaks until "
                "the model's numbers are: look for NaN in its weights",
                t, isnan(row[v]) ? "NaN (or null)" : "Infinity", v);
        if (b->barred[v] != (row[v] == -INFINITY))
            return fail(err, STATUS_NONFINITE,
                        "the answer is not finite: symbol %zu has -Infinity in some rows only (row %zu); one that can "
                        "never come must have it in all",
                        v, t);
        max = fmax(max, row[v]);
    }
    if (max == -INFINITY)
        return fail(err, STATUS_NONFINITE, "the answer is not finite: row %zu has nothing but -Infinity", t);
    for (size_t v = 0; v < b->V; v++)
        if (!b->barred[v]) {
            learn_precision(b, row[v]);
            if (max - row[v] < HOPELESS)
                b->largest = fmax(b->largest, fabs(row[v]));
            sum += exp(row[v] - max);
        }
    const double lse = max + log(sum);
    for (size_t v = 0; v < b->V; v++)
        row[v] -= lse;
    return STATUS_OK;
}

enum status blackbox_ask(struct blackbox *b, double *logp, const uint32_t *tokens, size_t n, const size_t *rows,
                         size_t n_rows, struct error *err)
{
    b->questions++;
    enum status s = b->ask(b->self, logp, tokens, n, rows, n_rows, err);
    if (s == STATUS_OK && b->questions == 1)
        learn_barred(b, logp);
    for (size_t k = 0; k < (rows ? n_rows : n) && s == STATUS_OK; k++)
        s = normalise(b, logp + k * b->V, rows ? rows[k] : k, err);
    if (s == STATUS_OK || s == STATUS_INTERRUPTED)
        return s;
    return fail_within(err, s, "question %zu (%zu token%s)", b->questions, n, n == 1 ? "" : "s");
}
