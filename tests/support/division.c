#include "support/division.h"

const struct division divisions[DIVISIONS] = {{1, true}, {2, true}, {3, true}, {5, true}, {64, false}};

int division_lanes(const struct division *d)
{
    return d->threads ? team_lanes(d->lanes) : d->lanes;
}

void division_run(const struct division *d, void (*work)(const struct lane *lane, void *context), void *context)
{
    if (d->threads) {
        team_run(d->lanes, work, context);
        return;
    }
    for (int index = d->lanes - 1; index >= 0; index--) {
        const struct lane lane = {index, d->lanes};
        work(&lane, context);
    }
}
