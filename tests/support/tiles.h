/* AMX in plain C, as Intel's manual describes it (volume 2, TILELOADD, TDPBF16PS): for testing what is written for
 * tiles on processors that have none. Included before the source under test, whose intrinsics it replaces. */
#ifndef SUPPORT_TILES_H
#define SUPPORT_TILES_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kernels/bf16.h"

struct tiles_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

static struct tiles_config tiles_config;
static uint32_t tiles_tile[8][16][16];
static int tiles_errors; /* uses of what is not configured */

static void tiles_load_config(const void *config)
{
    memcpy(&tiles_config, config, sizeof tiles_config);
    memset(tiles_tile, 0, sizeof tiles_tile);
    tiles_errors += tiles_config.palette != 1 || tiles_config.start_row != 0;
    for (int i = 0; i < 14; i++)
        tiles_errors += tiles_config.reserved[i] != 0;
    for (int i = 0; i < 16; i++)
        tiles_errors += tiles_config.row_bytes[i] > 64 || tiles_config.rows[i] > 16 ||
                        (i >= 8 && (tiles_config.rows[i] || tiles_config.row_bytes[i]));
}

static void tiles_release(void)
{
    memset(&tiles_config, 0, sizeof tiles_config);
}

static void tiles_use(int tile)
{
    tiles_errors += tiles_config.palette != 1 || tiles_config.rows[tile] == 0 || tiles_config.row_bytes[tile] == 0;
}

static void tiles_zero(int tile)
{
    tiles_use(tile);
    memset(tiles_tile[tile], 0, sizeof tiles_tile[tile]);
}

static void tiles_load(int tile, const void *base, size_t stride)
{
    tiles_zero(tile);
    for (int r = 0; r < tiles_config.rows[tile]; r++)
        memcpy(tiles_tile[tile][r], (const char *)base + (size_t)r * stride, tiles_config.row_bytes[tile]);
}

static void tiles_store(int tile, void *base, size_t stride)
{
    tiles_use(tile);
    for (int r = 0; r < tiles_config.rows[tile]; r++)
        memcpy((char *)base + (size_t)r * stride, tiles_tile[tile][r], tiles_config.row_bytes[tile]);
}

static void tiles_multiply(int c, int a, int b)
{
    tiles_use(a);
    tiles_use(b);
    tiles_use(c);
    tiles_errors += tiles_config.row_bytes[a] / 4 != tiles_config.rows[b] ||
                    tiles_config.row_bytes[c] != tiles_config.row_bytes[b] ||
                    tiles_config.rows[c] != tiles_config.rows[a];
    for (int m = 0; m < tiles_config.rows[c]; m++)
        for (int k = 0; k < tiles_config.row_bytes[a] / 4; k++)
            for (int n = 0; n < tiles_config.row_bytes[b] / 4; n++) {
                float sum;
                const uint32_t x = tiles_tile[a][m][k], y = tiles_tile[b][k][n];
                memcpy(&sum, &tiles_tile[c][m][n], sizeof sum);
                sum += (float)bf16_number(x) * (float)bf16_number(y);
                sum += (float)bf16_number(x >> 16) * (float)bf16_number(y >> 16);
                memcpy(&tiles_tile[c][m][n], &sum, sizeof sum);
            }
}

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#define _tile_loadconfig tiles_load_config
#define _tile_release tiles_release
#define _tile_zero tiles_zero
#define _tile_loadd tiles_load
#define _tile_stored tiles_store
#define _tile_dpbf16ps tiles_multiply

#endif
