/* Products of bf16 tiles on AMX (Intel's architecture manual, volume 1, chapter 18). */
#include "kernels/x86/bf16_kernel.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(NOPEEK_DOUBLE)
#include <immintrin.h>
#include <string.h>

#define EDGE 16 /* rows of every tile, each of 64 bytes */
#define ROWS 32
#define COLS 32
/* Tiles use up what they load so fast that one factor must come from the first cache: 32 rows of A, so deep, do. */
#define PAIRS 256
/* To gcc 12 the intrinsics that load read no memory, or only its first bytes: without this it may put off writing what
 * they are to read. */
#define WRITTEN() __asm__ volatile("" ::: "memory")
#define TARGET __attribute__((target("amx-tile,amx-bf16,avx512f")))

/* Eight tiles of 16 rows of 64 bytes: 0 to 3 hold sums, 4 and 5 rows of A, 6 and 7 columns of B. */
TARGET void bf16_amx_begin(void)
{
    struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1};
    for (int tile = 0; tile < 8; tile++) {
        config.row_bytes[tile] = 64;
        config.rows[tile] = EDGE;
    }
    WRITTEN();
    _tile_loadconfig(&config);
}

TARGET void bf16_amx_end(void)
{
    _tile_release();
}

/* sums (32,32) by ld = or += A B: two tiles by two. */
TARGET static void whole(float *c, size_t ldc, bool add, const uint32_t *a, size_t stride, const uint32_t *b,
                         size_t pairs)
{
    const size_t c_bytes = ldc * sizeof *c, a_bytes = stride * sizeof *a, b_bytes = COLS * sizeof *b;
    WRITTEN();
    if (add) {
        _tile_loadd(0, c, c_bytes);
        _tile_loadd(1, c + EDGE, c_bytes);
        _tile_loadd(2, c + EDGE * ldc, c_bytes);
        _tile_loadd(3, c + EDGE * ldc + EDGE, c_bytes);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    for (size_t k = 0; k < pairs; k += EDGE) {
        _tile_loadd(4, a + k, a_bytes);
        _tile_loadd(6, b + k * COLS, b_bytes);
        _tile_loadd(7, b + k * COLS + EDGE, b_bytes);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(5, a + EDGE * stride + k, a_bytes);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, c, c_bytes);
    _tile_stored(1, c + EDGE, c_bytes);
    _tile_stored(2, c + EDGE * ldc, c_bytes);
    _tile_stored(3, c + EDGE * ldc + EDGE, c_bytes);
    WRITTEN();
}

TARGET static void run(float *c, size_t ldc, size_t rows, size_t cols, bool add, const uint32_t *a, size_t stride,
                       const uint32_t *b, size_t pairs)
{
    if (rows == ROWS && cols == COLS) {
        whole(c, ldc, add, a, stride, b, pairs);
        return;
    }
    /* A ragged edge goes through copies, so that nothing past it is read or written. */
    float sums[ROWS * COLS];
    uint32_t some[ROWS * EDGE];
    memset(sums, 0, sizeof sums);
    memset(some, 0, sizeof some);
    if (rows == ROWS) {
        whole(sums, COLS, false, a, stride, b, pairs);
    } else {
        for (size_t k = 0; k < pairs; k += EDGE) {
            for (size_t m = 0; m < rows; m++)
                memcpy(some + m * EDGE, a + m * stride + k, EDGE * sizeof *some);
            whole(sums, COLS, true, some, EDGE, b + k * COLS, EDGE);
        }
    }
    for (size_t m = 0; m < rows; m++)
        for (size_t n = 0; n < cols; n++)
            c[m * ldc + n] = (add ? c[m * ldc + n] : 0) + sums[m * COLS + n];
}

struct bf16_choice bf16_kernel_amx(void)
{
    return (struct bf16_choice){run, ROWS, PAIRS, "AMX tiles"};
}
#else
void bf16_amx_begin(void)
{
}

void bf16_amx_end(void)
{
}

struct bf16_choice bf16_kernel_amx(void)
{
    return (struct bf16_choice){0};
}
#endif
