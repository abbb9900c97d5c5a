#include "store/state.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const paths[] = {"a b.txt", "\xC3\xA9/\xF0\x9F\x90\x81.txt"};

static struct state sample(void)
{
    struct error err;
    struct state s = {
        .step = STATE_MOST_STEPS, .best_step = 1000, .best_loss = 0.1 + 0.2, .seconds = 12.5, .leaky = true};
    s.text_bytes = 30;
    s.text_symbols = 29;
    hash_bytes(s.text_hash, "text", 4);
    s.settings = json_pack("{s:f, s:s}", "lr", 0.1, "preset", "nano");
    cr_assert_eq(state_set_text(&s, paths, 2, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(state_set_check(&s, "no leak", &err), STATUS_OK, "%s", err.message);
    return s;
}

/* As trainer_state.json would hold it: through text and back. */
static json_t *through_text(const struct state *s)
{
    json_t *json = state_to_json(s);
    cr_assert_not_null(json);
    char *text = json_dumps(json, JSON_INDENT(2));
    json_decref(json);
    json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    free(text);
    return json;
}

Test(state, every_field_survives_being_written_and_read)
{
    struct error err;
    struct state s = sample(), read;
    json_t *json = through_text(&s);
    cr_assert_eq(state_from_json(&read, json, "f", &err), STATUS_OK, "%s", err.message);
    cr_assert(read.step == s.step && read.best_step == 1000 && read.best_loss == 0.1 + 0.2 && read.seconds == 12.5);
    cr_assert(read.leaky && read.text_bytes == 30 && read.text_symbols == 29);
    cr_assert_str_eq(read.check, "no leak");
    cr_assert_str_eq(read.text_hash, s.text_hash);
    cr_assert_eq(read.n_texts, 2);
    cr_assert_str_eq(read.text[0], paths[0]);
    cr_assert_str_eq(read.text[1], paths[1]);
    cr_assert(json_equal(read.settings, s.settings));
    json_decref(json);
    state_free(&read);
    state_free(&s);
    state_free(&s);
}

Test(state, before_the_first_evaluation_there_is_no_best)
{
    struct error err;
    struct state s = sample(), read;
    s.best_step = STATE_NO_STEP;
    s.best_loss = (double)NAN;
    s.leaky = false;
    free(s.check);
    s.check = NULL;
    json_t *json = through_text(&s);
    cr_assert_eq(state_from_json(&read, json, "f", &err), STATUS_OK, "%s", err.message);
    cr_assert(read.best_step == STATE_NO_STEP && isnan(read.best_loss) && !read.leaky && !read.check);
    json_decref(json);
    state_free(&read);
    state_free(&s);
}

Test(state, texts_and_verdict_are_replaced_not_shared)
{
    struct error err;
    struct state s = sample();
    char path[] = "c.txt";
    const char *const list[] = {path};
    cr_assert_eq(state_set_text(&s, list, 1, &err), STATUS_OK);
    cr_assert_eq(state_set_check(&s, "a leak", &err), STATUS_OK);
    path[0] = 'x';
    cr_assert_eq(s.n_texts, 1);
    cr_assert_str_eq(s.text[0], "c.txt");
    cr_assert_str_eq(s.check, "a leak");
    cr_assert_eq(state_set_text(&s, NULL, 0, &err), STATUS_OK);
    cr_assert_eq(s.n_texts, 0);
    state_free(&s);
}

#define TEXT(sizes) "{\"paths\":[],\"hash\":\"0123456789abcdef0123456789abcdef\"," sizes "}"

/* A key, the JSON to put there (NULL removes it); the message must name `part`. */
static const struct {
    const char *key, *value, *part;
} refused[] = {
    {"step", NULL, "step"},
    {"step", "-1", "step"},
    {"step", "1.0", "step"},
    {"best_step", "\"1\"", "best_step"},
    {"best_step", "-1", "best_step"},
    {"best_step", NULL, "best_step"},
    {"best_loss", "\"low\"", "best_loss"},
    {"best_loss", NULL, "best_loss"},
    {"seconds", "-1", "seconds"},
    {"seconds", "null", "seconds"},
    {"leaky", "0", "leaky"},
    {"leaky", NULL, "leaky"},
    {"check", "1", "check"},
    {"check", NULL, "check"},
    {"settings", "[]", "settings"},
    {"settings", NULL, "settings"},
    {"text", NULL, "text"},
    {"text", "{}", "text"},
    {"text", "{\"paths\":[1],\"hash\":\"\"}", "text"},
    {"text", "{\"paths\":[],\"hash\":\"0123456789012345678901234567890123456789\"}", "text"},
    {"text", "{\"paths\":[],\"hash\":\"\",\"bytes\":1,\"symbols\":1}", "32 hex digits"},
    {"text", TEXT("\"bytes\":-1,\"symbols\":0"), "bytes"},
    {"text", TEXT("\"bytes\":1"), "symbols"},
    {"text", "{\"paths\":[\"a\",\"\"],\"hash\":\"0123456789abcdef0123456789abcdef\",\"bytes\":1,\"symbols\":1}",
     "none of them empty"},
    /* wrong in size, not in kind */
    {"step", "4294967296", "\"step\" must be a whole number from 0 to 4294967295"},
    {"step", "9007199254740993", "step"},
    {"step", "9223372036854775807", "step"},
    {"step", "999", "\"best_step\" must be a whole number from 0 to 999"},
    {"seconds", "1e300", "seconds"},
    {"seconds", "\"1\"", "seconds"},
    {"text", TEXT("\"bytes\":1099511627777,\"symbols\":1"), "bytes"},
    {"text", TEXT("\"bytes\":5,\"symbols\":6"), "\"symbols\" must be a whole number from 0 to 5"},
    {"text", TEXT("\"bytes\":5,\"symbols\":9223372036854775807"), "symbols"},
    {"text", "{\"paths\":{\"a\":1},\"hash\":\"0123456789abcdef0123456789abcdef\"}", "text"},
};

Test(state, keys_that_lack_or_are_of_another_type_are_named)
{
    struct state s = sample();
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct error err = {.message = ""};
        struct state read;
        json_t *json = through_text(&s);
        if (refused[i].value)
            json_object_set_new(json, refused[i].key, json_loads(refused[i].value, JSON_DECODE_ANY, NULL));
        else
            json_object_del(json, refused[i].key);
        cr_assert_eq(state_from_json(&read, json, "x/f", &err), STATUS_FORMAT, "%s %s", refused[i].key,
                     refused[i].value ? refused[i].value : "removed");
        cr_assert_not_null(strstr(err.message, refused[i].part), "%s", err.message);
        cr_assert_eq(strncmp(err.message, "x/f: ", 5), 0, "%s", err.message);
        cr_assert(!read.text && !read.check && !read.settings, "left empty");
        json_decref(json);
    }
    state_free(&s);
}

/* `info` prints them: no file may move the cursor of whoever looks at it. */
Test(state, a_verdict_with_control_characters_is_one_line)
{
    struct error err;
    struct state s = sample(), read;
    cr_assert_eq(state_set_check(&s, "no leak\n\x1b[2Jfound\xE2\x80\xAE", &err), STATUS_OK);
    json_t *json = through_text(&s);
    cr_assert_eq(state_from_json(&read, json, "f", &err), STATUS_OK, "%s", err.message);
    cr_assert_str_eq(read.check, "no leak??[2Jfound???");
    json_decref(json);
    state_free(&read);
    state_free(&s);
}
