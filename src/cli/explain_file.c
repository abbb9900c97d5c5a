#include "cli/explain_file.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "io/json_file.h"

/* The largest number that can be multiplied a few times and still be fp32. */
#define LARGEST 1e6

const char explain_file_example[] = "{\n"
                                    "  \"words\": [\"The\", \"bank\", \"river\"],\n"
                                    "  \"x\": [[1, 0], [0, 1], [2, 1]],\n"
                                    "  \"W_Q\": [[2, 0], [1, 3]],\n"
                                    "  \"W_K\": [[1, 1], [2, 0]],\n"
                                    "  \"W_V\": [[1, 0], [0, 2]],\n"
                                    "  \"look_at\": \"bank\"\n"
                                    "}\n";

struct matrix {
    const char *key;
    const json_t *rows;
    size_t count, width;
};

/* Rows of equal length, all numbers of a sensible size. */
static enum status check_matrix(struct matrix *m, const char *name, const json_t *json, const char *key, size_t count,
                                struct error *err)
{
    *m = (struct matrix){.key = key, .rows = json_object_get(json, key), .count = count};
    if (!json_is_array(m->rows) || json_array_size(m->rows) != count)
        return fail(err, STATUS_FORMAT, "%s: \"%s\" has %zu rows, a list of %zu expected", name, key,
                    json_array_size(m->rows), count);
    m->width = json_array_size(json_array_get(m->rows, 0));
    for (size_t r = 0; r < count; r++) {
        const json_t *row = json_array_get(m->rows, r);
        if (json_array_size(row) != m->width || m->width < 1 || m->width > EXPLAIN_MOST)
            return fail(err, STATUS_FORMAT, "%s: row %zu of \"%s\" has %zu numbers, %s expected", name, r + 1, key,
                        json_array_size(row), r > 0 ? "as many as in the first row" : "1 to 16");
        for (size_t c = 0; c < m->width; c++)
            if (!json_is_number(json_array_get(row, c)) ||
                !(fabs(json_number_value(json_array_get(row, c))) <= LARGEST))
                return fail(err, STATUS_FORMAT,
                            "%s: number %zu in row %zu of \"%s\": a number from -1e6 to 1e6 expected", name, c + 1,
                            r + 1, key);
    }
    return STATUS_OK;
}

static real *fill(real *out, const struct matrix *m)
{
    for (size_t r = 0; r < m->count; r++)
        for (size_t c = 0; c < m->width; c++)
            *out++ = (real)json_number_value(json_array_get(json_array_get(m->rows, r), c));
    return out;
}

static enum status read_numbers(struct explain_file *f, const char *name, struct error *err)
{
    struct matrix x, wq = {0}, wk = {0}, wv = {0};
    enum status s = check_matrix(&x, name, f->json, "x", f->in.T, err);
    if (s == STATUS_OK)
        s = check_matrix(&wq, name, f->json, "W_Q", x.width, err);
    if (s == STATUS_OK)
        s = check_matrix(&wk, name, f->json, "W_K", x.width, err);
    if (s == STATUS_OK)
        s = check_matrix(&wv, name, f->json, "W_V", x.width, err);
    if (s != STATUS_OK)
        return s;
    if (wk.width != wq.width)
        return fail(
            err, STATUS_FORMAT,
            "%s: \"W_Q\" gives queries of %zu numbers and \"W_K\" keys of %zu: make them equal, so that a query "
            "can be multiplied by a key",
            name, wq.width, wk.width);
    f->numbers = malloc(((size_t)4 * EXPLAIN_MOST * EXPLAIN_MOST) * sizeof *f->numbers);
    if (!f->numbers)
        return fail(err, STATUS_MEMORY, "%s: no memory for its numbers", name);
    f->in.C = x.width;
    f->in.d_k = wq.width;
    f->in.d_v = wv.width;
    f->in.x = f->numbers;
    f->in.wq = fill(f->numbers, &x);
    f->in.wk = fill((real *)f->in.wq, &wq);
    f->in.wv = fill((real *)f->in.wk, &wk);
    fill((real *)f->in.wv, &wv);
    return STATUS_OK;
}

/* Bytes of a word. */
#define LONGEST_WORD 24

/* A word that would move the cursor or turn the line, or is as long as a line, is no word. */
static bool is_word(const json_t *word)
{
    char shown[LONGEST_WORD + 1];
    if (!json_is_string(word) || json_string_length(word) < 1 || json_string_length(word) > LONGEST_WORD)
        return false;
    strcpy(shown, json_string_value(word));
    status_one_line(shown);
    return strcmp(shown, json_string_value(word)) == 0;
}

static enum status read_words(struct explain_file *f, const char *name, const char *look_at, struct error *err)
{
    const json_t *words = json_object_get(f->json, "words"), *own = json_object_get(f->json, "look_at");
    const size_t T = json_array_size(words);
    if (T < 1 || T > EXPLAIN_MOST)
        return fail(err, STATUS_FORMAT, "%s: \"words\" is a list of %zu, 1 to %d words expected", name, T,
                    EXPLAIN_MOST);
    if (own && !json_is_string(own))
        return fail(err, STATUS_FORMAT, "%s: \"look_at\" is no word", name);
    f->word = calloc(T, sizeof *f->word);
    if (!f->word)
        return fail(err, STATUS_MEMORY, "%s: no memory for its words", name);
    f->in.T = T;
    f->in.query = T - 1;
    const char *wanted = look_at ? look_at : json_string_value(own);
    bool found = !wanted;
    for (size_t i = 0; i < T; i++) {
        if (!is_word(json_array_get(words, i)))
            return fail(err, STATUS_FORMAT, "%s: word %zu is not 1 to %d bytes of visible text", name, i + 1,
                        LONGEST_WORD);
        f->word[i] = json_string_value(json_array_get(words, i));
        if (!found && strcmp(f->word[i], wanted) == 0) {
            f->in.query = i;
            found = true;
        }
    }
    return found ? STATUS_OK
                 : fail(err, STATUS_FORMAT, "%s: the word to look at, \"%.40s\", is none of its words", name, wanted);
}

static enum status parse(struct explain_file *f, const char *path, struct error *err)
{
    static const struct json_limits limits = {.bytes = 65536, .depth = 4, .values = 4096};
    if (path)
        return json_file_read(&f->json, path, &limits, err);
    return json_text_parse(&f->json, "the example", (const uint8_t *)explain_file_example, strlen(explain_file_example),
                           0, &limits, err);
}

enum status explain_file_read(struct explain_file *f, const char *path, const char *look_at, struct error *err)
{
    const char *name = path ? path : "the example";
    *f = (struct explain_file){0};
    enum status s = parse(f, path, err);
    if (s == STATUS_OK && !json_is_object(f->json))
        s = fail(err, STATUS_FORMAT, "%s: no JSON object: nopeek explain --example shows one", name);
    if (s == STATUS_OK)
        s = read_words(f, name, look_at, err);
    if (s == STATUS_OK)
        s = read_numbers(f, name, err);
    if (s != STATUS_OK)
        explain_file_free(f);
    return s;
}

void explain_file_free(struct explain_file *f)
{
    free(f->word);
    free(f->numbers);
    json_decref(f->json);
    *f = (struct explain_file){0};
}
