#include <criterion/criterion.h>
#include <string.h>

#include "base/isa.h"

Test(isa, names_lead_back_to_their_sets)
{
    for (int best = 0; best < ISA_COUNT; best++)
        for (int i = 0; i <= best; i++) {
            enum isa found = ISA_COUNT;
            struct error err;
            cr_assert_eq(isa_parse(&found, isa_name((enum isa)i), (enum isa)best, &err), STATUS_OK);
            cr_assert_eq((int)found, i);
        }
}

Test(isa, a_set_that_is_not_there_is_refused_with_those_that_are)
{
    enum isa found = ISA_COUNT;
    struct error err;
    cr_assert_eq(isa_parse(&found, "amx", ISA_AVX2, &err), STATUS_USAGE);
    cr_assert_str_eq(err.message, "instruction set \"amx\": this processor and this build have portable, avx2");
    cr_assert_eq(isa_parse(&found, "", ISA_AMX, &err), STATUS_USAGE);
    cr_assert_eq(isa_parse(&found, "AVX2", ISA_AMX, &err), STATUS_USAGE);
    cr_assert_eq((int)found, ISA_COUNT);
}
