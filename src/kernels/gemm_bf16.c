#include "kernels/gemm_bf16.h"

#include <assert.h>
#include <string.h>

#include "kernels/bf16.h"
#include "kernels/variants.h"
#include "kernels/x86/bf16_kernel.h"
#include "kernels/x86/bf16_pack.h"
#include "kernels/x86/turn.h"

#define COLS GEMM_BF16_COLS
#define STRIP 96           /* columns that are read together before they are turned */
#define BLOCK ((size_t)16) /* pairs, and rows, that are packed or turned together; a tile of AMX is as deep */
#define DEPTH 256          /* pairs that the plain kernel goes through at once */
#define TALL 384           /* rows of A that a block of B is used for before the next is fetched */

size_t gemm_bf16_pairs(size_t K)
{
    return (K + 2 * BLOCK - 1) / (2 * BLOCK) * BLOCK;
}

size_t gemm_bf16_stride(size_t K)
{
    const size_t pairs = gemm_bf16_pairs(K), page = 4096 / sizeof(uint32_t);
    return pairs % (page / 4) == 0 ? pairs + BLOCK : pairs;
}

size_t gemm_bf16_panels(size_t N)
{
    return (N + COLS - 1) / COLS;
}

size_t gemm_bf16_a_size(size_t M, size_t K)
{
    return M * gemm_bf16_stride(K);
}

size_t gemm_bf16_b_size(size_t N, size_t K)
{
    return gemm_bf16_panels(N) * COLS * gemm_bf16_pairs(K);
}

/* out[r, k] = (x[r, 2k], x[r, 2k+1]) for rows x of `width` reals; `pairs` of them, zero past the width. */
VARIANTS_INLINE void pairs_along(enum isa isa, uint32_t *out, size_t ld_out, const real *x, size_t ld, size_t rows,
                                 size_t width, size_t pairs)
{
    if (isa >= ISA_AVX512_BF16 && bf16_pack_along(out, ld_out, x, ld, rows, width, pairs))
        return;
    const size_t whole = width / 2;
    for (size_t r = 0; r < rows; r++) {
        const real *x_r = x + r * ld;
        uint32_t *out_r = out + r * ld_out;
        const size_t most = whole < pairs ? whole : pairs;
        for (size_t k = 0; k < most; k++)
            out_r[k] = bf16_pair(x_r[2 * k], x_r[2 * k + 1]);
        for (size_t k = most; k < pairs; k++)
            out_r[k] = 2 * k < width ? bf16_bits(x_r[2 * k]) : 0;
    }
}

/* out[k, c] = (x[2k, c], x[2k+1, c]) for `height` rows x; `pairs` rows of them, `cols` wide, zero past height and
 * width. */
VARIANTS_INLINE void pairs_across(enum isa isa, uint32_t *out, size_t ld_out, const real *x, size_t ld, size_t height,
                                  size_t width, size_t pairs, size_t cols)
{
    if (isa >= ISA_AVX512_BF16 && bf16_pack_across(out, ld_out, x, ld, height, width, pairs, cols))
        return;
    for (size_t k = 0; k < pairs; k++) {
        uint32_t *out_k = out + k * ld_out;
        const real *first = x + 2 * k * ld, *second = first + ld;
        size_t wide = 2 * k < height ? width : 0;
        if (2 * k + 1 < height)
            for (size_t c = 0; c < wide; c++)
                out_k[c] = bf16_pair(first[c], second[c]);
        else
            for (size_t c = 0; c < wide; c++)
                out_k[c] = bf16_bits(first[c]);
        for (; wide < cols; wide++)
            out_k[wide] = 0;
    }
}

/* out = block transposed: out[c, r] of rows of words `ld` apart. */
VARIANTS_INLINE void turn(enum isa isa, uint32_t *out, size_t ld_out, const uint32_t *block, size_t ld, size_t cols,
                          size_t rows)
{
    if (isa >= ISA_AVX512 && cols == BLOCK && rows == BLOCK && turn_avx512(out, ld_out, block, ld))
        return;
    for (size_t c = 0; c < cols; c++)
        for (size_t r = 0; r < rows; r++)
            out[c * ld_out + r] = block[r * ld + c];
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

VARIANTS(void, gemm_bf16_pack_a,
         (const struct lane *lane, uint32_t *restrict a, enum gemm_transpose op, const real *source, size_t ld,
          size_t M, size_t K),
         (lane, a, op, source, ld, M, K))
{
    const size_t pairs = gemm_bf16_pairs(K), stride = gemm_bf16_stride(K);
    if (op == GEMM_PLAIN) {
        pairs_along(lane->isa, a, stride, source, ld, M, K, pairs);
        return;
    }
    uint32_t strip[BLOCK * STRIP];
    for (size_t k = 0; k < pairs; k += BLOCK)
        for (size_t m = 0; m < M; m += STRIP) { /* rows of the source are read as they lie */
            const size_t width = least(M - m, STRIP), height = 2 * k < K ? K - 2 * k : 0;
            const size_t cols = (width + BLOCK - 1) / BLOCK * BLOCK;
            pairs_across(lane->isa, strip, STRIP, source + 2 * k * ld + m, ld, height, width, BLOCK, cols);
            for (size_t n = 0; n < width; n += BLOCK)
                turn(lane->isa, a + (m + n) * stride + k, stride, strip + n, STRIP, least(width - n, BLOCK), BLOCK);
        }
}

VARIANTS(void, gemm_bf16_pack_b,
         (const struct lane *lane, uint32_t *restrict b, enum gemm_transpose op, const real *source, size_t ld,
          size_t N, size_t K, size_t begin, size_t end),
         (lane, b, op, source, ld, N, K, begin, end))
{
    const size_t pairs = gemm_bf16_pairs(K);
    uint32_t block[BLOCK * BLOCK];
    for (size_t k = 0; k < pairs; k += BLOCK) { /* outside: rows of the source are read as they lie */
        const size_t left = 2 * k < K ? K - 2 * k : 0;
        for (size_t panel = begin; panel < end; panel++) {
            uint32_t *to = b + (panel * pairs + k) * COLS;
            const size_t n = panel * COLS, width = least(N - n, COLS);
            if (op == GEMM_PLAIN) {
                pairs_across(lane->isa, to, COLS, source + 2 * k * ld + n, ld, left, width, BLOCK, COLS);
                continue;
            }
            for (size_t half = 0; half < COLS; half += BLOCK) {
                const size_t rows = half < width ? least(width - half, BLOCK) : 0;
                pairs_along(lane->isa, block, BLOCK, source + (n + half) * ld + 2 * k, ld, rows, left, BLOCK);
                memset(block + rows * BLOCK, 0, (BLOCK - rows) * BLOCK * sizeof *block);
                turn(lane->isa, to + half, COLS, block, BLOCK, BLOCK, BLOCK);
            }
        }
    }
}

/* The portable kernel: so many rows at once, their sums in registers. */
#define ROWS 4

VARIANTS(static void, plain_rows,
         (const struct lane *lane, real *sums, const uint32_t *a, size_t stride, const uint32_t *b, size_t pairs),
         (lane, sums, a, stride, b, pairs))
{
    (void)lane; /* it chose this variant */
    real acc[ROWS][COLS] = {{0}};
    for (size_t k = 0; k < pairs; k++)
        for (size_t r = 0; r < ROWS; r++) {
            const real first = bf16_number(a[r * stride + k]), second = bf16_number(a[r * stride + k] >> 16);
            for (size_t n = 0; n < COLS; n++)
                acc[r][n] += first * bf16_number(b[k * COLS + n]);
            for (size_t n = 0; n < COLS; n++)
                acc[r][n] += second * bf16_number(b[k * COLS + n] >> 16);
        }
    memcpy(sums, acc, sizeof acc);
}

static void plain_kernel(const struct lane *lane, real *c, size_t ldc, size_t rows, size_t cols, bool add,
                         const uint32_t *a, size_t stride, const uint32_t *b, size_t pairs)
{
    for (size_t m = 0; m < rows; m += ROWS) {
        real sums[ROWS * COLS];
        uint32_t some[ROWS * DEPTH];
        const size_t here = least(rows - m, ROWS);
        const uint32_t *a_m = a + m * stride;
        size_t step = stride;
        if (here < ROWS) { /* rows that are not there are not read */
            memset(some, 0, sizeof some);
            for (size_t r = 0; r < here; r++)
                memcpy(some + r * DEPTH, a_m + r * stride, pairs * sizeof *some);
            a_m = some;
            step = DEPTH;
        }
        plain_rows(lane, sums, a_m, step, b, pairs);
        for (size_t r = 0; r < here; r++)
            for (size_t n = 0; n < cols; n++)
                c[(m + r) * ldc + n] = (add ? c[(m + r) * ldc + n] : 0) + sums[r * COLS + n];
    }
}

static struct bf16_choice choose(enum isa isa)
{
    struct bf16_choice choice = {.name = "fp32 on rounded numbers", .rows = (size_t)8 * ROWS, .pairs = DEPTH};
    if (isa >= ISA_AVX512_BF16 && bf16_kernel_avx512().run)
        choice = bf16_kernel_avx512();
    if (isa >= ISA_AMX && bf16_kernel_amx().run)
        choice = bf16_kernel_amx();
    return choice;
}

const char *gemm_bf16_kernel(enum isa isa)
{
    return choose(isa).name;
}

void gemm_bf16(const struct lane *lane, real *restrict c, size_t ldc, size_t M, size_t N, size_t K, const uint32_t *a,
               const uint32_t *b, bool add)
{
    const struct bf16_choice kernel = choose(lane->isa);
    const size_t pairs = gemm_bf16_pairs(K), stride = gemm_bf16_stride(K);
    const bool tiles = kernel.run && kernel.run == bf16_kernel_amx().run;
    if (K == 0 && !add)
        for (size_t m = 0; m < M; m++)
            memset(c + m * ldc, 0, N * sizeof *c);
    if (tiles)
        bf16_amx_begin();
    for (size_t k = 0; k < pairs; k += kernel.pairs) {
        const size_t deep = least(pairs - k, kernel.pairs);
        for (size_t m0 = 0; m0 < M; m0 += TALL)
            for (size_t n = 0; n < N; n += COLS)
                for (size_t m = m0; m < M && m < m0 + TALL; m += kernel.rows) {
                    const size_t rows = least(least(M, m0 + TALL) - m, kernel.rows), cols = least(N - n, COLS);
                    real *c_mn = c + m * ldc + n;
                    const uint32_t *a_mk = a + m * stride + k, *b_nk = b + n * pairs + k * COLS;
                    if (kernel.run)
                        kernel.run(c_mn, ldc, rows, cols, add || k > 0, a_mk, stride, b_nk, deep);
                    else
                        plain_kernel(lane, c_mn, ldc, rows, cols, add || k > 0, a_mk, stride, b_nk, deep);
                }
    }
    if (tiles)
        bf16_amx_end();
}
