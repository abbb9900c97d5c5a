#include "kernels/embedding.h"

#define GRAIN 16 /* channels: no two lanes write one cache line */

void embedding_forward(const struct lane *lane, real *restrict x, const uint32_t *tokens, const real *token,
                       const real *position, size_t first, size_t B, size_t T, size_t C)
{
    const struct span s = lane_span(lane, B * T, 1);
    for (size_t n = s.begin; n < s.end; n++) {
        const real *e = token + tokens[n] * C, *p = position + (first + n % T) * C;
        for (size_t c = 0; c < C; c++)
            x[n * C + c] = e[c] + p[c];
    }
}

void embedding_backward(const struct lane *lane, real *restrict dtoken, real *restrict dposition, const real *dx,
                        const uint32_t *tokens, size_t B, size_t T, size_t C)
{
    const struct span s = lane_span(lane, C, GRAIN);
    for (size_t n = 0; n < B * T; n++) {
        real *de = dtoken + tokens[n] * C, *dp = dposition + (n % T) * C;
        for (size_t c = s.begin; c < s.end; c++) {
            de[c] += dx[n * C + c]; /* forward: x = token[...] + position[...] */
            dp[c] += dx[n * C + c];
        }
    }
}
