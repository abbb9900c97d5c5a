#include "support/division.h"

#include "support/machine.h"

const struct division divisions[DIVISIONS] = {{1, true, ISA_AMX},  {2, true, ISA_AMX},         {3, true, ISA_PORTABLE},
                                              {5, true, ISA_AVX2}, {1, true, ISA_AVX512_BF16}, {1, true, ISA_AVX512},
                                              {1, true, ISA_AVX2}, {1, true, ISA_PORTABLE},    {64, false, ISA_AVX512}};

static enum isa isa_of(const struct division *d)
{
    const enum isa best = support_isa();
    return d->isa < best ? d->isa : best;
}

void division_run(const struct division *d, void (*work)(const struct lane *lane, void *context), void *context)
{
    if (d->threads) {
        team_run((struct team){.threads = d->lanes, .isa = isa_of(d)}, work, context);
        return;
    }
    for (int index = d->lanes - 1; index >= 0; index--) {
        const struct lane lane = {index, d->lanes, NULL, isa_of(d)};
        work(&lane, context);
    }
}
