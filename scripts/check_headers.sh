#!/bin/sh
# Every header compiles alone, and twice in one file.
#
#     check_headers.sh COMPILER FLAGS...
set -u
bad=0
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
for header in $(find src -name '*.h' | sort); do
    name=${header#src/}
    if ! printf '#include "%s"\n#include "%s"\n' "$name" "$name" | "$@" -Werror -fsyntax-only -x c - >"$log" 2>&1; then
        echo "$header: does not compile by itself"
        cat "$log"
        bad=1
    fi
done
exit $bad
