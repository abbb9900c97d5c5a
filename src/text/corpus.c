#include "text/corpus.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/rng.h"
#include "text/grammar_entropy.h"

static const size_t MOST = (size_t)1 << (sizeof(size_t) > 4 ? 40 : 31);

/* ---- writing ---- */

struct writer {
    const struct grammar *g;
    struct corpus *c;
    size_t capacity;
    struct rng_site site; /* row = story */
    uint32_t choice;      /* of this story */
    uint64_t state;
};

static enum status put(struct writer *w, char character, struct error *err)
{
    struct corpus *c = w->c;
    if (c->count == w->capacity) {
        const size_t capacity = w->capacity ? 2 * w->capacity : 4096;
        char *more = realloc(c->text, capacity);
        if (!more)
            return fail(err, STATUS_MEMORY, "corpus: memory for %zu characters was refused", capacity);
        c->text = more;
        w->capacity = capacity;
    }
    c->text[c->count++] = character;
    return STATUS_OK;
}

static enum status derive(struct writer *w, size_t rule, struct error *err)
{
    const struct grammar *g = w->g;
    const uint64_t total = grammar_total(g, rule, w->state);
    if (total == 0)
        return fail(err, STATUS_FORMAT, "grammar rule %s: no alternative applies", g->rule[rule].name);
    uint64_t left = rng_below(&w->site, w->choice++, total);
    size_t a = g->rule[rule].begin;
    for (;; a++) {
        if (!grammar_applies(g, a, w->state))
            continue;
        if (left < g->alternative[a].weight)
            break;
        left -= g->alternative[a].weight;
    }
    const struct grammar_alternative *alt = &g->alternative[a];
    w->c->derivation += log((double)total / alt->weight);
    w->state = grammar_after(g, a, w->state);
    enum status s = STATUS_OK;
    for (size_t i = alt->begin; s == STATUS_OK && i < alt->end; i++) {
        const uint16_t symbol = g->symbol[i];
        s = symbol < GRAMMAR_RULE ? put(w, (char)symbol, err) : derive(w, (size_t)symbol - GRAMMAR_RULE, err);
    }
    return s;
}

static enum status write_stories(struct corpus *c, const struct grammar *g, uint64_t seed, size_t size,
                                 struct error *err)
{
    struct writer w = {.g = g, .c = c, .site = {.seed = seed, .purpose = RNG_CORPUS}};
    while (c->count < size) {
        w.site.row = (uint32_t)c->stories;
        w.site.step = (uint32_t)((uint64_t)c->stories >> 32);
        w.choice = 0;
        w.state = 0;
        const enum status s = derive(&w, 0, err);
        if (s != STATUS_OK)
            return s;
        c->stories++;
    }
    return STATUS_OK;
}

enum status corpus_make(struct corpus *c, const struct grammar *g, uint64_t seed, size_t size, struct error *err)
{
    *c = (struct corpus){0};
    if (size == 0 || size > MOST)
        return fail(err, STATUS_RANGE, "corpus: a size of %zu characters, expected 1 to %zu", size, MOST);
    enum status s = write_stories(c, g, seed, size, err);
    if (s == STATUS_OK) {
        c->nats = malloc(c->count * sizeof *c->nats);
        s = c->nats ? corpus_information(c->nats, g, c->text, c->count, err)
                    : fail(err, STATUS_MEMORY, "corpus: memory for %zu numbers was refused", c->count);
    }
    if (s != STATUS_OK)
        corpus_free(c);
    return s;
}

void corpus_free(struct corpus *c)
{
    free(c->text);
    free(c->nats);
    *c = (struct corpus){0};
}

/* ---- reading ---- */

/* One way in which the grammar can have written the text so far: which symbol it is at on every level. */
struct path {
    double weight; /* its probability, given the text so far, up to a factor common to all */
    uint64_t state;
    size_t depth;
    struct {
        size_t at, end;
    } level[GRAMMAR_DEPTH];
};

struct paths {
    struct path *path;
    size_t count, capacity;
    double finished; /* weight of those that came to the end of the story: they are all alike */
};

static enum status keep(struct paths *to, const struct path *path, struct error *err)
{
    if (to->count == to->capacity) {
        const size_t capacity = to->capacity ? 2 * to->capacity : 64;
        struct path *more = realloc(to->path, capacity * sizeof *more);
        if (!more)
            return fail(err, STATUS_MEMORY, "corpus: memory for %zu derivations was refused", capacity);
        to->path = more;
        to->capacity = capacity;
    }
    to->path[to->count++] = *path;
    return STATUS_OK;
}

/* Keeps every way in which a path goes on to its next character. */
static enum status spread(struct paths *to, const struct grammar *g, struct path *path, struct error *err);

static enum status choose(struct paths *to, const struct grammar *g, const struct path *path, size_t rule,
                          struct error *err)
{
    const uint64_t total = grammar_total(g, rule, path->state);
    if (total == 0)
        return fail(err, STATUS_FORMAT, "grammar rule %s: no alternative applies", g->rule[rule].name);
    for (size_t a = g->rule[rule].begin; a < g->rule[rule].end; a++) {
        if (!grammar_applies(g, a, path->state))
            continue;
        const struct grammar_alternative *alt = &g->alternative[a];
        struct path next = *path;
        next.weight *= (double)alt->weight / (double)total;
        next.state = grammar_after(g, a, path->state);
        assert(next.depth < GRAMMAR_DEPTH); /* grammar_make saw to it */
        next.level[next.depth].at = alt->begin;
        next.level[next.depth].end = alt->end;
        next.depth++;
        const enum status s = spread(to, g, &next, err);
        if (s != STATUS_OK)
            return s;
    }
    return STATUS_OK;
}

static enum status spread(struct paths *to, const struct grammar *g, struct path *path, struct error *err)
{
    while (path->depth > 0 && path->level[path->depth - 1].at == path->level[path->depth - 1].end)
        path->depth--;
    if (path->depth == 0) {
        to->finished += path->weight;
        return STATUS_OK;
    }
    const uint16_t symbol = g->symbol[path->level[path->depth - 1].at];
    if (symbol < GRAMMAR_RULE)
        return keep(to, path, err);
    path->level[path->depth - 1].at++;
    return choose(to, g, path, (size_t)symbol - GRAMMAR_RULE, err);
}

static enum status begin_story(struct paths *to, const struct grammar *g, double weight, struct error *err)
{
    const struct path root = {.weight = weight};
    to->finished = 0;
    const enum status s = choose(to, g, &root, 0, err);
    if (s == STATUS_OK && to->finished > 0)
        return fail(err, STATUS_FORMAT, "grammar rule %s: a story may be empty", g->rule[0].name);
    return s;
}

static char next_character(const struct grammar *g, const struct path *path)
{
    return (char)g->symbol[path->level[path->depth - 1].at];
}

/* Reads one character: *nats is what it told. `from` is scaled to weight 1 in all, so that nothing underflows. */
static enum status read_character(double *nats, struct paths *to, struct paths *from, const struct grammar *g,
                                  char character, struct error *err)
{
    double all = 0, agree = 0;
    for (size_t i = 0; i < from->count; i++) {
        all += from->path[i].weight;
        if (next_character(g, &from->path[i]) == character)
            agree += from->path[i].weight; /* rounding is monotone: agree <= all, and equal when all agree */
    }
    if (agree == 0)
        return fail(err, STATUS_FORMAT, "this grammar does not go on so");
    *nats = log(all / agree);
    to->count = 0;
    to->finished = 0;
    for (size_t i = 0; i < from->count; i++) {
        struct path *path = &from->path[i];
        if (next_character(g, path) != character)
            continue;
        path->weight /= agree;
        path->level[path->depth - 1].at++;
        const enum status s = spread(to, g, path, err);
        if (s != STATUS_OK)
            return s;
    }
    return to->finished > 0 ? begin_story(to, g, to->finished, err) : STATUS_OK;
}

enum status corpus_information(double *nats, const struct grammar *g, const char *text, size_t n, struct error *err)
{
    struct paths now = {0}, next = {0};
    enum status s = begin_story(&now, g, 1, err);
    size_t line = 1;
    for (size_t t = 0; s == STATUS_OK && t < n; t++) {
        s = read_character(&nats[t], &next, &now, g, text[t], err);
        if (s == STATUS_FORMAT)
            fail_within(err, s, "corpus: line %zu, byte %zu", line, t);
        line += text[t] == '\n';
        const struct paths swap = now;
        now = next;
        next = swap;
    }
    free(now.path);
    free(next.path);
    return s;
}

/* ---- measuring ---- */

/* One past the end of the story that holds character t. */
static size_t story_end(const struct corpus *c, size_t t)
{
    for (t++; t < c->count; t++)
        if (c->text[t - 1] == '\n' && t >= 2 && c->text[t - 2] == '\n')
            return t;
    return c->count;
}

void corpus_measure(struct corpus_part *part, const struct corpus *c)
{
    assert(part->begin < part->end && part->end <= c->count);
    const double n = (double)(part->end - part->begin);
    double sum = 0, squares = 0;
    for (size_t t = part->begin; t < part->end; t++)
        sum += c->nats[t];
    const double mean = sum / n;
    size_t blocks = 0;
    for (size_t t = part->begin; t < part->end; blocks++) {
        const size_t story = story_end(c, t), end = story < part->end ? story : part->end;
        double excess = 0; /* of the block's sum over mean times length, taken term by term */
        for (; t < end; t++)
            excess += c->nats[t] - mean;
        squares += excess * excess;
    }
    const double b = (double)blocks;
    part->entropy = mean;
    part->standard_error = blocks < 2 ? NAN : sqrt(squares * b / (b - 1)) / n;
}

static double rounded(double x)
{
    return round(x * 1e6) / 1e6;
}

static json_t *part_json(const struct corpus_part *p)
{
    json_t *error = isfinite(p->standard_error) ? json_real(rounded(p->standard_error)) : json_null();
    return json_pack("{s:I, s:f, s:o}", "characters", (json_int_t)(p->end - p->begin), "entropy", rounded(p->entropy),
                     "standard_error", error);
}

enum status corpus_json(json_t **json, const struct corpus *c, const struct grammar *g, uint64_t seed, double val_split,
                        struct error *err)
{
    const double held_out = floor((double)c->count * val_split);
    if (!(held_out >= 1 && held_out < (double)c->count))
        return fail(err, STATUS_RANGE, "corpus: val_split %g of %zu characters leaves a part empty", val_split,
                    c->count);
    if (seed > INT64_MAX)
        return fail(err, STATUS_RANGE, "corpus: seed %llu, JSON holds at most 2^63 - 1", (unsigned long long)seed);
    const size_t train = c->count - (size_t)held_out;
    struct corpus_part part[3] = {{0, c->count, 0, 0}, {0, train, 0, 0}, {train, c->count, 0, 0}};
    for (int i = 0; i < 3; i++)
        corpus_measure(&part[i], c);
    struct grammar_entropy e;
    const enum status s = grammar_entropy_expect(&e, g, err);
    if (s != STATUS_OK)
        return s;
    char hash[HASH_TEXT_SIZE];
    hash_bytes(hash, c->text, c->count);
    *json =
        json_pack("{s:s, s:I, s:I, s:I, s:s, s:f, s:s, s:f, s:o, s:o, s:o}", "generator", "nopeek corpus", "seed",
                  (json_int_t)seed, "characters", (json_int_t)c->count, "stories", (json_int_t)c->stories, "hash", hash,
                  "val_split", val_split, "unit", "nats per character", "entropy_rate", rounded(e.nats / e.characters),
                  "all", part_json(&part[0]), "train", part_json(&part[1]), "validation", part_json(&part[2]));
    return *json ? STATUS_OK : fail(err, STATUS_MEMORY, "corpus: memory for the description was refused");
}
