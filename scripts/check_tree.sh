#!/bin/sh
# Holds the tree to its shape: a file's stem is its own in all of src, every source file has a test file in
# the same place under tests, and no source file grows past one idea.
set -u
cd "${1:-$(dirname "$0")/..}" || exit 1
bad=0
complain() {
    echo "$1"
    bad=1
}

# gemm.c and gemm.h beside each other are one stem; a second place with that stem is a second idea.
repeated=$(find src -name '*.[ch]' | sed 's/[.][ch]$//' | sort -u | awk -F/ '
    { stem = tolower($NF); if (stem in place) print $0 " and " place[stem]; else place[stem] = $0 }')
[ -z "$repeated" ] || complain "the same stem twice: $repeated"

for source in $(find src -name '*.c' | sort); do
    path=${source#src/}
    layer=${path%%/*}
    stem=$(basename "$path" .c)
    found=no
    for test in "tests/$layer/test_$stem.c" "tests/$layer/test_$stem"_*.c "tests/${path%/*}/test_$stem.c"; do
        if [ -e "$test" ]; then found=yes; fi
    done
    [ $found = yes ] || complain "$source: no test file tests/$layer/test_$stem.c"
done

for test in $(find tests -name 'test_*.c' | sort); do
    grep -Eq '^(Test|Theory|ParameterizedTest)\(' "$test" || complain "$test: holds no test"
done

for source in $(find src tests -name '*.[ch]' | sort); do
    lines=$(wc -l <"$source")
    [ "$lines" -le 600 ] || complain "$source: $lines lines; about 500 is the most that one idea takes"
done
exit $bad
