#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/program.h"
#include "support/scratch.h"
#include "support/tiny_run.h"

#define BLOCK 16

static const char *dir;

/* A run over a small alphabet, with a newline and two characters of several bytes. */
static void make_run(void)
{
    scratch_make();
    dir = strdup(scratch_path("run"));
    const struct tiny_run r = {.dir = dir,
                               .text_path = scratch_path("text.txt"),
                               .text = "abc\xc3\xa9 cab\xf0\x9f\x98\x80 \nabc cab bca\nba ac\n",
                               .block_size = BLOCK};
    tiny_run_write(&r);
}

static void remove_run(void)
{
    free((char *)dir);
    scratch_remove();
}

TestSuite(cmd_generate, .init = make_run, .fini = remove_run);

static size_t characters(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += ((unsigned char)*text & 0xC0u) != 0x80u;
    return n;
}

/* Runs with these further words and checks that all is well; the text is to be freed. */
#define GENERATE(...) generate((const char *const[]){__VA_ARGS__, NULL})
static char *generate(const char *const *words)
{
    const char *all[32] = {"generate", dir, "--threads", "1"};
    size_t n = 4;
    for (size_t i = 0; words[i]; i++)
        all[n++] = words[i];
    struct program p;
    program_run(&p, NULL, all);
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert_eq(p.err_size, 0, "%s", p.err);
    char *text = strdup(p.out);
    program_free(&p);
    return text;
}

static void assert_refused(int status, const char *says, const char *const *words)
{
    struct program p;
    program_run(&p, NULL, words);
    program_expect_refused(&p, status, says);
    program_free(&p);
}
#define REFUSED(status, says, ...) assert_refused(status, says, (const char *const[]){"generate", __VA_ARGS__, NULL})

Test(cmd_generate, any_length_is_written_across_the_edge_of_the_context)
{
    const char *const lengths[] = {"0", "1", "15", "16", "17", "18", "1000"};
    char *longest = GENERATE("-n", "1000");
    for (size_t i = 0; i < 7; i++) {
        char *text = GENERATE("-n", lengths[i]);
        cr_assert_eq(characters(text), (size_t)atoi(lengths[i]));
        cr_assert_eq(strncmp(text, longest, strlen(text)), 0, "a longer text begins with the shorter one");
        free(text);
    }
    free(longest);
}

Test(cmd_generate, the_prompt_comes_first_whatever_its_length)
{
    char prompt[10 * BLOCK + 1];
    const size_t lengths[] = {1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 10 * BLOCK};
    for (size_t i = 0; i < 6; i++) {
        for (size_t j = 0; j < lengths[i]; j++)
            prompt[j] = "abc"[(j * j) % 3];
        prompt[lengths[i]] = '\0';
        struct program p;
        PROGRAM(&p, "generate", dir, "--threads", "1", "--prompt", prompt, "-n", "20");
        cr_assert_eq(p.status, 0, "%s", p.err);
        cr_assert_eq(strncmp(p.out, prompt, lengths[i]), 0);
        cr_assert_eq(characters(p.out), lengths[i] + 20);
        cr_assert_eq(p.err_size > 0, lengths[i] > BLOCK, "a note when, and only when, part of it does not count");
        if (lengths[i] > BLOCK)
            cr_assert(strstr(p.err, "only the last 16 count") && strchr(p.err, '\n')[1] == '\0', "%s", p.err);
        program_free(&p);
    }
}

Test(cmd_generate, of_a_long_prompt_only_the_last_block_counts)
{
    struct program a, b;
    PROGRAM(&a, "generate", dir, "--prompt", "aaaaaaaaaabcab cabca bab", "-n", "30");
    PROGRAM(&b, "generate", dir, "--prompt",
            "c\nc\nc\nc\n"
            "cab cabca bab ab",
            "-n", "30");
    cr_assert_eq(a.status + b.status, 0);
    cr_assert_str_eq(a.out + 24, b.out + 24);
    program_free(&a);
    program_free(&b);
}

Test(cmd_generate, a_prompt_file_is_the_same_as_a_prompt)
{
    const char *path = scratch_path("prompt");
    scratch_write(path, "ab\xc3\xa9\n", 5);
    char *from_file = GENERATE("--prompt-file", path, "-n", "40"),
         *from_word = GENERATE("--prompt", "ab\xc3\xa9\n", "-n", "40");
    cr_assert_str_eq(from_file, from_word);
    struct program p;
    program_run(&p, "ab\xc3\xa9\n", (const char *const[]){"generate", dir, "--prompt-file", "-", "-n", "40", NULL});
    cr_assert_str_eq(p.out, from_word);
    program_free(&p);
    free(from_file);
    free(from_word);
}

Test(cmd_generate, an_empty_prompt_starts_after_a_line_end_that_is_not_written)
{
    const char *path = scratch_path("empty");
    scratch_write(path, "", 0);
    char *none = GENERATE("-n", "25"), *empty = GENERATE("--prompt", "", "-n", "25"),
         *file = GENERATE("--prompt-file", path, "-n", "25"), *line_end = GENERATE("--prompt", "\n", "-n", "25");
    cr_assert_str_eq(none, empty);
    cr_assert_str_eq(none, file);
    cr_assert_str_eq(none, line_end + 1);
    free(none);
    free(empty);
    free(file);
    free(line_end);
}

Test(cmd_generate, without_a_line_end_in_the_vocabulary_the_first_symbol_is_drawn_and_written)
{
    const struct tiny_run r = {.dir = scratch_path("flat"),
                               .text_path = scratch_path("flat.txt"),
                               .text = "abcdefghijklmnopqrstuvwxyzabcdefgh",
                               .block_size = BLOCK};
    tiny_run_write(&r);
    const char *const seeds[] = {"1", "2", "3", "4", "5"};
    int differ = 0;
    char first = 0;
    for (size_t i = 0; i < 5; i++) {
        struct program p;
        PROGRAM(&p, "generate", r.dir, "--threads", "1", "-n", "12", "--seed", seeds[i]);
        cr_assert_eq(p.status, 0, "%s", p.err);
        cr_assert_eq(p.out_size, 12);
        differ |= first && p.out[0] != first;
        first = p.out[0];
        program_free(&p);
    }
    cr_assert(differ);
}

Test(cmd_generate, the_seed_decides_and_temperature_zero_does_not_ask_it)
{
    char *a = GENERATE("-n", "60", "--seed", "5"), *b = GENERATE("-n", "60", "--seed", "5"),
         *c = GENERATE("-n", "60", "--seed", "6");
    cr_assert_str_eq(a, b);
    cr_assert_str_neq(a, c);
    char *cold = GENERATE("-n", "60", "--temperature", "0"), *one = GENERATE("-n", "60", "--top-k", "1", "--seed", "9"),
         *tiny = GENERATE("-n", "60", "--temperature", "1e-40", "--seed", "3"),
         *narrow = GENERATE("-n", "60", "--top-p", "0"), *strict = GENERATE("-n", "60", "--min-p", "1");
    cr_assert_str_eq(cold, one);
    cr_assert_str_eq(cold, tiny);
    cr_assert_str_eq(cold, narrow);
    cr_assert_str_eq(cold, strict);
    char *all = GENERATE("-n", "60", "--seed", "5", "--top-k", "1000000000", "--top-p", "1", "--min-p", "0");
    cr_assert_str_eq(all, a);
    char *const texts[] = {a, b, c, cold, one, tiny, narrow, strict, all};
    for (size_t i = 0; i < 9; i++)
        free(texts[i]);
}

Test(cmd_generate, the_text_ends_before_the_stop_string_of_any_length)
{
    char *text = GENERATE("-n", "200");
    for (size_t length = 1; length <= 4; length++) {
        /* a stop string that the text is known to reach, beginning at a whole character */
        size_t from = 40;
        while (((unsigned char)text[from] & 0xC0u) == 0x80u)
            from++;
        size_t to = from;
        for (size_t i = 0; i < length; i++)
            do
                to++;
            while (((unsigned char)text[to] & 0xC0u) == 0x80u);
        char stop[32];
        snprintf(stop, sizeof stop, "%.*s", (int)(to - from), text + from);
        char *cut = GENERATE("-n", "200", "--stop", stop);
        const size_t expected = (size_t)(strstr(text, stop) - text);
        cr_assert_eq(strlen(cut), expected);
        cr_assert_eq(strncmp(cut, text, expected), 0);
        free(cut);
    }
    free(text);
}

Test(cmd_generate, a_stop_string_in_the_prompt_does_not_stop_the_text)
{
    char *text = GENERATE("--prompt", "abc", "--stop", "abc", "-n", "5");
    cr_assert_eq(strncmp(text, "abc", 3), 0);
    cr_assert_gt(strlen(text), 3);
    free(text);
}

Test(cmd_generate, what_cannot_be_meant_is_refused_before_anything_is_written)
{
    REFUSED(1, "Z", dir, "--prompt", "abZ");
    REFUSED(1, "U+005A", dir, "--prompt", "abZ");
    REFUSED(1, "--prompt", dir, "--prompt", "ab\xff");
    REFUSED(1, "--stop", dir, "--stop", "Z");
    REFUSED(2, "--stop", dir, "--stop", "");
    REFUSED(2, "exclude", dir, "--prompt", "a", "--prompt-file", "b");
    REFUSED(1, "No such file", dir, "--prompt-file", "/nonexistent/file");
    REFUSED(1, "directory", dir, "--prompt-file", "/tmp");
    REFUSED(2, "4294967295", dir, "-n", "4294967296");
    REFUSED(2, "--num-samples", dir, "--num-samples", "0");
}

Test(cmd_generate, a_run_trained_with_a_leak_is_said_to_be_one)
{
    const struct tiny_run r = {.dir = scratch_path("leaky"),
                               .text_path = scratch_path("leaky.txt"),
                               .text = "abc cab bca\nba ac\n",
                               .block_size = BLOCK,
                               .leaky = true};
    tiny_run_write(&r);
    struct program p;
    PROGRAM(&p, "generate", r.dir, "-n", "30");
    cr_assert_eq(p.status, 0);
    cr_assert(strstr(p.err, "trained with a leak"), "%s", p.err);
    cr_assert_eq(characters(p.out), 30);
    program_free(&p);
}

Test(cmd_generate, bytes_are_written_as_they_are)
{
    const struct tiny_run r = {.dir = scratch_path("bytes"),
                               .text_path = scratch_path("bytes.txt"),
                               .text = "caf\xc3\xa9 \xff\xfe end",
                               .block_size = BLOCK,
                               .tokens = TOKENIZER_BYTES};
    tiny_run_write(&r);
    struct program p;
    PROGRAM(&p, "generate", r.dir, "--threads", "1", "-n", "300", "--prompt", "\xc3", "--temperature", "2");
    cr_assert_eq(p.status, 0, "%s", p.err);
    cr_assert_eq(p.out_size, 301);
    program_free(&p);
}

Test(cmd_generate, a_reader_that_leaves_ends_it)
{
    struct program p;
    char line[1024];
    snprintf(line, sizeof line, "{ \"$NOPEEK\" generate '%s' -n 4000000000; echo \"status $?\" >&2; } | head -c 5",
             dir);
    program_shell(&p, line);
    cr_assert(strstr(p.err, "nopeek: standard output: Broken pipe") && strstr(p.err, "status 1"), "%s", p.err);
    cr_assert_eq(p.out_size, 5);
    program_free(&p);
}

/* What stands under the line "--- k of N ---", up to the next such line; to be freed. */
static char *sample_of(const char *all, size_t k, size_t count)
{
    char line[64], after[64];
    snprintf(line, sizeof line, "--- %zu of %zu ---\n", k, count);
    snprintf(after, sizeof after, "--- %zu of %zu ---\n", k + 1, count);
    const char *from = strstr(all, line);
    cr_assert(from && (k > 1 || from == all), "%zu of %zu: %s", k, count, all);
    from += strlen(line);
    const char *to = k < count ? strstr(from, after) : from + strlen(from);
    cr_assert_not_null(to);
    cr_assert_eq(to[-1], '\n');
    return strndup(from, (size_t)(to - from));
}

/* The k-th text is the same however many there are (more than go together, too), and the first is the one without
 * --num-samples; before and past the edge of the context, and where some end before others. */
Test(cmd_generate, each_of_several_texts_is_the_same_however_many_there_are)
{
    const char *const options[][6] = {{"-n", "10", "--prompt", "ab", "--temperature", "2"},
                                      {"-n", "40", "--prompt", "cab", "--temperature", "2"},
                                      {"-n", "60", "--stop", "a", "--temperature", "1.5"},
                                      {"-n", "0", "--prompt", "abc", NULL},
                                      {"-n", "20", "--temperature", "2", NULL}};
    const char *const counts[] = {"2", "3", "7", "40"};
    for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
        const char *words[10] = {NULL};
        size_t n = 0;
        while (n < 6 && options[o][n]) {
            words[n] = options[o][n];
            n++;
        }
        char *one = generate(words);
        char *most = NULL, *all[4];
        bool differ = false;
        for (size_t k = 4; k-- > 0;) {
            words[n] = "--num-samples";
            words[n + 1] = counts[k];
            all[k] = generate(words);
            most = most ? most : all[k];
            const size_t count = (size_t)atoi(counts[k]);
            for (size_t i = 1; i <= count; i++) {
                char *text = sample_of(all[k], i, count), *same = sample_of(most, i, 40);
                cr_expect_str_eq(text, same, "options %zu: %zu of %zu", o, i, count);
                const size_t length = strlen(one);
                if (i == 1)
                    cr_expect(strncmp(text, one, length) == 0 && strlen(text) <= length + 1, "%s", text);
                differ |= strncmp(text, one, length) != 0;
                free(text);
                free(same);
            }
        }
        cr_expect(differ || o == 3, "options %zu: all texts are the same", o);
        for (size_t k = 0; k < 4; k++)
            free(all[k]);
        free(one);
    }
}

Test(cmd_generate, several_texts_without_a_line_end_start_at_symbols_of_their_own)
{
    const struct tiny_run r = {.dir = scratch_path("flat"),
                               .text_path = scratch_path("flat.txt"),
                               .text = "abcdefghijklmnopqrstuvwxyzabcdefgh",
                               .block_size = BLOCK};
    tiny_run_write(&r);
    struct program one, all;
    PROGRAM(&one, "generate", r.dir, "--threads", "1", "-n", "12", "--temperature", "0");
    PROGRAM(&all, "generate", r.dir, "--threads", "1", "-n", "12", "--temperature", "0", "--num-samples", "5");
    cr_assert_eq(one.status + all.status, 0, "%s%s", one.err, all.err);
    int differ = 0;
    for (size_t i = 1; i <= 5; i++) {
        char *text = sample_of(all.out, i, 5);
        cr_assert_eq(strlen(text), 13);
        if (i == 1)
            cr_assert_eq(strncmp(text, one.out, 12), 0);
        differ |= text[0] != one.out[0];
        free(text);
    }
    cr_assert(differ);
    program_free(&one);
    program_free(&all);
}

Test(cmd_generate, a_reader_that_leaves_ends_several_texts_too)
{
    struct program p;
    char line[1024];
    snprintf(line, sizeof line,
             "{ \"$NOPEEK\" generate '%s' -n 40 --num-samples 4000000000; echo \"status $?\" >&2; } | head -c 5", dir);
    program_shell(&p, line);
    cr_assert(strstr(p.err, "nopeek: standard output: Broken pipe") && strstr(p.err, "status 1"), "%s", p.err);
    program_free(&p);
}

Test(cmd_generate, threads_do_not_change_the_choice)
{
    char *one = GENERATE("-n", "60"), *two = GENERATE("-n", "60", "--threads", "2");
    cr_assert_str_eq(one, two);
    free(one);
    free(two);
}
