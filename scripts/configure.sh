#!/bin/sh
# Finds the libraries, and writes what it found to BUILD/config.mk, which make
# includes and on which every object depends. The file is rewritten only when something changed: that
# rebuilds everything. Make runs this at every start; when nothing changed it takes a few hundredths of
# a second.
#
#     configure.sh BUILD      environment: CC FLAGS CFLAGS SANITIZE CPPFLAGS LDFLAGS (words of a command
#                             line), PKG_CONFIG, BLAS (openblas or none)
#
# What stops the build is printed to stdout as one line, which make turns into its error message.

# Flags are words on purpose, in the whole file.
# shellcheck disable=SC2086
set -u
build=$1
CC=${CC:-cc}
FLAGS=${FLAGS:-}
CFLAGS=${CFLAGS:-}
SANITIZE=${SANITIZE:-}
CPPFLAGS=${CPPFLAGS:-}
LDFLAGS=${LDFLAGS:-}
BLAS=${BLAS:-openblas}
pkg_config=${PKG_CONFIG:-pkg-config}
command -v "$pkg_config" >/dev/null 2>&1 || pkg_config=false

work=$build/config.tmp.$$
trap 'rm -rf "$work"' EXIT
if ! mkdir -p "$work" 2>/dev/null; then
    echo "$build: cannot make the build folder"
    exit 0
fi

# Does this program build? Left in $work/probe.
links() { # links SOURCE FLAGS...
    printf '%s\n' "$1" >"$work/probe.c"
    shift
    rm -f "$work/probe"
    $CC $FLAGS $CFLAGS $SANITIZE $CPPFLAGS $LDFLAGS -o "$work/probe" "$work/probe.c" "$@" >"$work/log" 2>&1
}

# Everything that the answers depend on, short of asking the compiler again.
key() {
    $CC --version 2>&1 | head -n 1
    echo "$CC | $FLAGS | $CFLAGS | $SANITIZE | $CPPFLAGS | $LDFLAGS | $pkg_config | $BLAS | $PATH"
    for package in openblas jansson libutf8proc libxxhash criterion; do
        $pkg_config --cflags --libs "$package" 2>/dev/null
    done
}
if [ -e "$build/config.mk" ] && key >"$work/key" && cmp -s "$work/key" "$build/config.key"; then
    exit 0
fi

if ! links 'int main(void) { return 0; }'; then
    if command -v "${CC%% *}" >/dev/null 2>&1; then
        echo "the compiler cannot build an empty program: $CC $FLAGS $CFLAGS $SANITIZE $LDFLAGS: $(grep -m1 . "$work/log")"
    else
        echo "no C compiler: ${CC%% *} is not there; run scripts/setup.sh, or name one with make CC=..."
    fi
    exit 0
fi

# One library: pkg-config's answer, else Homebrew's prefix, else the compiler's own search path, with the
# places where distributions put headers. Adds to $cppflags and $libs, or to $missing and $packages.
library() { # library NAME PKG-CONFIG FORMULA DEBIAN-PACKAGE LINK INCLUDE-DIRS PROGRAM
    if found_cppflags=$($pkg_config --cflags "$2" 2>/dev/null) && found_libs=$($pkg_config --libs "$2" 2>/dev/null) &&
        links "$7" $found_cppflags $found_libs; then
        keep
        return
    fi
    if command -v brew >/dev/null 2>&1 && prefix=$(brew --prefix "$3" 2>/dev/null) && [ -d "$prefix/include" ]; then
        found_cppflags="-I$prefix/include"
        found_libs="-L$prefix/lib $5"
        if links "$7" $found_cppflags $found_libs; then
            keep
            return
        fi
    fi
    found_libs=$5
    for dir in '' $6; do
        found_cppflags=${dir:+-I$dir}
        if links "$7" $found_cppflags $found_libs; then
            keep
            return
        fi
    done
    missing="$missing${missing:+, }$1"
    packages="$packages $4"
}
keep() {
    case " $cppflags " in
    *" $found_cppflags "*) ;;
    *) cppflags="$cppflags${cppflags:+ }$found_cppflags" ;;
    esac
    libs="$libs${libs:+ }$found_libs"
}
start() {
    cppflags=''
    libs=''
    missing=''
    packages=''
}

start
case $BLAS in
openblas)
    library OpenBLAS openblas openblas libopenblas-dev -lopenblas \
        '/usr/include/openblas /usr/local/include/openblas /opt/OpenBLAS/include' '
#include <cblas.h>
int main(void) { float x[1] = {1}, y[1] = {2}; return (int)cblas_sdot(1, x, 1, y, 1) - 2; }'
    ;;
none) cppflags=-DNOPEEK_PLAIN_GEMM ;;
*)
    echo "BLAS: found \"$BLAS\", expected openblas or none"
    exit 0
    ;;
esac
library jansson jansson jansson libjansson-dev -ljansson '' '
#include <jansson.h>
int main(void) { json_decref(json_object()); return 0; }'
library utf8proc libutf8proc utf8proc libutf8proc-dev -lutf8proc '' '
#include <utf8proc.h>
int main(void) { return utf8proc_version() == 0; }'
library xxHash libxxhash xxhash libxxhash-dev -lxxhash '' '
#include <xxhash.h>
int main(void) { return XXH3_128bits("", 0).low64 == 0; }'
if [ -n "$missing" ]; then
    hint="run scripts/setup.sh, which on Debian and Ubuntu installs$packages, and elsewhere names the packages"
    case $missing in
    OpenBLAS) hint="$hint; or do without it, several times slower: make BLAS=none" ;;
    esac
    echo "not found: $missing; $hint"
    exit 0
fi
lib_cppflags=$cppflags
lib_libs=$libs

# Only the tests want Criterion, so its absence stops only them.
start
library Criterion criterion criterion libcriterion-dev -lcriterion '' '
#include <criterion/criterion.h>
Test(probe, links) { cr_assert(1); }'
test_cppflags=$cppflags
test_libs=$libs
test_missing=
if [ -n "$missing" ]; then
    test_missing='not found: Criterion, in which the tests are written; run scripts/setup.sh, which on Debian and Ubuntu installs libcriterion-dev, and elsewhere names the package'
fi

value() { # as make reads it back
    printf '%s' "$1" | tr '\n' ' ' | sed -e 's/\$/$$/g' -e 's/#/\\#/g'
}
{
    echo '# Written by scripts/configure.sh; make writes it anew.'
    echo "# compiler: $($CC --version 2>/dev/null | head -n 1)"
    echo "# flags: $(value "$CC | $FLAGS | $CFLAGS | $SANITIZE | $CPPFLAGS | $LDFLAGS")"
    echo "LIB_CPPFLAGS := $(value "$lib_cppflags")"
    echo "LIB_LIBS := $(value "$lib_libs")"
} >"$work/config.mk"
if ! cmp -s "$work/config.mk" "$build/config.mk"; then
    mv "$work/config.mk" "$build/config.mk"
fi

# Criterion's answers stand apart: installing it must not rebuild the program.
{
    echo '# Written by scripts/configure.sh; make writes it anew.'
    echo "TEST_CPPFLAGS := $(value "$test_cppflags")"
    echo "TEST_LIBS := $(value "$test_libs")"
    echo "TEST_MISSING := $(value "$test_missing")"
} >"$work/config-test.mk"
cmp -s "$work/config-test.mk" "$build/config-test.mk" || mv "$work/config-test.mk" "$build/config-test.mk"

# An answer of "none" is asked again next time: it may have been installed since.
rm -f "$build/config.key"
if [ -z "$test_missing" ]; then key >"$build/config.key"; fi
exit 0
