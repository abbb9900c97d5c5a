/* Puts the program through failing calls, refused memory, kills and full disks, and looks afterwards whether everything
 * is as it must be: the right status, one message, no half checkpoint, the highest complete step loads with its hashes,
 * and the run goes on from it to the bits of an undisturbed one. */
#ifndef SUPPORT_ORDEAL_H
#define SUPPORT_ORDEAL_H

#include <stdbool.h>
#include <stddef.h>

#include "support/injector.h"

enum ordeal_scene {
    ORDEAL_TRAIN,
    ORDEAL_RESUME,
    ORDEAL_GENERATE,
    ORDEAL_EVAL,
    ORDEAL_INFO,
    ORDEAL_INSPECT,
    ORDEAL_REPORT,
    ORDEAL_CORPUS,
    ORDEAL_SCENES
};

extern const char *const ordeal_names[ORDEAL_SCENES];

struct ordeal {
    const char *program, *folder; /* the folder is there, and the ordeal's own */
    const char *shim;             /* tests/faults/shim.c as a library; NULL: memory is not refused */
    char complaint[4096];         /* why the last trial was not passed */
    size_t failed, recovered;     /* trials whose program said that it failed, or did all the same what it should */
    bool reached;                 /* in the last trial the call was made */
};

/* Makes the undisturbed run and what the scenes start from. Like all here: false with a complaint. */
bool ordeal_prepare(struct ordeal *o);

/* How often each call is made when nothing is injected. */
bool ordeal_count(struct ordeal *o, enum ordeal_scene scene, size_t counts[INJECTOR_CALLS]);
bool ordeal_count_memory(struct ordeal *o, enum ordeal_scene scene, size_t *requests);

/* The scene undisturbed, every call of it shown. */
bool ordeal_watch(struct ordeal *o, enum ordeal_scene scene,
                  void (*seen)(void *context, const struct injector_event *e), void *context);

/* One trial. */
bool ordeal_call(struct ordeal *o, enum ordeal_scene scene, enum injector_call call, size_t number,
                 enum injector_action action, int error);
bool ordeal_memory(struct ordeal *o, enum ordeal_scene scene, size_t number, bool lasting);

/* Files may not grow past so many bytes (RLIMIT_FSIZE). */
bool ordeal_limit(struct ordeal *o, enum ordeal_scene scene, size_t bytes);

/* Trains from nothing to the end with SIGKILL after a random time below `seconds`, as often as it takes; *kills counts.
 * A run that ended is compared and another begun, until `kills` is at least `wanted`. */
bool ordeal_kills(struct ordeal *o, size_t *kills, size_t wanted, double seconds, unsigned seed);

#endif
