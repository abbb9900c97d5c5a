/* A line from a program that holds a model: the first byte says which answer is awaited and of what size, the rest is
 * the line. Numbers that are accepted were all written, and no more than there is room for. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diag/protocol.h"
#include "fuzz/fuzz.h"

static void hello(const char *line, size_t length)
{
    struct error err;
    size_t V = 0, T = 0;
    bool one_length = false;
    fuzz_clear(&err);
    const enum status s = protocol_read_hello(&V, &T, &one_length, line, length, &err);
    if (s == STATUS_OK)
        fuzz_accepted();
    if (s == STATUS_OK)
        fuzz_require(V >= 1 && V <= PROTOCOL_LARGEST && T >= 1 && T <= PROTOCOL_LARGEST, "V %zu, T %zu", V, T);
    else
        fuzz_refused(s, &err);
}

static void logits(const char *line, size_t length, size_t V, size_t n, bool all)
{
    /* A number that no line can hold but as its 17 digits. */
    const double untouched = -0x1.23456789abcdep-1000;
    const size_t rows[] = {0, n - 1}, n_rows = n > 1 ? 2 : 1, count = (all ? n : n_rows) * V;
    double *out = malloc(count * sizeof *out);
    struct error err;
    fuzz_clear(&err);
    for (size_t i = 0; i < count; i++)
        out[i] = untouched;
    const enum status s = protocol_read_logits(out, line, length, n, all ? NULL : rows, n_rows, V, &err);
    if (s == STATUS_OK)
        fuzz_accepted();
    else
        fuzz_refused(s, &err);
    for (size_t i = 0; s == STATUS_OK && i < count; i++)
        fuzz_require(out[i] != untouched, "place %zu was not written", i);
    free(out);
}

int fuzz_protocol(const uint8_t *bytes, size_t n)
{
    if (n == 0)
        return 0;
    /* Just as long as it is, so that a step past its zero is seen. */
    char *line = malloc(n);
    memcpy(line, bytes + 1, n - 1);
    line[n - 1] = '\0';
    if (bytes[0] & 1)
        hello(line, n - 1);
    else
        logits(line, n - 1, 1 + (bytes[0] >> 1 & 3), 1 + (bytes[0] >> 3 & 3), bytes[0] & 32);
    free(line);
    return 0;
}
