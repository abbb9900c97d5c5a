#!/bin/sh
# Tests scripts/configure.sh on machines that are not at hand: one without pkg-config's file for OpenBLAS but with
# Homebrew, one with no OpenBLAS at all.
#
#     check_configure.sh      environment: CC
set -u
cd "$(dirname "$0")/.." || exit 1
real_cc=${CC:-cc}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
bad=0
complain() {
    echo "check_configure: $1"
    bad=1
}

# A compiler to which OpenBLAS is unknown unless Homebrew's prefix is named, where there is as much of it as is asked for.
prefix=$work/brew/opt/openblas
mkdir -p "$work/bin" "$prefix/include" "$prefix/lib"
echo 'float cblas_sdot(int, const float *, int, const float *, int);' >"$prefix/include/cblas.h"
echo 'float cblas_sdot(int n, const float *x, int i, const float *y, int j) { return (float)(n * i * j) * x[0] * y[0]; }' \
    >"$work/openblas.c"
if ! $real_cc -c -o "$work/openblas.o" "$work/openblas.c" || ! ar rc "$prefix/lib/libopenblas.a" "$work/openblas.o"; then
    complain "cannot make a library"
fi
cat >"$work/bin/blind-cc" <<EOF
#!/bin/sh
case "\$*" in
*"-I$prefix/include"*) ;;
*) for word; do case \$word in *.c) if grep -q cblas "\$word"; then exit 1; fi ;; esac done ;;
esac
exec $real_cc "\$@"
EOF
cat >"$work/bin/brew" <<EOF
#!/bin/sh
[ "\$2" = openblas ] && echo "$prefix"
EOF
cat >"$work/bin/no-openblas" <<'EOF'
#!/bin/sh
case "$*" in *openblas*) exit 1 ;; esac
exec pkg-config "$@"
EOF
chmod +x "$work/bin"/*

configure() { # configure FOLDER WITH-BREW VARIABLE=VALUE...
    folder=$1
    path=$PATH
    if [ "$2" = brew ]; then path=$work/bin:$PATH; fi
    shift 2
    env PATH="$path" CC="$work/bin/blind-cc" PKG_CONFIG="$work/bin/no-openblas" "$@" \
        sh scripts/configure.sh "$work/$folder"
}

said=$(configure brewed brew)
if [ -n "$said" ]; then complain "with OpenBLAS in Homebrew: $said"; fi
for word in "-I$prefix/include" "-L$prefix/lib -lopenblas"; do
    grep -q -e "$word" "$work/brewed/config.mk" 2>/dev/null || complain "Homebrew's prefix is not used: no $word"
done

said=$(configure absent none)
for words in 'not found: OpenBLAS;' scripts/setup.sh libopenblas-dev BLAS=none; do
    case $said in *"$words"*) ;; *) complain "without OpenBLAS it does not say '$words': $said" ;; esac
done
[ "$(printf '%s\n' "$said" | wc -l)" -eq 1 ] || complain "that takes more than a line: $said"
[ ! -e "$work/absent/config.mk" ] || complain "without OpenBLAS a configuration is left behind"

said=$(configure plain none BLAS=none)
if [ -n "$said" ]; then complain "with BLAS=none: $said"; fi
if ! grep -q -e '-DNOPEEK_PLAIN_GEMM' "$work/plain/config.mk" || grep -q openblas "$work/plain/config.mk"; then
    complain "BLAS=none still asks for OpenBLAS"
fi
said=$(configure typo none BLAS=nnoe)
case $said in *'"nnoe"'*openblas*none*) ;; *) complain "BLAS=nnoe: $said" ;; esac
exit $bad
