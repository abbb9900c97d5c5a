#include "cli/inspect_json.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "io/json_text.h"
#include "io/metrics.h"

#define FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(9))

enum status inspect_json_check(const struct inspection *n, const struct inspection_choice *c, struct error *err)
{
    const size_t heads = (c->layer_end - c->layer_begin) * (c->head_end - c->head_begin);
    if (n->T <= INSPECT_MOST_WEIGHTS / heads / n->T)
        return STATUS_OK;
    return fail(err, STATUS_RANGE,
                "inspect: maps of %zu x %zu for %zu heads are too much to print, at most %zu weights are: choose with "
                "--layer and --head, or give a shorter text",
                n->T, n->T, heads, INSPECT_MOST_WEIGHTS);
}

static json_t *whole(size_t x)
{
    return json_integer((json_int_t)x);
}

/* Appends to a list, which is gone, and NULL, when memory is refused: no object can hold it then. */
static void keep(json_t **list, json_t *value)
{
    if (json_array_append_new(*list, value) == 0)
        return;
    json_decref(*list);
    *list = NULL;
}

static bool is_utf8(const char *text, size_t n)
{
    for (size_t at = 0, length; at < n; at += length) {
        uint32_t code;
        length = utf8_decode(&code, (const uint8_t *)text + at, n - at);
        if (length == 0)
            return false;
    }
    return true;
}

/* Null for what is no UTF-8; NULL when memory is refused. */
static json_t *text_of(const struct inspection *n)
{
    const struct tokenizer *t = &n->saved.checkpoint.tokenizer;
    char *text = malloc(n->T * (TOKENIZER_SYMBOL_SIZE + 1) + 1);
    size_t length = 0;
    for (size_t i = 0; text && i < n->T; i++) {
        if (t->kind == TOKENIZER_IDS && i > 0)
            text[length++] = ' ';
        length += tokenizer_decode(t, inspection_tokens(n)[i], (uint8_t *)text + length);
    }
    json_t *json = !text ? NULL : is_utf8(text, length) ? json_stringn(text, length) : json_null();
    free(text);
    return json;
}

static json_t *scores_of(const struct head_measure *m)
{
    json_t *scores = json_object();
    for (size_t k = 0; scores && k < HEAD_PATTERNS; k++) {
        const struct head_score *s = &m->score[k];
        json_t *score =
            json_pack("{s:o, s:o, s:o, s:o}", "weight", metrics_number(s->weight), "largest",
                      metrics_number(s->largest), "chance", metrics_number(s->chance), "rows", whole(s->rows));
        if (json_object_set_new(scores, head_kind_name((enum head_kind)k), score) != 0) {
            json_decref(scores);
            scores = NULL;
        }
    }
    return scores;
}

/* Everything but the weights. */
static json_t *head_of(const struct inspection *n, size_t layer, size_t head)
{
    const size_t k = layer * n->H + head;
    const struct inspection_head *h = &n->head[k];
    const struct ablation_head *a = n->ablation.head ? &n->ablation.head[k] : NULL;
    const double none = (double)NAN;
    char evidence[HEAD_KIND_EVIDENCE];
    head_kind_evidence(evidence, &h->measure, h->kind);
    json_t *rows = json_array();
    for (size_t i = 0; i < n->T; i++)
        keep(&rows, metrics_number(n->row_entropy[k * n->T + i]));
    return json_pack("{s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "head", whole(head), "kind",
                     head_kind_name(h->kind), "evidence", evidence, "entropy", metrics_number(h->map.entropy),
                     "row_entropy", rows, "future_mass", metrics_number(h->map.future_mass), "row_error",
                     metrics_number(h->map.row_error), "reach", metrics_number(h->measure.reach), "scores",
                     scores_of(&h->measure), "loss_without", metrics_number(a ? a->loss : none), "loss_more",
                     metrics_number(a ? a->more : none), "loss_more_error", metrics_number(a ? a->error : none));
}

static json_t *frame_of(const struct inspection *n)
{
    json_t *labels = json_array(), *tokens = json_array();
    for (size_t i = 0; i < n->T; i++) {
        keep(&labels, json_string(n->label[i]));
        keep(&tokens, whole(inspection_tokens(n)[i]));
    }
    const char *on = n->windows == 0 ? NULL : n->validation ? "validation" : "text";
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:s?, s:o, s:o}", "checkpoint",
                     state_path_json(n->saved.checkpoint.path), "text", text_of(n), "labels", labels, "tokens", tokens,
                     "cut", whole(n->before), "loss", metrics_number(n->ablation.head ? n->ablation.loss : (double)NAN),
                     "measured_on", on, "windows", whole(n->windows), "window_length", whole(n->window_T));
}

/* The object's text without its closing brace, so that more can follow. Takes the reference. NULL when memory is
 * refused.
 */
static char *open_text(json_t *object)
{
    size_t size;
    char *text = json_text_make(object, FLAGS, &size);
    if (text)
        text[size - 1] = '\0';
    json_decref(object);
    return text;
}

static void print_weights(FILE *out, const real *p, size_t T)
{
    for (size_t i = 0; i < T; i++)
        for (size_t j = 0; j < T; j++)
            fprintf(out, "%s%.9g%s", j > 0 ? "," : i > 0 ? ",[" : "[", (double)p[i * T + j], j + 1 == T ? "]" : "");
}

/* Everything but the weights, made before anything is printed: the frame, then each head of the choice. */
struct texts {
    char *frame, **head;
    size_t heads;
};

static bool texts_make(struct texts *t, const struct inspection *n, const struct inspection_choice *c)
{
    const size_t columns = c->head_end - c->head_begin;
    t->heads = (c->layer_end - c->layer_begin) * columns;
    t->frame = open_text(frame_of(n));
    t->head = calloc(t->heads, sizeof *t->head);
    bool whole_texts = t->frame && t->head;
    for (size_t k = 0; k < t->heads && whole_texts; k++) {
        t->head[k] = open_text(head_of(n, c->layer_begin + k / columns, c->head_begin + k % columns));
        whole_texts = t->head[k];
    }
    return whole_texts;
}

static void texts_free(struct texts *t)
{
    for (size_t k = 0; t->head && k < t->heads; k++)
        free(t->head[k]);
    free(t->head);
    free(t->frame);
}

enum status inspect_json_print(FILE *out, const struct inspection *n, const struct inspection_choice *c,
                               struct error *err)
{
    struct texts t;
    if (!texts_make(&t, n, c)) {
        texts_free(&t);
        return fail(err, STATUS_MEMORY, "inspect: out of memory");
    }
    size_t k = 0;
    fprintf(out, "%s,\"layers\":[", t.frame);
    for (size_t layer = c->layer_begin; layer < c->layer_end; layer++) {
        fprintf(out, "%s{\"layer\":%zu,\"heads\":[", layer > c->layer_begin ? "," : "", layer);
        for (size_t head = c->head_begin; head < c->head_end; head++, k++) {
            fprintf(out, "%s%s,\"weights\":[", head > c->head_begin ? "," : "", t.head[k]);
            print_weights(out, attention_map_weights(&n->map, layer, head), n->T);
            fputs("]}", out);
        }
        fputs("]}", out);
    }
    fputs("]}\n", out);
    texts_free(&t);
    return STATUS_OK;
}

void inspect_json_csv(FILE *out, const struct inspection *n, const struct inspection_choice *c)
{
    fputs("layer,head,query,key,weight\n", out);
    for (size_t layer = c->layer_begin; layer < c->layer_end; layer++)
        for (size_t head = c->head_begin; head < c->head_end; head++) {
            const real *p = attention_map_weights(&n->map, layer, head);
            for (size_t i = 0; i < n->T * n->T; i++)
                fprintf(out, "%zu,%zu,%zu,%zu,%.9g\n", layer, head, i / n->T, i % n->T, (double)p[i]);
        }
}
