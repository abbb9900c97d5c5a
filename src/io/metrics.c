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
#include "io/mapped.h"

#define SIGNIFICANT_DIGITS 9

/* Is this line to be kept? A last line without its end that is no record was cut short by a crash. */
static enum status judge_line(bool *keep, const char *path, size_t number, const uint8_t *line, size_t n, bool ended,
                              long long keep_through, struct error *err)
{
    *keep = false;
    /* A sample of bytes may hold a zero byte. */
    json_t *record = json_loadb((const char *)line, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    const json_t *step = json_object_get(record, "step");
    enum status s = STATUS_OK;
    if (json_is_object(record) && (!step || json_is_integer(step)))
        *keep = !step || json_integer_value(step) <= keep_through;
    else if (ended)
        s = fail(err, STATUS_FORMAT, "%s: line %zu is %s: delete the line, or the file to start it anew", path, number,
                 json_is_object(record) ? "a record whose \"step\" is no whole number" : "no JSON object");
    json_decref(record);
    return s;
}

/* Copies the lines to keep; *size is their size with a line end each. */
static enum status keep_lines(uint8_t *out, size_t *size, const char *path, const struct mapped *file,
                              long long keep_through, struct error *err)
{
    *size = 0;
    size_t number = 1;
    for (size_t at = 0; at < file->size; number++) {
        const uint8_t *line = file->bytes + at;
        const uint8_t *end = memchr(line, '\n', file->size - at);
        const size_t n = end ? (size_t)(end - line) : file->size - at;
        bool keep;
        const enum status s = judge_line(&keep, path, number, line, n, end != NULL, keep_through, err);
        if (s != STATUS_OK)
            return s;
        if (keep) {
            memcpy(out + *size, line, n);
            *size += n;
            out[(*size)++] = '\n';
        }
        at += n + (end ? 1 : 0);
    }
    return STATUS_OK;
}

static enum status cut_mapped(const char *path, const struct mapped *file, long long keep_through, struct error *err)
{
    size_t size;
    uint8_t *kept = malloc(file->size + 1); /* the last line may lack its end */
    if (!kept)
        return fail(err, STATUS_MEMORY, "%s: no memory left for its %zu bytes", path, file->size);
    enum status s = keep_lines(kept, &size, path, file, keep_through, err);
    if (s == STATUS_OK && size != file->size)
        s = commit_file(path, kept, size, err);
    free(kept);
    return s;
}

static enum status cut(const char *path, long long keep_through, struct error *err)
{
    struct mapped file;
    enum status s = mapped_open(&file, path, err);
    if (s != STATUS_OK)
        return s;
    if (keep_through >= 0)
        s = cut_mapped(path, &file, keep_through, err);
    else if (file.size > 0)
        s = commit_file(path, "", 0, err);
    mapped_close(&file);
    return s;
}

enum status metrics_open(struct metrics *m, const char *dir, long long keep_through, struct error *err)
{
    *m = (struct metrics){.path = commit_join(dir, METRICS_FILE)};
    if (!m->path)
        return fail(err, STATUS_MEMORY, "%s: no memory left for a path", dir);
    struct stat st;
    enum status s = STATUS_OK;
    if (stat(m->path, &st) == 0)
        s = cut(m->path, keep_through, err);
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
    char *line = json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(SIGNIFICANT_DIGITS));
    json_decref(record);
    if (!line)
        return fail(err, STATUS_MEMORY, "%s: no memory left for a record", m->path);
    const size_t n = strlen(line);
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

enum status metrics_close(struct metrics *m, struct error *err)
{
    enum status s = STATUS_OK;
    if (m->file) {
        int synced;
        do
            synced = fsync(fileno(m->file));
        while (synced != 0 && errno == EINTR);
        if (synced != 0)
            s = fail(err, STATUS_WRITE, "%s: %s", m->path, strerror(errno));
        if (fclose(m->file) != 0 && s == STATUS_OK)
            s = fail(err, STATUS_WRITE, "%s: %s", m->path, strerror(errno));
    }
    free(m->path);
    *m = (struct metrics){0};
    return s;
}
