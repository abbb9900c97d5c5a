/* Preloaded into the program: refuses memory. Counting begins with main, so that what the loader and the libraries'
 * constructors take is left alone.
 *     SHIM_REFUSE=N   the Nth request from 1 is refused
 *     SHIM_ON=1       and all later ones
 *     SHIM_COUNT=F    at the end, the number of requests is written to file F
 * Requests of OpenBLAS are granted and not counted: its kernels for small matrices take memory at every product and
 * write to it without a look, and no caller can do anything about that. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_size_t requests;
static size_t refused_from, refused_to;
static atomic_bool counting;

/* dlsym itself asks for memory before the real functions are known. */
static char early[65536];
static size_t early_used;

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void *(*real_aligned_alloc)(size_t, size_t);
static int (*real_posix_memalign)(void **, size_t, size_t);
static void (*real_free)(void *);

static void find(void *function, const char *name)
{
    void *const found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, sizeof found);
}

static void *take_early(size_t size)
{
    const size_t at = (early_used + 15) / 16 * 16;
    if (size > sizeof early - at)
        return NULL;
    early_used = at + size;
    return early + at;
}

static bool is_early(const void *p)
{
    return (const char *)p >= early && (const char *)p < early + sizeof early;
}

/* Where OpenBLAS lies in memory. */
static uintptr_t blas_from, blas_to;

static int find_blas(struct dl_phdr_info *library, size_t size, void *context)
{
    (void)size, (void)context;
    if (!strstr(library->dlpi_name, "blas"))
        return 0;
    for (int i = 0; i < library->dlpi_phnum; i++) {
        const uintptr_t from = library->dlpi_addr + library->dlpi_phdr[i].p_vaddr,
                        to = from + library->dlpi_phdr[i].p_memsz;
        if (library->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        blas_from = blas_to == 0 || from < blas_from ? from : blas_from;
        blas_to = to > blas_to ? to : blas_to;
    }
    return 0;
}

static bool refuse(const void *caller)
{
    if (!counting || ((uintptr_t)caller >= blas_from && (uintptr_t)caller < blas_to))
        return false;
    const size_t number = ++requests;
    if (number < refused_from || number > refused_to)
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    static volatile bool looking; /* the header promises that dlsym does not come back here; it does */
    if (!real_malloc) {
        if (looking)
            return take_early(size);
        looking = true;
        find(&real_malloc, "malloc");
        looking = false;
    }
    return refuse(__builtin_return_address(0)) ? NULL : real_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    static volatile bool looking; /* the header promises that dlsym does not come back here; it does */
    if (!real_calloc) {
        if (looking)
            return take_early(n * size); /* zero from the start */
        looking = true;
        find(&real_calloc, "calloc");
        looking = false;
    }
    return refuse(__builtin_return_address(0)) ? NULL : real_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    if (!real_realloc)
        find(&real_realloc, "realloc");
    if (is_early(p)) {
        void *const moved = malloc(size);
        if (moved)
            memcpy(moved, p,
                   (size_t)(early + sizeof early - (char *)p) < size ? (size_t)(early + sizeof early - (char *)p)
                                                                     : size);
        return moved;
    }
    return refuse(__builtin_return_address(0)) ? NULL : real_realloc(p, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    if (!real_aligned_alloc)
        find(&real_aligned_alloc, "aligned_alloc");
    return refuse(__builtin_return_address(0)) ? NULL : real_aligned_alloc(alignment, size);
}

int posix_memalign(void **p, size_t alignment, size_t size)
{
    if (!real_posix_memalign)
        find(&real_posix_memalign, "posix_memalign");
    return refuse(__builtin_return_address(0)) ? ENOMEM : real_posix_memalign(p, alignment, size);
}

void free(void *p)
{
    static volatile bool looking; /* the header promises that dlsym does not come back here; it does */
    if (!real_free && !looking) {
        looking = true;
        find(&real_free, "free");
        looking = false;
    }
    /* What dlsym lets go of while it is asked stays. */
    if (real_free && !is_early(p))
        real_free(p);
}

static int (*programs_main)(int, char **, char **);

static int begin(int argc, char **argv, char **environment)
{
    const char *const from = getenv("SHIM_REFUSE");
    refused_from = from ? (size_t)strtoull(from, NULL, 10) : 0;
    refused_to = getenv("SHIM_ON") ? (size_t)-1 : refused_from;
    refused_from = from ? refused_from : (size_t)-1;
    dl_iterate_phdr(find_blas, NULL);
    counting = true;
    return programs_main(argc, argv, environment);
}

/* Where the loader hands over. */
int __libc_start_main(int (*start)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*loader_fini)(void), void *stack_end);
int __libc_start_main(int (*start)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*loader_fini)(void), void *stack_end)
{
    int (*real)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
    find(&real, "__libc_start_main");
    programs_main = start;
    return real(begin, argc, argv, init, fini, loader_fini, stack_end);
}

__attribute__((destructor)) static void tell(void)
{
    counting = false;
    const char *const path = getenv("SHIM_COUNT");
    FILE *f = path ? fopen(path, "w") : NULL;
    if (f) {
        fprintf(f, "%zu\n", requests);
        fclose(f);
    }
}
