#include "support/reported.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/program.h"
#include "support/scratch.h"
#include "support/tiny_train.h"

#define MOST_WORDS 40

void reported_begin(struct reported *r)
{
    r->browser = browser_open();
    r->dir = scratch_path("run");
    r->page = scratch_path("run/report.html");
}

void reported_end(struct reported *r)
{
    if (r->watcher > 0) {
        kill(r->watcher, SIGKILL);
        waitpid(r->watcher, NULL, 0);
    }
    browser_close(r->browser);
    *r = (struct reported){0};
    scratch_remove();
}

static void join(const char *all[MOST_WORDS], size_t n, const char *const *words)
{
    for (size_t i = 0; words[i]; i++) {
        cr_assert_lt(n, MOST_WORDS - 1);
        all[n++] = words[i];
    }
    all[n] = NULL;
}

void reported_train(const struct reported *r, const char *const *words)
{
    const char *all[MOST_WORDS] = {"-o",       r->dir, "--n-layer",       "2",  "--n-head",     "2",
                                   "--n-embd", "16",   "--block-size",    "32", "--batch-size", "4",
                                   "--steps",  "200",  "--eval-interval", "50", "--keep",       "0"};
    join(all, 18, words);
    tiny_train_ok(all);
}

void reported_open(struct reported *r)
{
    browser_go(r->browser, r->page);
    browser_wait(r->browser, "document.documentElement.dataset.ready === 'yes'");
}

void reported_show(struct reported *r, const char *const *words)
{
    struct program p;
    const char *all[MOST_WORDS] = {"report", r->dir, "--threads", "1"};
    join(all, 4, words);
    program_run(&p, NULL, all);
    cr_assert_eq(p.status, 0, "%s", p.err);
    program_free(&p);
    reported_open(r);
}

void reported_make(struct reported *r)
{
    reported_begin(r);
    REPORTED_TRAIN(r, tiny_train_text());
    REPORTED_SHOW(r, "-o", r->page);
}

void reported_watch(struct reported *r)
{
    const int nothing = open("/dev/null", O_RDWR);
    cr_assert_geq(nothing, 0);
    r->watcher = fork();
    cr_assert_geq(r->watcher, 0);
    if (r->watcher == 0) {
        dup2(nothing, 1);
        dup2(nothing, 2);
        alarm(600); /* it ends even if the test has been killed */
        execl(NOPEEK_BINARY, NOPEEK_BINARY, "report", r->dir, "--watch", "--threads", "1", (char *)NULL);
        _exit(127);
    }
    close(nothing);
}

void reported_click_head(struct reported *r, size_t layer, size_t head)
{
    char selector[64];
    snprintf(selector, sizeof selector, "#minis .mini[data-head=\"%zu\"]", layer * REPORTED_HEADS + head);
    browser_click(r->browser, selector);
}

void reported_click_frame(struct reported *r, int step)
{
    char selector[64];
    snprintf(selector, sizeof selector, "#film .frame[data-step=\"%d\"]", step);
    browser_click(r->browser, selector);
}

void reported_hover_character(struct reported *r, size_t i)
{
    char selector[64];
    snprintf(selector, sizeof selector, "#characters .char[data-i=\"%zu\"]", i);
    browser_hover(r->browser, selector);
}

void reported_focus(struct reported *r, const char *selector)
{
    json_decref(browser_value(r->browser, "document.querySelector('%s').focus()", selector));
}

void reported_expect_chosen(struct reported *r, size_t layer, size_t head, int step)
{
    const struct {
        const char *id;
        double value;
    } chosen[] = {{"layer", (double)layer}, {"head", (double)head}, {"step", step}};
    for (size_t i = 0; i < 3; i++) {
        const double shown = browser_number(r->browser, "Number(document.getElementById('%s').value)", chosen[i].id);
        cr_assert_eq(shown, chosen[i].value, "%s %g is chosen, and not %g", chosen[i].id, shown, chosen[i].value);
    }
}
