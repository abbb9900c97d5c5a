#include "base/fpu.h"

#include <fenv.h>

void fpu_reset(void)
{
    (void)fesetenv(FE_DFL_ENV); /* can only fail for an environment that was never saved */
}
