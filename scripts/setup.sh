#!/bin/sh
# Brings a Debian or Ubuntu machine to where `make`, `make test` and `make demo` work. With --lint also
# to where `make lint` and `make fuzz` work and clang can be the compiler. Elsewhere it prints the packages' names.
#
# Rights: as root it calls apt-get directly; as anyone else it calls sudo, for the apt-get commands
# alone. When everything is there already it changes nothing and needs neither sudo nor a network.
set -eu

build='gcc libc6-dev make pkg-config libopenblas-dev libjansson-dev libutf8proc-dev libxxhash-dev'
tests='libcriterion-dev'
lint='clang clang-format clang-tidy shellcheck'
# What clang links a fuzzer with, where clang alone does not bring it. Old archives lack this name, and their clang does.
fuzz='libclang-rt-dev'

usage='usage: scripts/setup.sh [--lint]    --lint: also what make lint, make fuzz and CC=clang need'
with_lint=no
for argument; do
    case $argument in
    --lint) with_lint=yes ;;
    -h | --help)
        echo "$usage"
        exit 0
        ;;
    *)
        echo "setup: unknown option $argument; $usage" >&2
        exit 2
        ;;
    esac
done

have() {
    command -v "$1" >/dev/null 2>&1
}

# Other systems: only the names, since their package managers are not ours to run untested.
elsewhere() {
    echo "setup: this script installs on Debian and Ubuntu only; here, install these yourself, then run make:"
    echo "  $1"
    if [ "$with_lint" = yes ]; then
        echo "for make lint and make fuzz:"
        echo "  $2"
    fi
    if [ -n "${3:-}" ]; then echo "$3"; fi
    exit 0
}
criterion_source='make test needs Criterion too: a package of that name, or https://github.com/Snaipe/Criterion'

if ! have apt-get || ! have dpkg-query; then
    if have brew; then
        elsewhere 'brew install openblas jansson utf8proc xxhash criterion pkgconf' \
            'brew install clang-format llvm shellcheck'
    elif have dnf; then
        elsewhere 'dnf install gcc make pkgconf-pkg-config openblas-devel jansson-devel utf8proc-devel xxhash-devel' \
            'dnf install clang clang-tools-extra compiler-rt ShellCheck' "$criterion_source"
    elif have pacman; then
        elsewhere 'pacman -S gcc make pkgconf openblas jansson libutf8proc xxhash criterion' \
            'pacman -S clang compiler-rt shellcheck'
    elif have apk; then
        elsewhere 'apk add gcc musl-dev make pkgconf openblas-dev jansson-dev utf8proc-dev xxhash-dev' \
            'apk add clang clang-extra-tools compiler-rt shellcheck' "$criterion_source"
    elif have zypper; then
        elsewhere 'zypper install gcc make pkgconf openblas-devel libjansson-devel utf8proc-devel xxhash-devel' \
            'zypper install clang clang-tools ShellCheck' "$criterion_source"
    else
        elsewhere 'a C compiler, make, pkg-config, OpenBLAS, jansson, utf8proc, xxHash, all with their headers' \
            'clang, clang-format, clang-tidy, shellcheck' "$criterion_source"
    fi
fi

wanted="$build $tests"
if [ "$with_lint" = yes ]; then wanted="$wanted $lint"; fi

installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}\n' "$1" 2>/dev/null | head -n 1)" = installed ]
}

missing=
for package in $wanted; do
    installed "$package" || missing="$missing $package"
done
if [ "$with_lint" = yes ] && ! sh "$(dirname "$0")/run_fuzz.sh" --compiler clang >/dev/null 2>&1; then
    missing="$missing $fuzz"
fi
if [ -z "$missing" ]; then
    echo "setup: everything is installed already ($wanted)"
    exit 0
fi

echo "setup: to install with apt-get:$missing"
if [ "$(id -u)" = 0 ]; then
    as_root=
elif have sudo; then
    as_root=sudo
    echo "setup: sudo is used for the apt-get commands only"
else
    echo "setup: not root and no sudo here; as root, run: apt-get install$missing" >&2
    exit 1
fi

apt() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get "$@"
}

apt -q update

# What the enabled archives do not offer is named, and the rest still goes in: without Criterion, say,
# everything but `make test` works.
offered=
absent=
for package in $missing; do
    if apt-cache show --no-all-versions "$package" >/dev/null 2>&1; then
        offered="$offered $package"
    else
        absent="$absent $package"
    fi
done
# The names are words on purpose.
# shellcheck disable=SC2086
if [ -n "$offered" ]; then apt -q -y install --no-install-recommends $offered; fi

if [ -n "$absent" ]; then
    echo "setup: no enabled archive has:$absent (on Ubuntu they are in universe: add-apt-repository universe)" >&2
    for package in $absent; do
        case " $tests $fuzz " in
        *" $package "*) ;;
        *) exit 1 ;;
        esac
    done
    echo "setup: building works without; $tests is for make test, $fuzz for make fuzz" >&2
fi
echo "setup: done"
