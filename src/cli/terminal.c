#if defined(__APPLE__)
#define _DARWIN_C_SOURCE /* struct winsize */
#endif
#include "cli/terminal.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/number.h"

#define LIVE_SECONDS 0.1
#define PIPE_SECONDS 10.0

static size_t width_of(int fd)
{
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    int64_t columns;
    const char *text = getenv("COLUMNS");
    if (text && number_whole(&columns, text) && columns >= 20 && columns <= 1000)
        return (size_t)columns;
    return 80;
}

/* By the names of terminfo's entries; who has more colours has these. */
static bool promises_256(const char *term, const char *colorterm)
{
    return (colorterm && colorterm[0] != '\0') || strstr(term, "256color") || strstr(term, "direct") ||
           strstr(term, "truecolor");
}

void terminal_open(struct terminal *t, FILE *stream)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    const int fd = fileno(stream);
    *t = (struct terminal){.stream = stream};
    t->screen = fd >= 0 && isatty(fd);
    t->live = t->screen && term && term[0] != '\0' && strcmp(term, "dumb") != 0;
    t->colour = t->live && !(no_color && no_color[0] != '\0');
    t->many = t->colour && promises_256(term, getenv("COLORTERM"));
    t->width = width_of(fd);
}

size_t terminal_fit(const char *text, size_t columns)
{
    size_t n = 0, used = 0;
    for (; text[n] != '\0'; n++)
        if (((unsigned char)text[n] & 0xC0u) != 0x80u && used++ == columns)
            break;
    return n;
}

void terminal_clear(struct terminal *t)
{
    if (t->drawn)
        fputs("\r\033[K", t->stream);
    t->drawn = false;
    fflush(t->stream);
}

void terminal_progress(struct terminal *t, double now, bool force, const char *format, ...)
{
    if (t->shown_once && !force && now - t->shown_at < (t->live ? LIVE_SECONDS : PIPE_SECONDS))
        return;
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (t->live) {
        /* The last column stays free: some terminals wrap as soon as it is written. */
        const int n = (int)terminal_fit(line, t->width - 1);
        fprintf(t->stream, "\r%.*s\033[K", n, line);
        t->drawn = true;
    } else {
        fprintf(t->stream, "%s\n", line);
    }
    fflush(t->stream);
    t->shown_once = true;
    t->shown_at = now;
}

void terminal_note(struct terminal *t, const char *format, ...)
{
    terminal_clear(t);
    va_list args;
    va_start(args, format);
    vfprintf(t->stream, format, args);
    va_end(args);
    fputc('\n', t->stream);
    fflush(t->stream);
}

void terminal_entry(struct terminal *t, const char *label, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    terminal_clear(t);
    const size_t indent = strlen(label);
    fputs(label, t->stream);
    size_t column = indent;
    for (const char *word = text; *word != '\0';) {
        const size_t n = strcspn(word, " ");
        const bool first = column == indent;
        if (t->screen && !first && column + 1 + n > t->width) {
            fprintf(t->stream, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', t->stream);
            column++;
        }
        fwrite(word, 1, n, t->stream);
        column += n;
        word += n + (word[n] == ' ');
    }
    fputc('\n', t->stream);
    fflush(t->stream);
}

const char *terminal_style(const struct terminal *t, enum terminal_style style)
{
    static const char *const sequence[] = {"\033[0m", "\033[1m", "\033[31m"};
    return t->colour ? sequence[style] : "";
}
