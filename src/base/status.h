/* What a call that can fail returns, and the one line that tells a person why.
 *
 * Every function that can fail takes a `struct error *err` as its last argument (never NULL) and
 * returns an `enum status`; anything but STATUS_OK comes with err->message filled: what and where,
 * what was found, what was expected, what to do. No trailing full stop, no newline. */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

enum status {
    STATUS_OK = 0,
    STATUS_USAGE,       /* options or settings that make no sense together */
    STATUS_OPEN,        /* a file or folder cannot be opened */
    STATUS_READ,        /* ... or read */
    STATUS_WRITE,       /* ... or written */
    STATUS_FORMAT,      /* content is not what it must be */
    STATUS_RANGE,       /* a number lies outside its range, or a size overflows */
    STATUS_MEMORY,      /* the machine refused memory */
    STATUS_NONFINITE,   /* NaN or infinity in a loss, a gradient or a weight */
    STATUS_LEAK,        /* a position sees its own future */
    STATUS_INTERRUPTED, /* stopped by a signal, after saving */
};

struct error {
    char message[1024];
};

/* Fills err and returns status, so that `return fail(err, STATUS_OPEN, "%s: %s", path, why);` works.
 * A message longer than the buffer is cut at a whole UTF-8 character. Names and words of any file may stand in a
 * message, as it ends with status_one_line. */
enum status fail(struct error *err, enum status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " in front of the message that err holds; returns status unchanged. */
enum status fail_within(struct error *err, enum status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts '?' for every byte of what is no UTF-8, and of characters that would end the line or act on a terminal (control
 * characters, line separators, changes of direction): what was read from a file can be shown. */
void status_one_line(char *text);

#endif
