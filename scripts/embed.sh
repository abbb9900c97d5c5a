#!/bin/sh
# Writes C in which each NAME is the bytes of the files after it, up to the next name:
#
#     embed.sh OUT NAME FILE... [-- NAME FILE...]
#
# Made beside OUT, then renamed: a build that is interrupted leaves no half of it.
set -eu
out=$1
shift
partial=$out.tmp-$$
trap 'rm -f "$partial"' EXIT
{
    printf '#include "report/assets.h"\n'
    while [ $# -gt 0 ]; do
        name=$1
        shift
        printf '\nstatic const unsigned char %s_bytes[] = {\n' "$name"
        while [ $# -gt 0 ] && [ "$1" != -- ]; do
            od -An -v -t u1 "$1" | sed 's/^ *//; s/ *$//; /^$/d; s/  */,/g; s/$/,/'
            shift
        done
        [ $# -eq 0 ] || shift
        printf '};\nconst struct asset assets_%s = {%s_bytes, sizeof %s_bytes};\n' "$name" "$name" "$name"
    done
} >"$partial"
mv "$partial" "$out"
