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
#include "text/utf8.h"

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

/* Almost every terminal breaks a long line anew when its window becomes narrower. xterm and screen cut it: there, going
 * up would wipe lines that were to stay. tmux breaks it, whatever it runs in. */
static bool reflows(void)
{
    return getenv("TMUX") || !(getenv("XTERM_VERSION") || getenv("STY"));
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
    t->reflows = reflows();
}

/* Wipes the progress line. In a window that has become narrower since, it may fill several rows by now, and the cursor
 * stands in the last of them. */
static void wipe(struct terminal *t)
{
    if (t->live)
        t->width = width_of(fileno(t->stream));
    if (!t->drawn)
        return;
    const size_t rows = t->reflows && t->columns > 0 ? (t->columns - 1) / t->width : 0;
    if (rows > 0)
        fprintf(t->stream, "\033[%zuA\r\033[J", rows);
    t->drawn = false;
}

void terminal_clear(struct terminal *t)
{
    const bool drawn = t->drawn;
    wipe(t);
    if (drawn)
        fputs("\r\033[K", t->stream);
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
        wipe(t);
        /* The last column stays free: some terminals wrap as soon as it is written. */
        const size_t n = utf8_fit(&t->columns, line, t->width - 1);
        fprintf(t->stream, "\r%.*s\033[K", (int)n, line);
        t->drawn = true;
    } else {
        fprintf(t->stream, "%s\n", line);
    }
    fflush(t->stream);
    t->shown_once = true;
    t->shown_at = now;
}

/* Bytes up to the next place where a line may end. A command line is to be copied from the screen: it stays whole, up
 * to the end of its clause. */
static size_t unbroken(const char *text)
{
    const size_t command = strncmp(text, "nopeek ", 7) == 0 ? strcspn(text, ",;:)") : 0;
    return command + strcspn(text + command, " ");
}

/* text is cut into words in place. */
static void put_wrapped(struct terminal *t, const char *label, char *text)
{
    terminal_clear(t);
    const size_t indent = utf8_columns(label);
    fputs(label, t->stream);
    size_t column = indent;
    for (char *word = text; *word != '\0';) {
        const size_t n = unbroken(word);
        const char after = word[n];
        word[n] = '\0';
        const size_t columns = utf8_columns(word);
        const bool first = column == indent;
        if (t->screen && !first && column + 1 + columns > t->width) {
            fprintf(t->stream, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', t->stream);
            column++;
        }
        fwrite(word, 1, n, t->stream);
        column += columns;
        word += n + (after != '\0');
    }
    fputc('\n', t->stream);
    fflush(t->stream);
}

void terminal_entry(struct terminal *t, const char *label, const char *format, ...)
{
    char text[TERMINAL_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    put_wrapped(t, label, text);
}

void terminal_note(struct terminal *t, const char *format, ...)
{
    char text[TERMINAL_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    put_wrapped(t, "", text);
}

const char *terminal_style(const struct terminal *t, enum terminal_style style)
{
    static const char *const sequence[] = {"\033[0m", "\033[1m", "\033[31m"};
    return t->colour ? sequence[style] : "";
}
