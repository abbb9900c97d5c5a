#!/bin/sh
# Tests the tester: each fault, planted in a copy of the source, must make check_layers.sh fail with the
# right words about the file it stands in; look-alikes that are no fault must go unmentioned.
set -u
cd "$(dirname "$0")/.." || exit 1
copy=$(mktemp -d) || exit 1
trap 'rm -rf "$copy"' EXIT
cp -R src "$copy/src"
mkdir -p "$copy/src/model" "$copy/src/io" "$copy/src/kernels" "$copy/src/text" "$copy/src/train" "$copy/src/diag" "$copy/src/store"
: >"$copy/src/train/plant_above.h"
: >"$copy/src/text/plant_beside.h"
: >"$copy/src/model/plant_here.h"
bad=0

run() {
    sh scripts/check_layers.sh "$copy" >"$copy/out" 2>&1
}
planted() { # planted FILE LINE WORDS
    printf '%s\n' "$2" >"$copy/src/$1"
    if run; then
        echo "check_layers misses, in src/$1: $2"
        bad=1
    elif ! grep -q "^src/$1:1: .*$3" "$copy/out"; then
        echo "check_layers does not say '$3' of src/$1: $2"
        cat "$copy/out"
        bad=1
    fi
    rm -f "$copy/src/$1"
}
harmless() { # harmless FILE LINE
    printf '%s\n' "$2" >"$copy/src/$1"
    run
    if grep "^src/$1:" "$copy/out"; then
        echo "check_layers refuses, in src/$1: $2"
        bad=1
    fi
    rm -f "$copy/src/$1"
}

planted model/plant.c '#include "train/plant_above.h"' 'model may not include train'
planted io/plant.c '#include "text/plant_beside.h"' 'io may not include text'
planted model/plant.h '  #  include "train/plant_above.h"' 'model may not include train'
planted model/plant.c '#include "plant_here.h"' 'write "layer/file.h"'
planted model/plant.c '#include "../train/plant_above.h"' 'write "layer/file.h"'
planted model/plant.c '#include "model/plant_nowhere.h"' 'there is no src/model/plant_nowhere.h'
planted model/plant.c '#include "plants/plant.h"' 'there is no layer plants'
planted model/plant.c '#include HEADER' 'names its header directly'
planted plants.c 'int x;' 'stands in a layer'
planted kernels/plant.c '#include <cblas.h>' 'cblas.h> may not stand here'
planted kernels/plant.c '#include <dlfcn.h>' 'dlfcn.h> may not stand here'
planted kernels/plant.c '#pragma omp parallel' 'not OpenMP'
planted kernels/plant.c '#include <immintrin.h>' 'instruction sets stay'
planted train/plant.c '#include <jansson.h>' 'jansson.h> may not stand here'
planted io/plant.c '#include <utf8proc.h>' 'utf8proc.h> may not stand here'
planted store/plant.c '#include <xxhash.h>' 'xxhash.h> may not stand here'
planted train/plant.c '#include <getopt.h>' 'getopt.h> may not stand here'
planted text/plant.c '#include <curl/curl.h>' 'is no header of C, POSIX'
planted model/plant.c 'void f(void) { printf("x"); }' 'printf: only src/cli'
planted model/plant.c 'void f(void) { puts ("x"); }' 'puts: only src/cli'
planted model/plant.c 'void f(void) { fprintf(stderr, "x"); }' 'stderr: only src/cli'
planted model/plant.c 'FILE *f(void) { return stdout; }' 'stdout: only src/cli'
planted model/plant.c '/* it ends */ void f(void) { perror("x"); }' 'perror: only src/cli'
planted model/plant.c 'void f(struct gpt *g) { g->fault = &always; }' 'a fault is planted'
planted cli/plant.c 'void f(struct dataset *d) { d->fault = 1; }' 'a fault is planted'
planted train/plant.c 'void f(struct gpt *g) { g->attention_scale = 1; }' 'the scale of attention is changed'
planted train/plant.c 'void f(void) { catalogue_plant(); }' 'catalogue_plant: only'
planted train/plant.c 'void f(void) { exit(1); }' 'exit: only src/cli'
planted train/plant.c 'void f(void) { abort(); }' 'abort: only src/cli'
planted base/plant.c 'char *f(void) { return getenv("HOME"); }' 'getenv: only src/cli'
harmless model/plant.c '/* printf("x") and #include "train/plant_above.h" */ int x;'
harmless model/plant.c 'void f(char *s) { snprintf(s, 9, "exit(1) /* %%d"); } // abort()'
harmless model/plant.h 'void g(const char *format) __attribute__((format(printf, 1, 2))); int exit_code;'
harmless model/plant.c '#include "model/plant_here.h"'
[ "$bad" = 0 ] || echo "check_lint_plants: check_layers.sh does not hold" >&2
exit "$bad"
