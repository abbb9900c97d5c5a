#include "kernels/attention.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/attention_fault.h"
#include "kernels/attention_product.h"
#include "kernels/attention_row.h"
#include "kernels/attention_tile.h"
#include "kernels/gemm_bf16.h"
#include "kernels/vmath.h"

/* ---- room ---- */

static size_t up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* What one lane works in. */
struct room {
    const struct lane *lane;
    size_t ld;                         /* whole vectors of queries */
    real *p, *ds, *mask;               /* (keys,ld) */
    struct attention_queries q, dy;    /* the tile of queries under way, and of the gradients of their outputs */
    struct attention_words words;      /* in bf16 */
    real *clean;                       /* (queries or keys,hs) */
    real *dk, *dv;                     /* (T_k,hs): sums of one head, rows side by side; NULL where heads share keys */
    struct attention_tile_state state; /* (queries) each */
};

/* The pieces only of shapes in bf16, or only of others, are of no size where they are not needed.
 * Measured with at = NULL, then placed. Returns the reals taken. */
static size_t layout(struct room *r, const struct attention_shape *s, real *at)
{
    const size_t queries = least(attention_tile_queries(s), s->T_q), keys = least(attention_tile_keys(s), s->T_k);
    const size_t most = queries > keys ? queries : keys, hs = s->hs;
    r->ld = up(queries, VMATH_LANES);
    const size_t turned = s->bf16 ? 0 : hs * r->ld, sums = s->H == s->H_kv ? s->T_k * hs : 0;
    const struct {
        real **place;
        size_t size;
    } pieces[] = {
        {&r->p, keys * r->ld},   {&r->ds, keys * r->ld},   {&r->mask, keys * r->ld}, {&r->q.turned, turned},
        {&r->dy.turned, turned}, {&r->clean, most * hs},   {&r->state.m, r->ld},     {&r->state.l, r->ld},
        {&r->state.a, r->ld},    {&r->state.moved, r->ld}, {&r->dk, sums},           {&r->dv, sums},
    };
    const struct {
        uint32_t **place;
        size_t size;
    } words[] = {
        {&r->q.pairs, gemm_bf16_b_size(queries, hs)},
        {&r->q.sums, gemm_bf16_b_size(hs, queries)},
        {&r->dy.pairs, gemm_bf16_b_size(queries, hs)},
        {&r->dy.sums, gemm_bf16_b_size(hs, queries)},
        {&r->words.left, attention_words_left(queries, keys, hs)},
        {&r->words.right, gemm_bf16_b_size(hs, most)},
    };
    size_t used = 0;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        *pieces[i].place = at && pieces[i].size > 0 ? at + used : NULL;
        used += up(pieces[i].size, VMATH_LANES);
    }
    for (size_t i = 0; s->bf16 && i < sizeof words / sizeof *words; i++) {
        *words[i].place = at ? (uint32_t *)(void *)(at + used) : NULL;
        used += up(words[i].size * sizeof(uint32_t), VMATH_LANES * sizeof(real)) / sizeof(real);
    }
    return used;
}

/* The sums dy_i . y_i of all rows, which lanes share, come first. */
static size_t shared_size(const struct attention_shape *s)
{
    return up(s->B * s->H * s->T_q, VMATH_LANES);
}

size_t attention_scratch(const struct attention_shape *s, int lanes)
{
    struct room r;
    return shared_size(s) + (size_t)lanes * layout(&r, s, NULL);
}

static struct room room_of(const struct lane *lane, const struct attention_shape *s, real *scratch)
{
    struct room r = {.lane = lane};
    const size_t each = layout(&r, s, NULL);
    layout(&r, s, scratch + shared_size(s) + (size_t)lane->index * each);
    return r;
}

/* ---- one head, and its tiles ---- */

/* One head of one batch row: pointers to its position 0. */
struct head {
    const struct attention_shape *s;
    const struct dropout *drop; /* NULL: none */
    size_t b, h, first_row;     /* first_row: of (B,H,T_q) */
    const real *q, *k, *v;
};

static struct head head_of(const struct attention_shape *s, const struct dropout *drop, const real *q, const real *k,
                           const real *v, size_t pair)
{
    const size_t b = pair / s->H, h = pair % s->H, h_kv = h / (s->H / s->H_kv);
    return (struct head){
        .s = s,
        .drop = drop && drop->p > 0 ? drop : NULL,
        .b = b,
        .h = h,
        .first_row = pair * s->T_q,
        .q = q + b * s->q_batch + h * s->hs,
        .k = k + b * s->k_batch + h_kv * s->hs,
        .v = v + b * s->v_batch + h_kv * s->hs,
    };
}

static size_t tiles_of_queries(const struct attention_shape *s)
{
    return up(s->T_q, attention_tile_queries(s)) / attention_tile_queries(s);
}

static size_t tiles_of_keys(const struct attention_shape *s)
{
    return up(s->T_k, attention_tile_keys(s)) / attention_tile_keys(s);
}

/* Tiles of keys that a tile of queries sees something of: [begin, end). Intervals do not move back from one query to
 * the next, so the first and the last say it all. */
static struct span keys_of_tile(const struct head *a, enum attention_stage stage, size_t tile)
{
    const struct attention_shape *s = a->s;
    const size_t i0 = tile * attention_tile_queries(s), i1 = least(i0 + attention_tile_queries(s), s->T_q);
    const size_t begin = attention_fault_keys(s, a->h, stage, i0).begin,
                 end = attention_fault_keys(s, a->h, stage, i1 - 1).end;
    if (begin >= end)
        return (struct span){0, 0};
    return (struct span){begin / attention_tile_keys(s), up(end, attention_tile_keys(s)) / attention_tile_keys(s)};
}

static struct attention_tile tile_at(const struct head *a, enum attention_stage stage, size_t query_tile,
                                     size_t key_tile)
{
    const struct attention_shape *s = a->s;
    struct attention_tile t = {.i0 = query_tile * attention_tile_queries(s), .j0 = key_tile * attention_tile_keys(s)};
    t.queries = least(attention_tile_queries(s), s->T_q - t.i0);
    /* no further than the last query sees */
    t.keys = least(attention_tile_keys(s), attention_fault_keys(s, a->h, stage, t.i0 + t.queries - 1).end - t.j0);
    t.whole = attention_fault_keys(s, a->h, stage, t.i0).end >= t.j0 + t.keys &&
              attention_fault_keys(s, a->h, stage, t.i0 + t.queries - 1).begin <= t.j0;
    for (size_t i = 0; i < t.queries; i++) {
        struct attention_interval seen = {t.j0, t.j0 + t.keys};
        if (!t.whole) {
            const struct attention_interval all = attention_fault_keys(s, a->h, stage, t.i0 + i);
            seen.begin = all.begin > seen.begin ? all.begin : seen.begin;
            seen.end = least(all.end, seen.end);
        }
        t.begin[i] = (uint16_t)(seen.begin < seen.end ? seen.begin - t.j0 : 0);
        t.end[i] = (uint16_t)(seen.begin < seen.end ? seen.end - t.j0 : 0);
    }
    return t;
}

/* ---- forward ---- */

static void zero_rows(real *x, size_t stride, size_t rows, size_t hs)
{
    for (size_t n = 0; n < rows; n++)
        memset(x + n * stride, 0, hs * sizeof *x);
}

/* One tile of queries of one head, over all tiles of keys that it sees.   y: position 0 of the head */
static void forward_tile(const struct head *a, real *y, const struct attention_rows *rows,
                         const struct attention_kept *kept, size_t tile, const struct room *r)
{
    const struct attention_shape *s = a->s;
    const size_t i0 = tile * attention_tile_queries(s), queries = least(attention_tile_queries(s), s->T_q - i0);
    const struct span keys = keys_of_tile(a, ATTENTION_SCORES, tile);
    real *y_i = y + i0 * s->y_stride;
    const real *q_i = a->q + i0 * s->q_stride;
    attention_tile_begin(&r->state, queries);
    attention_product_turn(r->lane, &r->q, r->ld, q_i, s->q_stride, queries, s->hs, false);
    for (size_t n = keys.begin; n < keys.end; n++) {
        const struct attention_tile t = tile_at(a, ATTENTION_SCORES, tile, n);
        const bool first = n == keys.begin;
        /* S = scale Q K^T, here its transpose; P = exp(S - m) over visible keys, exactly 0 elsewhere */
        attention_product_of_pairs(r->lane, r->p, r->ld, s->scale, a->k + t.j0 * s->k_stride, s->k_stride, &r->q, &t,
                                   s->hs, &r->words);
        attention_tile_softmax(r->lane, r->p, r->ld, &t, &r->state, rows != NULL);
        if (!first)
            attention_tile_rescale(r->lane, y_i, s->y_stride, queries, s->hs, r->state.moved);
        if (a->drop) {
            attention_tile_mask(r->lane, r->mask, r->ld, &t, a->drop, a->b, a->h, s->T_k);
            attention_tile_drop(r->lane, r->p, r->ld, t.keys, r->mask);
        }
        /* Y = drop(P) V, still to be divided by l */
        const struct attention_side y_side = {y_i, s->y_stride, !first, a->v + t.j0 * s->v_stride, s->v_stride, NULL};
        attention_product_to_queries(r->lane, &y_side, 1, r->p, r->ld, &t, s->hs, r->clean, &r->words);
    }
    if (keys.begin == keys.end)
        zero_rows(y_i, s->y_stride, queries, s->hs);
    attention_tile_end(r->lane, y_i, s->y_stride, s->hs, &r->state, queries);
    const size_t row = a->first_row + i0;
    if (rows) {
        real *visible = r->state.moved; /* of no more use */
        for (size_t i = 0; i < queries; i++) {
            const struct attention_interval seen = attention_fault_keys(s, a->h, ATTENTION_SCORES, i0 + i);
            visible[i] = (real)(seen.end - seen.begin);
        }
        attention_tile_log(r->lane, rows, row, &r->state, visible, queries);
    }
    for (size_t i = 0; i < queries && kept; i++) {
        const bool nothing = r->state.m[i] == -(real)INFINITY;
        kept->max[row + i] = nothing ? 0 : r->state.m[i];
        kept->share[row + i] = nothing ? 0 : 1 / r->state.l[i];
    }
}

/* How heads are shared out: so many whole ones to each lane, in order, and the tiles of those left over to and fro
 * over the lanes, so that early and late queries, which see little and much, come in pairs. */
static size_t whole_heads(size_t heads, const struct lane *lane)
{
    return heads / (size_t)lane->count * (size_t)lane->count;
}

static bool my_turn(const struct lane *lane, size_t n)
{
    const size_t lanes = (size_t)lane->count, place = n % (2 * lanes);
    return (place < lanes ? place : 2 * lanes - 1 - place) == (size_t)lane->index;
}

void attention_forward(const struct lane *lane, real *restrict y, const struct attention_rows *rows,
                       const struct attention_kept *kept, const real *q, const real *k, const real *v,
                       const struct attention_shape *s, const struct dropout *drop, real *scratch)
{
    attention_tile_assert(s);
    const struct room r = room_of(lane, s, scratch);
    const size_t heads = s->B * s->H, whole = whole_heads(heads, lane), tiles = tiles_of_queries(s);
    const struct span mine = lane_span(lane, whole, 1);
    for (size_t pair = 0; pair < heads; pair++) {
        if (pair < whole && (pair < mine.begin || pair >= mine.end))
            continue;
        const struct head a = head_of(s, drop, q, k, v, pair);
        real *y_bh = y + a.b * s->y_batch + a.h * s->hs;
        for (size_t tile = 0; tile < tiles; tile++) {
            if (pair >= whole && !my_turn(lane, (pair - whole) * tiles + tile))
                continue;
            if (s->T_q == 1 && !a.drop && !s->bf16)
                attention_row_forward(lane, y_bh, rows, kept, a.first_row, a.q, a.k, a.v, s,
                                      attention_fault_keys(s, a.h, ATTENTION_SCORES, 0));
            else
                forward_tile(&a, y_bh, rows, kept, tile, &r);
        }
    }
}

/* ---- backward ---- */

/* One head's gradients: pointers to position 0. */
struct back {
    struct head a;
    real *dq, *dk, *dv;
    size_t k_stride, v_stride; /* of dk, dv */
    const real *dy, *y;
    const real *max, *share; /* (T_q) */
    real *d;                 /* (T_q): dy_i . y_i */
    bool first_of_group;     /* the first head that writes to dk and dv */
};

struct pass {
    const struct attention_shape *s;
    const struct dropout *drop;
    const struct attention_kept *kept;
    const real *q, *k, *v, *dy, *y;
    real *dq, *dk, *dv, *d;
};

static struct back back_of(const struct pass *p, size_t pair)
{
    const struct attention_shape *s = p->s;
    const size_t group = s->H / s->H_kv;
    const struct head a = head_of(s, p->drop, p->q, p->k, p->v, pair);
    const size_t at_y = a.b * s->y_batch + a.h * s->hs;
    return (struct back){
        .a = a,
        .dq = p->dq + (a.q - p->q),
        .dk = p->dk + (a.k - p->k),
        .dv = p->dv + (a.v - p->v),
        .k_stride = s->k_stride,
        .v_stride = s->v_stride,
        .dy = p->dy + at_y,
        .y = p->y + at_y,
        .max = p->kept->max + a.first_row,
        .share = p->kept->share + a.first_row,
        .d = p->d + a.first_row,
        .first_of_group = a.h % group == 0,
    };
}

/* forward: P = softmax(S), so dS_ij = P_ij (dP_ij - sum_k P_ik dP_ik), and that sum is dy_i . y_i */
static void row_sums(const struct back *g, struct span rows, const struct room *r)
{
    const struct attention_shape *s = g->a.s;
    attention_tile_row_sums(r->lane, g->d + rows.begin, g->dy + rows.begin * s->y_stride,
                            g->y + rows.begin * s->y_stride, s->y_stride, rows.end - rows.begin, s->hs, s->bf16);
}

static bool sees(const struct head *a, size_t query_tile, size_t key_tile)
{
    const struct span keys = keys_of_tile(a, ATTENTION_BACKWARD, query_tile);
    return keys.begin <= key_tile && key_tile < keys.end;
}

/* A tile of queries and of the gradient of their outputs, as products take them. */
static void turn_queries(const struct back *g, size_t tile, const struct room *r)
{
    const struct attention_shape *s = g->a.s;
    const size_t i0 = tile * attention_tile_queries(s), queries = least(attention_tile_queries(s), s->T_q - i0);
    attention_product_turn(r->lane, &r->q, r->ld, g->a.q + i0 * s->q_stride, s->q_stride, queries, s->hs, true);
    attention_product_turn(r->lane, &r->dy, r->ld, g->dy + i0 * s->y_stride, s->y_stride, queries, s->hs, true);
}

/* One tile of queries, turned, against one of keys. dq gets tiles of keys in falling order, dk and dv tiles of queries
 * in rising order: the first of them assigns. */
static void backward_tile(const struct back *g, size_t query_tile, size_t key_tile, const struct room *r)
{
    const struct attention_shape *s = g->a.s;
    const bool first_key = keys_of_tile(&g->a, ATTENTION_BACKWARD, query_tile).end == key_tile + 1;
    const bool first_query = query_tile == 0 || !sees(&g->a, query_tile - 1, key_tile);
    const struct attention_tile t = tile_at(&g->a, ATTENTION_BACKWARD, query_tile, key_tile);
    const size_t hs = s->hs;
    const real *q = g->a.q + t.i0 * s->q_stride, *dy = g->dy + t.i0 * s->y_stride;
    const real *k = g->a.k + t.j0 * s->k_stride, *v = g->a.v + t.j0 * s->v_stride;
    /* forward: S = scale Q K^T, P = exp(S - m) / l, again */
    attention_product_of_pairs(r->lane, r->p, r->ld, s->scale, k, s->k_stride, &r->q, &t, hs, &r->words);
    if (s->fault != ATTENTION_FAULT_NONE)
        attention_fault_bound(r->p, r->ld, t.keys, t.queries, g->max + t.i0);
    /* forward: Y = drop(P) V, so d drop(P) = dY V^T */
    attention_product_of_pairs(r->lane, r->ds, r->ld, 1, v, s->v_stride, &r->dy, &t, hs, &r->words);
    if (g->a.drop)
        attention_tile_mask(r->lane, r->mask, r->ld, &t, g->a.drop, g->a.b, g->a.h, s->T_k);
    attention_tile_gradient(r->lane, r->p, r->ds, r->ld, &t, g->max, g->share, g->d, g->a.drop ? r->mask : NULL);
    const bool add = !(first_query && g->first_of_group);
    if (!add) { /* later queries may see more of these keys */
        const size_t j1 = t.j0 + t.keys, rest = least(attention_tile_keys(s), s->T_k - t.j0) - t.keys;
        zero_rows(g->dk + j1 * g->k_stride, g->k_stride, rest, hs);
        zero_rows(g->dv + j1 * g->v_stride, g->v_stride, rest, hs);
    }
    const struct attention_side dv = {g->dv + t.j0 * g->v_stride, g->v_stride, add, dy, s->y_stride, &r->dy},
                                dk = {g->dk + t.j0 * g->k_stride, g->k_stride, add, q, s->q_stride, &r->q},
                                dq = {g->dq + t.i0 * s->q_stride, s->q_stride, !first_key, k, s->k_stride, NULL};
    attention_product_to_keys(r->lane, &dv, 1, r->p, r->ld, &t, hs, r->clean, &r->words);
    /* forward: S = scale Q K^T */
    real alpha = s->scale;
    if (s->bf16) { /* those products have no factor */
        attention_product_scale(r->lane, r->ds, t.keys * r->ld, alpha);
        alpha = 1;
    }
    attention_product_to_keys(r->lane, &dk, alpha, r->ds, r->ld, &t, hs, r->clean, &r->words);
    attention_product_to_queries(r->lane, &dq, alpha, r->ds, r->ld, &t, hs, r->clean, &r->words);
}

static void zero_unseen_queries(const struct back *g, size_t tile)
{
    const struct attention_shape *s = g->a.s;
    const size_t i0 = tile * attention_tile_queries(s);
    const struct span keys = keys_of_tile(&g->a, ATTENTION_BACKWARD, tile);
    if (keys.begin == keys.end)
        zero_rows(g->dq + i0 * s->q_stride, s->q_stride, least(attention_tile_queries(s), s->T_q - i0), s->hs);
}

static void zero_unseen_keys(const struct back *g, size_t tile)
{
    const struct attention_shape *s = g->a.s;
    for (size_t n = 0; n < tiles_of_queries(s); n++)
        if (sees(&g->a, n, tile))
            return;
    if (!g->first_of_group) /* another head has written there */
        return;
    const size_t j0 = tile * attention_tile_keys(s), keys = least(attention_tile_keys(s), s->T_k - j0);
    zero_rows(g->dk + j0 * g->k_stride, g->k_stride, keys, s->hs);
    zero_rows(g->dv + j0 * g->v_stride, g->v_stride, keys, s->hs);
}

/* One head, by one lane. */
static void backward_head(const struct back *outside, const struct room *r)
{
    const struct attention_shape *s = outside->a.s;
    const size_t queries = tiles_of_queries(s), keys = tiles_of_keys(s);
    /* Every tile adds to rows of dk and dv, which in a block lie 3C apart: they are summed side by side first. */
    struct back near = *outside;
    if (r->dk) {
        near.dk = r->dk;
        near.dv = r->dv;
        near.k_stride = near.v_stride = s->hs;
    }
    const struct back *g = &near;
    row_sums(g, (struct span){0, g->a.s->T_q}, r);
    for (size_t k = 0; k < keys; k++)
        zero_unseen_keys(g, k);
    for (size_t q = 0; q < queries; q++) {
        zero_unseen_queries(g, q);
        turn_queries(g, q, r);
        const struct span seen = keys_of_tile(&g->a, ATTENTION_BACKWARD, q);
        for (size_t k = seen.end; k-- > seen.begin;)
            backward_tile(g, q, k, r);
    }
    for (size_t j = 0; j < s->T_k && r->dk; j++) {
        memcpy(outside->dk + j * s->k_stride, r->dk + j * s->hs, s->hs * sizeof *r->dk);
        memcpy(outside->dv + j * s->v_stride, r->dv + j * s->hs, s->hs * sizeof *r->dv);
    }
}

/* Heads that are left over, by all lanes together, the n-th of each group at a time. Pairs of tiles on one diagonal
 * (query tile minus key tile) write to different rows of dq, dk and dv, so lanes may share them; from the first
 * diagonal to the last every row gets its sums in the order of backward_head. */
static void backward_shared(const struct lane *lane, const struct pass *p, struct span groups, const struct room *r)
{
    const struct attention_shape *s = p->s;
    const size_t queries = tiles_of_queries(s), keys = tiles_of_keys(s), group = s->H / s->H_kv;
    for (size_t n = 0; n < group; n++) {
        for (size_t pair = groups.begin * group + n; pair < groups.end * group; pair += group) {
            const struct back g = back_of(p, pair);
            row_sums(&g, lane_span(lane, s->T_q, 1), r);
            for (size_t q = 0; q < queries; q++)
                if (my_turn(lane, q))
                    zero_unseen_queries(&g, q);
            for (size_t k = 0; k < keys; k++)
                if (my_turn(lane, k))
                    zero_unseen_keys(&g, k);
        }
        lane_barrier(lane);
        for (size_t diagonal = 0; diagonal + 1 < queries + keys; diagonal++) {
            size_t turn = 0; /* diagonal = q + keys - 1 - k */
            for (size_t pair = groups.begin * group + n; pair < groups.end * group; pair += group) {
                const struct back g = back_of(p, pair);
                for (size_t k = 0; k < keys; k++) {
                    if (diagonal + k + 1 < keys || diagonal + k + 1 - keys >= queries)
                        continue;
                    const size_t q = diagonal + k + 1 - keys;
                    if (sees(&g.a, q, k) && turn++ % (size_t)lane->count == (size_t)lane->index) {
                        turn_queries(&g, q, r);
                        backward_tile(&g, q, k, r);
                    }
                }
            }
            if (turn > 0) /* the same on every lane */
                lane_barrier(lane);
        }
    }
}

void attention_backward(const struct lane *lane, real *restrict dq, real *restrict dk, real *restrict dv,
                        const real *dy, const real *y, const struct attention_kept *kept, const real *q, const real *k,
                        const real *v, const struct attention_shape *s, const struct dropout *drop, real *scratch)
{
    attention_tile_assert(s);
    const struct room r = room_of(lane, s, scratch);
    const struct pass p = {s, drop, kept, q, k, v, dy, y, dq, dk, dv, scratch};
    const size_t groups = s->B * s->H_kv, group = s->H / s->H_kv, whole = whole_heads(groups, lane);
    const struct span mine = lane_span(lane, whole, 1);
    for (size_t pair = mine.begin * group; pair < mine.end * group; pair++) {
        const struct back g = back_of(&p, pair);
        backward_head(&g, &r);
    }
    if (whole < groups)
        backward_shared(lane, &p, (struct span){whole, groups}, &r);
}
