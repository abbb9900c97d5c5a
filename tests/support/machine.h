/* The instruction set and the teams that tests compute with: NOPEEK_ISA's set, or the best there is. */
#ifndef SUPPORT_MACHINE_H
#define SUPPORT_MACHINE_H

#include "base/team.h"

/* Fails the test when NOPEEK_ISA names a set that is not there. */
enum isa support_isa(void);

struct team support_team(int threads);

#endif
