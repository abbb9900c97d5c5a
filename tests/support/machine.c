#include "support/machine.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "kernels/x86/cpu.h"

enum isa support_isa(void)
{
    enum isa isa = cpu_best();
    const char *name = getenv("NOPEEK_ISA");
    struct error err;
    if (name && *name)
        cr_assert_eq(isa_parse(&isa, name, isa, &err), STATUS_OK, "%s", err.message);
    return isa;
}

struct team support_team(int threads)
{
    return (struct team){.threads = threads, .isa = support_isa()};
}
