#include "cli/exec_model.h"

#include <stdlib.h>
#include <string.h>

#include "diag/protocol.h"

#define GRACE 2.0 /* seconds for a program to end by itself once its input is closed */

extern char **environ;

static enum status ask(void *self, double *logits, const uint32_t *tokens, size_t n, const size_t *rows, size_t n_rows,
                       struct error *err)
{
    struct exec_model *const m = self;
    size_t length, answered;
    char *const question = protocol_question(&length, tokens, n, rows, n_rows), *answer;
    if (!question)
        return fail(err, STATUS_MEMORY, "out of memory for a question of %zu tokens", n);
    const enum status s = child_ask(&m->child, question, length, &answer, &answered, err);
    free(question);
    return s == STATUS_OK ? protocol_read_logits(logits, answer, answered, n, rows, n_rows, m->blackbox.V, err) : s;
}

static enum status greet(struct exec_model *m, struct error *err)
{
    char *answer;
    size_t length, V, T;
    bool one_length;
    enum status s = child_ask(&m->child, PROTOCOL_HELLO, strlen(PROTOCOL_HELLO), &answer, &length, err);
    if (s == STATUS_OK)
        s = protocol_read_hello(&V, &T, &one_length, answer, length, err);
    if (s == STATUS_OK)
        s = blackbox_open(&m->blackbox, V, T, err);
    if (s != STATUS_OK && s != STATUS_INTERRUPTED)
        fail_within(err, s, "the first question, {\"hello\":1}");
    if (s != STATUS_OK)
        return s;
    m->blackbox.ask = ask;
    m->blackbox.self = m;
    m->blackbox.one_length = one_length;
    return STATUS_OK;
}

enum status exec_model_start(struct exec_model *m, const char *command, double timeout, bool (*interrupted)(void),
                             struct error *err)
{
    *m = (struct exec_model){.child = {.pid = 0}};
    enum status s = child_start(&m->child, command, environ, err);
    if (s != STATUS_OK)
        return s;
    m->child.timeout = timeout;
    m->child.interrupted = interrupted;
    s = greet(m, err);
    if (s != STATUS_OK)
        child_stop(&m->child, 0);
    return s;
}

void exec_model_stop(struct exec_model *m)
{
    child_stop(&m->child, GRACE);
    blackbox_close(&m->blackbox);
}
