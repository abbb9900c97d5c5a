#include "cli/shell_word.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Test(shell_word, a_shell_reads_it_as_it_was)
{
    const char *const words[] = {"book.txt", "a b", "it's", "", "$HOME `id` \"x\" \\", "-n", "*", "\xC3\xA9\n!"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct buffer b = {0};
        char out[64] = "";
        buffer_text(&b, "printf %s");
        shell_word_put(&b, words[i]);
        FILE *shell = popen(b.bytes, "r");
        cr_assert(shell);
        const size_t n = fread(out, 1, sizeof out - 1, shell);
        cr_assert(pclose(shell) == 0 && n == strlen(words[i]));
        cr_assert_str_eq(out, words[i], "%s", b.bytes);
        buffer_free(&b);
    }
}

Test(shell_word, stands_alone_without_the_blank)
{
    char *plain = shell_word_make("a/b"), *quoted = shell_word_make("it's");
    cr_assert_str_eq(plain, "a/b");
    cr_assert_str_eq(quoted, "'it'\\''s'");
    free(plain);
    free(quoted);
}

Test(shell_word, plain_words_stay_plain)
{
    struct buffer b = {0};
    shell_word_put(&b, "../data/bank-2.txt");
    cr_assert_str_eq(b.bytes, " ../data/bank-2.txt");
    buffer_free(&b);
}
