#include "io/metrics.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/commit.h"
#include "io/file.h"
#include "io/json_text.h"
#include "io/lines.h"

#define SIGNIFICANT_DIGITS 9

const struct json_limits metrics_limits = {.bytes = METRICS_MAX_LINE, .depth = 16, .values = (size_t)1 << 20};

/* What one pass over the log found. */
struct pass {
    uint8_t *out; /* takes the lines to keep, or NULL: they are only counted */
    size_t room;
    size_t kept;      /* bytes of the lines to keep, with a line end each */
    size_t unsound;   /* lines that are no records */
    size_t first_bad; /* the number of the first of them */
};

enum status metrics_parse(json_t **record, const uint8_t *line, size_t n, struct error *err)
{
    *record = NULL;
    if (!line)
        return STATUS_OK;
    /* A sample of bytes may hold a zero byte. */
    const enum status s = json_text_parse(record, METRICS_FILE, line, n, JSON_ALLOW_NUL, &metrics_limits, err);
    if (s == STATUS_MEMORY) /* which says nothing about the line */
        return s;
    const json_t *step = json_object_get(*record, "step");
    if (json_is_object(*record) && (!step || json_is_integer(step)))
        return STATUS_OK;
    json_decref(*record);
    *record = NULL;
    return STATUS_OK;
}

static enum status take_line(struct pass *p, const char *path, const struct line *line, size_t number,
                             long long keep_through, struct error *err)
{
    json_t *record;
    const enum status s = metrics_parse(&record, line->bytes, line->n, err);
    if (s != STATUS_OK)
        return s;
    const json_t *step = json_object_get(record, "step");
    const bool sound = record != NULL, keep = sound && (!step || json_integer_value(step) <= keep_through);
    json_decref(record);
    /* A last line without its end that is no record was cut short by a crash: nobody's loss. */
    if (!sound && line->ended && p->unsound++ == 0)
        p->first_bad = number;
    if (!keep)
        return STATUS_OK;
    if (p->out && line->n >= p->room - p->kept)
        return fail(err, STATUS_READ, "%s: changed while it was being read; try again when nothing writes to it", path);
    if (p->out) {
        memcpy(p->out + p->kept, line->bytes, line->n);
        p->out[p->kept + line->n] = '\n';
    }
    p->kept += line->n + 1;
    return STATUS_OK;
}

static enum status go_through(struct pass *p, const char *path, long long keep_through, struct error *err)
{
    struct lines lines;
    enum status s = lines_open(&lines, path, METRICS_MAX_LINE, err);
    if (s != STATUS_OK)
        return s;
    bool more = true;
    for (size_t number = 1; s == STATUS_OK && more; number++) {
        struct line line;
        s = lines_next(&line, &more, &lines, err);
        if (s == STATUS_OK && more)
            s = take_line(p, path, &line, number, keep_through, err);
    }
    lines_close(&lines);
    return s;
}

/* Replaces the log by the lines to keep; one with lines that are no records is kept whole beside it. */
static enum status replace(struct metrics *m, const struct pass *found, const uint8_t *kept, size_t n,
                           struct error *err)
{
    if (found->unsound == 0)
        return commit_file(m->path, kept, n, err);
    enum status s = commit_move_aside(m->path, &m->aside, err);
    if (s != STATUS_OK)
        return s;
    m->unsound = found->unsound;
    m->first_unsound = found->first_bad;
    s = commit_file(m->path, kept, n, err);
    if (s != STATUS_OK && m->aside && rename(m->aside, m->path) != 0)
        return fail_within(err, s, "the log is %s now", m->aside);
    return s;
}

static enum status cut_file(struct metrics *m, size_t size, long long keep_through, struct error *err)
{
    struct pass found = {0};
    enum status s = go_through(&found, m->path, keep_through, err);
    /* The lines to keep are in order and whole, so as many bytes as the file has are the file. */
    if (s != STATUS_OK || (found.unsound == 0 && found.kept == size))
        return s;
    struct pass again = {.out = malloc(found.kept + 1), .room = found.kept + 1};
    if (!again.out)
        return fail(err, STATUS_MEMORY, "%s: no memory left for its %zu bytes", m->path, found.kept);
    s = go_through(&again, m->path, keep_through, err);
    if (s == STATUS_OK)
        s = replace(m, &found, again.out, again.kept, err);
    free(again.out);
    return s;
}

static enum status cut(struct metrics *m, long long keep_through, struct error *err)
{
    struct file file;
    enum status s = file_open(&file, m->path, err);
    if (s != STATUS_OK)
        return s;
    const size_t size = file.size;
    file_close(&file);
    if (keep_through < 0)
        return size > 0 ? commit_file(m->path, "", 0, err) : STATUS_OK;
    return cut_file(m, size, keep_through, err);
}

enum status metrics_open(struct metrics *m, const char *dir, long long keep_through, struct error *err)
{
    *m = (struct metrics){.path = commit_join(dir, METRICS_FILE)};
    if (!m->path)
        return fail(err, STATUS_MEMORY, "%s: no memory left for a path", dir);
    struct stat st;
    enum status s = STATUS_OK;
    if (stat(m->path, &st) == 0)
        s = cut(m, keep_through, err);
    if (s == STATUS_OK) {
        m->file = fopen(m->path, "ab");
        /* Unbuffered, so that a line that could not be written is not tried again at closing. */
        if (!m->file || setvbuf(m->file, NULL, _IONBF, 0) != 0)
            s = fail(err, STATUS_OPEN, "%s: %s", m->path, strerror(errno));
    }
    if (s != STATUS_OK) {
        if (m->file)
            fclose(m->file);
        free(m->path);
        free(m->aside);
        *m = (struct metrics){0};
    }
    return s;
}

static enum status append_line(struct metrics *m, const char *line, size_t n, struct error *err)
{
    const int fd = fileno(m->file);
    struct stat before;
    if (fstat(fd, &before) != 0)
        return fail(err, STATUS_WRITE, "%s: %s", m->path, strerror(errno));
    if (fwrite(line, 1, n, m->file) == n)
        return STATUS_OK;
    const enum status s = fail(err, STATUS_WRITE, "%s: %s", m->path, strerror(errno));
    clearerr(m->file);
    if (ftruncate(fd, before.st_size) != 0)
        return fail_within(err, s, "%s: ends with half a line", m->path);
    return s;
}

enum status metrics_append(struct metrics *m, json_t *record, struct error *err)
{
    size_t n;
    char *line = json_text_make(record, JSON_COMPACT | JSON_REAL_PRECISION(SIGNIFICANT_DIGITS), &n);
    json_decref(record);
    if (!line)
        return fail(err, STATUS_MEMORY, "%s: no memory left for a record", m->path);
    line[n] = '\n'; /* in place of the terminating zero: the line goes out in one write */
    const enum status s = append_line(m, line, n + 1, err);
    free(line);
    return s;
}

json_t *metrics_number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

json_t *metrics_record(const char *kind, size_t step)
{
    return json_pack("{s:s, s:I}", "kind", kind, "step", (json_int_t)step);
}

/* Takes the reference to value; a record that cannot hold it is given up. */
static void put(json_t **record, const char *key, json_t *value)
{
    if (json_object_set_new(*record, key, value) == 0)
        return;
    json_decref(*record);
    *record = NULL;
}

void metrics_put(json_t **record, const char *key, double x)
{
    put(record, key, metrics_number(x));
}

void metrics_put_text(json_t **record, const char *key, const char *utf8, size_t n)
{
    put(record, key, json_stringn(utf8, n));
}

void metrics_put_texts(json_t **record, const char *key, const char *const *utf8, size_t n)
{
    json_t *list = json_array();
    bool whole = list != NULL;
    for (size_t i = 0; i < n && whole; i++)
        whole = json_array_append_new(list, json_string(utf8[i])) == 0;
    if (!whole) {
        json_decref(list);
        list = NULL; /* which no record can hold */
    }
    put(record, key, list);
}

void metrics_put_grid(json_t **record, const char *key, const double *values, size_t rows, size_t cols)
{
    json_t *grid = json_array();
    bool whole = grid != NULL;
    for (size_t r = 0; r < rows && whole; r++) {
        json_t *row = json_array();
        for (size_t c = 0; c < cols && whole; c++)
            whole = json_array_append_new(row, metrics_number(values[r * cols + c])) == 0;
        whole = json_array_append_new(grid, row) == 0 && whole;
    }
    if (!whole) {
        json_decref(grid);
        grid = NULL; /* which no record can hold */
    }
    put(record, key, grid);
}

enum status metrics_sync(struct metrics *m, struct error *err)
{
    int synced;
    do
        synced = fsync(fileno(m->file));
    while (synced != 0 && errno == EINTR);
    return synced == 0 ? STATUS_OK : fail(err, STATUS_WRITE, "%s: %s", m->path, strerror(errno));
}

enum status metrics_close(struct metrics *m, struct error *err)
{
    enum status s = STATUS_OK;
    if (m->file) {
        s = metrics_sync(m, err);
        if (fclose(m->file) != 0 && s == STATUS_OK)
            s = fail(err, STATUS_WRITE, "%s: %s", m->path, strerror(errno));
    }
    free(m->path);
    free(m->aside);
    *m = (struct metrics){0};
    return s;
}
