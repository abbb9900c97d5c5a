#!/bin/sh
# Writes TEXT to FILE when it holds something else: what depends on FILE is rebuilt just then.
#
#     stamp.sh FILE TEXT
printf '%s\n' "$2" | cmp -s - "$1" || printf '%s\n' "$2" >"$1"
