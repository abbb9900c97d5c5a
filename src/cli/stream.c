#include "cli/stream.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum status stream_open(struct stream *s, FILE *out, const char *stop, struct error *err)
{
    assert(!stop || stop[0] != '\0');
    *s = (struct stream){.out = out, .stop = stop, .stop_length = stop ? strlen(stop) : 0};
    /* Held at most: a stop string less one byte, or an incomplete character of three; then more bytes come. */
    s->room = s->stop_length + 3 + STREAM_MOST;
    s->held = malloc(s->room);
    return s->held ? STATUS_OK : fail(err, STATUS_MEMORY, "out of memory");
}

void stream_free(struct stream *s)
{
    free(s->held);
    *s = (struct stream){0};
}

/* Lets the first n held bytes out. */
static void release(struct stream *s, size_t n)
{
    if (n == 0)
        return;
    fwrite(s->held, 1, n, s->out);
    fflush(s->out);
    memmove(s->held, s->held + n, s->count - n);
    s->count -= n;
}

/* Length of the longest end of the held bytes that begins the stop string. */
static size_t begun_stop(const struct stream *s)
{
    if (!s->stop)
        return 0;
    size_t n = s->count < s->stop_length ? s->count : s->stop_length - 1;
    while (n > 0 && memcmp(s->held + s->count - n, s->stop, n) != 0)
        n--;
    return n;
}

/* Length of the incomplete UTF-8 character at the end of n bytes; 0 when they end whole, or in no UTF-8 at all. */
static size_t begun_character(const char *bytes, size_t n)
{
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        const unsigned char c = (unsigned char)bytes[n - back];
        if ((c & 0xC0u) == 0x80u)
            continue;
        const size_t length = c >= 0xF0 && c <= 0xF4 ? 4 : c >= 0xE0 ? 3 : c >= 0xC2 ? 2 : 1;
        return c <= 0xF4 && back < length ? back : 0;
    }
    return 0;
}

bool stream_put(struct stream *s, const void *bytes, size_t n)
{
    assert(n >= 1 && n <= STREAM_MOST && s->count + n <= s->room);
    memcpy(s->held + s->count, bytes, n);
    s->count += n;
    const size_t first = s->stop && s->whole && s->count > s->stop_length ? s->count - s->stop_length : 0;
    for (size_t at = first; s->stop && at + s->stop_length <= s->count; at++)
        if (memcmp(s->held + at, s->stop, s->stop_length) == 0) {
            release(s, at);
            s->count = 0;
            return true;
        }
    size_t ready = s->count - begun_stop(s);
    ready -= begun_character(s->held, ready);
    release(s, ready);
    return false;
}

void stream_end(struct stream *s)
{
    release(s, s->count);
}
