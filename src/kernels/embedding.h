/* Token and learned position embeddings, added. */
#ifndef KERNELS_EMBEDDING_H
#define KERNELS_EMBEDDING_H

#include <stddef.h>
#include <stdint.h>

#include "base/real.h"
#include "base/team.h"

/* x[b,t,:] = token[tokens[b,t],:] + position[first + t,:]
 *   x (B,T,C)   tokens (B,T), each < V   token (V,C)   position (block_size,C)
 * Ids below V and first + T <= block_size are the caller's to check. Each lane does its rows. */
void embedding_forward(const struct lane *lane, real *restrict x, const uint32_t *tokens, const real *token,
                       const real *position, size_t first, size_t B, size_t T, size_t C);

/* dtoken[tokens[b,t],:] += dx[b,t,:], dposition[t,:] += dx[b,t,:], accumulated, for first = 0.
 * Each lane does its share of the channels and reads all rows, so equal tokens never meet in two lanes: a
 * barrier must stand between the writing of dx (or of dtoken, when it is tied to the head) and this call. */
void embedding_backward(const struct lane *lane, real *restrict dtoken, real *restrict dposition, const real *dx,
                        const uint32_t *tokens, size_t B, size_t T, size_t C);

#endif
