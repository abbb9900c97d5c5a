#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cli/compute.h"
#include "kernels/x86/cpu.h"

Test(compute, takes_the_best_kernels_and_all_cores_unless_told)
{
    unsetenv("NOPEEK_ISA");
    struct error err;
    cr_assert_eq(compute_check(true, &err), STATUS_OK);
    cr_assert_eq(compute_isa(), cpu_best());
    cr_assert_eq(compute_team(0).threads, team_cores());
    cr_assert_eq(compute_team(3).threads, 3);
}

Test(compute, the_environment_lowers_the_kernels)
{
    setenv("NOPEEK_ISA", "portable", 1);
    cr_assert_eq(compute_isa(), ISA_PORTABLE);
    cr_assert_eq(compute_team(1).isa, ISA_PORTABLE);
    setenv("NOPEEK_ISA", "", 1);
    cr_assert_eq(compute_isa(), cpu_best());
}

Test(compute, kernels_that_are_not_there_are_refused_by_name)
{
    setenv("NOPEEK_ISA", "sse9", 1);
    struct error err;
    cr_assert_eq(compute_check(true, &err), STATUS_USAGE);
    cr_assert_eq(strncmp(err.message, "NOPEEK_ISA: instruction set \"sse9\": ", 36), 0, "%s", err.message);
}

Test(compute, a_library_is_named_without_how_it_was_built)
{
    const char *const names[][2] = {
        {"OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY SkylakeX MAX_THREADS=64", "OpenBLAS 0.3.21 SkylakeX"},
        {"OpenBLAS 0.3.26 DYNAMIC_ARCH NO_AFFINITY USE_OPENMP Zen MAX_THREADS=128 ", "OpenBLAS 0.3.26 Zen"},
        {"plain C loops, slow, made with BLAS=none", "plain C loops, slow, made with BLAS=none"},
        {"CBLAS", "CBLAS"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char out[COMPUTE_LIBRARY_SIZE];
        cr_assert_str_eq(compute_library_of(out, names[i][0]), names[i][1]);
    }
}

#ifndef NOPEEK_SANITIZED /* sanitizers have all addresses taken */
Test(compute, threads_that_the_system_refuses_are_asked_for_once)
{
    cr_assert_eq(setrlimit(RLIMIT_AS, &(struct rlimit){(rlim_t)2 << 30, (rlim_t)2 << 30}), 0);
    const struct team few = compute_team(1024);
    cr_assert(few.threads > 1 && few.threads < 1024, "%d", few.threads);
    cr_assert_eq(setrlimit(RLIMIT_AS, &(struct rlimit){(rlim_t)1 << 26, (rlim_t)2 << 30}), 0);
    const struct team again = compute_team(1024);
    cr_assert(again.threads == few.threads && again.pool == few.pool);
    compute_end();
}
#endif
