#include "diag/head_kind.h"

#include <math.h>
#include <stdio.h>

#include "diag/attention_map.h"
#include "diag/entropy.h"

/* One query and the keys that it sees. */
struct row {
    const real *p; /* (T) */
    size_t i;
    struct attention_interval keys;
    real largest; /* weight of a visible key */
    size_t ties;  /* keys that have it */
};

static struct row row_of(const real *p, const struct head_window *w, size_t i)
{
    struct row r = {
        .p = p + i * w->T, .i = i, .keys = attention_shape_keys(w->rule, w->window, w->T, w->T, i), .largest = -1};
    for (size_t j = r.keys.begin; j < r.keys.end; j++) {
        r.ties = r.p[j] > r.largest ? 1 : r.ties + (r.p[j] == r.largest);
        r.largest = r.p[j] > r.largest ? r.p[j] : r.largest;
    }
    return r;
}

static bool sees(const struct row *r, size_t j)
{
    return j >= r->keys.begin && j < r->keys.end;
}

/* What the row gives to the keys counted so far, and how many they are. */
struct share {
    double weight;
    size_t keys, largest; /* of which so many have the row's largest weight */
};

static void give(struct share *s, const struct row *r, size_t j)
{
    if (!sees(r, j))
        return;
    s->weight += (double)r->p[j];
    s->keys++;
    s->largest += r->p[j] == r->largest;
}

/* Where i's word began, if there is a blank before it in the window; otherwise T. */
static size_t word_start(const struct head_window *w, size_t i)
{
    size_t start = i;
    if (!w->in_word || !w->in_word[i])
        return w->T;
    while (start > 0 && w->in_word[start - 1])
        start--;
    return start > 0 ? start : w->T;
}

static struct share share_of(const struct row *r, const struct head_window *w, enum head_kind pattern)
{
    struct share s = {0};
    const size_t i = r->i;
    switch (pattern) {
    case HEAD_PREVIOUS:
        if (i >= 1)
            give(&s, r, i - 1);
        break;
    case HEAD_FIRST:
        if (i >= 2)
            give(&s, r, 0);
        break;
    case HEAD_SAME:
        for (size_t j = 0; j + 1 < i; j++)
            if (w->tokens[j] == w->tokens[i])
                give(&s, r, j);
        break;
    case HEAD_INDUCTION:
        for (size_t j = 1; j + 1 < i; j++)
            if (w->tokens[j - 1] == w->tokens[i])
                give(&s, r, j);
        break;
    case HEAD_WORD_START: {
        const size_t start = word_start(w, i);
        if (start + 1 < i) {
            give(&s, r, start);
            give(&s, r, start - 1);
        }
        break;
    }
    case HEAD_ITSELF:
        if (i >= 1)
            give(&s, r, i);
        break;
    case HEAD_UNIFORM:
    case HEAD_SHARP:
    case HEAD_MIXED:
    case HEAD_KINDS:
        break;
    }
    return s;
}

void head_kind_add(struct head_measure *m, const real *p, const struct head_window *w)
{
    for (size_t i = 0; i < w->T; i++) {
        const struct row r = row_of(p, w, i);
        const size_t visible = r.keys.end - r.keys.begin;
        if (visible < 2)
            continue;
        m->rows++;
        m->entropy += attention_map_entropy(r.p + r.keys.begin, visible) / log((double)visible);
        for (size_t j = r.keys.begin; j < r.keys.end; j++)
            m->reach += (double)r.p[j] * fabs((double)i - (double)j);
        for (size_t k = 0; k < HEAD_PATTERNS; k++) {
            const struct share s = share_of(&r, w, (enum head_kind)k);
            if (s.keys == 0)
                continue;
            m->score[k].weight += s.weight;
            m->score[k].largest += (double)s.largest / (double)r.ties;
            m->score[k].chance += (double)s.keys / (double)visible;
            m->score[k].rows++;
        }
    }
}

static double mean(double sum, size_t n)
{
    return n ? sum / (double)n : (double)NAN;
}

void head_kind_finish(struct head_measure *m)
{
    m->entropy = mean(m->entropy, m->rows);
    m->reach = mean(m->reach, m->rows);
    for (size_t k = 0; k < HEAD_PATTERNS; k++) {
        struct head_score *s = &m->score[k];
        s->weight = mean(s->weight, s->rows);
        s->largest = mean(s->largest, s->rows);
        s->chance = mean(s->chance, s->rows);
    }
}

/* How far the better score is above chance, of what there was to gain. NaN without rows. */
static double above_chance(const struct head_score *s)
{
    return (fmax(s->weight, s->largest) - s->chance) / (1 - s->chance);
}

/* The pattern that comes closest; HEAD_PATTERNS when none is above chance. */
static size_t nearest_pattern(const struct head_measure *m, double least)
{
    size_t nearest = HEAD_PATTERNS;
    double furthest = 0;
    for (size_t k = 0; k < HEAD_PATTERNS; k++) {
        const struct head_score *s = &m->score[k];
        if (s->weight > s->chance && s->weight >= (least > 0 ? HEAD_KIND_LIFT * s->chance : 0) &&
            fmax(s->weight, s->largest) >= least && above_chance(s) > furthest) {
            nearest = k;
            furthest = above_chance(s);
        }
    }
    return nearest;
}

enum head_kind head_kind_judge(const struct head_measure *m)
{
    const double none = (double)NAN;
    const enum entropy_verdict entropy = entropy_judge(none, m->entropy, none, none);
    if (entropy == ENTROPY_UNIFORM)
        return HEAD_UNIFORM;
    const size_t pattern = nearest_pattern(m, HEAD_KIND_MOST);
    if (pattern < HEAD_PATTERNS)
        return (enum head_kind)pattern;
    return entropy == ENTROPY_SHARP ? HEAD_SHARP : HEAD_MIXED;
}

static const struct {
    const char *name, *says;
} words[HEAD_KINDS] = {
    [HEAD_PREVIOUS] = {"previous-character", "looks at the character just before"},
    [HEAD_FIRST] = {"first-character", "looks at the first character of the window: often a place to rest"},
    [HEAD_SAME] = {"same-character-earlier", "looks at earlier places of the same character"},
    [HEAD_INDUCTION] = {"induction", "looks at what followed the same character earlier"},
    [HEAD_WORD_START] = {"word-start", "looks at where the present word began"},
    [HEAD_ITSELF] = {"itself", "looks at its own character"},
    [HEAD_UNIFORM] = {"uniform", "looks at everything alike: it averages, and is often wasted"},
    [HEAD_SHARP] = {"sharp", "picks one or two characters, by no pattern known here"},
    [HEAD_MIXED] = {"mixed", "looks at several things"},
};

const char *head_kind_name(enum head_kind k)
{
    return words[k].name;
}

const char *head_kind_says(enum head_kind k)
{
    return words[k].says;
}

void head_kind_evidence(char out[HEAD_KIND_EVIDENCE], const struct head_measure *m, enum head_kind k)
{
    const size_t near = k < HEAD_PATTERNS ? (size_t)k : nearest_pattern(m, 0);
    const struct head_score *s = near < HEAD_PATTERNS ? &m->score[near] : NULL;
    if (isnan(m->entropy))
        snprintf(out, HEAD_KIND_EVIDENCE, "no row sees two characters");
    else if (k == HEAD_UNIFORM || k == HEAD_SHARP || !s)
        snprintf(out, HEAD_KIND_EVIDENCE, "entropy %.2f; %.1f characters back on average", m->entropy, m->reach);
    else if (k < HEAD_PATTERNS)
        snprintf(out, HEAD_KIND_EVIDENCE, "%.2f of its weight, the largest in %.0f %% of rows; by chance %.2f",
                 s->weight, 100 * s->largest, s->chance);
    else
        snprintf(out, HEAD_KIND_EVIDENCE, "%.0f character%s back; most like %s, %.2f (chance %.2f)", m->reach,
                 m->reach >= 0.5 && m->reach < 1.5 ? "" : "s", words[near].name, s->weight, s->chance);
}
