#include "text/bank.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/corpus.h"
#include "text/grammar_entropy.h"

enum { SEED = 1, SIZE = 600000 };

/* ---- a parser that shares nothing with the generator: it reads the rows' own text, top down, and counts ---- */

/* One place up to which a story can be read, in how many ways and with what probability in all. */
struct reading {
    size_t at;
    uint64_t state;
    double ways, p;
};

struct readings {
    struct reading *reading;
    size_t count, capacity;
};

static void join(struct readings *r, struct reading one)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->reading[i].at == one.at && r->reading[i].state == one.state) {
            r->reading[i].ways += one.ways;
            r->reading[i].p += one.p;
            return;
        }
    if (r->count == r->capacity) {
        r->capacity = r->capacity ? 2 * r->capacity : 4;
        r->reading = realloc(r->reading, r->capacity * sizeof *r->reading);
        cr_assert_not_null(r->reading);
    }
    r->reading[r->count++] = one;
}

static bool meets(const struct grammar_source *source, uint64_t when, uint64_t state)
{
    bool all = true;
    for (size_t i = 0; i < source->n_groups; i++) {
        const uint64_t asked = when & source->group[i];
        all = all && (asked == 0 || (asked & state) != 0);
    }
    return all;
}

static size_t alternatives(const char *text)
{
    size_t n = 1;
    for (; *text; text++)
        n += *text == '|';
    return n;
}

static struct readings read_rule(const struct grammar_source *source, const char *name, size_t length,
                                 const char *story, size_t n, struct reading from);

/* One alternative, text[0 .. length-1]. */
static struct readings read_text(const struct grammar_source *source, const char *text, size_t length,
                                 const char *story, size_t n, struct reading from)
{
    struct readings now = {0};
    join(&now, from);
    for (size_t i = 0; i < length && now.count > 0; i++) {
        struct readings next = {0};
        const size_t reference = text[i] == '{' ? strcspn(text + i, "}") : 0;
        for (size_t k = 0; k < now.count; k++) {
            struct reading one = now.reading[k];
            if (reference) {
                const struct readings below = read_rule(source, text + i + 1, reference - 1, story, n, one);
                for (size_t j = 0; j < below.count; j++)
                    join(&next, below.reading[j]);
                free(below.reading);
            } else if (one.at < n && story[one.at] == text[i]) {
                one.at++;
                join(&next, one);
            }
        }
        i += reference;
        free(now.reading);
        now = next;
    }
    return now;
}

static bool is_named(const struct grammar_row *row, const char *name, size_t length)
{
    return strncmp(row->rule, name, length) == 0 && row->rule[length] == '\0';
}

static struct readings read_rule(const struct grammar_source *source, const char *name, size_t length,
                                 const char *story, size_t n, struct reading from)
{
    struct readings all = {0};
    double total = 0;
    for (size_t i = 0; i < source->n_rows; i++) {
        const struct grammar_row *row = &source->row[i];
        if (is_named(row, name, length) && meets(source, row->when, from.state))
            total += row->weight * (double)alternatives(row->text);
    }
    for (size_t i = 0; i < source->n_rows; i++) {
        const struct grammar_row *row = &source->row[i];
        if (!is_named(row, name, length) || !meets(source, row->when, from.state))
            continue;
        uint64_t state = from.state;
        for (size_t j = 0; j < source->n_groups; j++)
            if (row->set & source->group[j])
                state = (state & ~source->group[j]) | (row->set & source->group[j]);
        for (const char *text = row->text;;) {
            const size_t end = strcspn(text, "|");
            const struct reading start = {from.at, state, from.ways, from.p * row->weight / total};
            const struct readings some = read_text(source, text, end, story, n, start);
            for (size_t j = 0; j < some.count; j++)
                join(&all, some.reading[j]);
            free(some.reading);
            if (!text[end])
                break;
            text += end + 1;
        }
    }
    return all;
}

/* How many derivations the root has of exactly these n characters; *p is their probability in all. */
static double derivations(const struct grammar_source *source, const char *story, size_t n, double *p)
{
    const char *root = source->row[0].rule;
    const struct reading start = {0, 0, 1, 1};
    const struct readings all = read_rule(source, root, strlen(root), story, n, start);
    double ways = 0;
    *p = 0;
    for (size_t i = 0; i < all.count; i++)
        if (all.reading[i].at == n) {
            ways += all.reading[i].ways;
            *p += all.reading[i].p;
        }
    free(all.reading);
    return ways;
}

/* ---- claims ---- */

static struct grammar compiled(const struct grammar_source *source)
{
    struct grammar g;
    struct error err;
    cr_assert_eq(grammar_make(&g, source, &err), STATUS_OK, "%s", err.message);
    return g;
}

static struct corpus made(const struct grammar_source *source, uint64_t seed, size_t size)
{
    struct grammar g = compiled(source);
    struct corpus c;
    struct error err;
    cr_assert_eq(corpus_make(&c, &g, seed, size, &err), STATUS_OK, "%s", err.message);
    grammar_free(&g);
    return c;
}

static size_t story_length(const char *text, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (text[i - 1] == '\n' && text[i] == '\n')
            return i + 1;
    return n;
}

/* Parses every story of c. Returns how many have another number of derivations than one. */
static size_t not_unique(const struct grammar_source *source, const struct corpus *c)
{
    size_t wrong = 0, stories = 0;
    for (size_t at = 0; at < c->count; stories++) {
        const size_t n = story_length(c->text + at, c->count - at);
        double p, nats = 0;
        wrong += derivations(source, c->text + at, n, &p) != 1;
        for (size_t t = at; t < at + n; t++)
            nats += c->nats[t];
        cr_assert_float_eq(-log(p), nats, 1e-9, "the parser finds %g nats, the characters add up to %g:\n%.*s", -log(p),
                           nats, (int)n, c->text + at);
        at += n;
    }
    cr_assert_eq(stories, c->stories, "a story ends at its empty line and nowhere else");
    return wrong;
}

Test(bank, every_story_has_exactly_one_derivation)
{
    struct corpus c = made(&bank_source, SEED + 1, 150000);
    cr_expect_eq(not_unique(&bank_source, &c), 0);
    double sum = 0;
    for (size_t t = 0; t < c.count; t++)
        sum += c.nats[t];
    cr_expect_float_eq(sum, c.derivation, 1e-9 * sum);
    corpus_free(&c);
}

/* The test of the test: a second way to say the same must be counted. */
Test(bank, a_second_derivation_would_be_found)
{
    struct grammar_row *rows = malloc((bank_source.n_rows + 1) * sizeof *rows);
    cr_assert_not_null(rows);
    memcpy(rows, bank_source.row, bank_source.n_rows * sizeof *rows);
    size_t turn = 0;
    while (strcmp(rows[turn].rule, "by") != 0)
        turn++;
    memmove(rows + turn + 1, rows + turn, (bank_source.n_rows - turn) * sizeof *rows);
    rows[turn].text = "near";
    struct grammar_source twice = bank_source;
    twice.row = rows;
    twice.n_rows++;
    struct corpus c = made(&twice, SEED, 20000);
    cr_expect_gt(not_unique(&twice, &c), c.stories / 4);
    corpus_free(&c);
    free(rows);
}

Test(bank, expected_rate_agrees_with_long_texts)
{
    struct grammar g = compiled(&bank_source);
    struct grammar_entropy e;
    struct error err;
    cr_assert_eq(grammar_entropy_expect(&e, &g, &err), STATUS_OK, "%s", err.message);
    grammar_free(&g);
    for (uint64_t seed = 10; seed < 15; seed++) {
        struct corpus c = made(&bank_source, seed, 200000);
        struct corpus_part all = {0, c.count, 0, 0};
        corpus_measure(&all, &c);
        const double z = (all.entropy - e.nats / e.characters) / all.standard_error;
        cr_expect_lt(fabs(z), 4, "seed %llu: %g standard errors from the expected rate", (unsigned long long)seed, z);
        cr_expect_lt(all.standard_error, 0.005 * all.entropy);
        corpus_free(&c);
    }
}

static char *read_file(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    cr_assert_not_null(f, "%s: cannot be opened (tests run in the project's folder)", path);
    char *bytes = malloc(SIZE * 2);
    cr_assert_not_null(bytes);
    *n = fread(bytes, 1, SIZE * 2, f);
    fclose(f);
    return bytes;
}

Test(bank, committed_text_and_numbers_are_the_generators)
{
    struct grammar g = compiled(&bank_source);
    struct corpus c = made(&bank_source, SEED, SIZE);
    size_t n;
    char *bytes = read_file("data/bank.txt", &n);
    cr_assert_eq(n, c.count);
    cr_expect(memcmp(bytes, c.text, n) == 0);
    free(bytes);

    struct error err;
    json_t *json = NULL;
    cr_assert_eq(corpus_json(&json, &c, &g, SEED, 0.1, &err), STATUS_OK, "%s", err.message);
    json_t *committed = json_load_file("data/bank.json", 0, NULL);
    cr_assert_not_null(committed);
    char *ours = json_dumps(json, CORPUS_JSON_FLAGS | JSON_SORT_KEYS);
    char *theirs = json_dumps(committed, CORPUS_JSON_FLAGS | JSON_SORT_KEYS);
    cr_expect_str_eq(ours, theirs);
    free(ours);
    free(theirs);
    json_decref(json);
    json_decref(committed);
    corpus_free(&c);
    grammar_free(&g);
}

static int by_line(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

Test(bank, text_is_varied_and_of_readable_lines)
{
    struct corpus c = made(&bank_source, SEED, SIZE);
    bool seen[256] = {0};
    size_t lines = 0, symbols = 0;
    for (size_t t = 0; t < c.count; t++) {
        seen[(unsigned char)c.text[t]] = true;
        lines += c.text[t] == '\n';
    }
    for (int i = 0; i < 256; i++) {
        symbols += seen[i];
        cr_expect(!seen[i] || i == '\n' || (i >= ' ' && i <= '~'), "byte %d", i);
    }
    cr_expect(symbols >= 30 && symbols <= 60, "%zu distinct characters", symbols);
    char **line = malloc(lines * sizeof *line);
    cr_assert_not_null(line);
    size_t n = 0, distinct = 0;
    for (char *at = c.text; at < c.text + c.count;) {
        char *end = memchr(at, '\n', (size_t)(c.text + c.count - at));
        cr_assert_not_null(end);
        *end = '\0';
        cr_expect_leq(end - at, 90, "a long line: %s", at);
        if (end > at) {
            cr_expect(strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ\"", *at), "no capital: %s", at);
            cr_expect_eq(end[-1], '.', "no full stop: %s", at);
            cr_expect_null(strstr(at, "  "), "two blanks: %s", at);
            line[n++] = at;
        }
        at = end + 1;
    }
    qsort(line, n, sizeof *line, by_line);
    for (size_t i = 0; i < n; i++)
        distinct += i == 0 || strcmp(line[i], line[i - 1]) != 0;
    cr_expect_gt((double)distinct, 0.7 * (double)n, "%zu distinct sentences of %zu", distinct, n);
    free(line);
    corpus_free(&c);
}

/* Whether one of the words stands in text[0 .. n-1], as a word of its own. */
static bool has_word(const char *text, size_t n, const char *const *words)
{
    for (size_t at = 0; at < n;) {
        const size_t length = strspn(text + at, "abcdefghijklmnopqrstuvwxyz");
        for (size_t i = 0; words[i] && length > 0; i++)
            if (strlen(words[i]) == length && memcmp(text + at, words[i], length) == 0)
                return true;
        at += length > 0 ? length : 1;
    }
    return false;
}

Test(bank, the_sense_holds_through_a_story_and_shows_near_or_far_from_its_bank)
{
    static const char *const river[] = {"net", "boat", "rope", "muddy", "wet", "ferryman", "angler", NULL};
    static const char *const money[] = {"purse", "coin", "watch", "rich", "busy", "teller", "guard", NULL};
    struct corpus c = made(&bank_source, SEED, SIZE);
    size_t of_river = 0, of_money = 0, at_once = 0, later = 0;
    for (size_t at = 0; at < c.count;) {
        const char *story = c.text + at;
        const size_t n = story_length(story, c.count - at);
        const size_t line = (size_t)((char *)memchr(story, '\n', n) - story);
        const bool wet = has_word(story, n, river), rich = has_word(story, n, money);
        cr_expect_not(wet && rich, "both senses in one story:\n%.*s", (int)n, story);
        of_river += wet;
        of_money += rich;
        const bool shown = has_word(story, line, river) || has_word(story, line, money);
        at_once += shown;
        later += !shown && (wet || rich);
        at += n;
    }
    cr_expect(5 * of_river > c.stories && 5 * of_money > c.stories, "%zu of rivers, %zu of money", of_river, of_money);
    cr_expect(10 * at_once > c.stories && 10 * later > c.stories, "%zu show it in the first sentence, %zu later",
              at_once, later);
    corpus_free(&c);
}
