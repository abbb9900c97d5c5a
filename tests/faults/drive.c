/* Every fault that can be injected, one after the other, into train, resume, generate, eval, info, inspect, report and
 * corpus.
 *
 *     drive calls PROGRAM SHIM FOLDER [STRIDE]     each call of the system, failed, cut short, or the last one
 *     drive memory PROGRAM SHIM FOLDER [STRIDE]    each request for memory refused; all from it on refused
 *     drive limits PROGRAM SHIM FOLDER [STRIDE]    files that cannot grow past a size, up to what is written
 *     drive kills PROGRAM SHIM FOLDER [COUNT]      COUNT times SIGKILL at a random instant
 *
 * STRIDE n tries every nth only. Status 0 when the program passed all of it. FOLDER is made, and must not be there. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/folder.h"
#include "support/injector.h"
#include "support/ordeal.h"

/* So many complaints tell enough. */
#define COMPLAINTS 20

struct tally {
    struct ordeal o;
    size_t trials, complaints, stride;
};

static void judge(struct tally *t, bool good, const char *what)
{
    t->trials++;
    if (good)
        return;
    t->complaints++;
    if (t->complaints <= COMPLAINTS)
        printf("NOT PASSED %s: %s\n", what, t->o.complaint);
    fflush(stdout);
}

struct fault {
    enum injector_call call;
    enum injector_action action;
    int error;
};

static const struct fault faults[] = {
    {INJECTOR_WRITE, INJECTOR_FAIL, ENOSPC},    {INJECTOR_WRITE, INJECTOR_FAIL, EDQUOT},
    {INJECTOR_WRITE, INJECTOR_FAIL, EIO},       {INJECTOR_WRITE, INJECTOR_FAIL, EINTR},
    {INJECTOR_WRITE, INJECTOR_SHORT, 0},        {INJECTOR_WRITE, INJECTOR_FAIL_ON, ENOSPC},
    {INJECTOR_WRITE, INJECTOR_KILL_BEFORE, 0},  {INJECTOR_WRITE, INJECTOR_KILL_AFTER, 0},
    {INJECTOR_WRITE, INJECTOR_SIGNALS, 0},      {INJECTOR_NOTE, INJECTOR_FAIL, EIO},
    {INJECTOR_NOTE, INJECTOR_KILL_AFTER, 0},    {INJECTOR_READ, INJECTOR_FAIL, EIO},
    {INJECTOR_READ, INJECTOR_FAIL, EINTR},      {INJECTOR_READ, INJECTOR_SHORT, 0},
    {INJECTOR_OPEN, INJECTOR_FAIL, EIO},        {INJECTOR_OPEN, INJECTOR_FAIL, EMFILE},
    {INJECTOR_OPEN, INJECTOR_FAIL, EINTR},      {INJECTOR_OPEN, INJECTOR_FAIL_ON, EACCES},
    {INJECTOR_OPEN, INJECTOR_KILL_AFTER, 0},    {INJECTOR_CLOSE, INJECTOR_FAIL, EIO},
    {INJECTOR_CLOSE, INJECTOR_FAIL, EINTR},     {INJECTOR_SYNC, INJECTOR_FAIL, EIO},
    {INJECTOR_SYNC, INJECTOR_FAIL, ENOSPC},     {INJECTOR_SYNC, INJECTOR_FAIL, EINTR},
    {INJECTOR_SYNC, INJECTOR_KILL_BEFORE, 0},   {INJECTOR_SYNC, INJECTOR_KILL_AFTER, 0},
    {INJECTOR_SYNC, INJECTOR_SIGNALS, 0},       {INJECTOR_RENAME, INJECTOR_FAIL, EIO},
    {INJECTOR_RENAME, INJECTOR_FAIL, ENOSPC},   {INJECTOR_RENAME, INJECTOR_FAIL_ON, EACCES},
    {INJECTOR_RENAME, INJECTOR_KILL_BEFORE, 0}, {INJECTOR_RENAME, INJECTOR_KILL_AFTER, 0},
    {INJECTOR_MKDIR, INJECTOR_FAIL, ENOSPC},    {INJECTOR_MKDIR, INJECTOR_KILL_AFTER, 0},
    {INJECTOR_SYMLINK, INJECTOR_FAIL, ENOSPC},  {INJECTOR_SYMLINK, INJECTOR_KILL_AFTER, 0},
    {INJECTOR_UNLINK, INJECTOR_FAIL, EIO},      {INJECTOR_UNLINK, INJECTOR_KILL_BEFORE, 0},
    {INJECTOR_UNLINK, INJECTOR_KILL_AFTER, 0},  {INJECTOR_TRUNCATE, INJECTOR_FAIL, EIO},
    {INJECTOR_STAT, INJECTOR_FAIL, EIO},        {INJECTOR_LIST, INJECTOR_FAIL, EIO},
    {INJECTOR_READLINK, INJECTOR_FAIL, EIO},    {INJECTOR_LOCK, INJECTOR_FAIL, ENOLCK},
    {INJECTOR_LOCK, INJECTOR_FAIL, EINTR},      {INJECTOR_LOCK, INJECTOR_FAIL, EIO},
    {INJECTOR_THREAD, INJECTOR_FAIL, EAGAIN},
};

static const char *const actions[] = {
    "nothing", "fails", "and all later ones fail", "comes short", "killed before", "killed after", "two signals"};

static void try_calls(struct tally *t, enum ordeal_scene scene)
{
    size_t counts[INJECTOR_CALLS];
    if (!ordeal_count(&t->o, scene, counts)) {
        judge(t, false, ordeal_names[scene]);
        return;
    }
    for (size_t f = 0; f < sizeof faults / sizeof faults[0]; f++) {
        const size_t n = counts[faults[f].call], before = t->trials;
        t->o.failed = t->o.recovered = 0;
        /* One note to a person is like another. */
        const size_t stride = faults[f].call == INJECTOR_NOTE ? 20 * t->stride : t->stride;
        for (size_t number = 1; number <= n; number += stride) {
            char what[256];
            snprintf(what, sizeof what, "%s, %s %zu of %zu %s (%s)", ordeal_names[scene],
                     injector_names[faults[f].call], number, n, actions[faults[f].action],
                     faults[f].error ? strerror(faults[f].error) : "");
            judge(t, ordeal_call(&t->o, scene, faults[f].call, number, faults[f].action, faults[f].error), what);
        }
        if (t->trials > before)
            printf("%-9s %-9s %-23s %-26s %4zu tried: %zu failed as they should, %zu did all the same\n",
                   ordeal_names[scene], injector_names[faults[f].call], actions[faults[f].action],
                   faults[f].error ? strerror(faults[f].error) : "", t->trials - before, t->o.failed, t->o.recovered);
        fflush(stdout);
    }
}

static void try_memory(struct tally *t, enum ordeal_scene scene)
{
    size_t requests;
    if (!ordeal_count_memory(&t->o, scene, &requests)) {
        judge(t, false, ordeal_names[scene]);
        return;
    }
    for (int lasting = 0; lasting < 2; lasting++) {
        const size_t before = t->trials;
        t->o.failed = t->o.recovered = 0;
        for (size_t number = 1; number <= requests; number += t->stride) {
            char what[256];
            snprintf(what, sizeof what, "%s, memory %zu of %zu refused%s", ordeal_names[scene], number, requests,
                     lasting ? " and all after it" : "");
            judge(t, ordeal_memory(&t->o, scene, number, lasting), what);
        }
        printf("%-9s memory    %-23s %4zu of %zu tried: %zu failed as they should, %zu did all the same\n",
               ordeal_names[scene], lasting ? "refused from then on" : "refused once", t->trials - before, requests,
               t->o.failed, t->o.recovered);
        fflush(stdout);
    }
}

/* From nothing to more than the largest file there is. */
static void try_limits(struct tally *t, enum ordeal_scene scene)
{
    const size_t before = t->trials;
    t->o.failed = t->o.recovered = 0;
    for (size_t bytes = 1; bytes < 24000; bytes += 61 * t->stride) {
        char what[256];
        snprintf(what, sizeof what, "%s, files of %zu bytes at most", ordeal_names[scene], bytes);
        judge(t, ordeal_limit(&t->o, scene, bytes), what);
    }
    printf("%-9s file sizes limited: %zu tried: %zu failed as they should, %zu did all the same\n", ordeal_names[scene],
           t->trials - before, t->o.failed, t->o.recovered);
    fflush(stdout);
}

static void try_kills(struct tally *t, size_t wanted)
{
    size_t kills = 0;
    const bool good = ordeal_kills(&t->o, &kills, wanted, 0.12, 1);
    judge(t, good, "kills");
    printf("killed %zu times; %zu runs came to their end, each with the bits of an undisturbed one\n", kills,
           t->o.recovered);
}

int main(int argc, char **argv)
{
    if (argc < 5 || argc > 6) {
        fprintf(stderr, "usage: drive calls|memory|limits|kills PROGRAM SHIM FOLDER [STRIDE|COUNT]\n");
        return 2;
    }
    const size_t number = argc > 5 ? (size_t)strtoull(argv[5], NULL, 10) : 1;
    struct tally t = {.o = {.program = argv[2], .shim = argv[3], .folder = argv[4]}, .stride = number ? number : 1};
    if (strcmp(argv[1], "calls") == 0 && !injector_available()) {
        printf("calls are not tried here: following a program is done on Linux, x86-64\n");
        return 0;
    }
    if (mkdir(argv[4], 0777) != 0) {
        fprintf(stderr, "%s: %s\n", argv[4], strerror(errno));
        return 2;
    }
    if (!ordeal_prepare(&t.o)) {
        fprintf(stderr, "cannot begin: %s\n", t.o.complaint);
        return 2;
    }
    for (int scene = 0; scene < ORDEAL_SCENES; scene++) {
        if (strcmp(argv[1], "calls") == 0)
            try_calls(&t, (enum ordeal_scene)scene);
        else if (strcmp(argv[1], "memory") == 0)
            try_memory(&t, (enum ordeal_scene)scene);
        else if (strcmp(argv[1], "limits") == 0)
            try_limits(&t, (enum ordeal_scene)scene);
    }
    if (strcmp(argv[1], "kills") == 0)
        try_kills(&t, number);
    folder_remove(argv[4]);
    printf("%s: %zu trials, %zu not passed\n", argv[1], t.trials, t.complaints);
    return t.complaints > 0 || t.trials == 0;
}
