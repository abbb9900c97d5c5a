#include "diag/blackbox_suffix.h"

/* The rows before t that an answer of limited size shows: the two nearest, the first, and some in between. */
static size_t choose_rows_before(struct session *s, size_t t)
{
    size_t n = 0;
    for (size_t back = 1; back <= 2 && back <= t; back++)
        s->rows[n++] = t - back;
    s->rows[n++] = 0;
    for (size_t k = 1; n < s->rows_max; k++)
        s->rows[n++] = k * t / s->rows_max;
    return session_sort_rows(s, n);
}

/* Tries one t on a window of n tokens. fresh: the tokens are new, nothing is known of them yet. */
static enum status suffix_at(struct blackbox_suffix *f, struct session *s, size_t n, size_t t, bool fresh,
                             struct error *err)
{
    const size_t V = s->b->V;
    /* a row that was not asked for in the same words may be rounded otherwise: always the same rows of both */
    size_t n_rows = t;
    const size_t *rows = NULL;
    if (s->whole) {
        for (size_t i = 0; i < t; i++)
            s->rows[i] = i;
    } else {
        n_rows = choose_rows_before(s, t);
        rows = s->rows;
    }
    enum status status = STATUS_OK;
    if (fresh || !s->whole)
        status = blackbox_ask(s->b, s->before, s->tokens, n, rows, n_rows, err);
    session_change(s, n, t, false);
    if (status == STATUS_OK)
        status = blackbox_ask(s->b, s->after, s->changed, n, rows, n_rows, err);
    if (status != STATUS_OK)
        return status;
    f->answers += n_rows;
    for (size_t k = 0; k < n_rows; k++) {
        const double change = session_difference(s, s->before + k * V, s->after + k * V);
        if (change > f->change) {
            f->change = change;
            f->place = t;
            f->row = s->rows[k];
        }
    }
    return STATUS_OK;
}

enum status blackbox_suffix(struct blackbox_suffix *f, struct session *s, struct error *err)
{
    const size_t T = s->b->T, lengths[] = {T, 2, 3, 17, 33}, quick = 32;
    *f = (struct blackbox_suffix){0};
    for (size_t k = 0; k < 5; k++) {
        const size_t n = lengths[k];
        if (n < 2 || n > T || (k > 0 && n == T))
            continue;
        const size_t places = session_spread(s, 1, n - 1);
        /* the short lengths: where mistakes show first */
        const size_t limit = k > 0 ? (places < 4 ? places : 4) : s->quick && places > quick ? quick : places;
        session_random(s, s->tokens, n);
        f->possible += k > 0 ? 0 : places;
        for (size_t p = 0; p < limit; p++) {
            if (session_enough(s, p, 3, k > 0 ? 0 : 2))
                break;
            session_show(s, "suffix", p, limit);
            const enum status status = suffix_at(f, s, n, s->places[p], p == 0, err);
            if (status != STATUS_OK)
                return status;
            ++*(k > 0 ? &f->shorter : &f->tried);
        }
    }
    return STATUS_OK;
}
