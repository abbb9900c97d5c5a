/* A folder of another program, through every command that takes a run; and texts of bare ids. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/run_lock.h"
#include "support/foreign.h"
#include "support/program.h"
#include "support/scratch.h"

static const char *const characters[] = {"c", "\n", " ", "a", "\xC3\xA9", "b"};
#define V (sizeof characters / sizeof characters[0])

static struct gpt model;

static void make_model(size_t vocab_size)
{
    const struct config c = config_make(1, 2, 8, 8, vocab_size);
    gpt_free(&model);
    foreign_model(&model, &c);
}

static void make(void)
{
    scratch_make();
    make_model(V + 2);
    const struct foreign f = {
        .dir = "m", .type = FOREIGN_BF16, .shards = 2, .tokenizer = foreign_chars(characters, V, ",\"<unk>\":6")};
    foreign_write(&f, &model);
    scratch_write(scratch_path("text"), "abc cab\nb\xC3\xA9 ca bc ab\nabc cab\nba ca bc ab\n", 40);
}

static void drop(void)
{
    gpt_free(&model);
    scratch_remove();
}

TestSuite(cmd_import, .init = make, .fini = drop);

/* Runs it, expects success, and gives back stdout. */
#define RUN(...) run((const char *const[]){__VA_ARGS__, NULL})
static const char *run(const char *const *words)
{
    static struct program p;
    program_free(&p);
    program_run(&p, NULL, words);
    cr_assert_eq(p.status, 0, "%s: %s", words[0], p.err);
    return p.out;
}

Test(cmd_import, says_what_it_read_on_stderr_alone)
{
    struct program p;
    foreign_change("m/config.json", "attn_pdrop", json_real(0.5));
    PROGRAM(&p, "import", scratch_path("m"), "-o", scratch_path("run"));
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert_str_empty(p.out);
    static const char *const says[] = {"1 layer, 2 heads of 4, 8 channels, context 8: 1,016 parameters",
                                       "BF16, in 2 files; tied output matrix",
                                       "6 characters",
                                       "2 more ids stand for no single character",
                                       "others read it as \"<unk>\"",
                                       "one dropout for all: 0, of resid_pdrop",
                                       "next: nopeek generate '/"}; /* with a blank in its name */
    for (size_t i = 0; i < sizeof says / sizeof says[0]; i++)
        cr_assert(strstr(p.err, says[i]), "no \"%s\" in\n%s", says[i], p.err);
    program_free(&p);
}

Test(cmd_import, its_run_generates_evaluates_is_checked_and_trains_on)
{
    const char *dir = scratch_path("run");
    RUN("import", scratch_path("m"), "-o", dir);
    char first[256];
    snprintf(first, sizeof first, "%s", RUN("generate", dir, "-n", "30", "--prompt", "ab", "--seed", "3"));
    cr_assert_eq(strspn(first, "abc \n\xC3\xA9"), strlen(first), "only what stands for something: %s", first);
    cr_assert(strncmp(first, "ab", 2) == 0);
    cr_assert(strstr(RUN("eval", dir, scratch_path("text")), "nats per character"));
    cr_assert(strstr(RUN("check", dir, "--quick"), "No leak found"));
    const char *info = RUN("info", dir);
    cr_assert(strstr(info, "6 characters, and 2 ids that stand for nothing"), "%s", info);
    cr_assert(strstr(info, "imported    from ") && strstr(info, "can be used, not resumed"), "%s", info);
    RUN("train", scratch_path("text"), "--init-from", dir, "-o", scratch_path("more"), "--steps", "2", "--threads",
        "1");
    cr_assert(strstr(RUN("info", scratch_path("more")), "6 characters, and 2 ids"));
    RUN("train", "--resume", scratch_path("more"));
}

Test(cmd_import, cannot_be_resumed_and_says_what_to_do_instead)
{
    struct program p;
    RUN("import", scratch_path("m"), "-o", scratch_path("run"));
    PROGRAM(&p, "train", "--resume", scratch_path("run"));
    program_expect_refused(&p, 1, "train on from its weights with --init-from");
    program_free(&p);
}

Test(cmd_import, a_run_that_is_there_stays_unless_forced)
{
    struct program p;
    RUN("import", scratch_path("m"), "-o", scratch_path("run"));
    PROGRAM(&p, "import", scratch_path("m"), "-o", scratch_path("run"));
    program_expect_refused(&p, 2, "holds a run already");
    program_free(&p);
    cr_assert(!scratch_exists(scratch_path("run/old-1")));
    RUN("import", scratch_path("m"), "-o", scratch_path("run"), "--force");
    cr_assert(scratch_exists(scratch_path("run/old-1/step-000000/config.json")));
    cr_assert(scratch_exists(scratch_path("run/best/model.safetensors")));
}

Test(cmd_import, a_run_that_is_being_trained_is_left_alone_even_when_forced)
{
    struct program p;
    struct error err;
    struct run_lock lock = {0};
    RUN("import", scratch_path("m"), "-o", scratch_path("run"));
    cr_assert(!scratch_exists(scratch_path("run/.nopeek-lock")), "let go of");
    cr_assert_eq(run_lock_take(&lock, scratch_path("run"), &err), STATUS_OK, "%s", err.message);
    PROGRAM(&p, "import", scratch_path("m"), "-o", scratch_path("run"), "--force");
    program_expect_refused(&p, 1, scratch_path("run"));
    program_free(&p);
    cr_assert(!scratch_exists(scratch_path("run/old-1")));
    run_lock_release(&lock);
    RUN("import", scratch_path("m"), "-o", scratch_path("run"), "--force");
}

Test(cmd_import, what_is_refused_leaves_nothing_behind)
{
    struct program p;
    foreign_change("m/config.json", "activation_function", json_string("relu"));
    PROGRAM(&p, "import", scratch_path("m"), "-o", scratch_path("run"));
    program_expect_refused(&p, 1, "activation_function is \"relu\"");
    program_free(&p);
    cr_assert(!scratch_exists(scratch_path("run")));
    PROGRAM(&p, "import", scratch_path("m"), "-o", scratch_path("m"));
    cr_assert_eq(p.status, 1);
    program_free(&p);
    PROGRAM(&p, "import", scratch_path("nothing"), "-o", scratch_path("run"), "--tokens", "word");
    program_expect_refused(&p, 2, "--tokens: found \"word\", expected one of auto, char, byte, ids");
    program_free(&p);
}

Test(cmd_import, bare_ids_are_the_text_of_a_model_without_a_vocabulary)
{
    struct program p;
    const char *dir = scratch_path("run"), *ids = scratch_path("ids");
    make_model(300);
    foreign_write(&(struct foreign){.dir = "n"}, &model);
    RUN("import", scratch_path("n"), "-o", dir);
    scratch_write(ids, "12 7\n299 0 5 5\n", 15);
    const char *out = RUN("generate", dir, "--prompt", "12 7 ", "-n", "3", "--temperature", "0");
    unsigned found[5];
    char end[2];
    cr_assert_eq(sscanf(out, "%u %u %u %u %u%1[\n]", &found[0], &found[1], &found[2], &found[3], &found[4], end), 6,
                 "\"%s\"", out);
    cr_assert(found[0] == 12 && found[1] == 7 && strncmp(out, "12 7 ", 5) == 0 && out[5] != ' ');
    /* Stopping at the first id that the model wrote, and not at numbers that have it in them. */
    char stop[16], want[] = "12 7\n";
    snprintf(stop, sizeof stop, "%u", found[2]);
    cr_assert_str_eq(RUN("generate", dir, "--prompt", "12 7", "-n", "3", "--temperature", "0", "--stop", stop), want);
    snprintf(stop, sizeof stop, "%u", found[2] / 10);
    cr_assert_str_neq(RUN("generate", dir, "--prompt", "12 7", "-n", "3", "--temperature", "0", "--stop", stop), want);
    const char *text = RUN("eval", dir, ids);
    cr_assert(strstr(text, "nats per id") && strstr(text, "bits/id") && strstr(text, "5 of 6 symbols"), "%s", text);
    json_t *o = json_loads(RUN("eval", dir, ids, "--json"), 0, NULL);
    cr_assert(json_is_null(json_object_get(o, "bits_per_char")));
    json_decref(o);
    o = json_loads(RUN("info", dir, "--json"), 0, NULL);
    cr_assert_str_eq(json_string_value(json_object_get(o, "tokens")), "ids");
    json_decref(o);
    PROGRAM(&p, "generate", dir, "--prompt", "12 300");
    program_expect_refused(&p, 1, "--prompt: the id 300 at byte offset 3");
    program_free(&p);
    PROGRAM(&p, "generate", dir, "--prompt", "hello");
    program_expect_refused(&p, 1, "found \"hello\" at byte offset 0");
    program_free(&p);
    PROGRAM(&p, "generate", dir, "--stop", " ");
    program_expect_refused(&p, 2, "--stop: found \" \", expected at least one id");
    program_free(&p);
    cr_assert_str_neq(RUN("generate", dir, "-n", "2"), "\n", "starts at a symbol of its own");
}

Test(cmd_import, a_text_of_ids_can_be_trained_on)
{
    const char *ids = scratch_path("ids"), *dir = scratch_path("run");
    char text[2048] = "";
    for (size_t i = 0; i < 200; i++)
        strcat(text, i % 3 ? "4\n" : "11 2 ");
    scratch_write(ids, text, strlen(text));
    RUN("train", ids, "-o", dir, "--tokens", "ids", "--n-layer", "1", "--n-head", "1", "--n-embd", "8", "--block-size",
        "8", "--steps", "4", "--threads", "1");
    const char *info = RUN("info", dir);
    cr_assert(strstr(info, "vocabulary  12 ids\n"), "%s", info);
    RUN("train", "--resume", dir);
    struct program p;
    scratch_write(ids, "1 2 x", 5);
    PROGRAM(&p, "train", ids, "-o", scratch_path("other"), "--tokens", "ids");
    program_expect_refused(&p, 1, "found \"x\" at byte offset 4 (on line 1)");
    program_free(&p);
}
