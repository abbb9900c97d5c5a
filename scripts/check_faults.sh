#!/bin/sh
# Puts the program through everything that can go wrong beneath it, and fails when it does not pass all of it:
# calls of the system that fail, come short or are its last, refused memory, files that cannot grow, a disk that
# is full at every size, and a thousand kills at random instants. A program built with SANITIZE=address must make no
# report either, of a leak too:  make BUILD=build/asan SANITIZE=address FAULTS=10 faults
#
#     check_faults.sh PROGRAM DRIVE SHIM [STRIDE]     STRIDE n tries every nth of them
set -u
absolute() {
    case $1 in /*) echo "$1" ;; *) echo "$PWD/$1" ;; esac
}

# In a name space of our own: the program on a tmpfs of each size, then on the same with room again.
small_disks() {
    program=$1
    folder=$2
    stride=$3
    shape="--n-layer 1 --n-head 2 --n-embd 8 --block-size 8 --batch-size 2 --eval-windows 4 --sample-size 12
        --threads 1 --steps 6 --save-every 1 --eval-interval 3 --keep 2"
    mkdir "$folder/disk" || return 1
    head -c 600 "$0" >"$folder/text"
    # shellcheck disable=SC2086  # the words of $shape are words
    "$program" train "$folder/text" -o "$folder/whole" $shape >/dev/null 2>&1 || return 1
    tried=0
    full=0
    warned=0
    size=8
    while [ "$size" -le 200 ]; do
        mount -t tmpfs -o "size=${size}k" none "$folder/disk" || return 1
        # shellcheck disable=SC2086
        "$program" train "$folder/text" -o "$folder/disk/run" $shape >/dev/null 2>"$folder/err"
        status=$?
        if grep -q 'its disk has .* left' "$folder/err"; then warned=$((warned + 1)); fi
        tried=$((tried + 1))
        if [ "$status" != 0 ]; then
            full=$((full + 1))
            [ "$status" = 1 ] || echo "NOT PASSED $size kB: status $status"
            [ "$(grep -c '^nopeek: ' "$folder/err")" = 1 ] || echo "NOT PASSED $size kB: not one message"
            mount -o remount,size=8m "$folder/disk" || return 1
            if ls -d "$folder"/disk/run/step-?????? >/dev/null 2>&1; then
                "$program" train --resume "$folder/disk/run" >/dev/null 2>"$folder/err"
            else
                # shellcheck disable=SC2086
                "$program" train "$folder/text" -o "$folder/disk/run" --force $shape >/dev/null 2>"$folder/err"
            fi || echo "NOT PASSED $size kB: does not go on: $(tail -n 1 "$folder/err")"
        fi
        for file in model.safetensors optimizer.safetensors; do
            cmp "$folder/whole/step-000006/$file" "$folder/disk/run/step-000006/$file" ||
                echo "NOT PASSED $size kB: $file is not that of an undisturbed run"
        done
        umount "$folder/disk" || return 1
        size=$((size + 4 * stride))
    done
    echo "disks: $tried sizes tried, $full of them too small, $warned told beforehand"
    [ "$full" -gt 0 ] && [ "$warned" -gt 0 ]
}

if [ "$1" = small-disks ]; then
    shift
    small_disks "$@"
    exit
fi
program=$(absolute "$1")
drive=$(absolute "$2")
shim=$(absolute "$3")
stride=${4:-1}
# In memory where that can be: thousands of runs, each of which waits for its disk many times.
folder=$(mktemp -d /dev/shm/nopeek-faults.XXXXXX 2>/dev/null || mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
# For a program built with AddressSanitizer: its own status for a report, and the shim before its library.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}exitcode=99:allocator_may_return_null=1:verify_asan_link_order=0"
bad=0
"$drive" calls "$program" "$shim" "$folder/calls" "$stride" || bad=1
# Most of some eight thousand requests are alike.
"$drive" memory "$program" "$shim" "$folder/memory" $((stride * 13)) || bad=1
"$drive" limits "$program" "$shim" "$folder/limits" "$stride" || bad=1
if unshare -m mount -t tmpfs none /mnt 2>/dev/null; then
    mkdir "$folder/disks"
    unshare -m sh "$0" small-disks "$program" "$folder/disks" "$stride" >"$folder/said" 2>&1 || bad=1
    cat "$folder/said"
    if grep -q '^NOT PASSED' "$folder/said"; then bad=1; fi
else
    echo "disks: not tried: mounting a small one takes root and Linux"
fi
"$drive" kills "$program" "$shim" "$folder/kills" $((1000 / stride)) || bad=1
[ "$bad" = 0 ] && echo "faults: all passed"
exit "$bad"
