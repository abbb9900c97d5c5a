#!/bin/sh
# Holds the source to the layers: who may include whom, which outside libraries each may use, and that
# nothing outside src/cli prints, exits or reads the environment. Comments and strings do not count.
#
#     check_layers.sh [ROOT]      the tree to check; this one by default
set -u
root=${1:-$(dirname "$0")/..}
cd "$root" || exit 1

find src -name '*.[ch]' | LC_ALL=C sort | LC_ALL=C awk '
BEGIN {
    # A layer may include itself and these.
    below["base"] = ""
    below["kernels"] = "base"
    below["text"] = "base"
    below["io"] = "base"
    below["report"] = "base"
    below["model"] = "kernels base"
    below["store"] = "model text io base"
    below["diag"] = "model text kernels base"
    below["train"] = "diag store model text io base"
    below["lab"] = "train diag store model report io text kernels base"
    below["cli"] = "lab train diag store model report io text kernels base"

    # Outside headers: where each may stand, as patterns of paths.
    outside["cblas.h"] = "^src/kernels/gemm[.]c$"
    outside["dlfcn.h"] = "^src/base/team[.]c$"
    outside["xxhash.h"] = "^src/base/hash[.]c$"
    outside["jansson.h"] = "^src/(text|io|store|diag|cli)/"
    outside["utf8proc.h"] = "^src/text/"
    outside["getopt.h"] = "^src/cli/"
    # Instructions of one processor stay where they are chosen at run time.
    machine = "^(.*intrin|cpuid|arm_[a-z0-9_]+|asm/.*)[.]h$"
    # C and POSIX need no leave.
    standard = "^((assert|ctype|dirent|errno|fcntl|fenv|float|inttypes|iso646|langinfo|libgen|limits|locale|math|poll|pthread|sched|setjmp|signal|spawn|stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|stdnoreturn|string|strings|termios|tgmath|time|unistd|wchar|wctype)|(sys|mach)/[a-z_]+)[.]h$"

    calls = " printf vprintf puts putchar perror psignal err errx warn warnx exit _exit _Exit quick_exit abort atexit getenv secure_getenv setenv putenv unsetenv system popen setlocale "
    names = " stdout stderr STDOUT_FILENO STDERR_FILENO environ "
}

function complain(line, text) {
    printf "%s:%d: %s\n", file, line, text
    bad = 1
}

# Takes comments, strings and character constants out of one line; a block comment may go on (in_comment).
function code_of(line,    out, c, two) {
    out = ""
    while (line != "") {
        two = substr(line, 1, 2)
        c = substr(line, 1, 1)
        if (in_comment) {
            if (two == "*/") {
                in_comment = 0
                line = substr(line, 3)
                out = out " "
            } else
                line = substr(line, 2)
        } else if (two == "/*") {
            in_comment = 1
            line = substr(line, 3)
        } else if (two == "//")
            break
        else if (c == "\"" || c == "\047") {
            line = substr(line, 2)
            while (line != "" && substr(line, 1, 1) != c)
                line = substr(line, substr(line, 1, 1) == "\\" ? 3 : 2)
            line = substr(line, 2)
            out = out c c
        } else {
            out = out c
            line = substr(line, 2)
        }
    }
    return out
}

function check_include(line, raw,    name, target) {
    if (match(raw, /<[^>]*>/)) {
        name = substr(raw, RSTART + 1, RLENGTH - 2)
        if (name in outside) {
            if (file !~ outside[name])
                complain(line, "<" name "> may not stand here, only in " outside[name])
        } else if (name ~ machine) {
            if (file !~ /^src\/kernels\/x86\// && file !~ /^src\/kernels\/arm\//)
                complain(line, "<" name "> may not stand here: instruction sets stay in kernels/x86/")
        } else if (name !~ standard)
            complain(line, "<" name "> is no header of C, POSIX or a library that the layer may use")
    } else if (match(raw, /"[^"]*"/)) {
        name = substr(raw, RSTART + 1, RLENGTH - 2)
        target = name
        if (name !~ /^[a-z]+(\/[a-z0-9_]+)+[.]h$/) {
            complain(line, "\"" name "\": write \"layer/file.h\"")
            return
        }
        sub(/\/.*/, "", target)
        if (!(target in below))
            complain(line, "\"" name "\": there is no layer " target)
        else if (target != layer && index(" " below[layer] " ", " " target " ") == 0)
            complain(line, layer " may not include " target " (\"" name "\")")
        else if ((getline ignored < ("src/" name)) < 0)
            complain(line, "\"" name "\": there is no src/" name)
        else
            close("src/" name)
    } else
        complain(line, "an include names its header directly")
}

function check_calls(line, code,    word, rest) {
    while (match(code, /[A-Za-z_][A-Za-z0-9_]*/)) {
        word = substr(code, RSTART, RLENGTH)
        rest = substr(code, RSTART + RLENGTH)
        if (index(names, " " word " ") > 0 || (index(calls, " " word " ") > 0 && rest ~ /^[ \t]*\(/))
            complain(line, word ": only src/cli prints, exits or reads the environment; return a status or call back")
        code = rest
    }
}

# Deliberate mistakes are for detectors to find: only diag and lab give a model, a text or a shape one. The block passes
# on to attention what its model has been given.
function check_faults(line, code) {
    if (layer == "diag" || layer == "lab")
        return
    if (code ~ /[.>]fault[ \t]*=[^=]/ && code !~ /[.>]fault[ \t]*=[ \t]*fault_attention\(/)
        complain(line, "a fault is planted: only src/diag and src/lab may")
    if (code ~ /(^|[^A-Za-z0-9_])catalogue_plant[ \t]*\(/)
        complain(line, "catalogue_plant: only src/diag and src/lab may")
    if (code ~ /[.>]attention_scale[ \t]*=[^=]/)
        complain(line, "the scale of attention is changed: only src/diag and src/lab may")
}

{
    file = $0
    layer = file
    sub(/^src\//, "", layer)
    if (layer !~ /\//) {
        complain(1, "a source file stands in a layer")
        next
    }
    sub(/\/.*/, "", layer)
    if (!(layer in below)) {
        complain(1, "there is no layer " layer)
        next
    }
    files++
    in_comment = 0
    number = 0
    while ((getline raw < file) > 0) {
        number++
        was_comment = in_comment
        code = code_of(raw)
        if (!was_comment && code ~ /^[ \t]*#[ \t]*include/)
            check_include(number, raw)
        else if (code ~ /^[ \t]*#[ \t]*pragma[ \t]+omp/ || code ~ /_Pragma/) {
            complain(number, "threads are those of src/base/team.c, not OpenMP")
        } else {
            if (layer != "cli")
                check_calls(number, code)
            check_faults(number, code)
        }
    }
    close(file)
}
END {
    if (files == 0) {
        print "check_layers: no source file under src/"
        exit 1
    }
    exit bad
}'
