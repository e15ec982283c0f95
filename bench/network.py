#!/usr/bin/env python3
"""Predicts the time of a step of several processes on a network, from two numbers: latency and bandwidth. Compares the predictions with
runs on a slow network, and predicts the efficiency on many machines.

    bench/network.py              # measures build/release, built by `./run test`
    bench/network.py --write      # also renews the tables of docs/many-machines.md

The slow network is tests/mpi/network.cpp. Every operation takes 20 ms, plus the time of its bytes at 100 MB/s. This is far more than
the time for which processes that share a few cores wait for each other. Latency and bandwidth are measured with two processes, and give
predictions for more processes.

In the model, the time of a step is the time of computing, plus the exchange of gradients without the part that overlaps with the last
backward, plus the gathering of the weights, plus the latency of all other operations. Exits with 1 if a prediction is wrong by more than
a tenth.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import as_config
import machine
import show
from installed import ROOT
from workloads import WORKLOADS, Workload

BUILD = ROOT / "build/release"
SHARDS = 8
RANKS = (2, 3, 4, 6, 8)
SLOW = (0.02, 100e6)  # latency of an operation in seconds, bytes per second
MOST = 0.1
BACKWARD = 2 / 3  # share of backward in the time of forward and backward
# With 8 examples of 8 tokens, computing takes little time. LARGE mostly waits for bytes, SMALL only for latency.
LARGE, SMALL = Workload(8, 8, 384, 2, 4, 10, 0.0), Workload(8, 8, 32, 2, 1, 10, 0.0)
MODELS = {"vit": WORKLOADS["vit"], "encoder": Workload(8, 128, 768, 12, 14, 256, 0.1)}
NETWORKS = {"10 Gbit/s, 30 µs": (30e-6, 1.25e9), "100 Gbit/s, 2 µs": (2e-6, 12.5e9)}
MANY = (1, 2, 4, 8, 16, 32, 64)


def share(count, index, parts):
    small, larger = divmod(count, parts)
    begin = index * small + min(index, larger)
    return begin, begin + small + (index < larger)


def nodes_within(begin, end, low, high):
    """The number of largest nodes of the tree over the shards that lie in a range."""
    if end <= low or high <= begin:
        return 0
    if begin <= low and high <= end:
        return 1
    cut = low + 2 ** ((high - low - 1).bit_length() - 1)
    return nodes_within(begin, end, low, cut) + nodes_within(begin, end, cut, high)


def sums_of(ranks, shards):
    """The number of sums that each rank sends."""
    return [nodes_within(*share(shards, r, ranks), 0, shards) for r in range(ranks)]


def bytes_of(parameters, ranks, shards):
    """Bytes of gradients and of weights that the busiest rank sends or receives, in float32."""
    own, sums = 4 * parameters / ranks, sums_of(ranks, shards)
    gradients = max(max(s * (ranks - 1) * own, (sum(sums) - s) * own) for s in sums)
    return gradients, (ranks - 1) * own


def seconds_of_step(computing, backward, parameters, ranks, shards, buckets, others, latency, bandwidth):
    gradients, weights = bytes_of(parameters, ranks, shards)
    exchange = buckets * max(sums_of(ranks, shards)) * latency + gradients / bandwidth
    hidden = min(exchange * (buckets - 1) / buckets, backward)
    return computing + exchange - hidden + weights / bandwidth + others * latency


def config_of(folder, workload, shards, steps):
    path = folder / "c.toml"
    changes = f"shards = {shards}\nevaluate_every = 1000000\n[schedule]\nwarmup = 0\n[log]\nevery = 1\n"
    path.write_text(as_config.text(workload, steps, 2000) + changes)
    return path


def median_step(run):
    times = [json.loads(line)["seconds"] for line in (run / "timing.jsonl").read_text().splitlines()]
    return statistics.median(b - a for a, b in zip(times[1:], times[2:]))


def step_of_ranks(workload, ranks, network=None, steps=9):
    """The median seconds of a step, and its number of operations."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        counts = []
        for number in (2, steps):
            config, run = config_of(folder, workload, SHARDS, number), folder / f"run-{number}"
            environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", NETWORK_COUNTS=str(folder / "counts"))
            if network:
                environment["NETWORK_SPEED"] = " ".join(map(str, network))
            words = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), "env", f"LD_PRELOAD={BUILD / 'tests/mpi/libxgrad_network.so'}",
                     BUILD / "tests/mpi/xgrad_mpi_tool", "train", config, f"run.dir={run}", "--quiet"]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL, env=environment)
            counts.append(int((folder / "counts.0").read_text().split()[2]))
        return median_step(run), (counts[1] - counts[0]) / (steps - 2)


def parameters_of(workload):
    with tempfile.TemporaryDirectory() as name:
        said = subprocess.run([BUILD / "xgrad", "summary", config_of(pathlib.Path(name), workload, 1, 1)], check=True, capture_output=True, text=True)
        return int(re.search(r"^parameters +([\d,]+)", said.stdout, re.M)[1].replace(",", ""))


def step_of_one(workload):
    """Median seconds of a step of one process with all cores."""
    with tempfile.TemporaryDirectory() as name:
        run = pathlib.Path(name) / "run"
        words = [BUILD / "xgrad", "train", config_of(pathlib.Path(name), workload, 1, 6), f"run.dir={run}", f"train.threads={os.cpu_count()}", "--quiet"]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        return median_step(run)


def checked():
    """Rows (processes, seconds without a network, on the slow network, predicted), and the measured numbers of the model."""
    parameters = parameters_of(LARGE)
    fast = {ranks: step_of_ranks(LARGE, ranks) for ranks in RANKS}
    slow = {ranks: step_of_ranks(LARGE, ranks, SLOW)[0] for ranks in RANKS}
    # With three ranks, rank 0 sends two partial sums for each bucket. With two ranks, it sends one.
    buckets = round(fast[3][1] - fast[2][1])
    others = fast[2][1] - buckets
    small, operations = step_of_ranks(SMALL, 2)
    latency = (step_of_ranks(SMALL, 2, SLOW)[0] - small) / operations
    backward = {ranks: BACKWARD * fast[ranks][0] / max(1, SHARDS // ranks) for ranks in RANKS}
    low, high = 1e6, 1e12  # searches the bandwidth for which the model gives the measured time of two processes
    for _ in range(100):
        bandwidth = (low * high) ** 0.5
        predicted = seconds_of_step(fast[2][0], backward[2], parameters, 2, SHARDS, buckets, others, latency, bandwidth)
        low, high = (bandwidth, high) if predicted > slow[2] else (low, bandwidth)
    rows = [(ranks, fast[ranks][0], slow[ranks],
             seconds_of_step(fast[ranks][0], backward[ranks], parameters, ranks, SHARDS, buckets, others, latency, bandwidth)) for ranks in RANKS]
    return rows, {"buckets": buckets, "others": others, "latency": latency, "bandwidth": bandwidth}


def text_of_check(rows, found):
    text = (f"Measured with two processes: latency {1000 * found['latency']:.1f} ms, bandwidth {found['bandwidth'] / 1e6:.0f} MB/s "
            f"(set: {1000 * SLOW[0]:.0f} ms, {SLOW[1] / 1e6:.0f} MB/s). "
            f"In a step, each of the two processes makes {found['buckets'] + found['others']:.0f} MPI operations: {found['buckets']} for the "
            f"[buckets of gradients](#the-number-of-shards) and {found['others']:.0f} others.\n\n")
    return text + show.table(["processes", "step without a network", "on the slow network", "predicted", "predicted ÷ measured"],
                             [[r, *(show.milliseconds(1000 * x) for x in (fast, slow, predicted)), f"{predicted / slow:.2f}"] for r, fast, slow, predicted in rows])


def text_of_prediction(found):
    """Predicts weak scaling: the shard of each process is as large as the batch of a single process. A message to each other process
    costs the latency once."""
    rows = []
    for model, workload in MODELS.items():
        step, parameters = step_of_one(workload), parameters_of(workload)
        for network, (latency, bandwidth) in NETWORKS.items():
            cells = []
            for ranks in MANY:
                predicted = step if ranks == 1 else seconds_of_step(step, BACKWARD * step, parameters, ranks, ranks, found["buckets"], found["others"],
                                                                   (ranks - 1) * latency, bandwidth)
                cells.append(f"{100 * step / predicted:.0f} %")
            rows.append([f"{model} ({parameters / 1e6:.0f} million)", show.milliseconds(1000 * step), network, *cells])
    return show.table(["model (parameters)", "step of one process", "network", *(str(ranks) for ranks in MANY)], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    described = machine.described()
    rows, found = checked()
    check, prediction = text_of_check(rows, found), text_of_prediction(found)
    measured_on = f"Measured on {machine.words(described)}.\n\n"
    print(measured_on + check + prediction)
    if chosen.write:
        page = ROOT / "docs/many-machines.md"
        show.renew(page, "bench/network.py, check", measured_on + check)
        show.renew(page, "bench/network.py, prediction", measured_on + prediction)
    sys.exit(0 if all(abs(predicted / slow - 1) <= MOST for _, _, slow, predicted in rows) else 1)


if __name__ == "__main__":
    main()
