#!/usr/bin/env python3
"""Measures the total time of 64 runs of a tiny model. Compares `xgrad sweep` with one JAX program that trains all runs at once (vmap), and
with one PyTorch process for each run, as many at a time as there are cores.

    bench/sweep.py                # measures build/release
    bench/sweep.py --write        # also renews the table of docs/performance.md

The three programs take turns. Their validation losses must agree for each learning rate. Exits with 1 if a median misses its goal.
"""
import argparse
import concurrent.futures
import csv
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import as_config
import machine
import show
from installed import ROOT, python_with_peers
from measure import quartiles
from workloads import WORKLOADS

WORKLOAD, STEPS, ROUNDS = WORKLOADS["micro"], 1000, 3
RATES, SEEDS = [1e-3, 1.5e-3, 2e-3, 3e-3, 4e-3, 5e-3, 7e-3, 1e-2], list(range(1, 9))
GOALS = {"JAX, vmap": 2.5, "PyTorch, processes": 15}
XGRAD = ROOT / "build/release/xgrad"
APART = 0.25  # maximum difference between mean losses of a learning rate, in nats


def ours(folder):
    config = folder / "micro.toml"
    text = as_config.text(WORKLOAD, STEPS, 2000).replace("validation = 1\n", "validation = 200\n")
    config.write_text(text + f'evaluate_every = {STEPS}\nclip = 0\n[schedule]\nname = "constant"\nwarmup = 0\n')
    out = folder / f"sweep-{time.monotonic_ns()}"
    words = ["sweep", config, "--over", f"optim.lr={RATES}", "--over", f"train.seed={SEEDS}", "--out", out]
    subprocess.run([XGRAD, *words], check=True, capture_output=True, cwd=folder)
    with open(out / "results.csv", newline="") as file:
        rows = {(float(row["optim.lr"]), int(row["train.seed"])): float(row["validation_loss"]) for row in csv.DictReader(file)}
    return [rows[rate, seed] for rate in RATES for seed in SEEDS]


def jax(python):
    words = [python, ROOT / "bench/peers/jax_sweep.py", *map(json.dumps, (dataclasses.asdict(WORKLOAD), STEPS, RATES, SEEDS))]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def torch(python):
    def run(setting):
        words = [python, ROOT / "bench/peers/torch_sweep.py", *map(json.dumps, (dataclasses.asdict(WORKLOAD), STEPS, *setting))]
        environment = dict(os.environ, OMP_NUM_THREADS="1")
        return float(subprocess.run(words, check=True, capture_output=True, text=True, env=environment).stdout)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(run, [(rate, seed) for rate in RATES for seed in SEEDS]))


def means(losses):
    return [statistics.mean(losses[i:i + len(SEEDS)]) for i in range(0, len(losses), len(SEEDS))]


def measured(python):
    """The seconds of each side in each round, and its mean losses by learning rate in the last round."""
    sides = {"xgrad": ours, "JAX, vmap": lambda _: jax(python), "PyTorch, processes": lambda _: torch(python)}
    seconds, losses = {name: [] for name in sides}, {}
    with tempfile.TemporaryDirectory() as name:
        for _ in range(ROUNDS):
            for side, run in sides.items():
                begin = time.monotonic()
                losses[side] = means(run(pathlib.Path(name)))
                seconds[side].append(time.monotonic() - begin)
    return seconds, losses


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    described = machine.described()
    seconds, losses = measured(python_with_peers())
    rows, good = [["xgrad sweep", f"{statistics.median(seconds['xgrad']):.1f} s", "", "", " ".join(f"{x:.2f}" for x in losses["xgrad"])]], True
    for name, goal in GOALS.items():
        ratio = quartiles([theirs / own for own, theirs in zip(seconds["xgrad"], seconds[name])])
        apart = max(abs(a - b) for a, b in zip(losses["xgrad"], losses[name]))
        good = good and ratio["median"] >= goal and apart <= APART
        rows.append([name, f"{statistics.median(seconds[name]):.1f} s", show.ratio(ratio), show.judged(ratio["median"], goal),
                     " ".join(f"{x:.2f}" for x in losses[name])])
    text = (f"{machine.words(described)}; {STEPS} steps a run.\n\n"
            + show.table(["64 runs of micro", "total time", "÷ xgrad [quartiles]", "goal", "validation losses by learning rate"], rows))
    print(text)
    if chosen.write:
        show.renew(ROOT / "docs/performance.md", "bench/sweep.py", text)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
