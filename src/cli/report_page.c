#include "cli/report_page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "cli/human.h"
#include "cli/report_data.h"
#include "io/commit.h"
#include "io/json_text.h"
#include "io/metrics.h"
#include "report/run_page.h"

#define HURRIED_WINDOWS 8
/* Maps of a whole window, of all heads, which kinds are measured on. */
#define LARGEST_MAPS ((size_t)512 << 20)

static enum status no_memory(struct error *err)
{
    return fail(err, STATUS_MEMORY, "report: out of memory");
}

enum status report_page_open(struct report_page *p, const char *run, struct error *err)
{
    return saved_open(&p->saved, run, err);
}

void report_page_free(struct report_page *p)
{
    if (p->kinds_step)
        inspection_free(&p->kinds);
    report_film_free(&p->film);
    report_log_free(&p->log);
    saved_close(&p->saved);
    *p = (struct report_page){0};
}

bool report_page_finished(const struct report_page *p)
{
    const struct saved *s = &p->saved;
    const json_t *steps = json_object_get(s->has_state ? s->state.settings : NULL, "steps");
    return !s->run || !json_is_integer(steps) || (json_int_t)s->state.step >= json_integer_value(steps);
}

/* --- gathering --------------------------------------------------------------------------------------- */

static enum status read_log(struct report_page *p, struct error *err)
{
    const struct config *c = &p->saved.checkpoint.model.config;
    char *path = commit_join(p->saved.run ? p->saved.run : p->saved.checkpoint.path, METRICS_FILE);
    if (!path)
        return no_memory(err);
    const enum status s = report_log_read(&p->log, path, c->n_layer, c->n_head, err);
    free(path);
    return s;
}

static bool too_large(const struct config *c)
{
    size_t cells, bytes;
    return !checked_mul(&cells, c->block_size, c->block_size) ||
           !checked_mul(&bytes, cells, c->n_layer * c->n_head * sizeof(real)) || bytes > LARGEST_MAPS;
}

/* Of the latest checkpoint, once. They are an extra: a page without them says why. */
static enum status measure_kinds(struct report_page *p, const struct report_page_settings *s, struct error *err)
{
    const struct saved *saved = &p->saved;
    const size_t now = (saved->has_state ? saved->state.step : 0) + 1;
    if (p->kinds_step == now && (s->hurry || !p->kinds_hurried))
        return STATUS_OK;
    if (p->kinds_step)
        inspection_free(&p->kinds);
    p->kinds_step = 0;
    p->no_kinds[0] = '\0';
    if (s->quick || too_large(&saved->checkpoint.model.config)) {
        snprintf(p->no_kinds, sizeof p->no_kinds, "%s",
                 s->quick ? "left out with --quick" : "left out: its maps are large; nopeek inspect measures them");
        return STATUS_OK;
    }
    const struct inspection_settings how = {.run = saved->checkpoint.path,
                                            .text = s->text,
                                            .windows = s->hurry ? HURRIED_WINDOWS : 0,
                                            .quick = true,
                                            .team = s->team};
    struct error why;
    const enum status status = inspection_make(&p->kinds, &how, &why);
    if (status == STATUS_MEMORY)
        return no_memory(err);
    if (status)
        snprintf(p->no_kinds, sizeof p->no_kinds, "could not be measured: %.200s", why.message);
    else
        p->kinds_step = now;
    p->kinds_hurried = s->hurry;
    return STATUS_OK;
}

enum status report_page_renew(struct report_page *p, const struct report_page_settings *s, struct error *err)
{
    saved_close(&p->saved);
    report_log_free(&p->log);
    report_film_free(&p->film);
    enum status status = saved_open(&p->saved, s->run, err);
    if (!status)
        status = read_log(p, err);
    const struct report_film_settings film = {s->text, s->team};
    if (!status)
        status = report_film_make(&p->film, &p->saved, &p->log, &film, err);
    if (!status && !p->entropy_sought) {
        status = report_entropy_find(&p->entropy, &p->saved, err);
        p->entropy_sought = status == STATUS_OK;
    }
    return status ? status : measure_kinds(p, s, err);
}

/* --- the page ---------------------------------------------------------------------------------------- */

/* The folder's own name, without those it stands in; NULL when memory is refused. */
static char *name_of(const struct saved *s)
{
    char *dir, *name;
    if (!commit_split(&dir, &name, s->run ? s->run : s->checkpoint.path))
        return NULL;
    free(dir);
    return name;
}

#define FACTS 5
#define FACT_SIZE 96

static void loss_fact(char out[FACT_SIZE], double loss)
{
    if (isnan(loss))
        snprintf(out, FACT_SIZE, "not known");
    else
        snprintf(out, FACT_SIZE, "%.4f nats", loss);
}

/* What stands on the page even where no script runs. */
static void make_facts(struct run_page_fact *fact, char value[FACTS][FACT_SIZE], const struct report_page *p)
{
    static const char *const names[FACTS] = {"step", "training loss", "validation loss", "time trained", "leak check"};
    static const char *const ids[FACTS] = {"fact-step", "fact-train", "fact-validation", "fact-time", "fact-leak"};
    const struct saved *s = &p->saved;
    const json_t *steps = json_object_get(s->has_state ? s->state.settings : NULL, "steps");
    char a[HUMAN_SIZE], b[HUMAN_SIZE];
    const long long saved_step = s->has_state ? (long long)s->state.step : -1,
                    last = saved_step > p->log.last_step ? saved_step : p->log.last_step;
    if (last < 0)
        snprintf(value[0], FACT_SIZE, "not known");
    else if (json_is_integer(steps))
        snprintf(value[0], FACT_SIZE, "%s of %s", human_count(a, (uint64_t)last),
                 human_count(b, (uint64_t)json_integer_value(steps)));
    else
        snprintf(value[0], FACT_SIZE, "%s", human_count(a, (uint64_t)last));
    loss_fact(value[1], report_log_number(p->log.last_eval, "train_loss"));
    loss_fact(value[2], report_log_number(p->log.last_eval, "val_loss"));
    snprintf(value[3], FACT_SIZE, "%s", s->has_state ? human_duration(a, s->state.seconds) : "not known");
    const json_t *check = json_object_get(p->log.last_eval, "check");
    const char *verdict = json_is_string(check)            ? json_string_value(check)
                          : s->has_state && s->state.check ? s->state.check
                                                           : NULL;
    snprintf(value[4], FACT_SIZE, "%s",
             saved_leaky(s)                        ? "TRAINED WITH A LEAK"
             : !verdict                            ? "not known"
             : strncmp(verdict, "no leak", 7) == 0 ? "no leak"
                                                   : "see below");
    for (size_t i = 0; i < FACTS; i++)
        fact[i] = (struct run_page_fact){names[i], value[i], ids[i]};
}

static enum status put_page(struct buffer *b, const struct report_page *p, const char *name, json_t *data,
                            json_t *frames, struct error *err)
{
    char title[300], value[FACTS][FACT_SIZE];
    struct run_page_fact facts[FACTS];
    struct run_page page = {.title = title, .fact = facts, .facts = FACTS};
    snprintf(title, sizeof title, "nopeek: %.280s", name);
    make_facts(facts, value, p);
    char *data_text = json_text_make(data, JSON_COMPACT | JSON_REAL_PRECISION(9), &page.data_size),
         *frames_text = json_text_make(frames, JSON_COMPACT, &page.frames_size);
    page.data = data_text;
    page.frames = frames_text;
    if (data_text && frames_text)
        run_page(b, &page);
    const enum status s = data_text && frames_text ? STATUS_OK : no_memory(err);
    free(data_text);
    free(frames_text);
    return s;
}

enum status report_page_put(struct buffer *b, const struct report_page *p, bool watching, struct error *err)
{
    char *name = name_of(&p->saved);
    const struct report_data d = {.saved = &p->saved,
                                  .log = &p->log,
                                  .film = &p->film,
                                  .entropy = &p->entropy,
                                  .kinds = p->kinds_step ? &p->kinds : NULL,
                                  .no_kinds = p->no_kinds,
                                  .name = name ? name : "run",
                                  .watching = watching};
    json_t *data, *frames;
    enum status s = report_data_make(&data, &frames, &d, err);
    if (!s)
        s = put_page(b, p, d.name, data, frames, err);
    json_decref(data);
    json_decref(frames);
    free(name);
    return s;
}
