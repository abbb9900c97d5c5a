#!/bin/sh
# Runs tests on each build of OpenBLAS that Debian and Ubuntu have (libopenblas0-pthread, -openmp, -serial) and that is
# installed: they differ in what happens when several threads call them, and in whose thread settings they believe.
#
#     check_blas.sh FILTER BINARY...
set -u
filter=$1
shift
tried=0
bad=0
for library in /usr/lib/*/openblas-*/libopenblas.so.0; do
    [ -e "$library" ] || continue
    tried=$((tried + 1))
    folder=${library%/*}
    said=$(LD_LIBRARY_PATH=$folder sh "$(dirname "$0")/run_tests.sh" "$filter" "$@" 2>&1) || {
        echo "$said"
        bad=1
    }
    echo "${folder##*/}: $(echo "$said" | tail -n 1)"
done
if [ "$tried" = 0 ]; then
    echo "check_blas: no build of OpenBLAS in /usr/lib/*/openblas-*" >&2
    exit 1
fi
exit $bad
