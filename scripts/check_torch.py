#!/usr/bin/env python3
"""Lets nopeek ask a PyTorch model whether it looks at its own future.

    nopeek check --exec 'python3 scripts/check_torch.py my_model.py:build --context 64 --vocab 65'

FILE.py:NAME (or package.module:NAME) is a module, a class or a function without arguments that returns one. It maps
ids [1,n] to logits [1,n,V], alone, in a tuple with a loss, or as an object or dictionary with "logits". From Python:

    from check_torch import serve
    serve(model, vocab_size=65, context=64)

Needs PyTorch 1.13 or later and nothing else. Standard output belongs to nopeek: what the model prints goes to standard
error.
"""
import argparse
import importlib
import importlib.util
import inspect
import json
import os
import pathlib
import sys
import traceback

import torch

VOCABULARY = ("vocab_size", "n_vocab", "num_embeddings", "padded_vocab_size")
CONTEXT = ("block_size", "n_positions", "max_position_embeddings", "n_ctx", "context_length", "max_seq_len",
           "max_seq_length", "max_sequence_length", "max_length", "seq_len", "context")
WITH_TARGETS = (lambda model, ids: model(ids, ids), lambda model, ids: model(ids, targets=ids),
                lambda model, ids: model(ids, labels=ids))


def claim_stdout():
    """The real standard output; from now on everything else that is printed goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return answers


def guess(model, names):
    """What the model, or its configuration, says about its size; None when it says nothing."""
    for holder in (model, getattr(model, "config", None), getattr(model, "cfg", None), getattr(model, "args", None)):
        for name in names:
            value = holder.get(name) if isinstance(holder, dict) else getattr(holder, name, None)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return None


def tensors(output):
    """The tensors in whatever a model returns, the logits first where they have a name."""
    if isinstance(output, torch.Tensor):
        return [output]
    logits = output.get("logits") if isinstance(output, dict) else getattr(output, "logits", None)
    if isinstance(logits, torch.Tensor):
        return [logits]
    if isinstance(output, (tuple, list)):
        return [x for x in output if isinstance(x, torch.Tensor)]
    return []


class Asked:
    """A model, and the way of calling it that gives a row of logits for every token."""

    def __init__(self, model, vocab_size=None, context=None, train=False, seed=0):
        self.model, self.train, self.seed = model, train, seed
        self.call = lambda model, ids: model(ids)
        if isinstance(model, torch.nn.Module):
            model.train(train)
        parameters = getattr(model, "parameters", lambda: iter(()))
        first = next(iter(parameters()), None)
        self.device = first.device if first is not None else torch.device("cpu")
        self.context = context or guess(model, CONTEXT)
        if not self.context:
            raise SystemExit("check_torch: the model does not say how many tokens it takes: add --context T")
        self.vocab_size = vocab_size or guess(model, VOCABULARY)
        if not self.vocab_size:
            rows = self.rows_of(self.run(self.call, [0]), 1)
            if rows is None:
                raise SystemExit("check_torch: the vocabulary's size cannot be told: add --vocab V")
            self.vocab_size = rows.shape[-1]

    def run(self, call, tokens):
        ids = torch.tensor([tokens], dtype=torch.long, device=self.device)
        if self.train:
            torch.manual_seed(self.seed)  # dropout is the same for every question
        with torch.no_grad():
            return call(self.model, ids)

    def rows_of(self, output, n):
        """(n or fewer, V) logits out of an output, or None."""
        for x in tensors(output):
            if x.is_floating_point() and x.dim() >= 2 and (not self.vocab_size or x.shape[-1] == self.vocab_size):
                rows = x.reshape(-1, x.shape[-1])
                if rows.shape[0] in (1, n):
                    return rows
        return None

    def logits(self, tokens):
        n = len(tokens)
        output = self.run(self.call, tokens)
        rows = self.rows_of(output, n)
        if rows is not None and rows.shape[0] == n:
            return rows
        if rows is not None:
            # Some models give the last position only, unless they are to compute a loss (as nanoGPT does).
            for call in WITH_TARGETS:
                try:
                    every = self.rows_of(self.run(call, tokens), n)
                except Exception:  # another signature: try the next
                    continue
                if every is not None and every.shape[0] == n:
                    self.call = call
                    return every
            raise ValueError(f"the model returns logits for the last of {n} positions only: make it return all of them")
        found = ", ".join(str(list(x.shape)) for x in tensors(output)) or type(output).__name__
        raise ValueError(f"the model returned {found}, expected logits of shape [1, {n}, {self.vocab_size}]")


def answer(asked, question):
    if "hello" in question:
        return {"vocab_size": asked.vocab_size, "context": asked.context}
    logits = asked.logits(question["tokens"])
    if "rows" in question:
        logits = logits[torch.tensor(question["rows"], device=logits.device)]
    return {"logits": logits.double().cpu().tolist()}


def serve(model, vocab_size=None, context=None, train=False, seed=0, answers=None):
    """Answers nopeek's questions about the model until there are no more.

    train: leave dropout on, with the same seed for every question. answers: what claim_stdout() gave, when the caller
    has called it before loading the model."""
    answers = answers or claim_stdout()
    asked = Asked(model, vocab_size, context, train, seed)
    for line in sys.stdin:
        try:
            text = json.dumps(answer(asked, json.loads(line)))
        except Exception as error:
            traceback.print_exc()
            text = json.dumps({"error": f"{type(error).__name__}: {error}"})
        try:
            answers.write(text + "\n")
            answers.flush()
        except BrokenPipeError:
            os._exit(1)


def load(place):
    """The model at FILE.py:NAME or package.module:NAME."""
    source, colon, name = place.rpartition(":")
    if not colon or not source or not name:
        raise SystemExit(f"check_torch: found {place}, expected FILE.py:NAME or package.module:NAME")
    if source.endswith(".py"):
        path = pathlib.Path(source).resolve()
        if not path.is_file():
            raise SystemExit(f"check_torch: there is no file {source}")
        sys.path.insert(0, str(path.parent))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
    else:
        sys.path.insert(0, os.getcwd())
        module = importlib.import_module(source)
    found = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise SystemExit(f"check_torch: {source} has no {part}")
        found = getattr(found, part)
    if isinstance(found, torch.nn.Module):
        return found
    try:
        inspect.signature(found).bind()
    except (TypeError, ValueError):
        raise SystemExit(f"check_torch: {name} cannot be called without arguments: name a function that returns the "
                         "model, such as def build(): return Model(...)") from None
    model = found()
    if not callable(model):
        raise SystemExit(f"check_torch: {name} returned {type(model).__name__}, expected a PyTorch module")
    return model


def load_weights(model, path):
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except TypeError:  # a PyTorch that does not know the word
        state = torch.load(path, map_location="cpu")
    for key in ("model", "state_dict", "model_state_dict"):
        if isinstance(state, dict) and isinstance(state.get(key), dict):
            state = state[key]
    for prefix in ("_orig_mod.", "module."):  # torch.compile, DataParallel
        state = {name[len(prefix):] if name.startswith(prefix) else name: value for name, value in state.items()}
    model.load_state_dict(state)


def main():
    parser = argparse.ArgumentParser(description="Answers nopeek's questions about a PyTorch model.")
    parser.add_argument("model", metavar="FILE.py:NAME", help="or package.module:NAME: a module, or what returns one")
    parser.add_argument("--weights", metavar="FILE", help="a state_dict to load, as torch.save writes it")
    parser.add_argument("--context", type=int, metavar="T", help="the most tokens it takes")
    parser.add_argument("--vocab", type=int, metavar="V", help="size of the vocabulary")
    parser.add_argument("--train", action="store_true", help="check it in training mode, dropout included")
    parser.add_argument("--seed", type=int, default=0, help="of torch's random numbers (default 0)")
    options = parser.parse_args()
    answers = claim_stdout()
    torch.manual_seed(options.seed)
    model = load(options.model)
    if options.weights:
        load_weights(model, options.weights)
    serve(model, options.vocab, options.context, options.train, options.seed, answers)


if __name__ == "__main__":
    main()
