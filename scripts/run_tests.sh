#!/bin/sh
# Runs Criterion binaries and ends with one line, "N passed, N failed", over all of them. Tests that were skipped, because
# this machine lacks what they need, are named with the reason and counted on the line before.
#
#     run_tests.sh FILTER BINARY...      FILTER: Criterion's pattern "suite/test", or empty for all
#
# What failed is said once more just before that line, so that the end of a long log holds it.
# Fails when a test fails or crashes, when a binary ends without a verdict, and when no test ran (any
# binary without a filter, all of them with one).
set -u
filter=$1
shift
log=$(mktemp) || exit 1
trap 'rm -f "$log" "$log.said" "$log.failed"' EXIT
: >"$log.failed" || exit 1
passed=0
failed=0
skipped=0
for binary; do
    echo "== $binary"
    case $binary in /*) ;; *) binary=./$binary ;; esac
    if [ -n "$filter" ]; then
        "$binary" --verbose --filter "$filter" >"$log" 2>&1
    else
        "$binary" --verbose >"$log" 2>&1
    fi
    status=$?
    # Of all that it says, what a person wants to read: "disabled" is what the filter left out.
    grep -v -e '^\[RUN \]' -e '^\[PASS\]' -e '^\[====\] Running' -e '^\[----\] Criterion v' \
        -e '^\[SKIP\].*: Test is disabled$' -e '^\[SKIP\].*: Suite is disabled$' "$log" | tee "$log.said"
    skipped=$((skipped + $(grep -c '^\[SKIP\].*: ' "$log") - $(grep -c '^\[SKIP\].*: .* is disabled$' "$log")))
    # [FAIL] suite::test: (0.01s), [FAIL] suite::test: Timed out., and [----]  file:line: what a failed test said
    sed -n "s/$(printf '\033')\[[0-9;]*m//g; s|^\[FAIL\]|$binary: &|p; s/^\[----\]/   &/p" "$log.said" >>"$log.failed"
    # [====] Synthesis: Tested: 3 | Passing: 2 | Failing: 1 | Crashing: 0, perhaps with colours
    counts=$(sed -n "s/$(printf '\033')\[[0-9;]*m//g; s/^.*Synthesis: Tested: *\([0-9]*\) *| *Passing: *\([0-9]*\) .*/\1 \2/p" "$log" | tail -n 1)
    tested=${counts%% *}
    good=${counts##* }
    if [ -z "$counts" ]; then
        echo "$binary: ended with status $status and no verdict" >&2
        failed=$((failed + 1))
        continue
    fi
    passed=$((passed + good))
    failed=$((failed + tested - good))
    if [ "$tested" = 0 ] && [ -z "$filter" ]; then
        echo "$binary: holds no test" >&2
        failed=$((failed + 1))
    elif [ "$status" != 0 ] && [ "$tested" = "$good" ]; then
        echo "$binary: every test passed, yet it ended with status $status" >&2
        failed=$((failed + 1))
    fi
done
if [ "$passed" = 0 ] && [ "$failed" = 0 ] && [ "$skipped" = 0 ]; then
    echo "no test matches $filter" >&2
    echo "0 passed, 0 failed"
    exit 1
fi
if [ "$failed" != 0 ] && [ -s "$log.failed" ]; then
    echo "== what failed, once more"
    tail -n 60 "$log.failed"
fi
[ "$skipped" = 0 ] || echo "$skipped skipped, for the reasons above"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
