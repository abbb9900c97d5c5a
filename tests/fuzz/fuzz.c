#include "fuzz/fuzz.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 512

static char folder[PATH_SIZE / 2];
static size_t accepted;

const char *const fuzz_file_names[FUZZ_FILES] = {
    "model.safetensors",
    "config.json",
    "tokenizer.json",
    "optimizer.safetensors",
    "trainer_state.json",
    "tokenizer_config.json",
    "model.safetensors.index.json",
    "model-00001-of-00002.safetensors",
    "model-00002-of-00002.safetensors",
};

void fuzz_broken(const char *file, int line, const char *condition, const char *format, ...)
{
    va_list args;
    fprintf(stderr, "%s:%d: broken: %s: ", file, line, condition);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    fuzz_end();
    abort();
}

void fuzz_clear(struct error *err)
{
    memset(err->message, 1, sizeof err->message);
}

/* On purpose not by way of status_one_line, which it checks. */
static bool is_clean(const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        const unsigned char c = (unsigned char)s[i];
        const size_t length = c < 0x80 ? 1 : c < 0xC0 ? 0 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
        if (length == 0 || length > n - i || c < 0x20 || c == 0x7F || (c == 0xC2 && (unsigned char)s[i + 1] < 0xA0))
            return false;
        for (size_t k = 1; k < length; k++)
            if (((unsigned char)s[i + k] & 0xC0u) != 0x80u)
                return false;
        i += length;
    }
    return true;
}

void fuzz_refused(enum status s, const struct error *err)
{
    fuzz_require(s > STATUS_OK && s <= STATUS_INTERRUPTED, "status %d", (int)s);
    const size_t n = strnlen(err->message, sizeof err->message);
    fuzz_require(n > 0 && n < sizeof err->message, "a message of %zu bytes", n);
    fuzz_require(is_clean(err->message, n), "\"%s\"", err->message);
}

void fuzz_accepted(void)
{
    accepted++;
}

size_t fuzz_accepted_count(void)
{
    return accepted;
}

static void make_folder(void)
{
    const char *const places[] = {getenv("TMPDIR"), "/dev/shm", "/tmp"};
    for (size_t i = 0; i < sizeof places / sizeof places[0] && folder[0] == '\0'; i++) {
        if (!places[i] || places[i][0] != '/' || strlen(places[i]) > sizeof folder - 32)
            continue;
        snprintf(folder, sizeof folder, "%s/nopeek-fuzz-XXXXXX", places[i]);
        if (!mkdtemp(folder))
            folder[0] = '\0';
    }
    if (folder[0] == '\0') {
        fputs("no folder for temporary files: set TMPDIR\n", stderr);
        abort();
    }
    atexit(fuzz_end);
}

const char *fuzz_path(const char *name)
{
    static char paths[4][PATH_SIZE];
    static size_t next;
    if (folder[0] == '\0')
        make_folder();
    char *path = paths[next++ % 4];
    snprintf(path, PATH_SIZE, "%s/%s", folder, name);
    return path;
}

const char *fuzz_file(const char *name, const void *bytes, size_t n)
{
    const char *path = fuzz_path(name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0) {
        perror(path);
        abort();
    }
    return path;
}

uint8_t *fuzz_read(size_t *n, const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t room = 4096;
    uint8_t *bytes = malloc(room);
    *n = 0;
    while (f && bytes) {
        *n += fread(bytes + *n, 1, room - *n, f);
        if (*n < room)
            break;
        room *= 2;
        bytes = realloc(bytes, room);
    }
    if (!f || !bytes) {
        perror(path);
        abort();
    }
    fclose(f);
    return bytes;
}

static void remove_at(const char *path, int depth)
{
    if (unlink(path) == 0 || depth == 0)
        return;
    DIR *d = opendir(path);
    const struct dirent *e;
    while (d && (e = readdir(d)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            char inner[2 * PATH_SIZE];
            snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
            remove_at(inner, depth - 1);
        }
    if (d)
        closedir(d);
    rmdir(path);
}

void fuzz_remove(const char *name)
{
    remove_at(fuzz_path(name), 3);
}

void fuzz_unpack(const char *name, const uint8_t *bytes, size_t n)
{
    fuzz_remove(name);
    const char *path = fuzz_path(name);
    fuzz_require(mkdir(path, 0700) == 0, "%s", path);
    while (n >= 3) {
        const size_t file = bytes[0] % FUZZ_FILES, stated = bytes[1] | (size_t)bytes[2] << 8;
        const size_t size = stated < n - 3 ? stated : n - 3;
        char inner[128];
        snprintf(inner, sizeof inner, "%s/%s", name, fuzz_file_names[file]);
        fuzz_file(inner, bytes + 3, size);
        bytes += 3 + size;
        n -= 3 + size;
    }
}

void fuzz_end(void)
{
    if (folder[0] != '\0')
        remove_at(folder, 4);
    folder[0] = '\0';
}
