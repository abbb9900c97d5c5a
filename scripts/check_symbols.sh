#!/bin/sh
# Looks into the compiled objects for what reading the source may miss: variables that can change with
# file or static scope, and calls that only the command line may make, behind a macro or a pointer too.
#
#     check_symbols.sh OBJECTS      the folder that holds one folder of objects per layer
set -u
objects=$1
command -v objdump >/dev/null 2>&1 || {
    echo "check_symbols: no objdump here, so objects are not looked into"
    exit 0
}
find "$objects" -name '*.o' ! -path "$objects/cli/*" | sort | {
    bad=0
    while read -r object; do
        table=$(objdump -t "$object" 2>/dev/null)
        case $table in *'file format elf'*) ;; *) continue ;; esac
        # Sections .data and .bss hold what can change; .data.rel.ro is constant once it is loaded.
        found=$(printf '%s\n' "$table" | awk '
            / O / || $0 ~ /\*COM\*/ {
                for (i = 2; i <= NF; i++)
                    if (($i ~ /^[.](data|bss|tdata|tbss)([.]|$)/ && $i !~ /^[.]data[.]rel[.]ro/) || $i == "*COM*")
                        print "variable that can change: " $NF
            }
            / \*UND\*/ && $NF ~ /^(printf|vprintf|__printf_chk|__vprintf_chk|puts|putchar|perror|err|errx|warn|warnx|exit|_exit|_Exit|quick_exit|abort|atexit|getenv|secure_getenv|setenv|putenv|unsetenv|system|popen|setlocale|stdout|stderr|environ)$/ {
                print "uses " $NF ", which only src/cli may"
            }')
        if [ -n "$found" ]; then
            echo "$found" | sed "s|^|$object: |"
            bad=1
        fi
    done
    exit $bad
}
