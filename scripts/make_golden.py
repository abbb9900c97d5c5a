#!/usr/bin/env python3
"""Golden numbers for nopeek's tests, from an independent GPT-2 in float64 PyTorch.

    scripts/make_golden.py            writes tests/golden/*.safetensors
    scripts/make_golden.py --check    computes everything anew and compares it with the files there

The model below is written from the paper's formulas with torch operations and autograd; it shares no code and no
kernel with nopeek. Needs PyTorch 1.13 or later and nothing else. The tests themselves read the files and need no
Python. Initial weights and tokens come from Python's own generator, so they do not change with PyTorch.

A file holds one case: the config as metadata, and these tensors (F64, but I64 where said):
    tokens, targets        (steps,B,T) I64: step s trains on batch s
    lr                     (steps)
    init.NAME, final.NAME  weights before and after the steps, by GPT-2's names
    grad.NAME              gradient of the mean loss of batch 0 at the initial weights
    logits                 (B,T,V), loss (B,T): batch 0 at the initial weights
    lse, entropy, max_score  (L,B,H,T): of its attention rows
    losses, norms          (steps): mean loss and gradient norm before clipping, as training goes
"""
import argparse
import json
import math
import pathlib
import random
import struct
import sys

import torch

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
STEPS = 20
OPTIMIZER = {"beta1": 0.9, "beta2": 0.99, "epsilon": 1e-8, "decay": 0.1, "clip": 1.0}

#        layers, heads, channels, block, symbols, batch, length, biases, tied, scores times
CASES = {
    "bias-tied": (2, 2, 6, 7, 11, 2, 5, True, True, 1),
    "plain-tied": (2, 3, 6, 8, 5, 1, 8, False, True, 1),
    "bias-untied": (1, 1, 5, 9, 13, 3, 9, True, False, 1),
    "plain-untied": (3, 4, 8, 10, 7, 2, 7, False, False, 1),
    "sharp": (2, 2, 6, 11, 9, 1, 11, True, True, 20),
    "wide": (1, 1, 17, 37, 19, 1, 37, True, True, 1),
    "smallest": (1, 3, 3, 3, 2, 1, 1, True, False, 1),
}


def shapes(case):
    """Name -> shape, in the order of GPT-2's files."""
    layers, _, C, block, V, _, _, bias, tied, _ = case
    found = {"transformer.wte.weight": (V, C), "transformer.wpe.weight": (block, C)}
    for n in range(layers):
        h = f"transformer.h.{n}."
        for name, size in (
            ("ln_1", (C,)),
            ("attn.c_attn", (C, 3 * C)),
            ("attn.c_proj", (C, C)),
            ("ln_2", (C,)),
            ("mlp.c_fc", (C, 4 * C)),
            ("mlp.c_proj", (4 * C, C)),
        ):
            found[h + name + ".weight"] = size
            found[h + name + ".bias"] = size[-1:]
    found["transformer.ln_f.weight"] = found["transformer.ln_f.bias"] = (C,)
    if not tied:
        found["lm_head.weight"] = (V, C)
    return {name: size for name, size in found.items() if bias or not name.endswith(".bias")}


def initial(case, draw):
    """Weights of a size at which every part of the model matters."""
    weights = {}
    for name, size in shapes(case).items():
        numbers = [draw.gauss(0, 1) for _ in range(math.prod(size))]
        w = torch.tensor(numbers, dtype=torch.float64).reshape(size)
        if "wte" in name or "wpe" in name:
            w = 0.7 * w
        elif len(size) == 1:
            w = 0.3 * w + (1 if name.endswith("weight") else 0)
        elif name.startswith("lm_head"):
            w = 0.5 * w
        else:
            w = w / math.sqrt(size[0])
        if "c_attn" in name:
            w[..., : case[2]] *= case[9]
        weights[name] = w
    return weights


def normed(x, w, name):
    centred = x - x.mean(-1, keepdim=True)
    y = centred / torch.sqrt((centred**2).mean(-1, keepdim=True) + 1e-5) * w[name + ".weight"]
    return y + w[name + ".bias"] if name + ".bias" in w else y


def affine(x, w, name):
    y = x @ w[name + ".weight"]
    return y + w[name + ".bias"] if name + ".bias" in w else y


def forward(case, w, tokens, rows=None):
    """Logits (B,T,V). Statistics of the attention rows are appended to rows, one tuple a layer."""
    layers, heads, C, _, _, _, _, _, tied, _ = case
    B, T = tokens.shape
    future = torch.ones(T, T, dtype=torch.bool).triu(1)
    x = w["transformer.wte.weight"][tokens] + w["transformer.wpe.weight"][:T]
    for n in range(layers):
        h = f"transformer.h.{n}."
        q, k, v = (
            part.reshape(B, T, heads, C // heads).transpose(1, 2)
            for part in affine(normed(x, w, h + "ln_1"), w, h + "attn.c_attn").split(C, dim=-1)
        )
        scores = (q @ k.transpose(2, 3) / math.sqrt(C // heads)).masked_fill(future, -math.inf)
        p = torch.softmax(scores, -1)
        if rows is not None:
            rows.append((torch.logsumexp(scores, -1), torch.special.entr(p).sum(-1), scores.amax(-1)))
        x = x + affine((p @ v).transpose(1, 2).reshape(B, T, C), w, h + "attn.c_proj")
        z = affine(normed(x, w, h + "ln_2"), w, h + "mlp.c_fc")
        gelu = 0.5 * z * (1 + torch.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))
        x = x + affine(gelu, w, h + "mlp.c_proj")
    head = w["transformer.wte.weight"] if tied else w["lm_head.weight"]
    return normed(x, w, "transformer.ln_f") @ head.T


def token_losses(logits, targets):
    return -torch.log_softmax(logits, -1).gather(-1, targets[..., None])[..., 0]


def decays(name):
    """The matrices of the blocks and the untied head; no embedding, gain or bias."""
    return name.endswith(".weight") and any(s in name for s in ("c_attn", "c_proj", "c_fc", "lm_head"))


def compute(name):
    """One case: metadata and tensors."""
    case = CASES[name]
    layers, heads, C, block, V, B, T, bias, tied, _ = case
    draw = random.Random("nopeek " + name)
    w = {n: x.requires_grad_() for n, x in initial(case, draw).items()}
    text = torch.tensor([draw.randrange(V) for _ in range(STEPS * B * (T + 1))]).reshape(STEPS, B, T + 1)
    tokens, targets = text[:, :, :-1].contiguous(), text[:, :, 1:].contiguous()
    peak = 3e-3  # reached after five steps, then down along a cosine
    lr = [peak * (s + 1) / 5 if s < 5 else peak * (0.55 + 0.45 * math.cos(math.pi * (s - 5) / 15)) for s in range(STEPS)]

    out = {"tokens": tokens, "targets": targets, "lr": torch.tensor(lr, dtype=torch.float64)}
    out.update({"init." + n: x.detach().clone() for n, x in w.items()})
    rows = []
    logits = forward(case, w, tokens[0], rows)
    loss = token_losses(logits, targets[0])
    loss.mean().backward()
    out["logits"], out["loss"] = logits, loss
    for i, statistic in enumerate(("lse", "entropy", "max_score")):
        out[statistic] = torch.stack([layer[i] for layer in rows])
    out.update({"grad." + n: x.grad.clone() for n, x in w.items()})

    groups = [
        {"params": [x for n, x in w.items() if decays(n)], "weight_decay": OPTIMIZER["decay"]},
        {"params": [x for n, x in w.items() if not decays(n)], "weight_decay": 0.0},
    ]
    betas = (OPTIMIZER["beta1"], OPTIMIZER["beta2"])
    optimizer = torch.optim.AdamW(groups, lr=peak, betas=betas, eps=OPTIMIZER["epsilon"])
    losses, norms = [], []
    for s in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = lr[s]
        optimizer.zero_grad()
        loss = token_losses(forward(case, w, tokens[s]), targets[s]).mean()
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(list(w.values()), OPTIMIZER["clip"]).item())
        losses.append(loss.item())
        optimizer.step()
    out["losses"] = torch.tensor(losses, dtype=torch.float64)
    out["norms"] = torch.tensor(norms, dtype=torch.float64)
    out.update({"final." + n: x for n, x in w.items()})

    config = {"n_layer": layers, "n_head": heads, "n_embd": C, "block_size": block, "vocab_size": V}
    config.update({"batch": B, "length": T, "steps": STEPS, "bias": int(bias), "tied": int(tied)}, **OPTIMIZER)
    return {k: str(v) for k, v in config.items()}, {k: v.detach() for k, v in out.items()}


def encode(metadata, tensors):
    """A safetensors file: header length, JSON header padded to a multiple of 8, little-endian data."""
    header, data = {"__metadata__": metadata}, b""
    for name, x in tensors.items():
        whole = x.dtype == torch.int64
        numbers = x.flatten().tolist()
        begin = len(data)
        data += struct.pack(f"<{len(numbers)}{'q' if whole else 'd'}", *numbers)
        header[name] = {
            "dtype": "I64" if whole else "F64",
            "shape": list(x.shape),
            "data_offsets": [begin, len(data)],
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def decode(blob):
    """What encode wrote: metadata, and name -> list of numbers."""
    (n,) = struct.unpack_from("<Q", blob)
    header = json.loads(blob[8 : 8 + n])
    metadata = header.pop("__metadata__")
    numbers = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        letter = "q" if entry["dtype"] == "I64" else "d"
        numbers[name] = list(struct.unpack_from(f"<{(end - begin) // 8}{letter}", blob, 8 + n + begin))
    return metadata, numbers


def differs(name, metadata, tensors):
    """The largest difference from the stored file, relative to each tensor's size; None when it is of other kind."""
    stored_metadata, stored = decode((FOLDER / f"{name}.safetensors").read_bytes())
    if stored_metadata != metadata or stored.keys() != tensors.keys():
        return None
    worst = 0.0
    for key, x in tensors.items():
        ours = x.flatten().tolist()
        if len(ours) != len(stored[key]):
            return None
        size = max(1e-3, max(map(abs, ours)))
        worst = max([worst] + [abs(a - b) / size for a, b in zip(ours, stored[key])])
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare with the files instead of writing them")
    check = parser.parse_args().check
    torch.set_num_threads(1)
    FOLDER.mkdir(parents=True, exist_ok=True)
    failed = False
    for name in CASES:
        metadata, tensors = compute(name)
        clipped = int((tensors["norms"] > OPTIMIZER["clip"]).sum())
        note = f"{clipped} of {STEPS} steps clipped, largest score {tensors['max_score'].max():.1f}"
        if check:
            off = differs(name, metadata, tensors)
            # The key bias has no gradient but rounding, which Adam enlarges up to lr / epsilon times.
            bad = off is None or not off <= 1e-9
            failed |= bad
            found = "other metadata or tensors" if off is None else f"largest difference {off:.1e}"
            print(f"{name}: {'DIFFERS' if bad else 'same'}, {found}; {note}")
        else:
            blob = encode(metadata, tensors)
            (FOLDER / f"{name}.safetensors").write_bytes(blob)
            print(f"{name}: {len(blob)} bytes; {note}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
