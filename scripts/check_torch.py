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

LARGE = 1 << 24  # logits: more than these are not worked out where a few rows are asked for

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
        self.head, self.head_checked, self.wanted = None, False, None
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
        if isinstance(model, torch.nn.Module):
            heads = [m for m in model.modules() if isinstance(m, torch.nn.Linear) and m.out_features == self.vocab_size]
            if len(heads) == 1:
                self.head = heads[0]
                self.head.register_forward_pre_hook(self.cut)

    def cut(self, _head, inputs):
        """What goes into the output layer: only the wanted rows, when there are any."""
        x = inputs[0]
        return inputs if self.wanted is None else (x[..., torch.tensor(self.wanted, device=x.device), :], *inputs[1:])

    def cut_logits(self, tokens, rows):
        """Those rows out of a pass whose output layer saw no others, or None when it cannot be done."""
        self.wanted = rows
        try:
            logits = self.rows_of(self.run(self.call, tokens), len(rows))
        except Exception:  # the model wants all of them after its output layer
            return None
        finally:
            self.wanted = None
        return logits if logits is not None and logits.shape[0] == len(rows) else None

    def head_is_last(self, tokens):
        """Whether nothing after the output layer joins its rows: a short window's must not change when some are cut."""
        tokens = tokens[:max(3, LARGE // self.vocab_size // 4)]
        rows = [0, len(tokens) // 2]
        every, some = self.rows_every(tokens)[rows], self.cut_logits(tokens, rows)
        rounding = 16 * torch.finfo(every.dtype).eps
        return some is not None and torch.allclose(some, every, rounding, rounding * max(1, every.abs().max().item()))

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

    def logits(self, tokens, rows):
        """(rows, V), or (tokens, V) when rows is None."""
        if rows is None:
            return self.rows_every(tokens)
        if self.head and len(tokens) * self.vocab_size > LARGE:
            if not self.head_checked:
                self.head_checked = True
                if not self.head_is_last(tokens):
                    self.head = None
            logits = self.cut_logits(tokens, rows) if self.head else None
            if logits is not None:
                return logits
        logits = self.rows_every(tokens)
        return logits[torch.tensor(rows, device=logits.device)]

    def rows_every(self, tokens):
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


def as_json(logits):
    """Nine digits tell every fp32 number from the next, and are written in a third of the time."""
    if logits.dtype == torch.float64 or not torch.isfinite(logits).all():
        return json.dumps({"logits": logits.double().tolist()})
    row = "[" + ",".join(["%.9g"] * logits.shape[1]) + "]"
    return '{"logits":[' + ",".join(row % tuple(values) for values in logits.tolist()) + "]}"


def answer(asked, question):
    """One line of JSON."""
    if "hello" in question:
        # in training mode the random numbers follow the shape: another length has other dropout
        return json.dumps({"vocab_size": asked.vocab_size, "context": asked.context, "one_length": asked.train})
    return as_json(asked.logits(question["tokens"], question.get("rows")))


def serve(model, vocab_size=None, context=None, train=False, seed=0, answers=None):
    """Answers nopeek's questions about the model until there are no more.

    train: leave dropout on, with the same seed for every question. answers: what claim_stdout() gave, when the caller
    has called it before loading the model."""
    answers = answers or claim_stdout()
    asked = Asked(model, vocab_size, context, train, seed)
    for line in sys.stdin:
        try:
            text = answer(asked, json.loads(line))
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
        try:
            module = importlib.import_module(source)
        except ModuleNotFoundError as error:
            if not error.name or not (source + ".").startswith(error.name + "."):
                raise
            raise SystemExit(f"check_torch: there is no module {error.name} here or where Python looks: name a "
                             "FILE.py:NAME, or run it where the package is") from None
    found = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise SystemExit(f"check_torch: {source} has no {part}")
        found = getattr(found, part)
    if isinstance(found, torch.nn.Module):
        return found
    if not callable(found):
        raise SystemExit(f"check_torch: {name} is {type(found).__name__}, expected a PyTorch module or what returns one")
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
    if not isinstance(model, torch.nn.Module):
        raise SystemExit(f"check_torch: --weights needs a PyTorch module, found {type(model).__name__}")
    if not os.path.isfile(path):
        raise SystemExit(f"check_torch: there is no file {path}")
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise SystemExit(f"check_torch: {path} is no state_dict as torch.save(model.state_dict(), FILE) writes it "
                         f"({type(error).__name__})") from None
    for key in ("model", "state_dict", "model_state_dict"):
        if isinstance(state, dict) and isinstance(state.get(key), dict):
            state = state[key]
    if not isinstance(state, dict) or not all(isinstance(name, str) for name in state):
        raise SystemExit(f"check_torch: {path} holds a {type(state).__name__}, expected a state_dict")
    for prefix in ("_orig_mod.", "module."):  # torch.compile, DataParallel
        state = {name[len(prefix):] if name.startswith(prefix) else name: value for name, value in state.items()}
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        raise SystemExit(f"check_torch: {path} is of another model: {' '.join(str(error).split())[:220]}") from None


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"found {text}, expected 1 or more")
    return number


def main():
    parser = argparse.ArgumentParser(description="Answers nopeek's questions about a PyTorch model.")
    parser.add_argument("model", metavar="FILE.py:NAME", help="or package.module:NAME: a module, or what returns one")
    parser.add_argument("--weights", metavar="FILE", help="a state_dict to load, as torch.save writes it")
    parser.add_argument("--context", type=positive, metavar="T", help="the most tokens it takes")
    parser.add_argument("--vocab", type=positive, metavar="V", help="size of the vocabulary")
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
