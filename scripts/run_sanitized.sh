#!/bin/sh
# Runs the tests of a sanitizer build, and fails when a test fails or when any process wrote a report:
# the tests' own workers, and the programs that tests start, whose exit status nobody may look at. A leak
# found at a worker's exit does not fail its test, so the reports are what counts.
#
#     run_sanitized.sh address|undefined LOGS FILTER BINARY...
set -u
sanitizer=$1
logs=$2
filter=$3
shift 3
rm -rf "$logs"
mkdir -p "$logs" || exit 1
logs=$(cd "$logs" && pwd) || exit 1

# A path in these options stands in quotes, since blanks and colons part them, and quotes cannot be escaped.
case $logs in
*\"*\'* | *\'*\"*)
    echo "$sanitizer sanitizer: $logs: its options cannot hold a path with both kinds of quotes" >&2
    exit 1
    ;;
*\"*) q="'" ;;
*) q='"' ;;
esac
common="log_path=$q$logs/report$q:print_stacktrace=1:halt_on_error=1"
address="$common:detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1"
# Memory that is refused is an error to handle, as without the sanitizer.
address="$address:allocator_may_return_null=1"
# LeakSanitizer is on by itself where it exists; asking for it elsewhere is an error there.
case $(uname -s) in Linux) address="$address:detect_leaks=1" ;; esac
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}$address"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:+$UBSAN_OPTIONS:}$common"

sh "$(dirname "$0")/run_tests.sh" "$filter" "$@"
status=$?
reports=0
for report in "$logs"/*; do
    [ -s "$report" ] || continue
    reports=$((reports + 1))
    if [ "$reports" -le 5 ]; then
        echo "== $report"
        head -n 40 "$report"
    fi
done
if [ "$reports" != 0 ]; then
    echo "$sanitizer sanitizer: $reports reports in $logs" >&2
    exit 1
fi
if [ "$status" != 0 ]; then
    echo "$sanitizer sanitizer: no report, but tests failed" >&2
    exit 1
fi
echo "$sanitizer sanitizer: clean"
