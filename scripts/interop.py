#!/usr/bin/env python3
"""Proves that nopeek and Hugging Face's libraries read one another's models: scripts/interop.sh runs this.

Randomly initialised GPT-2-shaped models go from transformers to nopeek and back, and trained ones from nopeek to
transformers and back. Compared are logits, the ids of awkward texts and the likeliest continuation; what nopeek cannot
compute must be refused by its name. One line a case; the exit status is 1 when any fails.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

import numpy
import safetensors
import safetensors.numpy
import tokenizers
import torch
import transformers
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

LIMIT = 1e-4  # of a logit, with the same numbers as weights and fp32 on both sides
ROUNDED = 1e-2  # of the largest logit, or of 1: what rounding the weights to 16 bits may cost
DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}

# Line ends of every kind, quotes, the backslash, markup, blanks that are none, a byte order mark, combining marks, joined
# and astral characters, the last code point of all.
AWKWARD = ("\r\n\r\r\n\n\t \"'\\/<&>{}[]:,\x01\x7f\x85\xa0\xad\u00e9e\u0301\u05e9\u0301\u200d\u2028\u2029\u3000\ufeff"
           "\ufe0f\ufffe\uffff\U0001f600\U0001f468\u200d\U0001f469\u0120\u010a\U0010ffff##</s><pad>abcABC012")

failures = 0


class Wrong(Exception):
    """What a case was expected to show and does not."""


def require(condition, what):
    if not condition:
        raise Wrong(what)


# ---- vocabularies ----

def specials(tokenizer, **names):
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, clean_up_tokenization_spaces=False, **names)


def characters(shuffle, rng):
    codes = sorted(set(AWKWARD))
    if shuffle:
        rng.shuffle(codes)
    return codes


def chars_sorted(rng):
    vocab = {c: i for i, c in enumerate(characters(False, rng))}
    tokenizer = Tokenizer(models.WordLevel(vocab, unk_token="<unknown>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    return specials(tokenizer)


def chars_shuffled(rng):
    """Ids in no order, special tokens before and after them, as a vocabulary made by hand."""
    vocab = {c: i for i, c in enumerate(["[UNK]"] + characters(True, rng) + ["[PAD]"])}
    tokenizer = Tokenizer(models.WordLevel(vocab, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(""), "isolated")
    return specials(tokenizer, unk_token="[UNK]", pad_token="[PAD]", eos_token="[EOS]")


def chars_bpe(rng):
    """BPE without merges, which cuts whatever it is given into characters; padding and truncation left on."""
    vocab = {c: i for i, c in enumerate(characters(True, rng))}
    tokenizer = Tokenizer(models.BPE(vocab, []))
    tokenizer.decoder = decoders.Fuse()
    tokenizer.enable_padding(length=8)
    tokenizer.enable_truncation(1000)
    return specials(tokenizer)


def bytes_shuffled(rng):
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    rng.shuffle(alphabet)
    vocab = {c: i for i, c in enumerate(["<|endoftext|>"] + alphabet)}
    tokenizer = Tokenizer(models.BPE(vocab, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return specials(tokenizer, eos_token="<|endoftext|>")


def bytes_trained(rng):
    """As tokenizers' own trainer orders them, with no room for a merge."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=256, show_progress=False,
                                             initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator([AWKWARD], trainer)
    return specials(tokenizer)


def bytes_gpt2(rng):
    """transformers' own class for GPT-2, which makes its tokenizer.json itself."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    rng.shuffle(alphabet)
    return transformers.GPT2Tokenizer(vocab={c: i for i, c in enumerate(alphabet + ["<|endoftext|>"])}, merges=[])


def chars_dot(rng):
    """A vocabulary without a line feed may be cut at every dot."""
    codes = [c for c in characters(True, rng) if c != "\n"]
    tokenizer = Tokenizer(models.WordLevel({c: i for i, c in enumerate(codes)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    return specials(tokenizer, bos_token="<s>")


VOCABULARIES = {"chars sorted": chars_sorted, "chars shuffled": chars_shuffled, "chars BPE": chars_bpe,
                "chars dot": chars_dot, "bytes shuffled": bytes_shuffled, "bytes trained": bytes_trained,
                "bytes GPT2Tokenizer": bytes_gpt2, "ids": None}


# ---- texts ----

def make_text(kind, V, n, rng):
    """The awkward text itself, then its characters (or ids) at random."""
    if kind == "ids":
        return " ".join(str(i) for i in [0, V - 1] + [rng.randrange(V) for _ in range(n)])
    text = AWKWARD + "".join(rng.choice(AWKWARD) for _ in range(n))
    return text.replace("\n", "") if kind == "chars dot" else text


def ids_of(tokenizer, text):
    if tokenizer is None:
        return [int(word) for word in text.split()]
    return tokenizer(text)["input_ids"]


def pieces(kind, tokenizer, text, T):
    """The text in stretches of no more than T symbols, which each side makes ids of by itself."""
    symbols = text.split() if kind == "ids" else list(text)
    out, at = [], 0
    while at < len(symbols) and len(out) < 6:
        n = T
        while n > 1 and len(ids_of(tokenizer, "".join(symbols[at:at + n]) if kind != "ids" else
                                   " ".join(symbols[at:at + n]))) > T:
            n -= 1
        part = symbols[at:at + n]
        if len(part) > 1:
            out.append(("" if kind != "ids" else " ").join(part))
        at += n
    return [p for p in out if 2 <= len(ids_of(tokenizer, p)) <= T]


# ---- the two programs ----

class Nopeek:
    def __init__(self, program, scratch):
        self.program, self.scratch = program, scratch

    def run(self, *words, status=0):
        done = subprocess.run([self.program, *map(str, words)], capture_output=True, check=False)
        require(done.returncode == status, f"nopeek {words[0]} ended with {done.returncode}: "
                                           f"{done.stderr.decode(errors='replace').strip()[-300:]}")
        return done

    def logits(self, run, text):
        text_file, out = self.scratch / "piece.txt", self.scratch / "logits.safetensors"
        text_file.write_bytes(text.encode())
        self.run("eval", run, text_file, "--logits", out, "--json")
        tensors = safetensors.numpy.load_file(out)
        return tensors["tokens"].astype(numpy.int64).tolist(), torch.from_numpy(tensors["logits"])


def logits_of(model, ids):
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].float()


def load(folder, dtype=torch.float32):
    model, info = transformers.GPT2LMHeadModel.from_pretrained(folder, dtype=dtype, output_loading_info=True)
    for key in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        require(not info[key], f"{key}: {sorted(map(str, info[key]))[:3]}")
    return model.eval()


def distance(a, b):
    return (a - b).abs().max().item()


def greedy(model, ids, n, silent):
    """The likeliest continuation, and how close the runner-up ever came."""
    ids, closest = list(ids), float("inf")
    for _ in range(n):
        row = logits_of(model, ids)[-1]
        row[silent] = -float("inf")
        top = row.topk(min(2, row.numel()))
        if top.values.numel() > 1:
            closest = min(closest, (top.values[0] - top.values[1]).item())
        ids.append(top.indices[0].item())
    return ids, closest


def written(kind, tokenizer, ids):
    """What a text of these ids is, in bytes."""
    if kind == "ids":
        return (" ".join(map(str, ids)) + "\n").encode()
    words = tokenizer.convert_ids_to_tokens(ids)
    if kind.startswith("chars"):
        return "".join(words).encode()
    decoder = {c: b for b, c in byte_alphabet().items()}
    return bytes(decoder[c] for c in words)


def byte_alphabet():
    keep = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    other = [b for b in range(256) if b not in keep]
    return {b: chr(b) for b in keep} | {b: chr(256 + i) for i, b in enumerate(other)}


# ---- transformers -> nopeek -> transformers ----

def scramble(model):
    """Biases and gains too are random, so that none can be left out or mixed up unnoticed."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() == 1:
                p.add_(torch.randn_like(p) * 0.1)


def grid():
    """L, H, C, T, rows beyond the vocabulary, and how the folder is written."""
    shapes = [(1, 1, 8, 16, 0), (2, 4, 64, 64, 0), (3, 3, 33, 48, 5), (2, 7, 35, 31, 0), (4, 1, 17, 24, 3),
              (2, 2, 128, 128, 64)]
    kinds = list(VOCABULARIES)
    cases = []
    for i, shape in enumerate(shapes):
        for j, dtype in enumerate(DTYPES):
            k = i * len(DTYPES) + j
            cases.append({"shape": shape, "dtype": dtype, "vocab": kinds[(i + 2 * j) % len(kinds)],
                          "tied": k % 3 != 1, "bare": k % 4 == 3, "sharded": k % 2 == 1,
                          "epsilon": (1e-5, 1e-5, 1e-6, 1e-12, 1e-3)[k % 5], "activation": "gelu_new"})
    for kind in kinds:  # and each vocabulary with each form of the folder
        cases.append({"shape": (2, 2, 24, 40, 0), "dtype": "bf16", "vocab": kind, "tied": False, "bare": False,
                      "sharded": True, "epsilon": 1e-5, "activation": "gelu_pytorch_tanh"})
        cases.append({"shape": (2, 2, 24, 40, 7), "dtype": "fp32", "vocab": kind, "tied": True, "bare": True,
                      "sharded": False, "epsilon": 1e-5, "activation": "gelu_new"})
    for case in cases:
        case["tied"] = case["tied"] or case["bare"]  # a model without its output matrix can only be tied
    return cases


def describe(case):
    L, H, C, T, extra = case["shape"]
    words = [f"{L}x{C}/{H} T{T}", case["dtype"], case["vocab"], "tied" if case["tied"] else "untied"]
    words += [f"+{extra} rows"] if extra else []
    words += ["bare"] if case["bare"] else []
    words += ["sharded"] if case["sharded"] else []
    words += [f"eps {case['epsilon']:g}"] if case["epsilon"] != 1e-5 else []
    return ", ".join(words)


def write_folder(case, folder, seed, rng):
    """Saves a model as transformers does; returns it before rounding, with its tokenizer and the number of symbols."""
    torch.manual_seed(seed)
    L, H, C, T, extra = case["shape"]
    make = VOCABULARIES[case["vocab"]]
    tokenizer = make(rng) if make else None
    V = (len(tokenizer) if tokenizer else 97) + extra
    config = transformers.GPT2Config(
        vocab_size=V, n_positions=T, n_embd=C, n_layer=L, n_head=H, tie_word_embeddings=case["tied"],
        layer_norm_epsilon=case["epsilon"], activation_function=case["activation"], initializer_range=0.1,
        bos_token_id=None, eos_token_id=None, embd_pdrop=0.1, attn_pdrop=0.0, resid_pdrop=0.2)
    model = transformers.GPT2LMHeadModel(config).eval()
    scramble(model)
    original = {name: p.clone() for name, p in model.state_dict().items()}
    model.to(DTYPES[case["dtype"]])
    size = sum(p.numel() * p.element_size() for p in model.parameters())
    options = {"max_shard_size": max(size // 3, 1000)} if case["sharded"] else {}
    (model.transformer if case["bare"] else model).save_pretrained(folder, **options)
    if tokenizer:
        tokenizer.save_pretrained(folder)
    if case["sharded"]:
        require((folder / "model.safetensors.index.json").is_file(), "transformers wrote one file, shards were wanted")
    exact = transformers.GPT2LMHeadModel(config).eval()
    exact.load_state_dict(original)
    return exact, model.float(), tokenizer


def compare_greedy(nopeek, case, run, model, tokenizer, piece, T):
    ids = ids_of(tokenizer, piece)[:max(1, T // 2)]
    prompt = written(case["vocab"], tokenizer, ids)
    known = set(range(model.config.vocab_size))
    if tokenizer:
        vocab = tokenizer.get_vocab()
        known = {i for word, i in vocab.items() if len(word) == 1}
    silent = [i for i in range(model.config.vocab_size) if i not in known]
    n = T - len(ids)
    expected, closest = greedy(model, ids, n, silent)
    prompt_file = nopeek.scratch / "prompt.txt"
    prompt_file.write_bytes(prompt)
    out = nopeek.run("generate", run, "--prompt-file", prompt_file, "-n", n, "--temperature", 0).stdout
    require(out == written(case["vocab"], tokenizer, expected) or closest < LIMIT,
            f"the likeliest text differs (closest choice {closest:.2e})")


def compare_back(case, run, model, tokenizer, text):
    """nopeek's checkpoint in transformers, tokenizers and safetensors: the same model, the same ids."""
    folder = run / "latest"
    with safetensors.safe_open(folder / "model.safetensors", "pt") as file:
        require(file.metadata() == {"format": "pt"}, "metadata of model.safetensors")
    back = load(folder)
    ids = ids_of(tokenizer, text)
    alone = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    again = transformers.AutoTokenizer.from_pretrained(folder)
    for name, found in (("tokenizers", alone.encode(text).ids), ("transformers", again(text)["input_ids"])):
        require(found == ids, f"{name} reads other ids from nopeek's tokenizer.json")
    if case["vocab"] != "ids":
        require(again.decode(ids) == text, "transformers decodes another text with nopeek's tokenizer.json")
    T = model.config.n_positions
    return distance(logits_of(back, ids[:T]), logits_of(model, ids[:T]))


def round_trip(nopeek, case, seed):
    rng = random.Random(seed)
    folder, run = nopeek.scratch / "folder", nopeek.scratch / "run"
    for old in (folder, run):
        shutil.rmtree(old, ignore_errors=True)
    exact, model, tokenizer = write_folder(case, folder, seed, rng)
    if not case["bare"]:
        model = load(folder)
    kind, T, V = case["vocab"], model.config.n_positions, model.config.vocab_size
    nopeek.run("import", folder, "-o", run)
    text = make_text(kind, V, 4 * T, rng)
    parts = pieces(kind, tokenizer, text, T)
    require(parts, "no text to compare")
    half = load(folder, DTYPES[case["dtype"]]) if case["dtype"] != "fp32" and not case["bare"] else None
    worst = rounded = native = 0.0
    for part in parts:
        ids = ids_of(tokenizer, part)
        found, logits = nopeek.logits(run, part)
        require(found == ids, f"nopeek reads other ids from {part!r}: {found} for {ids}")
        worst = max(worst, distance(logits, logits_of(model, ids)))
        scale = max(1.0, logits.abs().max().item())
        rounded = max(rounded, distance(logits, logits_of(exact, ids)) / scale)
        native = max(native, distance(logits, logits_of(half, ids)) / scale) if half else 0.0
    require(worst <= LIMIT, f"logits differ by {worst:.2e}")
    compare_greedy(nopeek, case, run, model, tokenizer, parts[0], T)
    back = compare_back(case, run, model, tokenizer, text)
    require(back <= LIMIT, f"logits differ by {back:.2e} on the way back")
    require(rounded <= (LIMIT if case["dtype"] == "fp32" else ROUNDED),
            f"logits differ by {rounded:.2e} from the model before it was saved")
    words = [f"there {worst:.1e}, back {back:.1e}"]
    words += [f"the file's rounding {rounded:.1e}"] if case["dtype"] != "fp32" else []
    words += [f"transformers' own in {case['dtype']} {native:.1e}"] if half else []  # its arithmetic, not ours: only told
    return ", ".join(words)


# ---- nopeek -> transformers -> nopeek ----

def fine_tune(model, ids, T, steps=5):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model.train()
    data, losses = torch.tensor(ids), []
    for step in range(steps):
        batch = torch.stack([data[o:o + T] for o in range(step, step + 64, 16)])
        loss = model(batch, labels=batch).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    return losses


def there_and_back(nopeek, words):
    """Trained here, trained on there, trained on here; compared each time."""
    base, more, last, text_file = (nopeek.scratch / n for n in ("base", "more", "last", "trained.txt"))
    folder = nopeek.scratch / "tuned"
    for old in (base, more, last, folder):
        shutil.rmtree(old, ignore_errors=True)
    kind = words[words.index("--tokens") + 1] if "--tokens" in words else "char"
    rng = random.Random(7)
    text = make_text("ids", 50, 3000, rng) if kind == "ids" else make_text("chars", 0, 3000, rng)
    text_file.write_bytes(text.encode())
    shape = ["--n-layer", 2, "--n-head", 2, "--n-embd", 32, "--block-size", 32, "--steps", 20]
    nopeek.run("train", text_file, "-o", base, *shape, *words)
    model, tokenizer = load(base / "latest"), transformers.AutoTokenizer.from_pretrained(base / "latest")
    cut = 600 if kind == "ids" else 200
    start = text[:cut].rsplit(" ", 1)[0] if kind == "ids" else text[:cut]
    ids = tokenizer(start)["input_ids"]
    errors = []

    def compare(run, model):
        found, logits = nopeek.logits(run, start)
        require(found == ids[:32], "other ids")
        errors.append(distance(logits, logits_of(model, ids[:32])))
        require(errors[-1] <= LIMIT, f"logits differ by {errors[-1]:.2e}")

    compare(base, model)
    losses = fine_tune(model, ids, 32)
    require(losses[-1] < losses[0], f"fine-tuning in transformers does not learn: {losses}")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    nopeek.run("import", folder, "-o", more)
    compare(more, model)
    nopeek.run("check", more, "--quick")
    nopeek.run("info", more, "--json")
    nopeek.run("train", text_file, "--init-from", more, "-o", last, "--steps", 5)
    compare(last, load(last / "latest"))
    require(b"--init-from" in nopeek.run("train", "--resume", more, status=1).stderr, "--resume names --init-from")
    return f"trained here, there, and here again: {', '.join(f'{e:.1e}' for e in errors)}"


# ---- what must be refused ----

def plain_folder(folder, **options):
    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(1)
    defaults = dict(vocab_size=40, n_positions=16, n_embd=16, n_layer=2, n_head=2, bos_token_id=None, eos_token_id=None)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**defaults | options))
    model.save_pretrained(folder)
    return folder, model


def edit_config(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def bad_int8(folder):
    _, _ = plain_folder(folder)
    tensors = safetensors.numpy.load_file(folder / "model.safetensors")
    name = "transformer.h.1.mlp.c_fc.weight"
    tensors[name] = tensors[name].astype(numpy.int8)
    safetensors.numpy.save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def bad_shards(folder):
    _, model = plain_folder(folder)
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size=6000)
    sorted(folder.glob("model-*.safetensors"))[1].unlink()


def bad_listing(folder):
    _, model = plain_folder(folder)
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size=6000)
    path = folder / "model.safetensors.index.json"
    listing = json.loads(path.read_text())
    name = next(iter(listing["weight_map"]))
    listing["weight_map"][name] = "../" + listing["weight_map"][name]
    path.write_text(json.dumps(listing))


def bad_pickle(folder):
    _, model = plain_folder(folder)
    (folder / "model.safetensors").unlink()
    torch.save(model.state_dict(), folder / "pytorch_model.bin")


def bad_merges(folder):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=270, show_progress=False,
                                             initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(["the cat and the hat and the mat"] * 9, trainer)
    plain_folder(folder, vocab_size=270)
    specials(tokenizer).save_pretrained(folder)


def bad_tokenizer(change):
    def write(folder):
        tokenizer = Tokenizer(models.WordLevel({c: i for i, c in enumerate("abcdefghij")}, unk_token="?"))
        tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
        change(tokenizer)
        plain_folder(folder)
        specials(tokenizer).save_pretrained(folder)
    return write


def set_normalizer(tokenizer):
    tokenizer.normalizer = tokenizers.normalizers.NFC()


def set_words(tokenizer):
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()


def set_template(tokenizer):
    tokenizer.add_special_tokens(["<s>"])
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 10)])


def with_config(**changes):
    def write(folder):
        plain_folder(folder)
        edit_config(folder, **changes)
    return write


REFUSED = {
    "activation relu": (with_config(activation_function="relu"), ["activation_function", "relu"]),
    "activation gelu": (with_config(activation_function="gelu"), ["activation_function"]),
    "epsilon 0": (with_config(layer_norm_epsilon=0.0), ["layer_norm_epsilon"]),
    "epsilon -1": (with_config(layer_norm_epsilon=-1.0), ["layer_norm_epsilon"]),
    "scores by layer": (with_config(scale_attn_by_inverse_layer_idx=True), ["scale_attn_by_inverse_layer_idx"]),
    "scores unscaled": (with_config(scale_attn_weights=False), ["scale_attn_weights"]),
    "cross attention": (with_config(add_cross_attention=True), ["add_cross_attention"]),
    "quantised": (with_config(quantization_config={"quant_method": "gptq", "bits": 4}), ["quantization_config"]),
    "inner width": (with_config(n_inner=48), ["n_inner"]),
    "heads do not divide": (with_config(n_head=3), ["n_head"]),
    "another vocabulary size": (with_config(vocab_size=41), ["transformer.wte.weight"]),
    "another model type": (with_config(model_type="llama"), ["model_type"]),
    "another head": (with_config(architectures=["GPT2ForSequenceClassification"]), ["architectures"]),
    "untied without a head": (with_config(tie_word_embeddings=False), ["lm_head.weight"]),
    "int8 weights": (bad_int8, ["mlp.c_fc.weight"]),
    "a shard is missing": (bad_shards, ["model-00002"]),
    "a shard elsewhere": (bad_listing, ["weight_map"]),
    "pickled weights": (bad_pickle, ["pytorch_model.bin", "safe_serialization=True"]),
    "merges": (bad_merges, ["merges", "--tokens ids"]),
    "a normalizer": (bad_tokenizer(set_normalizer), ["normalizer", "NFC"]),
    "words": (bad_tokenizer(set_words), ["pre_tokenizer", "Whitespace"]),
    "tokens around the text": (bad_tokenizer(set_template), ["post_processor"]),
}


def refused(nopeek, write, words):
    folder, run = nopeek.scratch / "bad", nopeek.scratch / "bad-run"
    shutil.rmtree(folder, ignore_errors=True)
    write(folder)
    done = nopeek.run("import", folder, "-o", run, status=1)
    message = done.stderr.decode()
    require(message.count("\n") == 1 and message.startswith("nopeek: "), f"one line expected: {message!r}")
    for word in words:
        require(word in message, f"{word!r} is not in {message.strip()!r}")
    require(not done.stdout and not run.exists(), "something was written")
    return message.strip().replace(str(folder), "DIR")[len("nopeek: "):][:100]


def as_ids(nopeek):
    """A vocabulary with merges, by its numbers."""
    folder, run = nopeek.scratch / "bad", nopeek.scratch / "merged"
    shutil.rmtree(run, ignore_errors=True)
    bad_merges(folder)
    tokenizer, model = transformers.AutoTokenizer.from_pretrained(folder), load(folder)
    ids = tokenizer("the cat and the hat")["input_ids"][:16]
    nopeek.run("import", folder, "-o", run, "--tokens", "ids")
    found, logits = nopeek.logits(run, " ".join(map(str, ids)))
    require(found == ids, "other ids")
    worst = distance(logits, logits_of(model, ids))
    require(worst <= LIMIT, f"logits differ by {worst:.2e}")
    return f"there {worst:.1e}"


# ---- all of it ----

def run_case(number, name, work):
    global failures
    try:
        print(f"ok    {number:3} {name}: {work()}", flush=True)
    except (Wrong, OSError, ValueError, RuntimeError, KeyError, IndexError) as why:
        failures += 1
        print(f"FAIL  {number:3} {name}: {type(why).__name__ if not isinstance(why, Wrong) else ''} {why}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nopeek", default=str(pathlib.Path(__file__).parent.parent / "build" / "nopeek"))
    parser.add_argument("--only", default="", help="run cases with this in their name")
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(2)
    print(f"torch {torch.__version__}, transformers {transformers.__version__}, tokenizers {tokenizers.__version__}, "
          f"safetensors {safetensors.__version__}")
    with tempfile.TemporaryDirectory(prefix="nopeek interop ") as scratch:
        nopeek = Nopeek(options.nopeek, pathlib.Path(scratch))
        cases = [(describe(c), lambda c=c, seed=s: round_trip(nopeek, c, seed)) for s, c in enumerate(grid(), 1)]
        for words in ([], ["--bias"], ["--no-tied"], ["--tokens", "byte"], ["--tokens", "ids"]):
            cases.append((f"nopeek train {' '.join(words)}".strip(), lambda w=words: there_and_back(nopeek, w)))
        cases.append(("a vocabulary with merges as bare ids", lambda: as_ids(nopeek)))
        for name, (write, words) in REFUSED.items():
            cases.append((f"refused: {name}", lambda w=write, x=words: refused(nopeek, w, x)))
        chosen = [c for c in cases if options.only in c[0]]
        for number, (name, work) in enumerate(chosen, 1):
            run_case(number, name, work)
    print(f"{len(chosen) - failures} passed, {failures} failed")
    return 1 if failures or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
