#!/bin/sh
# Tests the testers: each planted fault (tests/plants/plant.c) must make `make asan` or `make ubsan` fail
# with a report that names it, and the same build without a plant must pass. Takes a few minutes.
set -u
cd "$(dirname "$0")/.." || exit 1
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
bad=0

clean() { # clean TARGET: all tests, no plant
    if make "$1" >"$log" 2>&1; then
        echo "$1: clean, $(grep -E '^[0-9]+ passed' "$log")"
    else
        echo "$1: fails without any plant:"
        tail -n 20 "$log"
        bad=1
    fi
}

planted() { # planted TARGET PLANT WORDS: the report must hold these words
    if make "$1" PLANT="$2" TEST_FILTER='plant/*' >"$log" 2>&1; then
        echo "$1: a planted fault went unseen: $2"
        bad=1
    elif ! grep -rqs "$3" "${BUILD:-build}/$1/logs" "$log"; then
        echo "$1: failed with plant $2, but no report says '$3':"
        tail -n 20 "$log"
        bad=1
    else
        echo "$1: plant $2 is found"
    fi
}

clean asan
clean ubsan
planted asan leak 'detected memory leaks'
planted asan overflow 'heap-buffer-overflow'
planted asan program-leak 'detected memory leaks'
planted asan program-overflow 'heap-buffer-overflow'
planted ubsan undefined 'signed integer overflow'
planted ubsan program-undefined 'signed integer overflow'
[ "$bad" = 0 ] && echo "check_sanitizers: clean builds pass, every plant is found"
exit "$bad"
