#include "diag/attention_pack.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"

#define NUMBER sizeof(float)

size_t attention_pack_weights(size_t T, bool square)
{
    return square ? T * T : T * (T + 1) / 2;
}

size_t attention_pack_bytes(size_t heads, size_t T, bool square)
{
    return base64_length(heads * attention_pack_weights(T, square) * NUMBER);
}

size_t attention_pack_fit(size_t heads, bool square, size_t most, size_t bytes)
{
    size_t T = 0;
    while (T < most && attention_pack_bytes(heads, T + 1, square) <= bytes)
        T++;
    return T;
}

bool attention_pack_is_square(const struct attention_map *m)
{
    const struct config *c = &m->model->config;
    for (size_t k = 0; k < c->n_layer * c->n_head; k++) {
        const real *p = attention_map_weights(m, k / c->n_head, k % c->n_head);
        for (size_t i = 0; i < m->T; i++)
            for (size_t j = i + 1; j < m->T; j++)
                if (p[i * m->T + j] != 0)
                    return true;
    }
    return false;
}

/* In this order on every machine. */
static unsigned char *put_number(unsigned char *out, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    for (unsigned k = 0; k < NUMBER; k++)
        *out++ = (unsigned char)(bits >> 8 * k & 0xFF);
    return out;
}

enum status attention_pack(char **text, const struct attention_map *m, bool square, struct error *err)
{
    const struct config *c = &m->model->config;
    const size_t heads = c->n_layer * c->n_head, T = m->T, n = heads * attention_pack_weights(T, square) * NUMBER;
    unsigned char *bytes = malloc(n), *at = bytes;
    *text = malloc(base64_length(n) + 1);
    if (!bytes || !*text) {
        free(bytes);
        free(*text);
        *text = NULL;
        return fail(err, STATUS_MEMORY, "memory for the attention maps of %zu heads was refused", heads);
    }
    for (size_t k = 0; k < heads; k++) {
        const real *p = attention_map_weights(m, k / c->n_head, k % c->n_head);
        for (size_t i = 0; i < T; i++)
            for (size_t j = 0; j < (square ? T : i + 1); j++)
                at = put_number(at, (float)p[i * T + j]);
    }
    base64_encode(*text, bytes, n);
    (*text)[base64_length(n)] = '\0';
    free(bytes);
    return STATUS_OK;
}
