#!/usr/bin/env python3
"""Lets nopeek ask a model that the transformers library loads whether it looks at its own future.

    nopeek check --exec 'python3 scripts/check_transformers.py FOLDER'

FOLDER is what save_pretrained writes: config.json and weights. Needs PyTorch and transformers.
"""
import argparse
import pathlib
import sys

import check_torch

LONGEST = 1024  # by itself no question is longer, however long the model's context


def main():
    parser = argparse.ArgumentParser(description="Answers nopeek's questions about a model in a folder.")
    parser.add_argument("folder", metavar="FOLDER", help="with config.json and weights")
    parser.add_argument("--context", type=check_torch.positive, metavar="T", help=f"the most tokens to ask about (default: the model's own, "
                        f"up to {LONGEST})")
    parser.add_argument("--train", action="store_true", help="check it in training mode, dropout included")
    parser.add_argument("--seed", type=int, default=0, help="of torch's random numbers (default 0)")
    options = parser.parse_args()
    answers = check_torch.claim_stdout()
    if not (pathlib.Path(options.folder) / "config.json").is_file():
        raise SystemExit(f"check_transformers: {options.folder} holds no config.json: name the folder of a model")
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(options.folder, local_files_only=True)
    own = check_torch.guess(model, check_torch.CONTEXT)
    context = options.context or (min(own, LONGEST) if own else None)
    if own and context < own:
        print(f"check_transformers: the model takes {own} tokens; it is asked about {context}", file=sys.stderr)
    check_torch.serve(model, None, context, options.train, options.seed, answers)


if __name__ == "__main__":
    main()
