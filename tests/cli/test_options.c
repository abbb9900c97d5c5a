#include "cli/options.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct settings {
    size_t n_layer, block;
    double lr, top_p;
    bool bias, json;
    uint64_t seed;
    const char *out, *prompt;
    int mask;
};

static const char *const masks[] = {"causal", "none", NULL};

static const struct option_spec table[] = {
    OPTION_SECTION("Model"),
    {.name = "n-layer",
     .type = OPTION_SIZE,
     .offset = offsetof(struct settings, n_layer),
     .metavar = "L",
     .fallback = "4",
     .range = OPTION_BETWEEN(1, 4095),
     .saved = "n_layer",
     .help = "blocks"},
    {.name = "block-size",
     .letter = 'b',
     .type = OPTION_SIZE,
     .offset = offsetof(struct settings, block),
     .metavar = "T",
     .fallback = "64",
     .range = OPTION_AT_LEAST(1),
     .saved = "block_size",
     .help = "context"},
    {.name = "bias",
     .type = OPTION_FLAG,
     .offset = offsetof(struct settings, bias),
     .fallback = "true",
     .saved = "bias",
     .help = "biases"},
    OPTION_SECTION("Training"),
    {.name = "lr",
     .type = OPTION_NUMBER,
     .offset = offsetof(struct settings, lr),
     .metavar = "X",
     .fallback = "1e-3",
     .range = OPTION_ABOVE(0),
     .saved = "learning_rate",
     .help = "rate"},
    {.name = "mask",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct settings, mask),
     .metavar = "RULE",
     .fallback = "causal",
     .choices = masks,
     .saved = "mask",
     .help = "mask"},
    {.name = "seed",
     .type = OPTION_SEED,
     .offset = offsetof(struct settings, seed),
     .metavar = "N",
     .fallback = "1337",
     .saved = "seed",
     .help = "seed"},
    {.name = "out",
     .letter = 'o',
     .type = OPTION_PATH,
     .offset = offsetof(struct settings, out),
     .metavar = "RUN",
     .help = "folder"},
    {.name = "prompt",
     .type = OPTION_STRING,
     .offset = offsetof(struct settings, prompt),
     .metavar = "TEXT",
     .saved = "prompt",
     .help = "prompt"},
    {.name = "top-p",
     .type = OPTION_NUMBER,
     .offset = offsetof(struct settings, top_p),
     .metavar = "P",
     .fallback = "1",
     .range = OPTION_BETWEEN(0, 1),
     .help = "nucleus"},
    {.name = "json", .type = OPTION_FLAG, .offset = offsetof(struct settings, json), .help = "json"},
    OPTION_END,
};

/* Parses words; the first stands for the command's name. */
#define PARSE(o, s, err, ...)                                                                                          \
    parse_words(o, s, err, (char *[]){"test", __VA_ARGS__, NULL},                                                      \
                sizeof((char *[]){"test", __VA_ARGS__}) / sizeof(char *))

static enum status parse_words(struct options *o, struct settings *s, struct error *err, char **argv, size_t argc)
{
    *s = (struct settings){0};
    err->message[0] = '\0';
    return options_parse(o, "test", table, s, (int)argc, argv, err);
}

static void refuse(char *const *argv, size_t argc, enum status status, const char *const *parts)
{
    struct options o;
    struct settings s = {0};
    struct error err = {{0}};
    cr_assert_eq(options_parse(&o, "test", table, &s, (int)argc, argv, &err), status, "%s: %s", argv[1], err.message);
    for (size_t i = 0; parts[i]; i++)
        cr_assert(strstr(err.message, parts[i]), "\"%s\" lacks \"%s\"", err.message, parts[i]);
    cr_assert_null(strchr(err.message, '\n'));
    options_free(&o);
}

#define WORDS(...) (char *[]){"test", __VA_ARGS__, NULL}, sizeof((char *[]){"test", __VA_ARGS__}) / sizeof(char *)
#define SAYS(...)                                                                                                      \
    (const char *[])                                                                                                   \
    {                                                                                                                  \
        __VA_ARGS__, NULL                                                                                              \
    }

Test(options, defaults_come_from_the_table)
{
    struct options o;
    struct settings s;
    struct error err;
    cr_assert_eq(parse_words(&o, &s, &err, (char *[]){"test", NULL}, 1), STATUS_OK);
    cr_assert(s.n_layer == 4 && s.block == 64 && s.lr == 1e-3 && s.top_p == 1 && s.bias && !s.json);
    cr_assert(s.seed == 1337 && !s.out && !s.prompt && s.mask == 0 && o.operands == 0 && !o.help);
    cr_assert_eq(options_source(&o, "lr"), OPTIONS_DEFAULT);
    cr_assert(!options_given(&o, "lr"));
    options_free(&o);
}

Test(options, all_ways_to_write_an_option_are_read)
{
    struct options o;
    struct settings s;
    struct error err;
    const enum status got =
        PARSE(&o, &s, &err, "text.txt", "--n-layer=6", "--lr", "3e-4", "-b128", "-o", "run", "--no-bias", "--json",
              "--mas", "none", "--prompt=a=b --json", "-", "--", "--seed", "-x");
    cr_assert_eq(got, STATUS_OK, "%s", err.message);
    cr_assert(s.n_layer == 6 && s.lr == 3e-4 && s.block == 128 && !s.bias && s.json && s.mask == 1 && s.seed == 1337);
    cr_assert_str_eq(s.out, "run");
    cr_assert_str_eq(s.prompt, "a=b --json");
    cr_assert_eq(o.operands, 4);
    const char *const operands[] = {"text.txt", "-", "--seed", "-x"};
    for (size_t i = 0; i < 4; i++)
        cr_assert_str_eq(o.operand[i], operands[i]);
    cr_assert_null(o.operand[4]);
    cr_assert(options_given(&o, "lr") && options_given(&o, "bias") && !options_given(&o, "seed"));
    options_free(&o);
}

Test(options, the_last_of_a_repeated_option_wins_and_a_value_may_begin_with_a_dash)
{
    struct options o;
    struct settings s;
    struct error err;
    cr_assert_eq(PARSE(&o, &s, &err, "--no-bias", "--lr", "1", "--bias", "--lr", "2", "--prompt", "-5"), STATUS_OK);
    cr_assert(s.bias && s.lr == 2);
    cr_assert_str_eq(s.prompt, "-5");
    options_free(&o);
}

Test(options, operands_stay_in_order_even_when_POSIXLY_CORRECT_is_set)
{
    struct options o;
    struct settings s;
    struct error err;
    setenv("POSIXLY_CORRECT", "1", 1);
    cr_assert_eq(PARSE(&o, &s, &err, "one", "--json", "two", "--lr=1"), STATUS_OK);
    cr_assert(s.json && s.lr == 1 && o.operands == 2);
    options_free(&o);
}

Test(options, a_bad_value_names_option_found_and_allowed)
{
    refuse(WORDS("--n-layer", "0"), STATUS_USAGE, SAYS("--n-layer", "\"0\"", "1 to 4095"));
    refuse(WORDS("--n-layer=4096"), STATUS_USAGE, SAYS("--n-layer", "\"4096\"", "whole number"));
    refuse(WORDS("--n-layer", "-1"), STATUS_USAGE, SAYS("\"-1\"", "1 to 4095"));
    refuse(WORDS("--n-layer", "18446744073709551617"), STATUS_USAGE, SAYS("18446744073709551617"));
    refuse(WORDS("--n-layer", "1e2"), STATUS_USAGE, SAYS("\"1e2\"", "whole"));
    refuse(WORDS("-b", "12x"), STATUS_USAGE, SAYS("--block-size", "\"12x\"", "1 or more"));
    refuse(WORDS("--lr", "0"), STATUS_USAGE, SAYS("--lr", "above 0"));
    refuse(WORDS("--lr", "nan"), STATUS_USAGE, SAYS("\"nan\""));
    refuse(WORDS("--lr", "inf"), STATUS_USAGE, SAYS("\"inf\""));
    refuse(WORDS("--lr", ""), STATUS_USAGE, SAYS("\"\""));
    refuse(WORDS("--lr", "1e999"), STATUS_USAGE, SAYS("1e999"));
    refuse(WORDS("--top-p", "1.1"), STATUS_USAGE, SAYS("\"1.1\"", "0 to 1"));
    refuse(WORDS("--mask", "half"), STATUS_USAGE, SAYS("\"half\"", "one of causal, none"));
    refuse(WORDS("--seed", "-1"), STATUS_USAGE, SAYS("--seed", "\"-1\""));
    refuse(WORDS("--lr", "a\nb\033[31m"), STATUS_USAGE, SAYS("\"a?b?[31m\""));
    refuse(WORDS("--lr", "a very long value that would fill the whole line and then some more"), STATUS_USAGE,
           SAYS("a very long", "...\""));
    refuse(WORDS("--lr",
                 "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"
                 "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"),
           STATUS_USAGE, SAYS("--lr", "...\""));
}

Test(options, unknown_ambiguous_and_incomplete_options_are_told_apart)
{
    refuse(WORDS("--n-layers", "3"), STATUS_USAGE, SAYS("unknown option \"--n-layers\"", "did you mean --n-layer?"));
    refuse(WORDS("--blok-size=3"), STATUS_USAGE, SAYS("did you mean --block-size?"));
    refuse(WORDS("--zzz"), STATUS_USAGE, SAYS("unknown option \"--zzz\"", "nopeek help test"));
    refuse(WORDS("-x"), STATUS_USAGE, SAYS("unknown option \"-x\"", "nopeek help test"));
    refuse(WORDS("one", "--json", "-zb"), STATUS_USAGE, SAYS("unknown option \"-zb\""));
    refuse(WORDS("--b", "3"), STATUS_USAGE, SAYS("--b is short for several", "--block-size", "--bias"));
    refuse(WORDS("--json=yes"), STATUS_USAGE, SAYS("--json: takes no value", "yes"));
    refuse(WORDS("--no-bias=1"), STATUS_USAGE, SAYS("--no-bias: takes no value"));
    refuse(WORDS("--no-json"), STATUS_USAGE, SAYS("unknown option \"--no-json\""));
    refuse(WORDS("--lr"), STATUS_USAGE, SAYS("--lr: expected a value", "above 0"));
    refuse(WORDS("--json", "-o"), STATUS_USAGE, SAYS("--out: expected a value"));
    refuse(WORDS("--config"), STATUS_USAGE, SAYS("--config: expected a value"));
}

Test(options, help_and_version_stop_before_later_mistakes)
{
    struct options o;
    struct settings s;
    struct error err;
    cr_assert_eq(PARSE(&o, &s, &err, "-h", "--bad"), STATUS_OK);
    cr_assert(o.help);
    options_free(&o);
    cr_assert_eq(PARSE(&o, &s, &err, "--version", "--bad"), STATUS_OK);
    cr_assert(o.version && !o.help);
    options_free(&o);
    refuse(WORDS("--bad", "--help"), STATUS_USAGE, SAYS("--bad"));
}

/* A temporary file with this text; its path. */
static const char *file_with(const char *text)
{
    static char path[] = "/tmp/test_options.XXXXXX";
    strcpy(path, "/tmp/test_options.XXXXXX");
    const int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    return path;
}

Test(options, a_config_file_takes_saved_keys_and_option_names_and_yields_to_the_command_line)
{
    struct options o;
    struct settings s;
    struct error err;
    char *path =
        strdup(file_with("{\"learning_rate\": 0.5, \"n-layer\": 9, \"bias\": false, \"prompt\": \"caf\\u00e9\","
                         " \"mask\": \"none\", \"out\": null}"));
    /* --config comes first, yet --n-layer wins. */
    const enum status got = PARSE(&o, &s, &err, "--config", path, "--n-layer", "2", "text");
    cr_assert_eq(got, STATUS_OK, "%s", err.message);
    unlink(path);
    cr_assert(s.lr == 0.5 && s.n_layer == 2 && !s.bias && s.mask == 1 && !s.out);
    cr_assert_str_eq(s.prompt, "caf\xc3\xa9");
    cr_assert_eq(options_source(&o, "lr"), OPTIONS_CONFIG);
    cr_assert_eq(options_source(&o, "n-layer"), OPTIONS_GIVEN);
    cr_assert(options_given(&o, "lr") && !options_given(&o, "out"));
    options_free(&o);
    free(path);
}

Test(options, a_wrong_config_file_is_refused_in_one_line)
{
    const struct {
        const char *text;
        enum status status;
        const char *says[3];
    } cases[] = {
        {"{\"learning_rat\": 1}", STATUS_USAGE, {"unknown key \"learning_rat\"", "learning_rate"}},
        {"{\"qqqq\": 1}", STATUS_USAGE, {"unknown key \"qqqq\"", "option names"}},
        {"{\"config\": \"x\"}", STATUS_USAGE, {"unknown key \"config\""}},
        {"{\"lr\": \"fast\"}", STATUS_USAGE, {"\"lr\"", "fast", "above 0"}},
        {"{\"lr\": -1}", STATUS_USAGE, {"found \"-1\"", "above 0"}},
        {"{\"n_layer\": 3.5}", STATUS_USAGE, {"\"n_layer\"", "3.5", "whole number, 1 to 4095"}},
        {"{\"n_layer\": 3, \"n-layer\": 4}", STATUS_USAGE, {"keep one"}},
        {"{\"json\": 1}", STATUS_USAGE, {"true or false"}},
        {"[1]", STATUS_USAGE, {"expected a JSON object"}},
        {"{\"lr\": 1, \"lr\": 2}", STATUS_FORMAT, {"line 1"}},
        {"{\n\"lr\": }", STATUS_FORMAT, {"line 2"}},
        {"", STATUS_FORMAT, {"line"}},
        {"{\"lr\": 1e999}", STATUS_FORMAT, {"line 1"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *path = strdup(file_with(cases[i].text));
        refuse(WORDS("--config", path), cases[i].status,
               (const char *const[]){"--config", path, cases[i].says[0], cases[i].says[1], NULL});
        unlink(path);
        free(path);
    }
    refuse(WORDS("--config", "/nonexistent/x"), STATUS_OPEN, SAYS("/nonexistent/x", "No such file"));
    refuse(WORDS("--config", "/tmp"), STATUS_OPEN, SAYS("/tmp", "folder"));
}

Test(options, a_config_file_without_end_or_of_endless_depth_is_refused, .timeout = 20)
{
    refuse(WORDS("--config", "/dev/zero"), STATUS_FORMAT, SAYS("--config: /dev/zero", "at most 1048576 expected"));
    char deep[2001];
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    char *path = strdup(file_with(deep));
    refuse(WORDS("--config", path), STATUS_FORMAT, SAYS("--config", path, "nested more than 8 deep"));
    unlink(path);
    free(path);
}

Test(options, saved_settings_come_back_but_yield_to_what_is_given)
{
    struct options o, again;
    struct settings s, t;
    struct error err;
    cr_assert_eq(PARSE(&o, &s, &err, "--n-layer", "7", "--lr", "0.1", "--prompt", "hi", "--seed", "9223372036854775807",
                       "--top-p", "0.5", "--no-bias"),
                 STATUS_OK);
    json_t *saved = options_save(&o);
    options_free(&o);
    cr_assert_eq(json_object_size(saved), 7, "only options with a saved key are saved");
    cr_assert_null(json_object_get(saved, "top-p"));

    cr_assert_eq(PARSE(&again, &t, &err, "--lr", "0.2", "-b", "64"), STATUS_OK);
    const enum status loaded = options_load(&again, saved, OPTIONS_SAVED, "trainer_state.json", &err);
    cr_assert_eq(loaded, STATUS_OK, "%s", err.message);
    json_decref(saved);
    cr_assert(t.n_layer == 7 && t.lr == 0.2 && t.seed == INT64_MAX && !t.bias && t.top_p == 1 && t.block == 64);
    cr_assert_str_eq(t.prompt, "hi", "strings outlive the caller's reference");
    cr_assert(!options_given(&again, "n-layer") && options_given(&again, "lr"));
    cr_assert_eq(options_source(&again, "n-layer"), OPTIONS_SAVED);
    cr_assert(options_given(&again, "block-size"), "given, though with the default's value");
    options_free(&again);
}

Test(options, a_preset_beats_saved_and_default_but_nothing_a_person_said)
{
    struct options o;
    struct settings s;
    struct error err;
    cr_assert_eq(PARSE(&o, &s, &err, "--lr", "0.2"), STATUS_OK);
    cr_assert_eq(options_set(&o, "lr", "0.7", OPTIONS_PRESET, "preset", &err), STATUS_OK);
    cr_assert_eq(options_set(&o, "n-layer", "12", OPTIONS_PRESET, "preset", &err), STATUS_OK);
    json_t *saved = json_pack("{s:i, s:i}", "n_layer", 5, "block_size", 32);
    cr_assert_eq(options_load(&o, saved, OPTIONS_SAVED, "saved", &err), STATUS_OK);
    json_decref(saved);
    cr_assert(s.lr == 0.2 && s.n_layer == 12 && s.block == 32);
    cr_assert_eq(options_set(&o, "lr", "-3", OPTIONS_PRESET, "preset nano", &err), STATUS_USAGE);
    cr_assert(strstr(err.message, "preset nano: --lr"), "%s", err.message);
    options_free(&o);
}
