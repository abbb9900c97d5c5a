#include "base/isa.h"

#include <stdio.h>
#include <string.h>

static const char *const NAMES[ISA_COUNT] = {"portable", "avx2", "avx512", "avx512-bf16", "amx"};

const char *isa_name(enum isa isa)
{
    return NAMES[isa];
}

enum status isa_parse(enum isa *isa, const char *name, enum isa best, struct error *err)
{
    char have[128] = "";
    size_t used = 0;
    for (int i = 0; i <= (int)best; i++) {
        if (strcmp(name, NAMES[i]) == 0) {
            *isa = (enum isa)i;
            return STATUS_OK;
        }
        used += (size_t)snprintf(have + used, sizeof have - used, "%s%s", i ? ", " : "", NAMES[i]);
    }
    return fail(err, STATUS_USAGE, "instruction set \"%.40s\": this processor and this build have %s", name, have);
}
