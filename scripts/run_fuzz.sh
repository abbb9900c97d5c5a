#!/bin/sh
# Runs fuzz harnesses one after the other and ends with a table: reader, executions, features of the code reached,
# findings. Fails when any input broke a promise, and says how to run that input again.
#
#     run_fuzz.sh FOLDER SECONDS READER...     programs FOLDER/fuzz-READER, seeds in FOLDER/seeds/READER
#     run_fuzz.sh --compiler CC                only asks whether CC can build them
#
# SEED in the environment, when not 0, makes libFuzzer's choices repeatable.
set -u
if [ "$1" = --compiler ]; then
    probe=$(mktemp -d) || exit 1
    trap 'rm -rf "$probe"' EXIT
    echo 'int LLVMFuzzerTestOneInput(const unsigned char *p, unsigned long n) { return p && n > 9 && 0; }' >"$probe/probe.c"
    if ! command -v "$2" >/dev/null 2>&1; then
        echo "make fuzz needs clang: on Debian and Ubuntu run scripts/setup.sh --lint, or name one with FUZZ_CC=clang-N" >&2
        exit 1
    fi
    if ! "$2" -fsanitize=fuzzer,address,undefined -o "$probe/probe" "$probe/probe.c" >"$probe/log" 2>&1; then
        version=$("$2" -dumpversion 2>/dev/null | sed 's/[.].*//')
        echo "make fuzz: $2 cannot link a fuzzer ($(grep -m1 . "$probe/log")): on Debian and Ubuntu run scripts/setup.sh" \
            "--lint, or install libclang-rt-$version-dev (libclang-common-$version-dev before version 14)" >&2
        exit 1
    fi
    exit 0
fi

build=$1
seconds=$2
shift 2
case $seconds in
'' | *[!0-9]* | 0)
    echo "make fuzz: SECONDS is \"$seconds\", a whole number from 1 was expected" >&2
    exit 2
    ;;
esac
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
mkdir -p "$build/findings" "$build/logs" || exit 1

# Temporary files stay in memory where there is a place for that, and go when this ends, whatever the harness does.
place=/dev/shm
[ -w "$place" ] || place=${TMPDIR:-/tmp}
TMPDIR=$(mktemp -d "$place/nopeek-fuzz.XXXXXX") || exit 1
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 130' INT TERM
# Memory that is refused is an error to handle; libFuzzer's own limits say how much is too much.
ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}allocator_may_return_null=1:detect_stack_use_after_return=1"
export ASAN_OPTIONS
UBSAN_OPTIONS="${UBSAN_OPTIONS:+$UBSAN_OPTIONS:}print_stacktrace=1:halt_on_error=1"
export UBSAN_OPTIONS
# Threads of OpenBLAS would only wait here.
OPENBLAS_NUM_THREADS=1
export OPENBLAS_NUM_THREADS

table=$TMPDIR/table
findings=0
for reader; do
    log=$build/logs/$reader
    corpus=$build/corpus/$reader
    mkdir -p "$corpus" || exit 1
    set -- -max_total_time="$seconds" -seed="${SEED:-0}" -max_len=65536 -timeout=120 -rss_limit_mb=1536 \
        -malloc_limit_mb=256 -print_final_stats=1 -verbosity=1 -artifact_prefix="$build/findings/$reader-" "$corpus"
    case $reader in
    safetensors | optimizer) words=tensors ;;
    text) words=text ;;
    *) words=json ;;
    esac
    set -- -dict="$top/tests/fuzz/$words.dict" "$@"
    for known in "$build/seeds/$reader" "$top/tests/fuzz/regressions/$reader"; do
        if [ -d "$known" ]; then set -- "$@" "$known"; fi
    done
    echo "fuzz: $reader, $seconds s"
    "$build/fuzz-$reader" "$@" >"$log" 2>&1
    status=$?
    rm -rf "$TMPDIR"/nopeek-fuzz-*
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)
    features=$(sed -n 's/.* cov: \([0-9]*\) ft: \([0-9]*\) .*/\1 \2/p' "$log" | tail -n 1)
    found=0
    if [ "$status" != 0 ]; then
        found=1
        findings=$((findings + 1))
        echo "fuzz: $reader broke (status $status); the end of $log:" >&2
        grep -E '^(==[0-9]+==ERROR|SUMMARY|.*: broken: |.*runtime error)' "$log" | head -n 5 >&2
        input=$(sed -n "s/.*Test unit written to //p" "$log" | tail -n 1)
        echo "fuzz: the input is ${input:-not known}; to run it again: $build/fuzz-$reader ${input:-INPUT}" >&2
    fi
    # shellcheck disable=SC2086 # two numbers, or none
    printf '%s %s %s %s %s\n' "$reader" "${runs:-0}" ${features:-0 0} "$found" >>"$table"
done

printf '%-12s %12s %8s %10s %9s\n' reader executions edges features findings
while read -r reader runs edges features found; do
    printf '%-12s %12s %8s %10s %9s\n' "$reader" "$runs" "$edges" "$features" "$found"
done <"$table"
if [ "$findings" != 0 ]; then
    echo "fuzz: $findings readers broke" >&2
    exit 1
fi
echo "fuzz: no finding"
