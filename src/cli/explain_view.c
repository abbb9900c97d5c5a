#include "cli/explain_view.h"

#include <math.h>
#include <string.h>

#include "text/utf8.h"

#define COLUMNS 80

/* The largest fp32 number in full: 39 digits, a sign, the point, four places. */
struct number {
    char text[48];
};

/* At most so many digits after the point, and none that say nothing: 10, 2.83, -0.5; but 0.00 for what is not 0. */
static struct number rounded(real x, int places)
{
    struct number n;
    snprintf(n.text, sizeof n.text, "%.*f", places, (double)x);
    const struct number plain = n;
    size_t end = strlen(n.text);
    while (n.text[end - 1] == '0')
        end--;
    if (n.text[end - 1] == '.')
        end--;
    n.text[end] = '\0';
    const bool nothing = strcmp(n.text, "0") == 0 || strcmp(n.text, "-0") == 0;
    if (nothing && x != 0)
        return plain;
    return nothing ? (struct number){"0"} : n;
}

static struct number number(real x)
{
    return rounded(x, 2);
}

static int columns(const char *word)
{
    return (int)utf8_columns(word);
}

static int widest(const char *const *word, size_t T)
{
    int most = 0;
    for (size_t i = 0; i < T; i++)
        most = columns(word[i]) > most ? columns(word[i]) : most;
    return most;
}

static void put_word(FILE *out, const char *word, int width)
{
    fprintf(out, "  %s%*s", word, width - columns(word), "");
}

/* Digits that the longest of n numbers takes. */
static int digits(const real *x, size_t n, int places)
{
    int most = 1;
    for (size_t i = 0; i < n; i++) {
        const int here = (int)strlen(rounded(x[i], places).text);
        most = here > most ? here : most;
    }
    return most;
}

static void put_row(FILE *out, const real *x, size_t n, int width, int places)
{
    fputc('[', out);
    for (size_t i = 0; i < n; i++)
        fprintf(out, " %*s", width, rounded(x[i], places).text);
    fputs(" ]", out);
}

static void put_matrix(FILE *out, const char *name, const real *m, size_t rows, size_t cols, int places)
{
    const int width = digits(m, rows * cols, places);
    for (size_t r = 0; r < rows; r++) {
        fprintf(out, "  %-6s %s ", r == 0 ? name : "", r == 0 ? "=" : " ");
        put_row(out, m + r * cols, cols, width, places);
        fputc('\n', out);
    }
}

static void put_rows(FILE *out, const char *title, const struct worked *w, const char *const *word, const real *m,
                     size_t cols)
{
    const int width = widest(word, w->in.T), wide = digits(m, w->in.T * cols, 2);
    fprintf(out, "  %s\n", title);
    for (size_t t = 0; t < w->in.T; t++) {
        fputs("  ", out);
        put_word(out, word[t], width);
        fputs("  ", out);
        put_row(out, m + t * cols, cols, wide, 2);
        fputc('\n', out);
    }
}

static void put_given(FILE *out, const struct worked *w, const char *const *word)
{
    const struct worked_input *in = &w->in;
    fputs("Attention, worked by hand. Given are words as rows of numbers, and three\n"
          "matrices that training would learn.\n\n",
          out);
    put_rows(out, "x, a row for each word", w, word, in->x, in->C);
    fputc('\n', out);
    put_matrix(out, "W_Q", in->wq, in->C, in->d_k, 2);
    put_matrix(out, "W_K", in->wk, in->C, in->d_k, 2);
    put_matrix(out, "W_V", in->wv, in->C, in->d_v, 2);
    fputs("\n1. Every word makes a query (what it looks for), a key (what it is found by)\n"
          "   and a value (what it hands over): q = x W_Q, k = x W_K, v = x W_V\n\n",
          out);
    put_rows(out, "queries", w, word, w->q, in->d_k);
    put_rows(out, "keys", w, word, w->k, in->d_k);
    put_rows(out, "values", w, word, w->v, in->d_v);
}

/* "1*4 + 3*2", from column `left` on; what does not fit goes on below. Returns the column it ends at. */
static int put_product(FILE *out, const real *q, const real *k, size_t n, int left)
{
    int column = left;
    fputs("  ", out);
    for (size_t c = 0; c < n; c++) {
        const struct number a = number(q[c]), b = number(k[c]);
        const int length = (int)(strlen(a.text) + 1 + strlen(b.text)), more = c + 1 < n ? 2 : 0; /* " +" after it */
        if (c > 0 && column + 3 + length + more > COLUMNS) {
            fprintf(out, " +\n%*s", left, "");
            column = left;
        } else if (c > 0) {
            fputs(" + ", out);
            column += 3;
        }
        fprintf(out, "%s*%s", a.text, b.text);
        column += length;
    }
    return column;
}

/* " = 10, scaled 7.07", below where it does not fit. */
static void put_score(FILE *out, real score, real scale, int left, int column)
{
    char text[2 * sizeof(struct number) + 16];
    const int length = snprintf(text, sizeof text, "= %s, scaled %s", number(score).text, number(score * scale).text);
    if (column + 1 + length > COLUMNS)
        fprintf(out, "\n%*s%s\n", left, "", text);
    else
        fprintf(out, " %s\n", text);
}

static void put_scores(FILE *out, const struct worked *w, const char *const *word)
{
    const struct worked_input *in = &w->in;
    const real *q = w->q + in->query * in->d_k, *scores = w->scores + in->query * in->T;
    const int width = widest(word, in->T);
    fprintf(out,
            "\n2. What does \"%s\" look at? Its query times every key is a score, which is\n"
            "   divided by sqrt(d_k) = sqrt(%zu) = %s: scores would grow with the width\n"
            "   otherwise, and softmax would pick one word.\n\n",
            word[in->query], in->d_k, number(1 / w->scale).text);
    for (size_t j = 0; j < in->T; j++) {
        put_word(out, word[j], width);
        const int column = put_product(out, q, w->k + j * in->d_k, in->d_k, width + 4);
        put_score(out, scores[j], w->scale, width + 4, column);
    }
}

static void put_weights(FILE *out, const struct worked *w, const struct worked_rule *r, const char *const *word)
{
    const size_t T = w->in.T, query = w->in.query;
    const int width = widest(word, T);
    for (size_t j = 0; j < T; j++) {
        put_word(out, word[j], width);
        if (j >= r->seen)
            fputs("    -     not seen: exactly 0\n", out);
        else
            fprintf(out, "  %5.1f %%   (%.1f %% if scores were not divided)\n", 100 * (double)r->weights[query * T + j],
                    100 * (double)r->undivided[query * T + j]);
    }
}

static void put_result(FILE *out, const struct worked *w, const struct worked_rule *r, const char *const *word)
{
    const struct worked_input *in = &w->in;
    const size_t T = in->T, query = in->query;
    fputs("\n   The values, mixed by these weights:\n\n", out);
    for (size_t j = 0; j < r->seen; j++) {
        fprintf(out, "  %s %.3f * ", j ? "+" : " ", (double)r->weights[query * T + j]);
        put_row(out, w->v + j * in->d_v, in->d_v, 1, 2);
        fputc('\n', out);
    }
    fputs("  = ", out);
    put_row(out, r->y + query * in->d_v, in->d_v, 1, 2);
    fprintf(out, ", what \"%s\" knows now\n", word[query]);
    const double most = log((double)r->seen), entropy = (double)r->entropy[query];
    if (r->seen > 1)
        fprintf(out,
                "\n   Entropy of the weights: %.3f nats of at most ln %zu = %.3f, which is %.2f\n"
                "   (1 looks at all alike, 0 at one)\n",
                entropy, r->seen, most, entropy / most);
}

static void put_backward(FILE *out, const struct worked *w, const struct worked_rule *r, const char *const *word)
{
    const struct worked_input *in = &w->in;
    const int width = widest(word, in->T);
    fprintf(out,
            "\n   Backward. Let the loss be the sum of what \"%s\" knows now, so that its\n"
            "   gradient there is 1 in each number. A weight gets the sum of its word's\n"
            "   value; through the softmax, the scaled score gets weight * (that - its mean\n"
            "   over the weights):\n\n",
            word[in->query]);
    for (size_t j = 0; j < in->T; j++) {
        put_word(out, word[j], width);
        if (j >= r->seen)
            fputs("  nothing: it was not seen\n", out);
        else
            fprintf(out, "  dL/dweight = %s, dL/dscaled score = %.4f\n", number(r->dweights[j]).text,
                    (double)r->dscaled[j]);
    }
    fputs("\n   From there to the matrices: dW_Q = x^T dq, dW_K = x^T dk, dW_V = x^T dv\n\n", out);
    put_matrix(out, "dW_Q", r->dwq, in->C, in->d_k, 4);
    put_matrix(out, "dW_K", r->dwk, in->C, in->d_k, 4);
    put_matrix(out, "dW_V", r->dwv, in->C, in->d_v, 4);
}

static void put_rule(FILE *out, const struct worked *w, const struct worked_rule *r, const char *const *word)
{
    put_weights(out, w, r, word);
    put_result(out, w, r, word);
    put_backward(out, w, r, word);
}

static void put_all_weights(FILE *out, const struct worked *w, const struct worked_rule *r, const char *const *word)
{
    const size_t T = w->in.T;
    const int width = widest(word, T);
    for (size_t i = 0; i < T; i++) {
        put_word(out, word[i], width);
        fputs("  ", out);
        for (size_t j = 0; j < T; j++)
            if (j > i)
                fputs("      -", out);
            else
                fprintf(out, "  %.3f", (double)r->weights[i * T + j]);
        fputc('\n', out);
    }
}

void explain_view_print(FILE *out, const struct worked *w, const char *const *word)
{
    const char *query = word[w->in.query];
    put_given(out, w, word);
    put_scores(out, w, word);
    fputs("\n3. Softmax makes weights of them, which sum to 1. First, with all in sight:\n\n", out);
    put_rule(out, w, &w->full, word);
    fprintf(out,
            "\n4. The same with the causal mask, as in a model that predicts what comes\n"
            "   next: \"%s\" sees itself and what came before. Later words are left out.\n\n",
            query);
    put_rule(out, w, &w->causal, word);
    fputs("\n   All weights under the mask, a row for each word that looks:\n\n", out);
    put_all_weights(out, w, &w->causal, word);
}

/* ---- JSON ---- */

static json_t *numbers(const real *m, size_t rows, size_t cols)
{
    json_t *list = json_array();
    for (size_t r = 0; list && r < rows; r++) {
        json_t *row = json_array();
        for (size_t c = 0; row && c < cols; c++)
            json_array_append_new(row, json_real((double)m[r * cols + c]));
        json_array_append_new(list, row);
    }
    return list;
}

static json_t *rule_json(const struct worked *w, const struct worked_rule *r)
{
    const struct worked_input *in = &w->in;
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "weights",
                     numbers(r->weights, in->T, in->T), "weights_undivided", numbers(r->undivided, in->T, in->T),
                     "result", numbers(r->y, in->T, in->d_v), "entropy", numbers(r->entropy, 1, in->T), "d_weights",
                     numbers(r->dweights, 1, in->T), "d_scaled", numbers(r->dscaled, 1, in->T), "d_q",
                     numbers(r->dq, in->T, in->d_k), "d_k", numbers(r->dk, in->T, in->d_k), "d_v",
                     numbers(r->dv, in->T, in->d_v), "d_W_Q", numbers(r->dwq, in->C, in->d_k), "d_W_K",
                     numbers(r->dwk, in->C, in->d_k), "d_W_V", numbers(r->dwv, in->C, in->d_v));
}

json_t *explain_view_json(const struct worked *w, const char *const *word)
{
    const struct worked_input *in = &w->in;
    json_t *words = json_array();
    for (size_t t = 0; words && t < in->T; t++)
        json_array_append_new(words, json_string(word[t]));
    return json_pack("{s:o, s:s, s:f, s:o, s:o, s:o, s:o, s:o, s:o}", "words", words, "look_at", word[in->query],
                     "scale", (double)w->scale, "q", numbers(w->q, in->T, in->d_k), "k", numbers(w->k, in->T, in->d_k),
                     "v", numbers(w->v, in->T, in->d_v), "scores", numbers(w->scores, in->T, in->T), "full",
                     rule_json(w, &w->full), "causal", rule_json(w, &w->causal));
}
