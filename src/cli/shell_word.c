#include "cli/shell_word.h"

#include <stdbool.h>
#include <string.h>

void shell_word_put(struct buffer *b, const char *word)
{
    const bool plain =
        word[0] && word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-")] == '\0';
    buffer_text(b, plain ? " " : " '");
    for (; *word; word++)
        if (*word == '\'')
            buffer_text(b, "'\\''");
        else
            buffer_put(b, word, 1);
    buffer_text(b, plain ? "" : "'");
}

char *shell_word_make(const char *word)
{
    struct buffer b = {0};
    shell_word_put(&b, word);
    char *made = b.failed ? NULL : strdup(b.bytes + 1);
    buffer_free(&b);
    return made;
}
