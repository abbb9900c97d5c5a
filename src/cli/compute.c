#include "cli/compute.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gemm.h"
#include "kernels/x86/cpu.h"

const char *const compute_precisions[] = {"fp32", "bf16", NULL};

static enum status choose(enum isa *isa, struct error *err)
{
    const enum isa best = cpu_best();
    const char *name = getenv("NOPEEK_ISA");
    *isa = best;
    return name && *name ? isa_parse(isa, name, best, err) : STATUS_OK;
}

enum status compute_check(bool products, struct error *err)
{
    enum isa isa;
    struct error inner;
    const enum status s = choose(&isa, &inner);
    if (s)
        return fail(err, s, "NOPEEK_ISA: %s", inner.message);
    if (products && !gemm_has_room(1))
        return fail(err, STATUS_MEMORY,
                    "OpenBLAS wants 128 MB of address space for a matrix product, and this process may not have it: "
                    "raise its limit (ulimit -v), or build with make BLAS=none");
    return STATUS_OK;
}

enum isa compute_isa(void)
{
    enum isa isa;
    struct error ignored;
    (void)choose(&isa, &ignored);
    return isa;
}

/* One pool for all commands: made when it is first needed, and again when a larger one is. One that the system made
 * smaller stays, for teams hold it. */
static struct team_pool *pool;
static int pool_threads;
static int pool_asked; /* for */

void compute_end(void)
{
    team_pool_free(pool);
    pool = NULL;
    pool_threads = 0;
    pool_asked = 0;
}

/* Before the pool's first product: afterwards the library has what it wants. */
static void limit_to_room(void)
{
    const int made = pool_threads;
    while (pool_threads > 1 && !gemm_has_room(pool_threads))
        pool_threads /= 2;
    if (pool_threads < made)
        fprintf(stderr,
                "note: OpenBLAS wants 128 MB of address space for each thread, more than this process may have (ulimit "
                "-v): computing with %d\n",
                pool_threads);
}

struct team compute_team(size_t threads)
{
    const int wanted = threads ? (int)threads : team_cores();
    if (wanted > 1 && wanted > pool_asked) {
        struct error refusal, again;
        compute_end();
        pool_threads = pool_asked = wanted;
        if (team_pool_create(&pool, wanted, &refusal) != STATUS_OK) {
            do
                pool_threads /= 2;
            while (pool_threads > 1 && team_pool_create(&pool, pool_threads, &again) != STATUS_OK);
            fprintf(stderr, "note: %s: computing with %d\n", refusal.message, pool_threads);
        }
        limit_to_room();
    }
    const int lanes = wanted < pool_threads ? wanted : pool_threads;
    return (struct team){lanes > 1 ? lanes : 1, compute_isa(), pool};
}

/* OpenBLAS lists how it was built among its names: "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH SkylakeX MAX_THREADS=64".
 */
static bool says_how_built(const char *word, size_t length)
{
    return strncmp(word, "NO_", 3) == 0 || strncmp(word, "USE_", 4) == 0 || strncmp(word, "DYNAMIC_", 8) == 0 ||
           memchr(word, '=', length);
}

const char *compute_library_of(char out[COMPUTE_LIBRARY_SIZE], const char *config)
{
    if (strncmp(config, "OpenBLAS ", 9) != 0) {
        snprintf(out, COMPUTE_LIBRARY_SIZE, "%s", config);
        return out;
    }
    size_t used = 0;
    out[0] = '\0';
    while (*config && used < COMPUTE_LIBRARY_SIZE) {
        const size_t length = strcspn(config, " ");
        if (length > 0 && !says_how_built(config, length))
            used += (size_t)snprintf(out + used, COMPUTE_LIBRARY_SIZE - used, "%s%.*s", used ? " " : "", (int)length,
                                     config);
        config += length + strspn(config + length, " ");
    }
    return out;
}

const char *compute_library(char out[COMPUTE_LIBRARY_SIZE])
{
    return compute_library_of(out, gemm_library());
}
