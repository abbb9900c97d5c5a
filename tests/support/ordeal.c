#define _XOPEN_SOURCE 700
#include "support/ordeal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/folder.h"

#define STEPS "6"
#define LAST_STEP 6
#define HALF_STEP 3
#define PATH_SIZE 1024
#define WORDS 64

const char *const ordeal_names[ORDEAL_SCENES] = {"train", "resume",  "generate", "eval",
                                                 "info",  "inspect", "report",   "corpus"};

/* What one run of the program left. */
struct outcome {
    int status;
    char *out, *err;
};

static bool complain(struct ordeal *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool complain(struct ordeal *o, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(o->complaint, sizeof o->complaint, format, args);
    va_end(args);
    return false;
}

static void path_of(char out[PATH_SIZE], const struct ordeal *o, const char *name)
{
    snprintf(out, PATH_SIZE, "%s/%s", o->folder, name);
}

/* ---- running ---- */

static void free_outcome(struct outcome *r)
{
    free(r->out);
    free(r->err);
}

/* Words separated by blanks; @ stands for the ordeal's folder. */
static size_t split_words(const char *argv[WORDS], char *room, size_t size, const struct ordeal *o, const char *line)
{
    size_t n = 0, used = 0;
    argv[n++] = o->program;
    while (*line != '\0' && n < WORDS - 1) {
        const size_t length = strcspn(line, " ");
        argv[n++] = room + used;
        for (size_t i = 0; i < length && used + strlen(o->folder) + 2 < size; i++)
            if (line[i] == '@') {
                strcpy(room + used, o->folder);
                used += strlen(o->folder);
            } else {
                room[used++] = line[i];
            }
        room[used++] = '\0';
        line += length;
        line += strspn(line, " ");
    }
    argv[n] = NULL;
    return n;
}

static int open_stream(const struct ordeal *o, const char *name)
{
    char path[PATH_SIZE];
    path_of(path, o, name);
    return open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0666);
}

static void read_outcome(const struct ordeal *o, struct outcome *r)
{
    char path[PATH_SIZE];
    path_of(path, o, "out");
    r->out = folder_read(path, NULL);
    path_of(path, o, "err");
    r->err = folder_read(path, NULL);
}

/* Runs under the injector when i->number is not 0 or somebody watches, else plainly. */
static bool run(struct ordeal *o, struct outcome *r, const char *line, struct injector *i)
{
    const char *argv[WORDS];
    char room[8192];
    *r = (struct outcome){.status = -1};
    split_words(argv, room, sizeof room, o, line);
    i->argv = argv;
    i->in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    i->out = open_stream(o, "out");
    i->err = open_stream(o, "err");
    fcntl(i->out, F_SETFD, FD_CLOEXEC);
    fcntl(i->err, F_SETFD, FD_CLOEXEC);
    const bool done = injector_run(i);
    r->status = i->status;
    close(i->in);
    close(i->out);
    close(i->err);
    read_outcome(o, r);
    return done ? true : complain(o, "%s: cannot be followed", line);
}

struct plain {
    const char *preload, *refuse, *count; /* or NULL */
    bool lasting;
    size_t limit;    /* bytes of a file; 0: none */
    double patience; /* seconds until SIGKILL; 0: none */
};

static void become_plain(const struct ordeal *o, const char *line, const struct plain *p)
{
    const char *argv[WORDS];
    char room[8192];
    split_words(argv, room, sizeof room, o, line);
    dup2(open("/dev/null", O_RDONLY), 0);
    dup2(open_stream(o, "out"), 1);
    dup2(open_stream(o, "err"), 2);
    if (p->preload)
        setenv("LD_PRELOAD", p->preload, 1);
    if (p->refuse)
        setenv("SHIM_REFUSE", p->refuse, 1);
    if (p->lasting)
        setenv("SHIM_ON", "1", 1);
    if (p->count)
        setenv("SHIM_COUNT", p->count, 1);
    const struct rlimit limit = {p->limit, p->limit};
    if (p->limit > 0)
        setrlimit(RLIMIT_FSIZE, &limit);
    alarm(20);
    execv(argv[0], (char *const *)argv);
    _exit(127);
}

static bool run_plain(struct ordeal *o, struct outcome *r, const char *line, const struct plain *p)
{
    fflush(NULL);
    *r = (struct outcome){.status = -1};
    const pid_t child = fork();
    if (child == 0)
        become_plain(o, line, p);
    if (p->patience > 0) {
        const struct timespec moment = {.tv_sec = (time_t)p->patience,
                                        .tv_nsec = (long)((p->patience - (double)(time_t)p->patience) * 1e9)};
        nanosleep(&moment, NULL);
        kill(child, SIGKILL);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return complain(o, "%s: cannot be run", line);
    r->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    read_outcome(o, r);
    return true;
}

static bool run_well(struct ordeal *o, const char *line)
{
    struct outcome r;
    const struct plain p = {0};
    const bool done = run_plain(o, &r, line, &p);
    const bool well = done && r.status == 0;
    if (done && !well)
        complain(o, "nopeek %s: status %d\n%s", line, r.status, r.err);
    free_outcome(&r);
    return well;
}

/* ---- the scenes ---- */

#define SHAPE                                                                                                          \
    "--n-layer 1 --n-head 2 --n-embd 8 --block-size 8 --batch-size 2 --dropout 0.2 --eval-windows 4 --sample-size 12 " \
    "--threads 1 --steps " STEPS " --save-every 1 --eval-interval 3 --log-interval 1 --keep 2"

static const char *const lines[ORDEAL_SCENES] = {
    "train @/text -o @/run " SHAPE,
    "train --resume @/run",
    "generate @/run -n 12 --seed 5 --threads 1",
    "eval @/run @/text --part val --json --threads 1",
    "info @/run",
    "inspect @/run --text abcdefg --json --threads 1",
    "report @/run --threads 1",
    "corpus -o @/run/made.txt --size 2000",
};

/* Where what a reader makes is to be found: what it prints, unless it writes a file. */
static const char *const made[ORDEAL_SCENES] = {
    [ORDEAL_REPORT] = "run/report.html",
    [ORDEAL_CORPUS] = "run/made.txt",
};

static const char *made_by(enum ordeal_scene scene)
{
    return made[scene] ? made[scene] : "out";
}

static bool prepare_scene(struct ordeal *o, enum ordeal_scene scene)
{
    char run_path[PATH_SIZE], from[PATH_SIZE];
    path_of(run_path, o, "run");
    folder_remove(run_path);
    if (scene == ORDEAL_TRAIN)
        return true;
    path_of(from, o, scene == ORDEAL_RESUME ? "half" : "whole");
    return folder_copy(from, run_path) ? true : complain(o, "%s cannot be copied: %s", from, strerror(errno));
}

bool ordeal_prepare(struct ordeal *o)
{
    static const char line[] = "abc dea, fab\ncad gab. ";
    char path[PATH_SIZE], from[PATH_SIZE];
    path_of(path, o, "text");
    FILE *f = fopen(path, "wb");
    for (size_t i = 0; f && i < 600; i++)
        fputc(line[(i + i * i / 50) % (sizeof line - 1)], f);
    if (!f || fclose(f) != 0)
        return complain(o, "%s: %s", path, strerror(errno));
    if (!run_well(o, "train @/text -o @/whole " SHAPE) ||
        !run_well(o, "train @/text -o @/half " SHAPE " --stop-after 3"))
        return false;
    /* What readers say when nothing happens. */
    for (int scene = ORDEAL_GENERATE; scene < ORDEAL_SCENES; scene++) {
        char name[64];
        if (!prepare_scene(o, (enum ordeal_scene)scene) || !run_well(o, lines[scene]))
            return false;
        snprintf(name, sizeof name, "%s.expected", ordeal_names[scene]);
        path_of(path, o, name);
        path_of(from, o, made_by((enum ordeal_scene)scene));
        if (!folder_copy_file(from, path))
            return complain(o, "%s: %s", path, strerror(errno));
    }
    return true;
}

/* ---- what must be so afterwards ---- */

/* The highest step in the run that has all its files, by looking at the folder and nothing else; -1: none. */
static long highest_step(const struct ordeal *o)
{
    char path[PATH_SIZE];
    long highest = -1;
    path_of(path, o, "run");
    DIR *d = opendir(path);
    for (const struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        long step;
        int end = 0;
        if (sscanf(e->d_name, "step-%ld%n", &step, &end) == 1 && e->d_name[end] == '\0' && step > highest)
            highest = step;
    }
    if (d)
        closedir(d);
    return highest;
}

/* Once all is done, a run holds these names and no others. */
static bool only_known_names(struct ordeal *o)
{
    char path[PATH_SIZE];
    path_of(path, o, "run");
    DIR *d = opendir(path);
    bool known = d != NULL;
    for (const struct dirent *e = d ? readdir(d) : NULL; e && known; e = readdir(d)) {
        static const char *const names[] = {".", "..", "latest", "best", "metrics.jsonl", ".nopeek-lock"};
        const size_t n = strlen(e->d_name);
        known = n == strlen("step-000000") && strncmp(e->d_name, "step-", 5) == 0;
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            known |= strcmp(e->d_name, names[i]) == 0;
        known |= strncmp(e->d_name, "old-", 4) == 0; /* of --force */
        if (!known)
            complain(o, "%s is left in the run", e->d_name);
    }
    if (d)
        closedir(d);
    return known;
}

static bool ends_like(struct ordeal *o, const char *other, int last)
{
    static const char *const files[] = {"model.safetensors", "optimizer.safetensors", "config.json", "tokenizer.json"};
    char a[PATH_SIZE], b[PATH_SIZE], name[64];
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(name, sizeof name, "%s/step-%06d/%s", other, last, files[i]);
        path_of(a, o, name);
        snprintf(name, sizeof name, "run/step-%06d/%s", last, files[i]);
        path_of(b, o, name);
        if (!folder_same_file(a, b))
            return complain(o, "%s is not what an undisturbed run ends with", name);
    }
    snprintf(name, sizeof name, "%s/metrics.jsonl", other);
    path_of(a, o, name);
    path_of(b, o, "run/metrics.jsonl");
    if (!folder_same_log(a, b))
        return complain(o, "metrics.jsonl is not that of an undisturbed run");
    return only_known_names(o);
}

static bool ends_like_the_whole_run(struct ordeal *o)
{
    return ends_like(o, "whole", LAST_STEP);
}

/* The run goes on from its highest step, all of whose hashes are verified by that; it is begun anew when it has none.
 */
static bool goes_on(struct ordeal *o, long at_least)
{
    char from[64];
    struct outcome r;
    const struct plain p = {0};
    const long highest = highest_step(o);
    if (highest < at_least)
        return complain(o, "step %ld is the highest, %ld was committed before", highest, at_least);
    if (highest < 0)
        return run_well(o, "train @/text -o @/run --force " SHAPE) && ends_like_the_whole_run(o);
    if (!run_plain(o, &r, "train --resume @/run", &p))
        return false;
    snprintf(from, sizeof from, "going on after step %ld\n", highest);
    const bool good = r.status == 0 && strstr(r.err, from);
    if (!good)
        complain(o, "not gone on from step %ld: status %d\n%s", highest, r.status, r.err);
    free_outcome(&r);
    return good && ends_like_the_whole_run(o);
}

/* One line that says what went wrong, and it comes last. */
static bool says_one_thing(struct ordeal *o, const struct outcome *r)
{
    const char *line = strncmp(r->err, "nopeek: ", 8) == 0 ? r->err : strstr(r->err, "\nnopeek: ");
    if (!line)
        return complain(o, "status %d without a message:\n%s", r->status, r->err);
    line += *line == '\n';
    if (strcspn(line, "\n") + 1 != strlen(line))
        return complain(o, "more than one line after the message, or none that ends:\n%s", r->err);
    return true;
}

static bool reader_said_the_right(struct ordeal *o, enum ordeal_scene scene, const struct outcome *r)
{
    char a[PATH_SIZE], b[PATH_SIZE], name[64];
    snprintf(name, sizeof name, "%s.expected", ordeal_names[scene]);
    path_of(a, o, name);
    path_of(b, o, made_by(scene));
    struct stat st;
    if (r->status == 0 && scene == ORDEAL_REPORT && strstr(r->err, "note: "))
        return true; /* the page lacks what could not be had, and says so */
    if (r->status == 0)
        return folder_same_file(a, b)
                   ? true
                   : complain(o, "status 0, but the output is not the usual one:\n%s%s", r->out, r->err);
    if (made[scene] && stat(b, &st) == 0 && !folder_same_file(a, b))
        return complain(o, "half a file is left");
    if (made[scene]) {
        path_of(b, o, "run");
        DIR *d = opendir(b);
        for (const struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
            if (strstr(e->d_name, ".tmp-"))
                complain(o, "%s is left", e->d_name);
        if (d)
            closedir(d);
    }
    return o->complaint[0] == '\0';
}

static bool judge(struct ordeal *o, enum ordeal_scene scene, const struct outcome *r, bool killed, bool can_speak)
{
    if (!r->err || !r->out)
        return complain(o, "its output is lost");
    if (strstr(r->err, "Sanitizer") || strstr(r->err, "Assertion"))
        return complain(o, "a report:\n%s", r->err);
    const bool expected =
        killed ? r->status == 128 + SIGKILL || r->status == 130 || r->status == 0 : r->status == 0 || r->status == 1;
    if (!expected)
        return complain(o, "status %d\n%s", r->status, r->err);
    if (r->status == 1 && can_speak && !says_one_thing(o, r))
        return false;
    *(r->status == 0 ? &o->recovered : &o->failed) += 1;
    if (scene != ORDEAL_TRAIN && scene != ORDEAL_RESUME)
        return killed ? true : reader_said_the_right(o, scene, r);
    if (r->status == 0)
        return ends_like_the_whole_run(o);
    return goes_on(o, scene == ORDEAL_RESUME ? HALF_STEP : -1);
}

/* ---- trials ---- */

bool ordeal_count(struct ordeal *o, enum ordeal_scene scene, size_t counts[INJECTOR_CALLS])
{
    struct outcome r;
    struct injector i = {0};
    o->complaint[0] = '\0';
    if (!prepare_scene(o, scene) || !run(o, &r, lines[scene], &i))
        return false;
    memcpy(counts, i.counts, sizeof i.counts);
    const bool well = r.status == 0;
    if (!well)
        complain(o, "status %d while nothing was injected\n%s", r.status, r.err);
    free_outcome(&r);
    return well;
}

bool ordeal_watch(struct ordeal *o, enum ordeal_scene scene,
                  void (*seen)(void *context, const struct injector_event *e), void *context)
{
    struct outcome r;
    struct injector i = {.seen = seen, .context = context};
    o->complaint[0] = '\0';
    if (!prepare_scene(o, scene) || !run(o, &r, lines[scene], &i))
        return false;
    const bool well = r.status == 0;
    if (!well)
        complain(o, "status %d\n%s", r.status, r.err);
    free_outcome(&r);
    return well;
}

bool ordeal_count_memory(struct ordeal *o, enum ordeal_scene scene, size_t *requests)
{
    struct outcome r;
    char path[PATH_SIZE];
    path_of(path, o, "requests");
    const struct plain p = {.preload = o->shim, .count = path};
    o->complaint[0] = '\0';
    if (!prepare_scene(o, scene) || !run_plain(o, &r, lines[scene], &p))
        return false;
    free_outcome(&r);
    char *text = folder_read(path, NULL);
    *requests = text ? (size_t)strtoull(text, NULL, 10) : 0;
    free(text);
    return *requests > 0 ? true : complain(o, "the shim counted nothing");
}

bool ordeal_call(struct ordeal *o, enum ordeal_scene scene, enum injector_call call, size_t number,
                 enum injector_action action, int error)
{
    struct outcome r;
    struct injector i = {.call = call, .number = number, .action = action, .error = error};
    o->complaint[0] = '\0';
    if (!prepare_scene(o, scene) || !run(o, &r, lines[scene], &i))
        return false;
    o->reached = i.reached;
    const bool killed = action == INJECTOR_KILL_BEFORE || action == INJECTOR_KILL_AFTER || action == INJECTOR_SIGNALS;
    const bool good = judge(o, scene, &r, killed, !(call == INJECTOR_WRITE && action == INJECTOR_FAIL_ON));
    free_outcome(&r);
    return good;
}

bool ordeal_memory(struct ordeal *o, enum ordeal_scene scene, size_t number, bool lasting)
{
    struct outcome r;
    char text[32];
    snprintf(text, sizeof text, "%zu", number);
    const struct plain p = {.preload = o->shim, .refuse = text, .lasting = lasting};
    o->complaint[0] = '\0';
    if (!prepare_scene(o, scene) || !run_plain(o, &r, lines[scene], &p))
        return false;
    const bool good = judge(o, scene, &r, false, true);
    free_outcome(&r);
    return good;
}

bool ordeal_limit(struct ordeal *o, enum ordeal_scene scene, size_t bytes)
{
    struct outcome r;
    const struct plain p = {.limit = bytes};
    o->complaint[0] = '\0';
    if (!prepare_scene(o, scene) || !run_plain(o, &r, lines[scene], &p))
        return false;
    const bool good = judge(o, scene, &r, false, false);
    free_outcome(&r);
    return good;
}

#define LONG_STEP 60
#define LONG SHAPE " --steps 60 --eval-interval 20"

/* Its first kills may come before there is anything to go on from. */
static bool kill_once(struct ordeal *o, long *highest, double patience, int *status)
{
    struct outcome r;
    char path[PATH_SIZE];
    const struct plain p = {.patience = patience};
    path_of(path, o, "run");
    const char *line = *highest >= 0             ? "train --resume @/run"
                       : access(path, F_OK) == 0 ? "train @/text -o @/run --force " LONG
                                                 : "train @/text -o @/run " LONG;
    if (!run_plain(o, &r, line, &p))
        return false;
    *status = r.status;
    const bool expected = r.status == 0 || r.status == 128 + SIGKILL;
    if (!expected)
        complain(o, "nopeek %s: status %d\n%s", line, r.status, r.err);
    free_outcome(&r);
    const long now = highest_step(o);
    if (expected && now < *highest)
        return complain(o, "step %ld was there, %ld is the highest now", *highest, now);
    *highest = now;
    return expected && (now < 0 || run_well(o, "eval @/run @/text --part val"));
}

bool ordeal_kills(struct ordeal *o, size_t *kills, size_t wanted, double seconds, unsigned seed)
{
    char path[PATH_SIZE];
    o->complaint[0] = '\0';
    path_of(path, o, "run");
    folder_remove(path);
    if (!run_well(o, "train @/text -o @/run " LONG))
        return false;
    char other[PATH_SIZE];
    path_of(other, o, "long");
    folder_remove(other);
    if (rename(path, other) != 0)
        return complain(o, "%s: %s", other, strerror(errno));
    uint64_t state = seed;
    *kills = 0;
    for (bool ended = true; *kills < wanted || !ended;) {
        long highest = -1;
        folder_remove(path);
        for (ended = false; !ended;) {
            int status;
            /* Knuth's generator of 64 bits. */
            state = state * 6364136223846793005u + 1442695040888963407u;
            const double share = (double)(state >> 11) / 9007199254740992.0;
            if (!kill_once(o, &highest, 1e-4 + share * seconds, &status))
                return false;
            *kills += status != 0;
            ended = status == 0;
        }
        if (!ends_like(o, "long", LONG_STEP))
            return false;
        o->recovered++;
    }
    return true;
}
