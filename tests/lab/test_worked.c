#include "lab/worked.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static struct error err;

static const real x[] = {1, 0, 0, 1, 2, 1}, wq[] = {2, 0, 1, 3}, wk[] = {1, 1, 2, 0}, wv[] = {1, 0, 0, 2};

static void make(struct worked *w, const struct worked_input *in)
{
    cr_assert_eq(worked_make(w, in, &err), STATUS_OK, "%s", err.message);
}

static void expect(const real *got, const double *want, size_t n, double tolerance, const char *what)
{
    for (size_t i = 0; i < n; i++)
        cr_assert(fabs((double)got[i] - want[i]) <= tolerance, "%s, place %zu: %g, %g expected", what, i,
                  (double)got[i], want[i]);
}

Test(worked, the_example_of_three_words_has_the_numbers_that_paper_gives)
{
    struct worked w;
    make(&w,
         &(struct worked_input){.T = 3, .C = 2, .d_k = 2, .d_v = 2, .query = 1, .x = x, .wq = wq, .wk = wk, .wv = wv});
    expect(w.q + 2, (const double[]){1, 3}, 2, 0, "q of bank");
    expect(w.k, (const double[]){1, 1, 2, 0, 4, 2}, 6, 0, "k");
    expect(w.v, (const double[]){1, 0, 0, 2, 2, 2}, 6, 0, "v");
    expect(w.scores + 3, (const double[]){4, 2, 10}, 3, 0, "scores");
    const double e[] = {exp(4 / sqrt(2)), exp(2 / sqrt(2)), exp(10 / sqrt(2))}, sum = e[0] + e[1] + e[2];
    expect(w.full.weights + 3, (const double[]){e[0] / sum, e[1] / sum, e[2] / sum}, 3, 1e-6, "weights");
    expect(w.full.weights + 3, (const double[]){0.014, 0.003, 0.982}, 3, 0.0006, "weights as printed");
    cr_assert_float_eq(w.full.undivided[5], 0.997, 0.0006);
    expect(w.full.y + 2, (const double[]){1.98, 1.97}, 2, 0.006, "result");
    /* The mask: bank sees The and itself. */
    const double causal[] = {e[0] / (e[0] + e[1]), e[1] / (e[0] + e[1])};
    expect(w.causal.weights + 3, (const double[]){causal[0], causal[1], 0}, 3, 1e-6, "weights under the mask");
    cr_assert(w.causal.weights[5] == 0 && w.causal.weights[1] == 0 && w.causal.weights[2] == 0);
    cr_assert_eq(w.causal.weights[0], 1);
    expect(w.causal.y + 2, (const double[]){causal[0], 2 * causal[1]}, 2, 1e-6, "result under the mask");
    worked_free(&w);
}

/* The loss whose gradient is worked out, in double: the sum of the query's result. */
static double loss(const struct worked_input *in, const double *m[3], bool causal)
{
    double q[8] = {0}, k[64] = {0}, v[64] = {0}, score[8], largest = -INFINITY, sum = 0, total = 0;
    for (size_t c = 0; c < in->C; c++)
        for (size_t d = 0; d < in->d_k; d++)
            q[d] += (double)in->x[in->query * in->C + c] * m[0][c * in->d_k + d];
    const size_t seen = causal ? in->query + 1 : in->T;
    for (size_t j = 0; j < seen; j++) {
        score[j] = 0;
        for (size_t c = 0; c < in->C; c++) {
            for (size_t d = 0; d < in->d_k; d++)
                k[j * 8 + d] += (double)in->x[j * in->C + c] * m[1][c * in->d_k + d];
            for (size_t d = 0; d < in->d_v; d++)
                v[j * 8 + d] += (double)in->x[j * in->C + c] * m[2][c * in->d_v + d];
        }
        for (size_t d = 0; d < in->d_k; d++)
            score[j] += q[d] * k[j * 8 + d] / sqrt((double)in->d_k);
        largest = fmax(largest, score[j]);
    }
    for (size_t j = 0; j < seen; j++)
        sum += exp(score[j] - largest);
    for (size_t j = 0; j < seen; j++)
        for (size_t d = 0; d < in->d_v; d++)
            total += exp(score[j] - largest) / sum * v[j * 8 + d];
    return total;
}

static void check_gradients(const struct worked_input *in)
{
    struct worked w;
    make(&w, in);
    const size_t sizes[] = {in->C * in->d_k, in->C * in->d_k, in->C * in->d_v};
    const real *const given[] = {in->wq, in->wk, in->wv};
    for (int causal = 0; causal < 2; causal++) {
        const struct worked_rule *r = causal ? &w.causal : &w.full;
        const real *const got[] = {r->dwq, r->dwk, r->dwv};
        for (size_t k = 0; k < 3; k++)
            for (size_t i = 0; i < sizes[k]; i++) {
                double m[3][32], up, down;
                const double *all[] = {m[0], m[1], m[2]};
                for (size_t j = 0; j < 3; j++)
                    for (size_t n = 0; n < sizes[j]; n++)
                        m[j][n] = (double)given[j][n];
                m[k][i] += 1e-5;
                up = loss(in, all, causal);
                m[k][i] -= 2e-5;
                down = loss(in, all, causal);
                cr_assert_float_eq((double)got[k][i], (up - down) / 2e-5, 1e-4,
                                   "matrix %zu, place %zu, causal %d: %g, %g", k, i, causal, (double)got[k][i],
                                   (up - down) / 2e-5);
            }
    }
    worked_free(&w);
}

Test(worked, gradients_are_those_of_central_differences)
{
    check_gradients(
        &(struct worked_input){.T = 3, .C = 2, .d_k = 2, .d_v = 2, .query = 1, .x = x, .wq = wq, .wk = wk, .wv = wv});
    real more[5 * 3], a[3 * 4], b[3 * 4], c[3 * 2];
    for (size_t i = 0; i < 15; i++)
        more[i] = (real)((double)(i * 7 % 11) / 5 - 1);
    for (size_t i = 0; i < 12; i++) {
        a[i] = (real)((double)(i * 5 % 7) / 4 - 0.7);
        b[i] = (real)((double)(i * 3 % 13) / 6 - 1);
    }
    for (size_t i = 0; i < 6; i++)
        c[i] = (real)((double)i / 3 - 0.9);
    for (size_t query = 0; query < 5; query++) /* keys wider than values */
        check_gradients(&(struct worked_input){
            .T = 5, .C = 3, .d_k = 4, .d_v = 2, .query = query, .x = more, .wq = a, .wk = b, .wv = c});
    for (size_t query = 0; query < 5; query++) /* ... and narrower */
        check_gradients(&(struct worked_input){
            .T = 5, .C = 3, .d_k = 2, .d_v = 4, .query = query, .x = more, .wq = c, .wk = c, .wv = a});
}

Test(worked, numbers_that_overflow_are_an_error)
{
    const real huge[] = {(real)1e30, 0, 0, (real)1e30};
    struct worked w;
    cr_assert_eq(
        worked_make(&w,
                    &(struct worked_input){
                        .T = 3, .C = 2, .d_k = 2, .d_v = 2, .query = 1, .x = x, .wq = huge, .wk = huge, .wv = wv},
                    &err),
        STATUS_NONFINITE);
    cr_assert(strstr(err.message, "choose smaller"), "%s", err.message);
}
