#include "cli/completion.h"

#include <criterion/criterion.h>
#include <string.h>

#include "support/program.h"
#include "support/scratch.h"

/* What bash offers for the last of these words. */
static void offers(const char *words, const char *expected)
{
    char line[1024];
    struct program p;
    snprintf(
        line, sizeof line,
        "command -v bash >/dev/null || { echo no bash; exit 9; }\n"
        "bash -c 'eval \"$(\"$0\" help --completion bash)\"; COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); "
        "_nopeek; echo \"${COMPREPLY[*]}\"' \"$NOPEEK\"",
        words);
    program_shell(&p, line);
    cr_assert_eq(p.status, 0, "%s%s", p.out, p.err);
    cr_assert_str_eq(p.out, expected, "%s", words);
    program_free(&p);
}

Test(completion, bash_offers_commands_options_and_values)
{
    offers("nopeek tr", "train trap\n");
    offers("nopeek help be", "bench\n");
    offers("nopeek train --n-", "--n-layer --n-head --n-embd\n");
    offers("nopeek train --preset na", "nano-cpu nano\n");
    offers("nopeek train --no-b", "--no-bias\n");
    offers("nopeek generate --top", "--top-k --top-p\n");
    offers("nopeek train --n-layer \"\"", "\n"); /* a number: nothing to offer */
    offers("nopeek train --resume /de", "/dev\n");
    offers("nopeek eval /de", "/dev\n");
    offers("nopeek lab \"\"", "detectors cost scaling heads verdicts\n");
    offers("nopeek lab --steps 3 de", "detectors\n");
    offers("nopeek lab verdicts /de", "/dev\n");
    offers("nopeek lab --se", "--seeds --seed\n");
}

/* Each name is one word, and the shell is told to quote it. */
Test(completion, bash_offers_names_with_blanks_whole, .init = scratch_make, .fini = scratch_remove)
{
    struct program p;
    char line[1024];
    scratch_write(scratch_path("my book.txt"), "x", 1);
    scratch_write(scratch_path("my other.txt"), "x", 1);
    snprintf(
        line, sizeof line,
        "cd '%s' && bash -c 'eval \"$(\"$0\" help --completion bash)\"; compopt() { echo \"$@\"; }; COMP_WORDS=(nopeek "
        "train my); COMP_CWORD=2; _nopeek; printf \"<%%s>\" \"${COMPREPLY[@]}\"' \"$NOPEEK\"",
        scratch_folder());
    program_shell(&p, line);
    cr_assert_eq(p.status, 0, "%s%s", p.out, p.err);
    cr_assert(strncmp(p.out, "-o filenames\n<my ", 17) == 0 && strstr(p.out, "<my book.txt>") &&
                  strstr(p.out, "<my other.txt>"),
              "%s", p.out);
    program_free(&p);
}

Test(completion, zsh_has_a_line_for_every_option_of_every_command)
{
    struct program p;
    PROGRAM(&p, "help", "--completion", "zsh");
    cr_assert_eq(p.status, 0);
    cr_assert_eq(strncmp(p.out, "#compdef nopeek\n", 16), 0);
    for (size_t i = 0; command_list[i]; i++) {
        char heading[64];
        snprintf(heading, sizeof heading, "    %s) _arguments ", command_list[i]->name);
        const char *at = strstr(p.out, heading);
        cr_assert(at, "%s", heading);
        for (const struct option_spec *spec = command_list[i]->options; !option_is_end(spec); spec++) {
            char option[96];
            if (!spec->name)
                continue;
            snprintf(option, sizeof option, "--%s", spec->name);
            cr_assert(strstr(at, option), "%s %s", command_list[i]->name, option);
        }
    }
    cr_assert(strstr(p.out, "'1:experiment:(detectors cost scaling heads verdicts)' "), "%s", p.out);
    program_free(&p);
}

Test(completion, another_shell_is_refused)
{
    struct program p;
    PROGRAM(&p, "help", "--completion", "fish");
    program_expect_refused(&p, 2, "found \"fish\", bash or zsh expected");
    program_free(&p);
    PROGRAM(&p, "help", "--completion");
    program_expect_refused(&p, 2, "found nothing, bash or zsh expected");
    program_free(&p);
}
