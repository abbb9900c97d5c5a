#include "base/machine.h"

#include <criterion/criterion.h>
#include <string.h>

Test(machine, has_a_name_without_blanks_at_its_ends)
{
    char name[MACHINE_NAME_SIZE];
    cr_assert_eq(machine_name(name), name);
    const size_t length = strlen(name);
    cr_assert(length > 0 && length < MACHINE_NAME_SIZE);
    cr_assert(name[0] != ' ' && name[length - 1] != ' ' && name[length - 1] != '\n');
    cr_assert_null(strstr(name, "  "));
}
