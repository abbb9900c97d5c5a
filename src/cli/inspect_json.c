#include "cli/inspect_json.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    json_t *json = text ? json_stringn(text, length) : NULL;
    free(text);
    return json ? json : json_null();
}

static json_t *scores_of(const struct head_measure *m)
{
    json_t *scores = json_object();
    for (size_t k = 0; k < HEAD_PATTERNS; k++)
        json_object_set_new(scores, head_kind_name((enum head_kind)k),
                            json_pack("{s:o, s:o, s:o, s:o}", "weight", metrics_number(m->score[k].weight), "largest",
                                      metrics_number(m->score[k].largest), "chance", metrics_number(m->score[k].chance),
                                      "rows", whole(m->score[k].rows)));
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
        json_array_append_new(rows, metrics_number(n->row_entropy[k * n->T + i]));
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
        json_array_append_new(labels, json_string(n->label[i]));
        json_array_append_new(tokens, whole(inspection_tokens(n)[i]));
    }
    const char *on = n->windows == 0 ? NULL : n->validation ? "validation" : "text";
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:s?, s:o, s:o}", "checkpoint",
                     state_path_json(n->saved.checkpoint.path), "text", text_of(n), "labels", labels, "tokens", tokens,
                     "cut", whole(n->before), "loss", metrics_number(n->ablation.head ? n->ablation.loss : (double)NAN),
                     "measured_on", on, "windows", whole(n->windows), "window_length", whole(n->window_T));
}

/* The object without its closing brace, so that more can follow. */
static enum status print_open(FILE *out, json_t *object, struct error *err)
{
    char *text = object ? json_dumps(object, FLAGS) : NULL;
    if (text)
        fwrite(text, 1, strlen(text) - 1, out);
    free(text);
    json_decref(object);
    return text ? STATUS_OK : fail(err, STATUS_MEMORY, "inspect: out of memory");
}

static void print_weights(FILE *out, const real *p, size_t T)
{
    for (size_t i = 0; i < T; i++)
        for (size_t j = 0; j < T; j++)
            fprintf(out, "%s%.9g%s", j > 0 ? "," : i > 0 ? ",[" : "[", (double)p[i * T + j], j + 1 == T ? "]" : "");
}

enum status inspect_json_print(FILE *out, const struct inspection *n, const struct inspection_choice *c,
                               struct error *err)
{
    enum status s = print_open(out, frame_of(n), err);
    fputs(",\"layers\":[", out);
    for (size_t layer = c->layer_begin; layer < c->layer_end && !s; layer++) {
        fprintf(out, "%s{\"layer\":%zu,\"heads\":[", layer > c->layer_begin ? "," : "", layer);
        for (size_t head = c->head_begin; head < c->head_end && !s; head++) {
            if (head > c->head_begin)
                fputc(',', out);
            s = print_open(out, head_of(n, layer, head), err);
            fputs(",\"weights\":[", out);
            print_weights(out, attention_map_weights(&n->map, layer, head), n->T);
            fputs("]}", out);
        }
        fputs("]}", out);
    }
    fputs("]}\n", out);
    return s;
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
