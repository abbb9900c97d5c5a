#include "kernels/gemm_plain.h"

#include <string.h>

/* A block of C this large keeps its sums in registers, even in the 16 of plain x86-64, while k runs. */
#define ROWS 4
#define COLUMNS 8
/* So much of B is put in order at a time: it stays in the first cache. */
#define DEPTH 128

/* op(A)[i,k] is at[i * row + k * column]; likewise for B. */
struct operand {
    const real *at;
    size_t row, column;
};

static struct operand operand(const real *at, size_t ld, enum gemm_transpose op)
{
    return op == GEMM_TRANSPOSED ? (struct operand){at, 1, ld} : (struct operand){at, ld, 1};
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Rows k0 .. k0+depth and columns j0 .. j0+width of op(B); what is missing to COLUMNS is zero. */
static void pack(real panel[DEPTH][COLUMNS], const struct operand *B, size_t k0, size_t depth, size_t j0, size_t width)
{
    for (size_t k = 0; k < depth; k++) {
        const real *from = B->at + (k0 + k) * B->row + j0 * B->column;
        for (size_t j = 0; j < COLUMNS; j++)
            panel[k][j] = j < width ? from[j * B->column] : 0;
    }
}

/* sums[r,j] = sum_k op(A)[i0 + r, k0 + k] panel[k,j]. Rows that are missing to ROWS repeat the last one. Four products
 * are added up before they join the sum: a quarter of the roundings, and of the waiting for one another. */
static void sum_up(real sums[ROWS][COLUMNS], const struct operand *A, size_t i0, size_t rows, size_t k0, size_t depth,
                   real panel[DEPTH][COLUMNS])
{
    const real *a[ROWS];
    for (size_t r = 0; r < ROWS; r++)
        a[r] = A->at + (i0 + least(r, rows - 1)) * A->row + k0 * A->column;
    const size_t step = A->column, fours = depth / 4 * 4;
    real s[ROWS][COLUMNS] = {{0}};
    for (size_t k = 0; k < fours; k += 4)
        for (size_t r = 0; r < ROWS; r++) {
            const real a0 = a[r][k * step], a1 = a[r][(k + 1) * step], a2 = a[r][(k + 2) * step],
                       a3 = a[r][(k + 3) * step];
            for (size_t j = 0; j < COLUMNS; j++)
                s[r][j] += (a0 * panel[k][j] + a1 * panel[k + 1][j]) + (a2 * panel[k + 2][j] + a3 * panel[k + 3][j]);
        }
    for (size_t k = fours; k < depth; k++)
        for (size_t r = 0; r < ROWS; r++)
            for (size_t j = 0; j < COLUMNS; j++)
                s[r][j] += a[r][k * step] * panel[k][j];
    memcpy(sums, s, sizeof s);
}

/* C = beta C, and with beta 0 whatever C holds is forgotten. */
static void scale(real *C, size_t ldc, size_t M, size_t N, real beta)
{
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++)
            C[i * ldc + j] = beta == 0 ? 0 : beta * C[i * ldc + j];
}

void gemm_plain(enum gemm_transpose op_a, enum gemm_transpose op_b, size_t M, size_t N, size_t K, real alpha,
                const real *A, size_t lda, const real *B, size_t ldb, real beta, real *C, size_t ldc)
{
    if (M == 0 || N == 0) /* there may be no B to read then */
        return;
    const struct operand a = operand(A, lda, op_a), b = operand(B, ldb, op_b);
    scale(C, ldc, M, N, beta);
    for (size_t k0 = 0; k0 < K; k0 += DEPTH) {
        const size_t depth = least(DEPTH, K - k0);
        for (size_t j0 = 0; j0 < N; j0 += COLUMNS) {
            const size_t width = least(COLUMNS, N - j0);
            real panel[DEPTH][COLUMNS];
            pack(panel, &b, k0, depth, j0, width);
            for (size_t i0 = 0; i0 < M; i0 += ROWS) {
                const size_t rows = least(ROWS, M - i0);
                real sums[ROWS][COLUMNS];
                sum_up(sums, &a, i0, rows, k0, depth, panel);
                for (size_t r = 0; r < rows; r++)
                    for (size_t j = 0; j < width; j++)
                        C[(i0 + r) * ldc + j0 + j] += alpha * sums[r][j];
            }
        }
    }
}
