#include "cli/verdict_view.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct verdict *leaky(void)
{
    struct verdict *v = calloc(1, sizeof *v);
    cr_assert(v);
    verdict_say(v, "suffix", VERDICT_FOUND, 1.5, "%s", "changed at 3");
    verdict_say(v, "entropy-floor", VERDICT_SKIPPED, 0, "no text");
    struct verdict_finding *f = verdict_find(v, "suffix", "each sees all");
    f->layer = 2;
    f->head = 0;
    strcpy(f->operation, "attention");
    f->shape = (struct chart_shape){CHART_ALL_FUTURE, 0, 5, 5};
    f->nats = 0.25;
    f = verdict_find(v, "uniform", "below ln V");
    v->nats = 0.25;
    return v;
}

static char *shown(const struct verdict *v)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    struct terminal t;
    terminal_open(&t, f);
    verdict_print(&t, v);
    fclose(f);
    return text;
}

Test(verdict_view, prints_a_line_per_detector_then_findings_and_advice)
{
    struct verdict *v = leaky();
    char *text = shown(v);
    const char *const parts[] = {"detector       outcome     time  evidence\n",
                                 "suffix         found      1.5 s  changed at 3\n",
                                 "entropy-floor  skipped",
                                 "\nLEAK\n",
                                 "  suffix: layer 2 head 0 attention: each sees all\n",
                                 "  uniform: below ln V\n",
                                 "what to do: look for attention"};
    const char *at = text;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        at = strstr(at, parts[i]);
        cr_assert(at, "no \"%s\" in place in %s", parts[i], text);
    }
    free(text);
    v->findings = 0;
    text = shown(v);
    cr_assert(strstr(text, "\nNo leak found.\n") && !strstr(text, "LEAK"), "%s", text);
    free(text);
    free(v);
}

/* Advice once for each pattern, and no more findings than fit on a screen. */
/* The generation detector's finding is the price; it is repeated only where that one is not shown. */
Test(verdict_view, what_the_future_is_worth_is_said_once)
{
    struct verdict *v = leaky();
    verdict_find(v, "generation", "the future is worth 0.25 nats");
    char *text = shown(v);
    cr_assert(strstr(text, "  generation: the future is worth 0.25 nats\n"), "%s", text);
    cr_assert_null(strstr(text, "what comes later is worth"), "%s", text);
    free(text);
    free(v);
    v = leaky();
    for (size_t i = 0; i < 40; i++)
        verdict_find(v, "suffix", "finding %zu", i);
    verdict_find(v, "generation", "the future is worth 0.25 nats");
    text = shown(v);
    cr_assert_null(strstr(text, "  generation: "), "%s", text);
    cr_assert(strstr(text, "\n  what comes later is worth 0.2500 nats a symbol\n"), "%s", text);
    free(text);
    free(v);
}

Test(verdict_view, many_findings_stay_on_one_screen)
{
    struct verdict *v = calloc(1, sizeof *v);
    for (size_t k = 0; k < VERDICT_FINDINGS + 5; k++)
        verdict_find(v, "suffix", "finding %zu", k)->shape = (struct chart_shape){CHART_ONE_AHEAD, 1, 1, 1};
    char *text = shown(v);
    size_t lines = 0;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    cr_assert_leq(lines, 16);
    cr_assert(strstr(text, "  and 253 more"), "%s", text);
    cr_assert(strstr(text, "what to do: the mask's diagonal is off"), "%s", text);
    free(text);
    free(v);
}

Test(verdict_view, json_has_every_key_and_null_for_the_unknown)
{
    struct verdict *v = leaky();
    json_t *o = verdict_json(v, NULL);
    json_t *expected = json_loads(
        "{\"leak\":true,\"nats\":0.25,\"findings\":[{\"detector\":\"suffix\",\"layer\":2,\"head\":0,\"operation\":"
        "\"attention\",\"backward\":false,\"offset\":\"all\",\"nats\":0.25,\"what\":\"each sees all\"},{\"detector\":"
        "\"uniform\",\"layer\":null,\"head\":null,\"operation\":null,\"backward\":false,\"offset\":null,\"nats\":null,"
        "\"what\":\"below ln "
        "V\"}],\"detectors\":[{\"name\":\"suffix\",\"outcome\":\"found\",\"seconds\":1.5,\"evidence\":"
        "\"changed at 3\"},{\"name\":\"entropy-floor\",\"outcome\":\"skipped\",\"seconds\":0,\"evidence\":\"no "
        "text\"}]}",
        0, NULL);
    cr_assert(expected);
    /* 0 seconds is a real number there */
    json_object_set_new(json_array_get(json_object_get(expected, "detectors"), 1), "seconds", json_real(0));
    cr_assert(json_equal(o, expected), "%s", json_dumps(o, 0));
    json_decref(o);
    json_decref(expected);
    o = verdict_json(v, "it died");
    cr_assert(json_is_null(json_object_get(o, "leak")));
    cr_assert_str_eq(json_string_value(json_object_get(o, "error")), "it died");
    json_decref(o);
    free(v);
}

Test(verdict_view, offsets_are_short_stable_words)
{
    const struct {
        struct chart_shape shape;
        const char *word;
    } cases[] = {{{CHART_ALL_FUTURE, 0, 0, 0}, "all"},         {{CHART_ONE_AHEAD, 1, 0, 0}, "+1"},
                 {{CHART_ONE_AHEAD, 3, 0, 0}, "+3"},           {{CHART_UP_TO_AHEAD, 4, 0, 0}, "up to +4"},
                 {{CHART_WITHIN_BLOCK, 16, 0, 0}, "block 16"}, {{CHART_SOME, 0, 0, 0}, "some"}};
    char out[VERDICT_OFFSET_SIZE];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_assert_str_eq(verdict_offset(out, &cases[i].shape), cases[i].word);
    const struct chart_shape none = {CHART_CAUSAL, 0, 0, 0};
    cr_assert_null(verdict_offset(out, &none));
}
