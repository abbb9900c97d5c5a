#include "cli/compute.h"

#include <stdio.h>
#include <stdlib.h>

#include "kernels/x86/cpu.h"

const char *const compute_precisions[] = {"fp32", "bf16", NULL};

static enum status choose(enum isa *isa, struct error *err)
{
    const enum isa best = cpu_best();
    const char *name = getenv("NOPEEK_ISA");
    *isa = best;
    return name && *name ? isa_parse(isa, name, best, err) : STATUS_OK;
}

enum status compute_check(struct error *err)
{
    enum isa isa;
    struct error inner;
    const enum status s = choose(&isa, &inner);
    return s ? fail(err, s, "NOPEEK_ISA: %s", inner.message) : STATUS_OK;
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
    }
    const int lanes = wanted < pool_threads ? wanted : pool_threads;
    return (struct team){lanes > 1 ? lanes : 1, compute_isa(), pool};
}
