#!/usr/bin/env python3
"""Training steps of xgrad and of PyTorch on the same model, weights and batch, in turn, in one run.

    cmake --build --preset release --target train_step
    bench/compare.py tiny small --threads 1

An absolute time means little on a shared machine, a ratio taken in turn does: A B C A B C ..., at least nine
rounds after the warm-up; shown are the median of the rounds' ratios and its quartiles. Before anything is
timed, loss and gradients of both sides must agree. Without --python, PyTorch is installed into a virtual
environment beside the build.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import venv

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# A pre-norm encoder over tokens: batch, tokens, width, heads, layers, vocabulary (and classes), dropout.
WORKLOADS = {
    "micro": (8, 8, 16, 2, 1, 8, 0.1),
    "tiny": (32, 16, 64, 4, 2, 16, 0.1),
    "small": (32, 64, 128, 4, 4, 32, 0.1),
    "vit": (32, 65, 384, 8, 7, 10, 0.1),
    "long": (2, 1024, 256, 4, 2, 32, 0.1),
    "long4k": (1, 4096, 128, 2, 1, 32, 0.0),
}
FIELDS = ("batch", "tokens", "width", "heads", "layers", "vocabulary", "dropout")
TOLERANCE = 1e-4  # of loss and gradients, relative to the largest gradient of each tensor


# --- the PyTorch side: a process of its own that answers the commands of bench/train_step.cpp ---


def torch_worker(arguments):
    import torch

    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    bench = torch_bench(torch, arguments)
    for line in sys.stdin:
        command, *rest = line.split()
        print(json.dumps(getattr(bench, command)(*rest)), flush=True)


def torch_bench(torch, w):
    from torch import nn
    from torch.nn import functional as F

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(w.width), nn.LayerNorm(w.width)
            self.in_proj = nn.Linear(w.width, 3 * w.width, bias=False)
            self.out_proj = nn.Linear(w.width, w.width)
            self.linear1 = nn.Linear(w.width, 4 * w.width)
            self.linear2 = nn.Linear(4 * w.width, w.width)

        def attend(self, x):
            batch, tokens, width = x.shape
            qkv = self.in_proj(x).view(batch, tokens, 3, w.heads, width // w.heads)
            q, k, v = qkv.permute(2, 0, 3, 1, 4)
            p = w.dropout if self.training else 0.0
            if w.attention == "fused":
                y = F.scaled_dot_product_attention(q, k, v, dropout_p=p)
            else:
                scores = q @ k.transpose(-2, -1) * (width // w.heads) ** -0.5
                y = F.dropout(scores.softmax(-1), p) @ v
            return self.out_proj(y.transpose(1, 2).reshape(batch, tokens, width))

        def forward(self, x):
            def drop(y):
                return F.dropout(y, w.dropout, self.training)

            x = x + drop(self.attend(self.norm1(x)))
            return x + drop(self.linear2(drop(F.gelu(self.linear1(self.norm2(x))))))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.token = nn.Embedding(w.vocabulary, w.width)
            self.position = nn.Parameter(0.02 * torch.randn(w.tokens, w.width))
            self.layers = nn.Sequential(*(Block() for _ in range(w.layers)))
            self.norm = nn.LayerNorm(w.width)
            self.head = nn.Linear(w.width, w.vocabulary)

        def forward(self, ids):
            return self.head(self.norm(self.layers(self.token(ids) + self.position)))

    def torch_name(name):
        for old, new in (("embedding.token", "token"), ("embedding.position.weight", "position"), ("encoder.", ""),
                         ("in_proj_weight", "in_proj.weight"), ("self_attn.", ""), ("attention.", ""), ("mlp.", "")):
            name = name.replace(old, new)
        return name

    class Bench:
        def __init__(self):
            self.model = Model()
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3, fused=True)
            shape = (w.batch, w.tokens)
            self.ids = torch.randint(w.vocabulary, shape)
            self.targets = torch.randint(w.vocabulary, shape)

        def loss(self):
            return F.cross_entropy(self.model(self.ids).flatten(0, 1), self.targets.flatten())

        def save(self, path, names_path):
            self.order = [torch_name(name) for name, _ in json.load(open(names_path))]
            named = dict(self.model.named_parameters())
            if sorted(self.order) != sorted(named):
                sys.exit(f"parameters differ: {sorted(set(self.order) ^ set(named))}")
            with open(path, "wb") as file:
                for name in self.order:
                    file.write(named[name].detach().numpy().tobytes())
                for tensor in (self.ids, self.targets):
                    file.write(tensor.to(torch.int32).numpy().tobytes())
            return {}

        def check(self, path, their_loss):
            self.model.eval()
            self.optimizer.zero_grad()
            loss = self.loss()
            loss.backward()
            self.model.train()
            named = dict(self.model.named_parameters())
            theirs = torch.from_file(path, size=sum(p.numel() for p in named.values()))
            worst, at = abs(loss.item() - float(their_loss)) / loss.item(), 0
            for name in self.order:
                ours = named[name].grad.flatten()
                difference = (ours - theirs[at:at + ours.numel()]).abs().max() / ours.abs().max()
                worst, at = max(worst, float(difference)), at + ours.numel()
            return worst

        def train(self):
            self.optimizer.zero_grad()
            loss = self.loss()
            loss.backward()
            self.optimizer.step()
            return loss.item()

        def forward(self):
            with torch.inference_mode():
                return float(self.model(self.ids)[0, 0, 0])

        def timed(self, count, function):
            seconds = []
            for _ in range(int(count)):
                start = time.perf_counter()
                last = function()
                seconds.append(time.perf_counter() - start)
            return {"seconds": seconds, "last": last}

        def step(self, count):
            self.model.train()
            return self.timed(count, self.train)

        def predict(self, count):
            self.model.eval()
            return self.timed(count, self.forward)

        def memory(self):
            import resource

            return [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024]

    return Bench()


# --- the driver ---


class Side:
    """A process that answers a line of JSON to each command."""

    def __init__(self, name, command, threads):
        self.name = name
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment)

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.name} died")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def options_of(workload, threads):
    words = []
    for field, value in zip(FIELDS, workload):
        words += [f"--{field}", str(value)]
    return words + ["--threads", str(threads)]


def agree(ours, theirs):
    """The largest relative difference of loss and gradients, from the same weights and batch."""
    with tempfile.TemporaryDirectory() as folder:
        names, weights, gradients = (os.path.join(folder, x) for x in ("names", "weights", "gradients"))
        with open(names, "w") as file:
            json.dump(ours.ask("parameters"), file)
        theirs.ask("save", weights, names)
        ours.ask("load", weights)
        return theirs.ask("check", gradients, *ours.ask("gradients", gradients))


def quartiles(values):
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"low": low, "median": middle, "high": high}


def measure(name, workload, arguments):
    options = options_of(workload, arguments.threads)
    me = [arguments.python, os.path.abspath(__file__), "--worker"]
    ours = Side("xgrad", [arguments.xgrad] + options, arguments.threads)
    peers = [Side("torch " + kind, me + ["--attention", kind] + options, arguments.threads)
             for kind in arguments.attention]
    for peer in peers:
        difference = agree(ours, peer)
        if difference > TOLERANCE:
            sys.exit(f"{name}: xgrad and {peer.name} differ by {difference:.2g} in loss or gradients")
    sides = [ours] + peers
    counts = {}
    for side in sides:  # warm-up, and how many steps make a turn of a fifth of a second
        side.ask(arguments.command, 2)
        counts[side] = max(1, min(200, round(0.2 / min(side.ask(arguments.command, 3)["seconds"]))))
    times = {side: [] for side in sides}
    for _ in range(arguments.rounds):
        for side in sides:
            times[side].append(statistics.median(side.ask(arguments.command, counts[side])["seconds"]))
    memory = {side: side.ask("memory")[0] for side in sides}
    for side in sides:
        side.close()
    best = [min(times[peer][i] for peer in peers) for i in range(arguments.rounds)]
    return {
        "workload": name,
        "threads": arguments.threads,
        "xgrad_ms": 1e3 * statistics.median(times[ours]),
        "xgrad_mib": memory[ours] / 2**20,
        "peers": [{"name": peer.name, "ms": 1e3 * statistics.median(times[peer]), "mib": memory[peer] / 2**20,
                   "ratio": quartiles([t / x for t, x in zip(times[peer], times[ours])])} for peer in peers],
        "best_peer_ratio": quartiles([t / x for t, x in zip(best, times[ours])]),
    }


def installed_python():
    folder = os.path.join(ROOT, "build", "bench-venv")
    python = os.path.join(folder, "bin", "python")
    if not os.path.exists(python):
        print("installing PyTorch into", folder, file=sys.stderr)
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "torch", "numpy"], check=True)
    return python


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", help=f"of {', '.join(WORKLOADS)}; default: all")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--predict", dest="command", action="store_const", const="predict", default="step",
                        help="forward passes in place of training steps")
    parser.add_argument("--batch", type=int, help="another batch than the workload's")
    parser.add_argument("--attention", nargs="+", choices=("explicit", "fused"), default=["explicit", "fused"],
                        help="PyTorch's attention: written out, or scaled_dot_product_attention")
    parser.add_argument("--python", help="a Python that has PyTorch")
    parser.add_argument("--xgrad", default=os.path.join(ROOT, "build", "release", "bench", "train_step"))
    parser.add_argument("--json", action="store_true", help="one line of JSON for each workload")
    arguments = parser.parse_args()
    unknown = set(arguments.workloads) - set(WORKLOADS)
    if unknown:
        parser.error(f"no such workload: {', '.join(sorted(unknown))}")
    return arguments


def main():
    if "--worker" in sys.argv:
        parser = argparse.ArgumentParser()
        parser.add_argument("--worker", action="store_true")
        parser.add_argument("--attention")
        parser.add_argument("--threads", type=int)
        for field in FIELDS:
            parser.add_argument("--" + field, type=float if field == "dropout" else int)
        return torch_worker(parser.parse_args())
    arguments = parsed()
    arguments.python = arguments.python or installed_python()
    for name in arguments.workloads or WORKLOADS:
        workload = WORKLOADS[name]
        if arguments.batch:
            workload = (arguments.batch,) + workload[1:]
        result = measure(name, workload, arguments)
        if arguments.json:
            print(json.dumps(result), flush=True)
            continue
        print(f"{name}: xgrad {result['xgrad_ms']:.3g} ms, {result['xgrad_mib']:.0f} MiB", flush=True)
        for peer in result["peers"]:
            ratio = peer["ratio"]
            print(f"  {peer['name']:15} {peer['ms']:8.3g} ms  {peer['mib']:5.0f} MiB  "
                  f"x {ratio['median']:.2f} [{ratio['low']:.2f}, {ratio['high']:.2f}]", flush=True)


if __name__ == "__main__":
    main()
