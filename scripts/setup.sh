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
# In what `make test` opens the pages that nopeek writes: the first of these that the archives have, unless there is one
# already (tests/support/devtools.c looks for the same names). The shell is the smaller by a fifth, and starts faster.
browsers='chromium-headless-shell chromium'

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
    echo "make test opens pages in Chromium or Google Chrome where there is one (NOPEEK_BROWSER=/its/path), else skips that"
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

has_browser() {
    [ -z "${NOPEEK_BROWSER:-}" ] || return 0
    for name in chromium-headless-shell chromium google-chrome google-chrome-stable; do
        path=$(command -v "$name") || continue
        # A snap does not see the folder for temporary files.
        case $path:$(readlink -f "$path") in */snap/* | */snap) ;; *) return 0 ;; esac
    done
    return 1
}

# The package of a browser, as far as apt knows now; nothing when it knows none.
offered_browser() {
    for name in $browsers; do
        if apt-cache policy "$name" 2>/dev/null | grep -q 'Candidate: [0-9]'; then
            echo "$name"
            return
        fi
    done
}
no_browser='no browser in the archives (Ubuntu has Chromium as a snap only): tests that open pages in one will be skipped;
setup: they run with Google Chrome installed, or with NOPEEK_BROWSER=/path/of/a/chromium'

missing=
for package in $wanted; do
    installed "$package" || missing="$missing $package"
done
if [ "$with_lint" = yes ] && ! sh "$(dirname "$0")/run_fuzz.sh" --compiler clang >/dev/null 2>&1; then
    missing="$missing $fuzz"
fi
# Without lists of packages, as on a bare machine, it shows only after the update what there is.
browser=
if ! has_browser; then
    browser=$(offered_browser)
    if [ -z "$browser" ] && ! ls /var/lib/apt/lists/*Packages* >/dev/null 2>&1; then browser=unknown; fi
fi
if [ -z "$missing$browser" ]; then
    echo "setup: everything is installed already ($wanted)"
    has_browser || echo "setup: $no_browser"
    exit 0
fi

echo "setup: to install with apt-get:$missing${browser:+ and a browser for the tests}"
if [ "$(id -u)" = 0 ]; then
    as_root=
elif have sudo; then
    as_root=sudo
    echo "setup: sudo is used for the apt-get commands only"
else
    echo "setup: not root and no sudo here; as root, run: apt-get install$missing${browser:+ ${browsers%% *}}" >&2
    [ -n "$missing" ] || echo "setup: all else is there: only tests that open pages in a browser will be skipped" >&2
    [ -z "$missing" ]
    exit
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
# By itself, since all but a few tests do without.
if [ -n "$browser" ]; then browser=$(offered_browser); fi
if [ -n "$browser" ]; then apt -q -y install --no-install-recommends "$browser" || true; fi

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
has_browser || echo "setup: $no_browser"
echo "setup: done"
