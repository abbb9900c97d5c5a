#include "cli/option.h"

#include <stdio.h>
#include <string.h>

#include "cli/number.h"

bool option_is_end(const struct option_spec *spec)
{
    return !spec->section && !spec->name;
}

bool option_negatable(const struct option_spec *spec)
{
    return spec->type == OPTION_FLAG && (spec->saved || (spec->fallback && strcmp(spec->fallback, "true") == 0));
}

static bool is_whole(enum option_type type)
{
    return type == OPTION_SIZE || type == OPTION_SEED;
}

void option_limits(char out[OPTION_WORDS_SIZE], const struct option_spec *spec)
{
    struct option_range r = spec->range;
    out[0] = '\0';
    if (!r.limited && is_whole(spec->type))
        r = (struct option_range)OPTION_AT_LEAST(0);
    if (!r.limited)
        return;
    const char *form = is_whole(spec->type) ? "%.0f" : "%g";
    char min[40], max[40];
    snprintf(min, sizeof min, form, r.min);
    snprintf(max, sizeof max, form, r.max);
    const bool above = r.above_min, below = r.below_max;
    if (isinf(r.max))
        snprintf(out, OPTION_WORDS_SIZE, above ? "above %s" : "%s or more", min);
    else if (above)
        snprintf(out, OPTION_WORDS_SIZE, below ? "above %s, below %s" : "above %s, at most %s", min, max);
    else
        snprintf(out, OPTION_WORDS_SIZE, below ? "%s or more, below %s" : "%s to %s", min, max);
}

void option_expected(char out[OPTION_WORDS_SIZE], const struct option_spec *spec)
{
    size_t n = 0;
    char limits[OPTION_WORDS_SIZE];
    switch (spec->type) {
    case OPTION_FLAG:
        snprintf(out, OPTION_WORDS_SIZE, "true or false");
        return;
    case OPTION_STRING:
        snprintf(out, OPTION_WORDS_SIZE, "text");
        return;
    case OPTION_PATH:
        snprintf(out, OPTION_WORDS_SIZE, "a path");
        return;
    case OPTION_CHOICE:
        n = (size_t)snprintf(out, OPTION_WORDS_SIZE, "one of");
        for (size_t i = 0; spec->choices[i] && n < OPTION_WORDS_SIZE; i++)
            n += (size_t)snprintf(out + n, OPTION_WORDS_SIZE - n, "%s %s", i ? "," : "", spec->choices[i]);
        return;
    case OPTION_SIZE:
    case OPTION_SEED:
    case OPTION_NUMBER:
        option_limits(limits, spec);
        snprintf(out, OPTION_WORDS_SIZE, "a %snumber%s%.120s", is_whole(spec->type) ? "whole " : "",
                 limits[0] ? ", " : "", limits);
        return;
    }
}

static bool within(const struct option_range *r, double x)
{
    if (!r->limited)
        return true;
    return (r->above_min ? x > r->min : x >= r->min) && (r->below_max ? x < r->max : x <= r->max);
}

static bool allowed(const struct option_spec *spec, const struct option_value *v)
{
    if (spec->type == OPTION_NUMBER)
        return isfinite(v->number) && within(&spec->range, v->number);
    if (!is_whole(spec->type))
        return true;
    if (v->integer < 0)
        return false;
    if (spec->type == OPTION_SIZE && (uint64_t)v->integer > SIZE_MAX)
        return false;
    return within(&spec->range, (double)v->integer);
}

static bool find_choice(struct option_value *v, const struct option_spec *spec, const char *word)
{
    for (int i = 0; spec->choices[i]; i++)
        if (strcmp(spec->choices[i], word) == 0) {
            v->choice = i;
            return true;
        }
    return false;
}

bool option_from_text(struct option_value *v, const struct option_spec *spec, const char *text)
{
    switch (spec->type) {
    case OPTION_FLAG:
        v->flag = strcmp(text, "true") == 0;
        return v->flag || strcmp(text, "false") == 0;
    case OPTION_SIZE:
    case OPTION_SEED:
        return number_whole(&v->integer, text) && allowed(spec, v);
    case OPTION_NUMBER:
        return number_real(&v->number, text) && allowed(spec, v);
    case OPTION_STRING:
    case OPTION_PATH:
        v->string = text;
        return true;
    case OPTION_CHOICE:
        return find_choice(v, spec, text);
    }
    return false;
}

bool option_from_json(struct option_value *v, const struct option_spec *spec, const json_t *json)
{
    switch (spec->type) {
    case OPTION_FLAG:
        v->flag = json_is_true(json);
        return json_is_boolean(json);
    case OPTION_SIZE:
    case OPTION_SEED:
        v->integer = json_integer_value(json);
        return json_is_integer(json) && allowed(spec, v);
    case OPTION_NUMBER:
        v->number = json_number_value(json);
        return json_is_number(json) && allowed(spec, v);
    case OPTION_STRING:
    case OPTION_PATH:
        v->string = json_string_value(json);
        return json_is_string(json);
    case OPTION_CHOICE:
        return json_is_string(json) && find_choice(v, spec, json_string_value(json));
    }
    return false;
}

void option_store(void *target, const struct option_spec *spec, const struct option_value *v)
{
    void *field = (char *)target + spec->offset;
    switch (spec->type) {
    case OPTION_FLAG:
        *(bool *)field = v->flag;
        break;
    case OPTION_SIZE:
        *(size_t *)field = (size_t)v->integer;
        break;
    case OPTION_SEED:
        *(uint64_t *)field = (uint64_t)v->integer;
        break;
    case OPTION_NUMBER:
        *(double *)field = v->number;
        break;
    case OPTION_STRING:
    case OPTION_PATH:
        *(const char **)field = v->string;
        break;
    case OPTION_CHOICE:
        *(int *)field = v->choice;
        break;
    }
}

json_t *option_to_json(const void *target, const struct option_spec *spec)
{
    const void *field = (const char *)target + spec->offset;
    switch (spec->type) {
    case OPTION_FLAG:
        return json_boolean(*(const bool *)field);
    case OPTION_SIZE:
        return json_integer((json_int_t) * (const size_t *)field);
    case OPTION_SEED:
        return json_integer((json_int_t) * (const uint64_t *)field);
    case OPTION_NUMBER:
        return json_real(*(const double *)field);
    case OPTION_STRING:
    case OPTION_PATH:
        return *(const char *const *)field ? json_string(*(const char *const *)field) : json_null();
    case OPTION_CHOICE:
        return json_string(spec->choices[*(const int *)field]);
    }
    return NULL;
}
