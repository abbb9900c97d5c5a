#include "text/grammar.h"

#include <assert.h>
#include <string.h>

/* Among the first n rules; n when there is none of this name. */
static size_t find_rule(const struct grammar *g, size_t n, const char *name, size_t length)
{
    size_t r = 0;
    while (r < n && (strlen(g->rule[r].name) != length || memcmp(g->rule[r].name, name, length) != 0))
        r++;
    return r;
}

/* Every group that has a bit in `features`, whole. */
static uint64_t groups_of(const struct grammar *g, uint64_t features)
{
    uint64_t whole = 0;
    for (size_t i = 0; i < g->n_groups; i++)
        if (g->group[i] & features)
            whole |= g->group[i];
    return whole;
}

static enum status check_row(const struct grammar *g, const struct grammar_row *row, struct error *err)
{
    if (row->weight == 0)
        return fail(err, STATUS_FORMAT, "grammar rule %s: weight 0, expected 1 or more", row->rule);
    if ((row->when | row->set) & ~groups_of(g, row->when | row->set))
        return fail(err, STATUS_FORMAT, "grammar rule %s: a feature that belongs to no group", row->rule);
    for (size_t i = 0; i < g->n_groups; i++) {
        const uint64_t set = row->set & g->group[i];
        if (set & (set - 1))
            return fail(err, STATUS_FORMAT, "grammar rule %s: sets two features that exclude each other", row->rule);
    }
    for (const char *c = row->text; *c; c++) {
        if ((unsigned char)*c > 126)
            return fail(err, STATUS_FORMAT, "grammar rule %s: a character outside ASCII in \"%s\"", row->rule,
                        row->text);
        if (*c == '{' && strcspn(c, "}|") == strcspn(c, "|"))
            return fail(err, STATUS_FORMAT, "grammar rule %s: '{' without '}' in \"%s\"", row->rule, row->text);
    }
    return STATUS_OK;
}

/* Counts what the rows hold; with a placed arena also stores it. References are resolved when the names of all
 * rules are known, so symbols come in a pass of their own. */
static enum status lay_rules(struct grammar *g, const struct grammar_source *source, bool store, struct error *err)
{
    size_t n_rules = 0, n_alternatives = 0, n_symbols = 0;
    for (size_t i = 0; i < source->n_rows; i++) {
        const struct grammar_row *row = &source->row[i];
        if (!store) {
            const enum status s = check_row(g, row, err);
            if (s != STATUS_OK)
                return s;
        }
        if (i == 0 || strcmp(row->rule, source->row[i - 1].rule) != 0) {
            if (store && find_rule(g, n_rules, row->rule, strlen(row->rule)) < n_rules)
                return fail(err, STATUS_FORMAT, "grammar rule %s: its rows are not together", row->rule);
            if (store)
                g->rule[n_rules] = (struct grammar_rule){row->rule, n_alternatives, n_alternatives, 0, false};
            n_rules++;
        }
        for (const char *c = row->text;; c++) {
            const size_t length = strcspn(c, "|");
            if (store) {
                g->rule[n_rules - 1].end = n_alternatives + 1;
                g->alternative[n_alternatives] =
                    (struct grammar_alternative){row->weight, row->when, row->set, n_symbols, n_symbols};
            }
            n_alternatives++;
            for (size_t at = 0; at < length; at++, n_symbols++)
                if (c[at] == '{')
                    at += strcspn(c + at, "}");
            if (store)
                g->alternative[n_alternatives - 1].end = n_symbols;
            c += length;
            if (!*c)
                break;
        }
    }
    g->n_rules = n_rules;
    g->n_alternatives = n_alternatives;
    g->n_symbols = n_symbols;
    return STATUS_OK;
}

static enum status lay_symbols(struct grammar *g, const struct grammar_source *source, struct error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < source->n_rows; i++)
        for (const char *c = source->row[i].text; *c; c++) {
            if (*c == '|')
                continue;
            if (*c != '{') {
                g->symbol[n++] = (uint16_t)(unsigned char)*c;
                continue;
            }
            const size_t length = strcspn(c + 1, "}"), r = find_rule(g, g->n_rules, c + 1, length);
            if (r == g->n_rules)
                return fail(err, STATUS_FORMAT, "grammar rule %s: no rule is named {%.*s}", source->row[i].rule,
                            (int)length, c + 1);
            g->symbol[n++] = (uint16_t)(GRAMMAR_RULE + r);
            c += length + 1;
        }
    assert(n == g->n_symbols);
    return STATUS_OK;
}

/* Visits what rule r leads to, at most GRAMMAR_DEPTH deep (a cycle never ends, so it goes beyond), and gathers
 * the groups that are touched on the way. */
static enum status settle(struct grammar *g, size_t r, size_t depth, struct error *err)
{
    struct grammar_rule *rule = &g->rule[r];
    if (depth > GRAMMAR_DEPTH)
        return fail(err, STATUS_FORMAT, "grammar rule %s: leads back to itself, or nests deeper than %d", rule->name,
                    GRAMMAR_DEPTH);
    uint64_t touches = 0;
    for (size_t a = rule->begin; a < rule->end; a++) {
        const struct grammar_alternative *alt = &g->alternative[a];
        touches |= groups_of(g, alt->when | alt->set);
        for (size_t i = alt->begin; i < alt->end; i++) {
            if (g->symbol[i] < GRAMMAR_RULE)
                continue;
            const size_t below = (size_t)g->symbol[i] - GRAMMAR_RULE;
            const enum status s = settle(g, below, depth + 1, err);
            if (s != STATUS_OK)
                return s;
            touches |= g->rule[below].touches;
        }
    }
    rule->touches = touches;
    rule->reached = true;
    return STATUS_OK;
}

static enum status check_rules(const struct grammar *g, struct error *err)
{
    for (size_t r = 0; r < g->n_rules; r++) {
        if (!g->rule[r].reached)
            return fail(err, STATUS_FORMAT, "grammar rule %s: nothing refers to it", g->rule[r].name);
        uint64_t sum = 0;
        for (size_t a = g->rule[r].begin; a < g->rule[r].end; a++)
            sum += g->alternative[a].weight;
        if (sum > UINT32_MAX)
            return fail(err, STATUS_FORMAT, "grammar rule %s: its weights add up to more than 2^32 - 1",
                        g->rule[r].name);
    }
    return STATUS_OK;
}

static enum status fill(struct grammar *g, const struct grammar_source *source, struct error *err)
{
    enum status s = lay_rules(g, source, true, err);
    if (s == STATUS_OK)
        s = lay_symbols(g, source, err);
    if (s == STATUS_OK)
        s = settle(g, 0, 1, err);
    if (s == STATUS_OK)
        s = check_rules(g, err);
    return s;
}

enum status grammar_make(struct grammar *g, const struct grammar_source *source, struct error *err)
{
    *g = (struct grammar){.group = source->group, .n_groups = source->n_groups};
    if (source->n_rows == 0)
        return fail(err, STATUS_FORMAT, "grammar: no rows");
    enum status s = lay_rules(g, source, false, err);
    if (s != STATUS_OK)
        return s;
    if (g->n_rules > UINT16_MAX - GRAMMAR_RULE)
        return fail(err, STATUS_FORMAT, "grammar: %zu rules, at most %d fit", g->n_rules, UINT16_MAX - GRAMMAR_RULE);
    for (int pass = 0; pass < 2; pass++) {
        g->rule = arena_take(&g->arena, g->n_rules, sizeof *g->rule);
        g->alternative = arena_take(&g->arena, g->n_alternatives, sizeof *g->alternative);
        g->symbol = arena_take(&g->arena, g->n_symbols, sizeof *g->symbol);
        if (pass == 0 && (s = arena_place(&g->arena, err)) != STATUS_OK)
            return s;
    }
    s = fill(g, source, err);
    if (s != STATUS_OK)
        grammar_free(g);
    return s;
}

void grammar_free(struct grammar *g)
{
    arena_free(&g->arena);
    *g = (struct grammar){0};
}

bool grammar_applies(const struct grammar *g, size_t a, uint64_t state)
{
    const uint64_t when = g->alternative[a].when;
    for (size_t i = 0; i < g->n_groups; i++)
        if ((when & g->group[i]) && !(when & g->group[i] & state))
            return false;
    return true;
}

uint64_t grammar_total(const struct grammar *g, size_t rule, uint64_t state)
{
    uint64_t total = 0;
    for (size_t a = g->rule[rule].begin; a < g->rule[rule].end; a++)
        if (grammar_applies(g, a, state))
            total += g->alternative[a].weight;
    return total;
}

uint64_t grammar_after(const struct grammar *g, size_t a, uint64_t state)
{
    const uint64_t set = g->alternative[a].set;
    return set ? (state & ~groups_of(g, set)) | set : state;
}
