#!/bin/sh
# Proves that nopeek's folders load in transformers, tokenizers and safetensors, and theirs in nopeek: installs the
# current releases of all three, and of PyTorch, into a scratch environment and runs scripts/interop.py in it.
#
#     scripts/interop.sh [--venv DIR] [--only WORDS]
#
# --venv DIR  an environment to use; what it lacks is installed into it, and it is kept
# --only W    only cases with these words in their name
# PYTHON and NOPEEK in the environment name another interpreter and program. Needs the network, or pip's own settings
# for a mirror (PIP_INDEX_URL, PIP_FIND_LINKS); takes 3 GB where no PyTorch for processors alone can be reached.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
nopeek=${NOPEEK:-$here/../build/nopeek}
venv=
only=
while [ $# -gt 0 ]; do
    case $1 in
    --venv | --only)
        [ $# -ge 2 ] || { echo "interop.sh: $1: expected a value" >&2 && exit 2; }
        if [ "$1" = --venv ]; then venv=$2; else only=$2; fi
        shift 2
        ;;
    *)
        echo "interop.sh: found \"$1\", expected --venv DIR or --only WORDS" >&2
        exit 2
        ;;
    esac
done
[ -x "$nopeek" ] || { echo "interop.sh: $nopeek is not there: run make first" >&2 && exit 1; }

if [ -z "$venv" ]; then
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    trap 'exit 130' INT TERM
    venv=$scratch/venv
fi
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"

# PyTorch for processors alone is a tenth of the size; where its index is out of reach, the usual one will do.
if ! "$venv/bin/python" -c 'import torch' 2>/dev/null; then
    "$venv/bin/pip" install -q --retries 0 --timeout 15 --index-url https://download.pytorch.org/whl/cpu torch 2>/dev/null ||
        "$venv/bin/pip" install -q torch
fi
"$venv/bin/pip" install -q --upgrade numpy transformers tokenizers safetensors

"$venv/bin/python" "$here/interop.py" --nopeek "$nopeek" --only "$only"
