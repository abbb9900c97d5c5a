/* The first byte is the step to keep, the rest metrics.jsonl of a run that is resumed. Whatever it holds, the log
 * opens; then every line is a record of that step or before, a second opening changes nothing, and where a line was no
 * record the log as it was is whole beside it. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz/fuzz.h"
#include "io/metrics.h"

/* Opens and closes the log, and gives what is there then. */
static uint8_t *open_log(size_t *n, char **aside, const char *dir, long long keep)
{
    struct error err;
    struct metrics m;
    fuzz_clear(&err);
    const enum status s = metrics_open(&m, dir, keep, &err);
    fuzz_require(s == STATUS_OK, "%s", err.message);
    fuzz_require(!m.aside == (m.unsound == 0) && (m.unsound == 0 || m.first_unsound > 0), "%zu lines", m.unsound);
    *aside = m.aside ? strdup(m.aside) : NULL;
    fuzz_require(metrics_close(&m, &err) == STATUS_OK, "%s", err.message);
    return fuzz_read(n, fuzz_path("run/metrics.jsonl"));
}

static void require_records(const uint8_t *log, size_t n, long long keep)
{
    for (size_t at = 0; at < n;) {
        const uint8_t *end = memchr(log + at, '\n', n - at);
        fuzz_require(end, "a last line without its end");
        struct error err;
        json_t *record;
        fuzz_require(metrics_parse(&record, log + at, (size_t)(end - log) - at, &err) == STATUS_OK, "%s", err.message);
        const json_t *step = json_object_get(record, "step");
        fuzz_require(record && (!step || json_integer_value(step) <= keep), "byte %zu", at);
        json_decref(record);
        at = (size_t)(end - log) + 1;
    }
}

int fuzz_metrics(const uint8_t *bytes, size_t n)
{
    if (n == 0)
        return 0;
    const long long keep = bytes[0] == 255 ? -1 : bytes[0];
    bytes++;
    n--;
    fuzz_remove("run");
    const char *dir = fuzz_path("run");
    fuzz_require(mkdir(dir, 0700) == 0, "%s", dir);
    fuzz_file("run/metrics.jsonl", bytes, n);

    size_t kept, kept_again;
    char *aside, *none;
    uint8_t *log = open_log(&kept, &aside, dir, keep);
    require_records(log, kept, keep);
    if (!aside)
        fuzz_accepted();
    fuzz_require(keep >= 0 || kept == 0, "starting anew keeps %zu bytes", kept);
    if (aside) {
        size_t size;
        uint8_t *whole = fuzz_read(&size, aside);
        fuzz_require(size == n && memcmp(whole, bytes, n) == 0, "the log beside is another");
        free(whole);
    }
    uint8_t *again = open_log(&kept_again, &none, dir, keep);
    fuzz_require(!none && kept == kept_again && memcmp(log, again, kept) == 0, "the second opening changes it");
    free(log);
    free(again);
    free(aside);
    return 0;
}
