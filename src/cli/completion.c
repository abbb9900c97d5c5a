#include "cli/completion.h"

#include <string.h>

/* A long option and, where there is one, its other sense; each followed by `after`. */
static void put_long(FILE *out, const struct option_spec *spec, const char *after)
{
    fprintf(out, "--%s%s", spec->name, after);
    if (option_negatable(spec))
        fprintf(out, "--no-%s%s", spec->name, after);
}

static void put_choices(FILE *out, const struct option_spec *spec)
{
    for (size_t i = 0; spec->choices[i]; i++)
        fprintf(out, "%s%s", i ? " " : "", spec->choices[i]);
}

static void put_commands(FILE *out, const struct command *const *list)
{
    for (size_t i = 0; list[i]; i++)
        fprintf(out, "%s ", list[i]->name);
    fputs("help", out);
}

/* ---- bash ---- */

/* After an option that takes a value: its words, a file, or nothing to offer. */
static void bash_value(FILE *out, const struct option_spec *spec)
{
    fputs("            ", out);
    if (spec->letter)
        fprintf(out, "-%c|", spec->letter);
    fprintf(out, "--%s) ", spec->name);
    if (spec->type == OPTION_CHOICE) {
        fputs("COMPREPLY=($(compgen -W '", out);
        put_choices(out, spec);
        fputs("' -- \"$cur\")); return ;;\n", out);
    } else {
        fputs(spec->type == OPTION_PATH ? "_nopeek_files; return ;;\n" : "return ;;\n", out);
    }
}

/* What `lab` runs is one of a few words, "detectors|cost|verdicts [TEXT]": those, with something between them. */
static void put_alternatives(FILE *out, const char *operands, const char *between)
{
    for (; *operands != '\0' && *operands != ' '; operands++)
        if (*operands == '|')
            fputs(between, out);
        else
            fputc(*operands, out);
}

/* One of the words, and files after it. */
static void bash_operands(FILE *out, const char *operands)
{
    fputs("        if [[ $cur != -* ]]; then\n"
          "            case \" ${COMP_WORDS[*]:2:COMP_CWORD-2} \" in\n"
          "            *' ",
          out);
    put_alternatives(out, operands, " '*|*' ");
    fputs(" '*) _nopeek_files ;;\n"
          "            *) COMPREPLY=($(compgen -W '",
          out);
    put_alternatives(out, operands, " ");
    fputs("' -- \"$cur\")) ;;\n"
          "            esac\n"
          "            return\n"
          "        fi\n",
          out);
}

static void bash_command(FILE *out, const struct command *c)
{
    fprintf(out, "    %s)\n        case $prev in\n", c->name);
    for (const struct option_spec *spec = c->options; !option_is_end(spec); spec++)
        if (spec->name && spec->type != OPTION_FLAG)
            bash_value(out, spec);
    fputs("            --config) _nopeek_files; return ;;\n        esac\n", out);
    if (strchr(c->operands, '|'))
        bash_operands(out, c->operands);
    fputs("        words='", out);
    for (const struct option_spec *spec = c->options; !option_is_end(spec); spec++)
        if (spec->name)
            put_long(out, spec, " ");
    fputs("--config --help --version' ;;\n", out);
}

static void bash(FILE *out, const struct command *const *list)
{
    fputs("# bash completion for nopeek\n"
          "_nopeek_files() { # names may have blanks in them\n"
          "    local IFS=$'\\n'\n"
          "    compopt -o filenames 2>/dev/null\n"
          "    COMPREPLY=($(compgen -f -- \"$cur\"))\n"
          "}\n"
          "_nopeek() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=\n"
          "    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        COMPREPLY=($(compgen -W '",
          out);
    put_commands(out, list);
    fputs("' -- \"$cur\")); return\n    fi\n    case ${COMP_WORDS[1]} in\n    help) COMPREPLY=($(compgen -W '", out);
    put_commands(out, list);
    fputs("' -- \"$cur\")); return ;;\n", out);
    for (size_t i = 0; list[i]; i++)
        bash_command(out, list[i]);
    fputs("    esac\n"
          "    if [[ $cur == -* ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
          "    else\n"
          "        _nopeek_files\n"
          "    fi\n"
          "}\n"
          "complete -o bashdefault -F _nopeek nopeek\n",
          out);
}

/* ---- zsh ---- */

/* Inside single quotes and brackets. */
static void zsh_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else if (*text == '[' || *text == ']' || *text == '\\' || *text == ':')
            fprintf(out, "\\%c", *text);
        else
            fputc(*text == '\n' ? ' ' : *text, out);
    }
}

static void zsh_value(FILE *out, const struct option_spec *spec)
{
    if (spec->type == OPTION_FLAG)
        return;
    fputc(':', out);
    zsh_text(out, spec->metavar);
    if (spec->type == OPTION_CHOICE) {
        fputs(":(", out);
        put_choices(out, spec);
        fputc(')', out);
    } else {
        fputs(spec->type == OPTION_PATH ? ":_files" : ": ", out);
    }
}

static void zsh_option(FILE *out, const struct option_spec *spec)
{
    if (spec->letter)
        fprintf(out, "        '(-%c --%s)'{-%c,--%s}'[", spec->letter, spec->name, spec->letter, spec->name);
    else
        fprintf(out, "        '--%s[", spec->name);
    zsh_text(out, spec->help);
    fputc(']', out);
    zsh_value(out, spec);
    fputs("' \\\n", out);
    if (option_negatable(spec)) {
        fprintf(out, "        '--no-%s[not: ", spec->name);
        zsh_text(out, spec->help);
        fputs("]' \\\n", out);
    }
}

static void zsh(FILE *out, const struct command *const *list)
{
    fputs("#compdef nopeek\n"
          "_nopeek() {\n"
          "    local -a commands\n"
          "    commands=(\n",
          out);
    for (size_t i = 0; list[i]; i++) {
        fprintf(out, "        '%s:", list[i]->name);
        zsh_text(out, list[i]->summary);
        fputs("'\n", out);
    }
    fputs("        'help:shows the commands, or the page of one'\n"
          "    )\n"
          "    if (( CURRENT == 2 )); then\n"
          "        _describe command commands\n"
          "        return\n"
          "    fi\n"
          "    local command=$words[2]\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n"
          "    case $command in\n"
          "    help) _describe command commands ;;\n",
          out);
    for (size_t i = 0; list[i]; i++) {
        fprintf(out, "    %s) _arguments -s \\\n", list[i]->name);
        for (const struct option_spec *spec = list[i]->options; !option_is_end(spec); spec++)
            if (spec->name)
                zsh_option(out, spec);
        fputs("        '--config[read options from a JSON object]:FILE:_files' \\\n"
              "        '(-h --help)'{-h,--help}'[show this page]' \\\n"
              "        '--version[show the version]' \\\n",
              out);
        if (strchr(list[i]->operands, '|')) {
            fputs("        '1:experiment:(", out);
            put_alternatives(out, list[i]->operands, " ");
            fputs(strchr(list[i]->operands, ' ') ? ")' \\\n        '*:file:_files' ;;\n" : ")' ;;\n", out);
        } else {
            fputs("        '*:file:_files' ;;\n", out);
        }
    }
    fputs("    esac\n"
          "}\n"
          "_nopeek \"$@\"\n",
          out);
}

bool completion_write(FILE *out, const char *shell, const struct command *const *list)
{
    if (strcmp(shell, "bash") == 0)
        bash(out, list);
    else if (strcmp(shell, "zsh") == 0)
        zsh(out, list);
    else
        return false;
    return true;
}
