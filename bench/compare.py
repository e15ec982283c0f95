#!/usr/bin/env python3
"""Compares training steps and forward passes of xgrad and its peers, with the same model, weights, batch and cores, in turn.

    ninja -C build/release train_step xgrad_tool
    bench/compare.py                        everything; 40 minutes, longer the first time, because torch.compile has no cache yet
    bench/compare.py --publish "AMD Zen 4"  everything, and adds this machine to the tables and the picture of docs/performance.md
    bench/compare.py tiny small --threads 1 --only training
    bench/compare.py --class avx2           training steps with AVX2 only, on a faster processor; xgrad is built by the preset avx2

On a shared machine, absolute times mean little, but ratios of times measured in turn (A B C A B C ...) are meaningful. After a warm-up,
there are at least nine rounds, or five if a step takes more than a second. The tables show the median of the rounds' ratios, and the
quartiles. Before the timing, all sides must agree in loss and gradients, or in logits. The peers are installed into build/bench-venv. A
peer that fails is shown as failed, goals that depend on it are not judged, and the exit status is 1. The machine must be idle: if other
programs run, threads that wait for each other take hundreds of times as long.
"""
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import accuracy
import classes
import exported
import machine
import machines
import measure
import show
import workloads
from installed import ROOT, python_with_peers
from side import Side, cores

TRAINING_TOLERANCE, PREDICT_TOLERANCE, BF16_TOLERANCE = 1e-4, 1e-5, 0.1
KINDS = ("training", "bf16", "inference", "accuracy")
PEERS = {
    "torch explicit": ("torch_side.py", "--attention", "explicit"),
    "torch fused": ("torch_side.py", "--attention", "fused"),
    "torch.compile": ("torch_side.py", "--attention", "fused", "--compile"),
    "jax": ("jax_side.py",),
}
BF16_PEERS = {f"{name}{bf16}": (*PEERS[name], *option) for bf16, option in ((" bf16", ("--bf16",)), ("", ()))
              for name in ("torch explicit", "torch fused", "torch.compile")}
PREDICTING = ("torch explicit", "torch fused")  # beside onnxruntime
QUICK_PEERS = ("torch explicit", "torch fused", "jax")


def log(text):
    print(text, file=sys.stderr, flush=True)


def started(name, command, workload, threads):
    return functools.partial(Side, name, [*command, *workload.options()], threads)


def started_peers(a, commands, workload, threads):
    """Functions that start the peers. A command is a file of bench/peers with its options."""
    return {name: started(name, [a.python, str(ROOT / "bench" / "peers" / file), *options], workload, threads)
            for name, (file, *options) in commands.items()}


def training(a, name, threads):
    w = workloads.WORKLOADS[name]
    peers = started_peers(a, {peer: PEERS[peer] for peer in a.peers}, w, threads)
    found = measure.compare("step", started("xgrad", [a.train_step], w, threads), peers, TRAINING_TOLERANCE)
    return {"workload": name, "threads": threads} | found


def bf16(a, name, threads):
    """Measures PyTorch in bfloat16 and in float32, because a user picks the faster of the two."""
    w = workloads.WORKLOADS[name]
    peers = started_peers(a, {peer: command for peer, command in BF16_PEERS.items() if peer.removesuffix(" bf16") in a.peers}, w, threads)
    found = measure.compare("step", started("xgrad", [a.train_step, "--bf16"], w, threads), peers, BF16_TOLERANCE,
                            started("xgrad float32", [a.train_step], w, threads))
    return {"workload": name, "threads": threads} | found


def inference(a, name, batch, threads):
    w = workloads.with_batch(name, batch)
    peers = started_peers(a, {peer: PEERS[peer] for peer in a.peers if peer in PREDICTING}, w, threads)
    with tempfile.TemporaryDirectory() as folder:
        model, weights = exported.export(a.xgrad, w, folder)
        side = [a.python, str(ROOT / "bench" / "peers" / "onnxruntime_side.py"), "--model", model, "--weights", weights]
        peers["onnxruntime"] = started("onnxruntime", side, w, threads)
        found = measure.compare("predict", started("xgrad", [a.train_step], w, threads), peers, PREDICT_TOLERANCE)
    return {"workload": name, "batch": batch, "threads": threads} | found


def everything(a):
    """Yields all chosen results, one after the other."""
    for threads in a.threads:
        if len(cores(threads)) < threads:
            log(f"only {len(cores(threads))} cores: {threads} threads are left out")
            continue
        if "training" in a.only:
            for name in a.workloads:
                log(f"training {name}, threads: {threads}")
                yield "training", training(a, name, threads)
        if "bf16" in a.only:
            for name in filter(workloads.IN_BF16.__contains__, a.workloads):
                log(f"bfloat16 {name}, threads: {threads}")
                yield "bf16", bf16(a, name, threads)
        if "inference" in a.only:
            for name in filter(workloads.PREDICTED.__contains__, a.workloads):
                for batch in workloads.BATCHES:
                    log(f"inference {name}, batch {batch}, threads: {threads}")
                    yield "inference", inference(a, name, batch, threads)
        if "accuracy" in a.only:
            log(f"time to accuracy, threads: {threads}")
            yield "accuracy", accuracy.measure(a.python, a.xgrad, threads, seeds=(1, 2, 3))


def versions(python):
    """The versions of the installed peers."""
    listed = subprocess.run([python, "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True).stdout
    return [line.replace("==", " ") for line in listed.splitlines() if line.split("==")[0] in ("torch", "jax", "onnxruntime")]


def parsed():
    parser = classes.parser(__doc__)
    parser.add_argument("workloads", nargs="*", help=f"of {', '.join(workloads.WORKLOADS)}; default: all")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", nargs="+", choices=KINDS, help="default: all; with --class, training")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--quick", action="store_true", help="only micro and tiny on one thread, without torch.compile; takes a minute")
    parser.add_argument("--python", help="a Python with the peers; default: installs them")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "compare.json", help="results as JSON")
    parser.add_argument("--add", action="store_true", help="adds to the results in that file, or replaces them")
    parser.add_argument("--publish", metavar="MACHINE", help="renews docs/performance.md with the results of this machine, under this name")
    a = classes.parsed(parser)
    a.only = a.only or (("training",) if a.held else KINDS)
    if a.held and "inference" in a.only:
        parser.error(f"onnxruntime cannot be held to {a.held}")
    if unknown := set(a.workloads) - set(workloads.WORKLOADS):
        parser.error(f"no such workload: {', '.join(sorted(unknown))}")
    a.workloads = a.workloads or list(workloads.QUICK if a.quick else workloads.WORKLOADS)
    if a.quick:
        a.threads, a.peers = [1], [peer for peer in a.peers if peer in QUICK_PEERS]
    a.train_step, a.xgrad = str(a.build / "bench" / "train_step"), str(a.build / "xgrad")
    for program in (a.train_step, a.xgrad):
        if not os.path.exists(program):
            parser.error(f"{program} is not built: ninja -C {a.build} train_step xgrad_tool")
    a.python = a.python or python_with_peers()
    return a


def place(result):
    """The place of a result in its table; no two results have the same place."""
    name = result.get("workload")
    return result["threads"], list(workloads.WORKLOADS).index(name) if name else 0, result.get("batch", 0)


def begun(before, measured_on):
    """The results to which new ones are added: none, or earlier ones of the same machine and versions."""
    if before is None:
        return {kind: [] for kind in KINDS} | measured_on
    both = machine.joined(before["machine"], measured_on["machine"])
    if both is None or before["versions"] != measured_on["versions"]:
        sys.exit("--add: the results are of another machine or of other versions of the peers; measure all of them again")
    return before | {"machine": both}


def main():
    a = parsed()
    measured_on = {"machine": machine.described() | {"instructions": machine.instructions(a.xgrad)}, "versions": versions(a.python)}
    results = begun(json.loads(a.out.read_text()) if a.add and a.out.exists() else None, measured_on)
    if results["machine"]["others"] > 0.5:
        log("other programs run here: ratios will spread, and those of several threads mean little")
    for kind, result in everything(a):
        results[kind] = sorted([r for r in results[kind] if place(r) != place(result)] + [result], key=place)
        a.out.write_text(json.dumps(results, indent=1) + "\n")
        log(show.line(kind, result))
    print(show.tables(results))
    if a.publish:
        machines.publish(a.publish, results)
        subprocess.run([a.python, str(ROOT / "bench" / "plot.py"), str(ROOT / "docs" / "pictures" / "performance.svg")], check=True)
    sys.exit(1 if show.failures(results) else 0)


if __name__ == "__main__":
    main()
