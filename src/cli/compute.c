#include "cli/compute.h"

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

struct team compute_team(size_t threads)
{
    return (struct team){threads ? (int)threads : team_cores(), compute_isa()};
}
