#!/bin/sh
# Nothing may let the compiler assume NaN, infinities or signed zeros away, nor the processor drop subnormal numbers:
# wherever such a flag is asked for, the Makefile leaves it out, and source that is compiled with it all the same is
# refused by base/real.h.
#
#     check_flags.sh      environment: MAKE, CC
set -u
cd "$(dirname "$0")/.." || exit 1
make=${MAKE:-make}
CC=${CC:-cc}
unset MAKEFLAGS MFLAGS MAKELEVEL
build=$(mktemp -d) || exit 1
trap 'rm -rf "$build"' EXIT
bad=0
complain() {
    echo "check_flags: $1"
    bad=1
}

flags='-Ofast -ffast-math -funsafe-math-optimizations -ffinite-math-only -fassociative-math -freciprocal-math -fno-signed-zeros'
flags="$flags -fno-honor-nans -fno-honor-infinities -fapprox-func -ffp-model=fast -fsingle-precision-constant -mdaz-ftz"
# What the Makefile itself adds (-fno-math-errno) changes no result.
wrong='-Ofast|-ffast-math|-f(no-)?(unsafe|finite|associative|reciprocal|signed|honor|approx|single)[a-z-]*|-ffp-model|-mdaz-ftz'
commands() { # commands FOLDER VARIABLE=VALUE
    $make -n V=1 BUILD="$build/$1" "$2" all >"$build/commands" 2>&1 && grep -q 'attention_ref[.]c' "$build/commands"
}
# A compiler need not know the flags that were left out, so each variable gets them all at once.
for variable in CC CFLAGS CPPFLAGS LDFLAGS; do
    value="-DKEPT $flags"
    if [ $variable = CC ]; then value="$CC $value"; fi
    if ! commands "$variable" "$variable=$value"; then
        complain "$variable='$value': make does not get as far as compiling: $(tail -n 1 "$build/commands")"
    elif grep -Eq -e " ($wrong)( |\$)" "$build/commands"; then
        complain "$variable keeps $(grep -Eo -e " ($wrong)( |\$)" "$build/commands" | sort -u | tr '\n' ' ')"
    elif ! grep -q -e '-DKEPT' "$build/commands"; then
        complain "$variable loses -DKEPT, which is harmless"
    fi
done
export CFLAGS="$flags"
if ! commands environment V=1 || grep -Eq -e " ($wrong)( |\$)" "$build/commands"; then
    complain "CFLAGS of the environment are kept"
fi
# Contracted products are nopeek's own choice, whatever else is asked for.
if commands contract 'CPPFLAGS=-ffp-contract=fast'; then
    last=$(grep 'attention_ref[.]c' "$build/commands" | grep -Eo -e '-ffp-contract=[a-z]+' | tail -n 1)
    [ "$last" = -ffp-contract=off ] || complain "CPPFLAGS has the last word: $last"
fi

# Each of these has a macro of its own in every compiler that is supported.
for flag in -ffast-math -Ofast -ffinite-math-only; do
    if printf '#include "base/real.h"\n' | $CC $flag -Isrc -fsyntax-only -x c - >"$build/log" 2>&1; then
        complain "base/real.h compiles with $flag"
    elif ! grep -q 'nopeek needs NaN' "$build/log"; then
        complain "base/real.h does not say why it refuses $flag: $(head -n 1 "$build/log")"
    fi
done
if ! printf '#include "base/real.h"\n' | $CC -O3 -fno-math-errno -fno-trapping-math -Isrc -fsyntax-only -x c - >"$build/log" 2>&1; then
    complain "base/real.h does not compile: $(head -n 1 "$build/log")"
fi
exit $bad
