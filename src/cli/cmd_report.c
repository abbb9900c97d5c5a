/* nopeek report: a run as one page. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/compute.h"
#include "cli/compute_rows.h"
#include "cli/human.h"
#include "cli/interrupt.h"
#include "cli/output_file.h"
#include "cli/reading.h"
#include "cli/report_page.h"
#include "cli/terminal.h"
#include "io/commit.h"
#include "io/metrics.h"
#include "store/run_lock.h"

struct settings {
    const char *out, *text, *file;
    size_t threads;
    bool quick, watch;
};

#define FIELD(name) .offset = offsetof(struct settings, name)

static const struct option_spec options_table[] = {
    {.name = "out",
     .letter = 'o',
     .type = OPTION_PATH,
     FIELD(out),
     .metavar = "FILE",
     .fallback_note = "report.html in the run directory",
     .help = "write the page there"},
    {.name = "text",
     .type = OPTION_STRING,
     FIELD(text),
     .metavar = "TEXT",
     .fallback_note = "where the run's validation part begins",
     .help = "the text that the attention explorer shows, by the checkpoints that were kept; of one that is too long "
             "the end"},
    {.name = "file",
     .type = OPTION_PATH,
     FIELD(file),
     .metavar = "FILE",
     .help = "read that text from a file, byte for byte; - is standard input"},
    {.name = "watch",
     .type = OPTION_FLAG,
     FIELD(watch),
     .help = "write the page again as training goes on, until it ends; the page, once opened, follows by itself"},
    {.name = "quick",
     .type = OPTION_FLAG,
     FIELD(quick),
     .help = "do not measure what kind of head each is, which takes some seconds with large models"},
    COMPUTE_ROW_THREADS(offsetof(struct settings, threads), "threads to compute with"),
    OPTION_END,
};

static const struct command_example examples[] = {
    {"A page about a run, in its folder: open run/report.html in a browser", "report run"},
    {"The same while it trains", "report run --watch"},
    {"With a sentence of your own in the attention explorer", "report run --text 'The bank of the river'"},
    {NULL, NULL},
};

struct job {
    const struct settings *settings;
    const struct whole_text *text; /* NULL: none was given */
    const char *run;
    char *out; /* where the page goes */
    struct terminal err;
    struct report_page page;
};

/* --- where it goes ---------------------------------------------------------------------------------- */

/* A page may be replaced, and nothing else: a name that was mistyped must not cost a person a text or a log. */
static enum status check_replaced(const char *path, struct error *err)
{
    static const char page[] = "<!DOCTYPE html>";
    char begin[sizeof page] = "";
    struct stat about;
    if (stat(path, &about) != 0 || (S_ISREG(about.st_mode) && about.st_size == 0))
        return STATUS_OK;
    if (!S_ISREG(about.st_mode)) /* a device or a pipe loses nothing */
        return STATUS_OK;
    FILE *f = fopen(path, "rb");
    const size_t n = f ? fread(begin, 1, sizeof page - 1, f) : 0;
    if (f)
        fclose(f);
    if (n == sizeof page - 1 && strcmp(begin, page) == 0)
        return STATUS_OK;
    return fail(err, STATUS_USAGE, "report: %s is there and is no page: name another file with -o, or remove it", path);
}

/* Not into what it is made of, even where that begins like a page: a text may be one. */
static enum status check_spared(const struct job *j, struct error *err)
{
    const char *const *file = &j->settings->file;
    const enum status s = saved_spares(&j->page.saved, j->out, "out", err);
    return s ? s : reading_spares(j->out, "out", file, *file != NULL, err);
}

static enum status check_place(const struct job *j, struct error *err)
{
    struct error why;
    enum status s = output_file_check(j->out, "report", &why);
    if (s)
        return fail(err, s, "%s: name another place with -o", why.message);
    s = check_replaced(j->out, err);
    return s ? s : check_spared(j, err);
}

/* In the run directory, unless it was said. */
static enum status choose_place(struct job *j, struct error *err)
{
    if (j->settings->out) {
        j->out = strdup(j->settings->out);
    } else {
        const struct saved *s = &j->page.saved;
        if (!s->run)
            return fail(err, STATUS_USAGE,
                        "report: %s stands alone, in no run directory: say with -o FILE where the page is to go",
                        j->run);
        j->out = commit_join(s->run, "report.html");
    }
    return j->out ? check_place(j, err) : fail(err, STATUS_MEMORY, "report: out of memory");
}

/* --- writing it -------------------------------------------------------------------------------------- */

static enum status write_page(struct job *j, bool watching, size_t *bytes, struct error *err)
{
    struct buffer b = {0};
    const enum status s = report_page_put(&b, &j->page, watching, err);
    *bytes = b.count;
    if (!s)
        return output_file_write(j->out, &b, err);
    buffer_free(&b);
    return s;
}

/* hurry: another page will follow. */
static struct report_page_settings page_settings(const struct job *j, bool hurry)
{
    return (struct report_page_settings){.run = j->run,
                                         .text = j->text,
                                         .team = compute_team(j->settings->threads),
                                         .quick = j->settings->quick,
                                         .hurry = hurry};
}

static void say_notes(struct job *j)
{
    const struct report_page *p = &j->page;
    if (p->log.unsound > 0)
        terminal_entry(&j->err, "note: ", "%zu line%s of " METRICS_FILE " %s no record, or out of order: left out",
                       p->log.unsound, p->log.unsound == 1 ? "" : "s", p->log.unsound == 1 ? "is" : "are");
    if (!p->log.there)
        terminal_entry(&j->err, "note: ", "there is no log of training: the page has no curves");
    if (p->film.T == 0)
        terminal_entry(&j->err, "note: ", "no attention is shown: %s", p->film.why_not);
    if (p->no_kinds[0] && !j->settings->quick)
        terminal_entry(&j->err, "note: ", "the kinds of heads are not on the page: %s", p->no_kinds);
    else if (p->entropy.unread)
        terminal_entry(&j->err, "note: ", "whether the text's true entropy is known could not be seen: %s",
                       p->entropy.why_not);
    if (p->film.before > 0)
        terminal_entry(&j->err,
                       "note: ", "the text is too long: its last %zu symbols are shown, %zu before them are not",
                       p->film.T, p->film.before);
}

static void say_done(struct job *j, size_t bytes)
{
    char size[HUMAN_SIZE];
    printf("%s\n", j->out);
    fflush(stdout);
    terminal_note(&j->err, "%s, needs nothing else: open it in a browser", human_bytes(size, bytes));
}

/* --- following it -------------------------------------------------------------------------------------- */

#define LOOK_EVERY 0.5  /* seconds between looks at the log */
#define WRITE_EVERY 3.0 /* seconds between two pages, at least */
#define SHARE 10.0      /* of the time, one in so many goes into pages: training shall not wait for them */
#define FAILURES 3      /* in a row, to give up after */

static void wait_seconds(double seconds)
{
    const struct timespec t = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL); /* a signal ends it early, which is as well */
}

/* What changes when training does something. */
struct footprint {
    off_t size;
    time_t changed;
};

static struct footprint look_at(const char *log)
{
    struct stat about;
    if (!log || stat(log, &about) != 0)
        return (struct footprint){0};
    return (struct footprint){about.st_size, about.st_mtime};
}

/* Writes the page once more, for good when `watching` is false. */
static enum status renew(struct job *j, bool watching, struct error *err)
{
    size_t bytes;
    const struct report_page_settings how = page_settings(j, watching);
    const enum status s = report_page_renew(&j->page, &how, err);
    return s ? s : write_page(j, watching, &bytes, err);
}

/* A run that is being followed. */
struct watch {
    char *dir, *log;
    struct footprint before; /* of the log when the page was written last */
    double waited;           /* seconds since then */
    double took;             /* seconds that it took to write it */
    size_t failed;           /* times in a row that it could not be written */
    bool seen;               /* somebody trained */
    bool finished;           /* as of the last page that could be made */
};

static bool watch_begin(struct watch *w, const char *dir)
{
    *w = (struct watch){.dir = strdup(dir), .log = commit_join(dir, METRICS_FILE)};
    w->seen = w->dir && run_lock_held(w->dir);
    w->before = look_at(w->log);
    return w->dir && w->log;
}

static void watch_end(struct watch *w)
{
    free(w->dir);
    free(w->log);
}

/* Whoever trained has ended, before the last step. */
static bool has_stopped(struct watch *w)
{
    const bool held = run_lock_held(w->dir);
    const bool stopped = w->seen && !held;
    w->seen |= held;
    return stopped;
}

/* A log that is cut and a checkpoint that is removed while they are read are there again a moment later. */
static enum status renew_when_due(struct job *j, struct watch *w, struct error *err)
{
    const struct footprint now = look_at(w->log);
    const bool gone = access(w->dir, F_OK) != 0; /* of a run that had no log, nothing else would say so */
    if (w->waited < fmax(WRITE_EVERY, SHARE * w->took) ||
        (!gone && now.size == w->before.size && now.changed == w->before.changed))
        return STATUS_OK;
    w->waited = 0;
    const double start = clock_seconds();
    const enum status s = renew(j, true, err);
    w->took = clock_seconds() - start;
    w->failed = s ? w->failed + 1 : 0;
    if (!s) {
        w->before = now;
        w->finished = report_page_finished(&j->page);
    }
    return w->failed < FAILURES ? STATUS_OK : s;
}

static enum status watch_run(struct job *j, struct watch *w, struct error *err)
{
    enum status s = STATUS_OK;
    w->finished = report_page_finished(&j->page);
    if (!w->seen && !w->finished)
        terminal_note(&j->err, "nobody trains in %s yet: waiting (Ctrl-C ends it)", w->dir);
    while (!s && !w->finished && !has_stopped(w)) {
        wait_seconds(LOOK_EVERY);
        w->waited += LOOK_EVERY;
        if (interrupt_pending())
            s = fail(err, STATUS_INTERRUPTED, "interrupted: %s is as the run was a moment ago", j->out);
        else
            s = renew_when_due(j, w, err);
    }
    return s;
}

static enum status follow(struct job *j, struct error *err)
{
    struct watch w;
    enum status s =
        watch_begin(&w, j->page.saved.run) ? watch_run(j, &w, err) : fail(err, STATUS_MEMORY, "report: out of memory");
    watch_end(&w);
    if (s && s != STATUS_INTERRUPTED)
        return s;
    /* The last page no longer follows; it is written when a person interrupts, too. */
    struct error last;
    const enum status written = renew(j, false, &last);
    if (written)
        *err = last;
    return written ? written : s;
}

/* --- the command ------------------------------------------------------------------------------------ */

static enum status report(struct job *j, struct error *err)
{
    const struct report_page_settings how = page_settings(j, j->settings->watch);
    size_t bytes = 0;
    enum status s = report_page_open(&j->page, j->run, err);
    if (!s)
        s = choose_place(j, err);
    if (!s)
        s = report_page_renew(&j->page, &how, err);
    const bool watch = j->settings->watch && j->page.saved.run;
    if (!s)
        s = write_page(j, watch && !report_page_finished(&j->page), &bytes, err);
    if (s)
        return s;
    saved_warn(&j->page.saved);
    say_notes(j);
    say_done(j, bytes);
    return watch ? follow(j, err) : s;
}

static enum status run(struct options *options, void *settings, struct error *err)
{
    struct job j = {.settings = settings, .run = options->operand[0]};
    struct whole_text text;
    terminal_open(&j.err, stderr);
    enum status s = whole_text_read(&text, j.settings->text, "--text", j.settings->file, "--file", err);
    if (!s) {
        j.text = j.settings->text || j.settings->file ? &text : NULL;
        if (j.settings->watch)
            interrupt_catch();
        s = report(&j, err);
    }
    report_page_free(&j.page);
    free(j.out);
    whole_text_free(&text);
    return s;
}

const struct command cmd_report = {
    .name = "report",
    .group = COMMAND_LOOK,
    .summary = "writes one page about a run: curves, attention to explore, samples",
    .operands = "RUN",
    .min_operands = 1,
    .max_operands = 1,
    .about =
        "Makes report.html in the run directory: one file that needs no network and nothing beside it. It has the "
        "curves of training (losses, learning rate, gradient norm, rate), the entropy of every head over time, an "
        "explorer of attention (point at a character and see what it looks at, in every layer and head, as a film over "
        "the steps of training), the verdict of the leak check, samples by step, the settings and the command that "
        "makes the run again. A report can be made while training runs; it changes nothing of the run.\n\n"
        "The frames of the film are what training records at each evaluation, of the beginning of the validation part. "
        "With --text or --file, and for runs that have no such records, they are worked out from the checkpoints that "
        "were kept (train --keep says how many). Weights are those that nopeek inspect gives. RUN is a run directory, "
        "whose latest checkpoint is taken, or one checkpoint folder, such as RUN/best.",
    .options = options_table,
    .settings_size = sizeof(struct settings),
    .examples = examples,
    .run = run,
};
