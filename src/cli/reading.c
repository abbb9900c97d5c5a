#include "cli/reading.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/human.h"
#include "cli/terminal.h"

/* Seconds before anything is said: most texts are read in less. */
#define PATIENCE 1.0

struct reading {
    struct terminal notes;
    double started;
};

static void show(void *context, uint64_t read, uint64_t total)
{
    struct reading *r = context;
    const double now = clock_seconds(), passed = now - r->started;
    char a[HUMAN_SIZE], b[HUMAN_SIZE], left[HUMAN_SIZE];
    if (passed < PATIENCE)
        return;
    if (total > 0)
        terminal_progress(&r->notes, now, false, "reading the text: %s of %s, %s left", human_bytes(a, (size_t)read),
                          human_bytes(b, (size_t)total),
                          human_duration(left, passed / (double)read * (double)(total - read)));
    else
        terminal_progress(&r->notes, now, false, "reading the text: %s", human_bytes(a, (size_t)read));
}

enum status reading_open(struct dataset *d, struct tokenizer *tokenizer, const char *const *paths, size_t n_paths,
                         double val_split, struct error *err)
{
    struct reading r = {.started = clock_seconds()};
    terminal_open(&r.notes, stderr);
    const struct dataset_watch watch = {&r, show};
    const enum status s = dataset_open_watched(d, tokenizer, paths, n_paths, val_split, &watch, err);
    terminal_clear(&r.notes);
    return s;
}

enum status reading_spares(const char *output, const char *option, const char *const *paths, size_t n_paths,
                           struct error *err)
{
    struct stat there, text;
    if (!output || stat(output, &there) != 0 || !S_ISREG(there.st_mode))
        return STATUS_OK;
    for (size_t i = 0; i < n_paths; i++) {
        const bool known = strcmp(paths[i], "-") == 0 ? fstat(STDIN_FILENO, &text) == 0 : stat(paths[i], &text) == 0;
        if (known && text.st_dev == there.st_dev && text.st_ino == there.st_ino)
            return fail(err, STATUS_USAGE, "--%s: %s is the text itself: name another file", option, output);
    }
    return STATUS_OK;
}
