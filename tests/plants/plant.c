/* Deliberate faults, to prove that `make asan` and `make ubsan` see them: compiled only by PLANT=NAME,
 * in a test's worker process or in a program that a test starts. scripts/check_sanitizers.sh tries all. */
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>

/* volatile: the optimiser must not see through the fault and remove it. */
static volatile size_t plant_size = 24;
static volatile int plant_int = INT_MAX;
static char *volatile plant_block;

static void plant_leak(void)
{
    plant_block = malloc(plant_size);
    plant_block[0] = 1;
    plant_block = NULL;
}

static void plant_overflow(void)
{
    char *block = malloc(plant_size);
    plant_block = block;
    plant_block[plant_size] = 1;
    free(block);
}

static void plant_undefined(void)
{
    plant_int = plant_int + 1;
}

static void plant_fault(void)
{
#if defined(PLANT_leak) || defined(PLANT_program_leak)
    plant_leak();
    (void)plant_overflow;
    (void)plant_undefined;
#elif defined(PLANT_overflow) || defined(PLANT_program_overflow)
    plant_overflow();
    (void)plant_leak;
    (void)plant_undefined;
#elif defined(PLANT_undefined) || defined(PLANT_program_undefined)
    plant_undefined();
    (void)plant_leak;
    (void)plant_overflow;
#else
#error "PLANT is leak, overflow, undefined, program-leak, program-overflow or program-undefined"
#endif
}

#if defined(PLANT_program_leak) || defined(PLANT_program_overflow) || defined(PLANT_program_undefined)
#define PLANT_IN_PROGRAM
#endif

#ifdef PLANT_IN_TEST
#include <criterion/criterion.h>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

Test(plant, passes_in_spite_of_its_fault)
{
#ifdef PLANT_IN_PROGRAM
    /* As a careless test would: starts the program and asks nothing about how it ended. */
    char name[] = NOPEEK_BINARY, option[] = "--version";
    char *const arguments[] = {name, option, NULL};
    posix_spawn_file_actions_t silent;
    posix_spawn_file_actions_init(&silent);
    posix_spawn_file_actions_addopen(&silent, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&silent, 2, "/dev/null", O_WRONLY, 0);
    pid_t child;
    cr_assert_eq(posix_spawn(&child, name, &silent, NULL, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&silent);
    int how;
    cr_assert_eq(waitpid(child, &how, 0), child);
    (void)plant_fault;
#else
    plant_fault();
#endif
}

#elif defined(PLANT_IN_PROGRAM)
/* Runs before main, so that any use of the program commits it. */
__attribute__((constructor)) static void plant_at_start(void)
{
    plant_fault();
}
#else
/* A plant for the tests leaves the program as it is. */
void (*const plant_unused)(void) = plant_fault;
#endif
