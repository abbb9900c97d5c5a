#!/bin/sh
# clang-tidy over source files, one process a core; any warning fails.
#
#     check_tidy.sh FILES... -- FLAGS...      environment: CLANG_TIDY
set -u
tidy=${CLANG_TIDY:-clang-tidy}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    printf '%s\n' "$1"
    shift
done >"$work/files"
[ $# -gt 0 ] && shift

cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
# Its count of suppressed warnings goes to stderr, and is shown only when something is wrong.
if ! xargs -P "$cores" -I '{}' "$tidy" --quiet '{}' -- "$@" <"$work/files" >"$work/out" 2>"$work/errors"; then
    cat "$work/out"
    grep -v ' warnings* generated[.]$' "$work/errors"
    exit 1
fi
