#!/usr/bin/env python3
"""Times nopeek against a plain GPT in PyTorch, on the same shapes, in turns.

    python3 scripts/bench_peers.py                                   with this Python's torch
    python3 scripts/bench_peers.py --peer /usr/bin/python3 --peer ~/venv/bin/python
    python3 scripts/bench_peers.py --what attention --length 8192
    python3 scripts/bench_peers.py --nopeek-with= --nopeek-with='--threads 1'

Every way of running a peer (fp32 or bf16 autocast, eager or torch.compile, each number of threads) is a process of its
own that is prepared once and then waits for its turn; in every round each of them, and `nopeek bench`, gets one. A ratio
is the median, over rounds, of nopeek's time in that round divided by the peer's: below 1 nopeek is faster. What a peer
cannot do is said in its row. A turn during which other programs were busy is taken again; what they used is said.

The model is GPT-2's as nopeek trains it: pre-norm, tied output, tanh GELU, AdamW with decay on matrices, gradients
clipped to norm 1. The peer uses scaled_dot_product_attention where its torch has it, and whichever of AdamW's
implementations is fastest. nopeek needs no Python; this script is for people who have PyTorch (1.13 or later).
"""
import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
NOPEEK = os.path.join(os.path.dirname(HERE), "build", "nopeek")
SHAPES = {
    "small": dict(n_layer=4, n_head=4, n_embd=128, block_size=64, batch_size=12, vocab_size=65),
    "big": dict(n_layer=6, n_head=6, n_embd=384, block_size=256, batch_size=16, vocab_size=65),
}
NO_COMPILE = "this torch has no torch.compile"
SETUP_SECONDS = 900  # torch.compile may take minutes


# --- the peer: only this part imports torch ------------------------------------------------------------------------

def make_gpt(shape):
    """A module from symbols and targets (B,T) to the mean loss, or from symbols alone to logits of the last one."""
    import math

    import torch
    from torch import nn
    from torch.nn import functional as F

    L, H, C, T, V = (shape[k] for k in ("n_layer", "n_head", "n_embd", "block_size", "vocab_size"))
    fused = hasattr(F, "scaled_dot_product_attention")

    class Norm(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(C))

        def forward(self, x):
            return F.layer_norm(x, (C,), self.weight, None, 1e-5)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln1, self.ln2 = Norm(), Norm()
            self.qkv, self.proj = nn.Linear(C, 3 * C, bias=False), nn.Linear(C, C, bias=False)
            self.fc, self.out = nn.Linear(C, 4 * C, bias=False), nn.Linear(4 * C, C, bias=False)
            if not fused:
                self.register_buffer("hidden", torch.ones(T, T, dtype=torch.bool).triu(1))

        def attention(self, x):
            B, t, _ = x.shape
            q, k, v = (z.view(B, t, H, C // H).transpose(1, 2) for z in self.qkv(x).split(C, dim=2))
            if fused:
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            else:
                scores = (q @ k.transpose(-2, -1)) / math.sqrt(C // H)
                y = scores.masked_fill(self.hidden[:t, :t], float("-inf")).softmax(-1) @ v
            return self.proj(y.transpose(1, 2).reshape(B, t, C))

        def forward(self, x):
            x = x + self.attention(self.ln1(x))
            return x + self.out(F.gelu(self.fc(self.ln2(x)), approximate="tanh"))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.position = nn.Embedding(V, C), nn.Embedding(T, C)
            self.blocks, self.norm = nn.ModuleList(Block() for _ in range(L)), Norm()
            for p in self.parameters():
                if p.dim() == 2:
                    nn.init.normal_(p, std=0.02)

        def forward(self, symbols, targets=None):
            x = self.token(symbols) + self.position(torch.arange(symbols.shape[1]))
            for block in self.blocks:
                x = block(x)
            x = self.norm(x)
            if targets is None:
                return F.linear(x[:, -1], self.token.weight)
            return F.cross_entropy(F.linear(x, self.token.weight).view(-1, V), targets.reshape(-1))

    torch.manual_seed(1)
    return GPT()


def fastest_adamw(model):
    """The optimizer, and the name of the implementation that is fastest here. Gradients must be there."""
    import torch
    embeddings = {id(model.token.weight), id(model.position.weight)}
    matrices = [p for p in model.parameters() if p.dim() == 2 and id(p) not in embeddings]
    rest = [p for p in model.parameters() if p.dim() != 2 or id(p) in embeddings]
    best = None
    for name, option in (("fused", dict(fused=True)), ("foreach", dict(foreach=True)), ("loop", dict(foreach=False))):
        try:
            optimizer = torch.optim.AdamW([dict(params=matrices, weight_decay=0.1), dict(params=rest, weight_decay=0)],
                                          lr=1e-5, betas=(0.9, 0.99), **option)
            optimizer.step()
            took = []
            for _ in range(7):
                start = time.perf_counter()
                optimizer.step()
                took.append(time.perf_counter() - start)
        except (RuntimeError, TypeError):  # this torch has it not, or not for a CPU
            continue
        if best is None or statistics.median(took) < best[0]:
            best = statistics.median(took), name, optimizer
    return best[2], best[1]


def repeat(seconds, once, warm=True):
    """Times of once(), for at least so many seconds."""
    if warm:
        once()
    took = []
    begin = time.perf_counter()
    while not took or (time.perf_counter() - begin < seconds and len(took) < 1000):
        start = time.perf_counter()
        once()
        took.append(time.perf_counter() - start)
    return took


def prepare_training(job):
    """A function of a number of seconds that gives the times of single steps; and what to say of it."""
    import torch
    shape = job["shape"]
    model = make_gpt(shape)
    forward = torch.compile(model) if job["compile"] else model
    B, T, V = shape["batch_size"], shape["block_size"], shape["vocab_size"]
    batches = [torch.randint(V, (B, T + 1)) for _ in range(16)]
    state = dict(optimizer=None, done=0)

    def step():
        symbols = batches[state["done"] % len(batches)]
        state["done"] += 1
        if state["optimizer"]:
            state["optimizer"].zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=job["precision"] == "bf16"):
            loss = forward(symbols[:, :-1], symbols[:, 1:])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if state["optimizer"]:
            state["optimizer"].step()
        if not loss.item() < 100:
            raise RuntimeError("the peer's loss is %g" % loss.item())

    step()
    state["optimizer"], adamw = fastest_adamw(model)
    step()
    start = time.perf_counter()
    step()
    quick = time.perf_counter() - start < 0.3
    return lambda seconds: dict(seconds=repeat(seconds, step, quick)), "AdamW: " + adamw


def prepare_generation(job):
    """Writing without a cache: the last block_size symbols go through the model for every new one."""
    import torch
    model = make_gpt(job["shape"]).eval()
    T = job["shape"]["block_size"]

    def more(symbols, n):
        for _ in range(n):
            probabilities = torch.softmax(model(symbols[:, -T:]), dim=-1)
            symbols = torch.cat((symbols, torch.multinomial(probabilities, 1)), dim=1)
        return symbols

    def bout(seconds):
        with torch.no_grad():
            one = torch.zeros((1, 1), dtype=torch.long)
            full = more(one, T - 1)
            within = repeat(seconds / 2, lambda: more(one, T - 1), False)
            past = repeat(seconds / 2, lambda: more(full, 1), False)
        return dict(seconds=[t / (T - 1) for t in within], past=past)

    return bout, "no cache"


def prepare_attention(job):
    import torch
    from torch.nn import functional as F
    B, H, T, hs = job["B"], job["H"], job["T"], job["hs"]
    dtype = torch.bfloat16 if job["precision"] == "bf16" else torch.float32
    q, k, v = (torch.randn(B, H, T, hs, dtype=dtype).requires_grad_() for _ in range(3))
    dy = torch.randn(B, H, T, hs, dtype=dtype)
    fused = hasattr(F, "scaled_dot_product_attention")
    hidden = None if fused else torch.ones(T, T, dtype=torch.bool).triu(1)

    def once():
        if fused:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            y = ((q @ k.transpose(-2, -1)) * hs ** -0.5).masked_fill(hidden, float("-inf")).softmax(-1) @ v
        y.backward(dy)
        q.grad = k.grad = v.grad = None

    once()
    return lambda seconds: dict(seconds=repeat(seconds, once, False)), "SDPA" if fused else "masked softmax"


def serve():
    """One line of JSON in, one out: first what to prepare, then the seconds of each turn."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what torch prints is not for the parent

    def answer(value):
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    job, version = json.loads(sys.stdin.readline()), None
    try:
        import torch
        version = torch.__version__
        if job["compile"] and not hasattr(torch, "compile"):
            raise RuntimeError(NO_COMPILE)
        torch.set_num_threads(job["threads"])
        prepare = dict(train=prepare_training, generate=prepare_generation, attention=prepare_attention)
        bout, note = prepare[job["what"]](job)
        answer(dict(torch=version, note=note))
        for line in sys.stdin:
            answer(bout(json.loads(line)))
    except Exception as why:  # whatever a peer cannot do is a row of the table, not the end
        answer(dict(torch=version, error="%s: %s" % (type(why).__name__, (str(why).strip().splitlines() or [""])[0])))


# --- the parent ----------------------------------------------------------------------------------------------------

def environment():
    """As a person has it who sets nothing about threads."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "OPENBLAS_", "MKL_", "GOMP_", "KMP_"))}


class Peer:
    """One way of running PyTorch, in a process of its own."""

    def __init__(self, python, job):
        self.python, self.job = python, job
        self.torch, self.note, self.error = None, "", None
        self.errors = tempfile.TemporaryFile("w+")
        self.process = None
        try:
            self.process = subprocess.Popen([python, os.path.abspath(__file__), "--serve"], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=self.errors, text=True, env=environment(),
                                            start_new_session=True)  # Ctrl-C is the parent's
        except OSError as why:
            self.error = str(why)
            return
        self.note = self.ask(job).get("note", "")

    def ask(self, value):
        """The answer; {} when there is none, with self.error set."""
        if self.error:
            return {}
        timer = threading.Timer(SETUP_SECONDS, self.process.kill)
        timer.start()
        try:
            self.process.stdin.write(json.dumps(value) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except OSError:
            line = ""
        timer.cancel()
        answer = json.loads(line) if line else {}
        self.torch = answer.get("torch", self.torch)
        if not line:
            self.errors.seek(0)
            said = [x for x in self.errors.read().splitlines() if x.strip()]
            self.error = said[-1] if said else "it ended without a word, or took longer than %d s" % SETUP_SECONDS
        elif "error" in answer:
            self.error = answer["error"]
        return {} if self.error else answer

    def turn(self, seconds):
        answer = self.ask(seconds)
        found = {k: statistics.median(v) for k, v in answer.items()}
        return dict(found, least=min(answer["seconds"])) if answer else None

    def processor_seconds(self):
        """That its process has used so far."""
        try:
            with open("/proc/%d/stat" % self.process.pid, encoding="ascii", errors="replace") as f:
                fields = f.read().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, AttributeError):
            return 0.0

    def close(self):
        if self.process:
            try:
                self.process.stdin.close()
            except OSError:  # it is gone, and the last question with it
                pass
            self.process.stdout.close()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.errors.close()

    def name(self):
        version = "PyTorch %s" % self.torch.split("+")[0].split("a0")[0] if self.torch else os.path.basename(self.python)
        how = " compiled" if self.job["compile"] else ""
        return "%s %s%s" % (version, self.job["precision"], how)


class Nopeek:
    """nopeek bench with some options, a new process each turn."""

    def __init__(self, program, options, read):
        self.threads = None  # that really ran
        self.command, self.read, self.error = [program, "bench", "--json", "--repeats", "1"] + options, read, None

    def turn(self, seconds):
        if self.error:
            return None
        try:
            done = subprocess.run(self.command + ["--bout", str(seconds)], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, env=environment(), check=False)
        except OSError as why:
            self.error = str(why)
            return None
        if done.returncode != 0:
            self.error = (done.stderr.strip().splitlines() or ["it ended with status %d" % done.returncode])[-1]
            return None
        found = json.loads(done.stdout.splitlines()[-1])
        self.threads = found["threads"]
        return self.read(found)

    def processor_seconds(self):
        times = os.times()
        return times.children_user + times.children_system


class Row:
    """Something that is measured: a label, how many threads, and a median a round for each kind of time."""

    def __init__(self, label, threads, runner, ours):
        self.label, self.threads, self.runner, self.ours = label, threads, runner, ours
        self.rounds = []

    def values(self, key):
        return [r[key] for r in self.rounds if r and key in r]

    def median(self, key):
        values = self.values(key)
        if not values:
            return None
        return min(values) if key == "least" else statistics.median(values)


def ratio(own, peer, key):
    """The median over rounds of own time by the peer's; of the fastest, that of all rounds by that of all rounds."""
    if key == "least":
        a, b = own.median(key), peer.median(key)
        return a / b if a and b else None
    pairs = [a[key] / b[key] for a, b in zip(own.rounds, peer.rounds) if a and b and key in a and key in b]
    return statistics.median(pairs) if pairs else None


def busy_seconds():
    """Processor time that all programs of this machine have used; None where that cannot be asked (not Linux)."""
    try:
        with open("/proc/stat", encoding="ascii") as f:
            user, nice, system, _, _, irq, soft, steal = (int(x) for x in f.readline().split()[1:9])
    except (OSError, ValueError):
        return None
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")


def take_turn(row, seconds, patience):
    """A turn; again, at most `patience` times, when other programs used more than a tenth of a core meanwhile. The turn
    that was disturbed least counts."""
    best = None
    for _ in range(1 + patience):
        start, busy, own = time.perf_counter(), busy_seconds(), row.runner.processor_seconds()
        result = row.runner.turn(seconds)
        if result is None:
            return None
        others = 0.0
        elapsed = time.perf_counter() - start
        if busy is not None and elapsed > 0.05:  # the system counts in hundredths of a second
            others = max(0.0, busy_seconds() - busy - (row.runner.processor_seconds() - own)) / elapsed
        result["others"] = others
        if best is None or others < best["others"]:
            best = result
        if others <= 0.1:
            break
    return best


def say(text):
    print(text, file=sys.stderr, flush=True)


def measure(rows, options):
    """Ctrl-C ends the rounds; what was measured until then is still shown."""
    try:
        for number in range(options.rounds):
            say("  round %d of %d" % (number + 1, options.rounds))
            for row in rows:
                row.rounds.append(None if row.runner.error else take_turn(row, options.seconds, options.patience))
                time.sleep(0.02)  # threads that still wait awake fall asleep
    except KeyboardInterrupt:
        say("  interrupted")
        options.interrupted = True
    for row in rows:
        if isinstance(row.runner, Peer):
            row.runner.close()


def peers(options, jobs):
    rows = []
    for python in options.peer:
        useless = False
        for job in jobs:
            if useless and job["compile"]:
                continue
            say("  preparing %s: %s%s, %d thread%s" % (python, job["precision"], " compiled" if job["compile"] else "",
                                                        job["threads"], "" if job["threads"] == 1 else "s"))
            peer = Peer(python, job)
            rows.append(Row(peer.name(), job["threads"], peer, False))
            if peer.error:
                say("    " + peer.error)
                useless = useless or NO_COMPILE in peer.error
    return rows


def digits(x):
    """Four of them, or all before the point; "-" for what was not measured."""
    return "-" if x is None else "%.4g" % x if x < 1000 else "%.0f" % x


def table(title, rows, columns, rates=False):
    """columns: (key of a turn's result, heading). Times are shown in ms, or as rates a second."""
    own = [r for r in rows if r.ours]
    print("\n%s\n(ratio: nopeek's time by that of the row)" % title)
    heads = ["%10s" % heading for _, heading in columns]
    heads += ["%9s" % ("ratio" if len(own) == 1 else "ratio #%d" % (i + 1)) for i in range(len(own)) for _ in columns]
    print("%-28s %7s %s" % ("", "threads", " ".join(heads)))
    result = []
    for row in rows:
        cells, ratios = [], {}
        for key, _ in columns:
            value = row.median(key)
            cells.append("%10s" % digits(value and (1 / value if rates else value * 1e3)))
        for mine in own if not row.ours else []:
            for key, _ in columns:
                r = ratios["%s: %s" % (mine.label, key)] = ratio(mine, row, key)
                cells.append("%9s" % ("-" if r is None else "%.3f" % r))
        threads = getattr(row.runner, "threads", None) or row.threads
        label = ("#%d " % (own.index(row) + 1) if row.ours and len(own) > 1 else "") + row.label
        print(("%-28s %7d %s" % (label, threads, " ".join(cells))).rstrip())
        if row.runner.error:
            print("    " + row.runner.error[:120])
        result.append(dict(name=row.label, threads=threads, nopeek=row.ours, error=row.runner.error,
                           note=getattr(row.runner, "note", ""), torch=getattr(row.runner, "torch", None),
                           seconds={k: row.median(k) for k, _ in columns}, rounds=row.rounds, ratios=ratios))
    summary(rows, own, columns)
    others = [x for row in rows for x in row.values("others")]
    if others and statistics.mean(others) > 0.05:
        print("Other programs used %.2f cores meanwhile, up to %.2f: these figures say little; measure again when it is quiet." %
              (statistics.mean(others), max(others)))
    sys.stdout.flush()
    return result


def summary(rows, own, columns):
    """Against the best way of running each peer in each precision: eager or compiled, any number of threads."""
    groups = {}
    for row in rows:
        if not row.ours and row.median(columns[0][0]) is not None:
            groups.setdefault((row.runner.torch, row.runner.job["precision"]), []).append(row)
    for group in groups.values():
        for key, heading in columns:
            best = min(group, key=lambda r: r.median(key))
            for mine in own:
                r = ratio(mine, best, key)
                if r is not None:
                    print("%s takes %.3f of the time of %s, %d thread%s%s" % (
                        mine.label, r, best.label, best.threads, "" if best.threads == 1 else "s",
                        "" if len(columns) == 1 else " (%s)" % heading))


def own_rows(options, arguments, read, threads=None):
    rows = []
    for words in options.nopeek_with:
        extra = shlex.split(words)
        label = "nopeek" + (" " + words if words else "")
        count = threads or max(options.threads)
        rows.append(Row(label, count, Nopeek(options.nopeek, arguments + ["--threads", str(count)] + extra, read), True))
    return rows


def train(options, name):
    shape = SHAPES[name]
    say("training, %s" % name)
    jobs = [dict(what="train", shape=shape, precision=p, compile=c, threads=t)
            for p in options.precision for c in ([False, True] if options.compile else [False])
            for t in options.threads]
    arguments = ["--preset", name, "--measure", "steps"]
    rows = own_rows(options, arguments, lambda o: dict(seconds=o["step_ms"] / 1e3, least=o["step_least_ms"] / 1e3)) + peers(options, jobs)
    measure(rows, options)
    title = "Training, %s: %d layers, %d heads, %d channels, context %d, batch %d" % (
        name, shape["n_layer"], shape["n_head"], shape["n_embd"], shape["block_size"], shape["batch_size"])
    return table(title, rows, [("seconds", "ms a step"), ("least", "fastest")])


def generate(options, name):
    say("writing, %s" % name)
    jobs = [dict(what="generate", shape=SHAPES[name], precision="fp32", compile=False, threads=1)]
    rows = own_rows(options, ["--preset", name, "--measure", "generation"],
                    lambda o: dict(seconds=1 / o["generation_per_s"], past=1 / o["generation_past_context_per_s"]), 1)
    rows += peers(options, jobs)
    measure(rows, options)
    return table("Writing, %s, one thread: symbols a second (PyTorch without a cache)" % name, rows,
                 [("seconds", "in context"), ("past", "past it")], rates=True)


def attention(options):
    T, H, hs = options.length, 4, 64
    say("attention")
    jobs = [dict(what="attention", B=1, H=H, T=T, hs=hs, precision=p, compile=False, threads=t)
            for p in options.precision for t in options.threads]
    first = own_rows(options, ["--attention", str(T), "--n-head", str(H), "--n-embd", str(H * hs)], None)
    rows = []
    for row in first:  # one row a kernel, from one run
        row.runner.read = lambda o: {k: v["ms"] / 1e3 for k, v in o.items() if isinstance(v, dict) and "ms" in v}
        probe = row.runner.turn(0)
        for kernel in probe or ["reference"]:
            rows.append(Row("%s, %s" % (row.label, kernel), row.threads, Kernel(row.runner, kernel), True))
    rows += peers(options, jobs)
    measure(rows, options)
    return table("Attention alone, forward and backward: T = %d, 1 x %d heads of %d, causal" % (T, H, hs), rows,
                 [("seconds", "ms")])


class Kernel:
    """One kernel of a run of nopeek that measures several: the first of them runs it."""

    def __init__(self, run, kernel):
        self.run, self.kernel = run, kernel
        run.kernels = getattr(run, "kernels", []) + [kernel]

    @property
    def error(self):
        return self.run.error

    @property
    def threads(self):
        return self.run.threads

    def turn(self, seconds):
        if self.kernel == self.run.kernels[0]:
            self.run.result = self.run.turn(seconds)
        result = self.run.result
        return dict(seconds=result[self.kernel]) if result else None

    def processor_seconds(self):
        return self.run.processor_seconds()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", action="append", metavar="PYTHON", help="a Python that has torch; may be repeated")
    parser.add_argument("--nopeek", default=NOPEEK, metavar="PROGRAM", help="default %(default)s")
    parser.add_argument("--nopeek-with", action="append", metavar="OPTIONS",
                        help="more options of nopeek bench, as one word after =; each gives a row")
    parser.add_argument("--what", action="append", choices=("train", "generate", "attention"),
                        help="default: all three; may be repeated")
    parser.add_argument("--shape", action="append", choices=tuple(SHAPES), help="default: both; may be repeated")
    parser.add_argument("--precision", action="append", choices=("fp32", "bf16"), help="of the peer; default: both")
    parser.add_argument("--threads", type=lambda s: [int(n) for n in s.split(",")], metavar="N,N",
                        help="numbers of threads to give the peer, the largest to nopeek (default 1 and all cores)")
    parser.add_argument("--no-compile", dest="compile", action="store_false", help="leave torch.compile out")
    parser.add_argument("--length", type=int, default=4096, metavar="T", help="of attention; default %(default)s")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="default %(default)s")
    parser.add_argument("--seconds", type=float, default=0.5, metavar="S",
                        help="that a turn lasts at least; default %(default)s")
    parser.add_argument("--patience", type=int, default=2, metavar="N",
                        help="times that a turn is taken again when other programs were busy; default %(default)s")
    parser.add_argument("--json", action="store_true", help="print one JSON object on the last line too")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    options.peer = options.peer or [sys.executable]
    options.nopeek_with = options.nopeek_with or [""]
    options.threads = options.threads or sorted({1, cores})
    options.precision = options.precision or ["fp32", "bf16"]
    if min(options.threads) < 1 or options.rounds < 1:
        parser.error("threads and rounds are 1 or more")
    found, failed, options.interrupted = {}, False, False
    for what in options.what or ["train", "generate", "attention"]:
        if options.interrupted:
            break
        if what == "train":
            for name in options.shape or list(SHAPES):
                if options.interrupted:
                    break
                found["train %s" % name] = train(options, name)
        elif what == "generate":
            found["generate small"] = generate(options, "small")
        else:
            found["attention %d" % options.length] = attention(options)
    for rows in found.values():
        failed = failed or any(r["nopeek"] and r["error"] for r in rows)
    if options.json:
        print(json.dumps(found))
    return 130 if options.interrupted else 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
