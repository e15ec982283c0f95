#!/usr/bin/env python3
"""Compares two processes of one thread with one process of two threads, for xgrad and for PyTorch (DistributedDataParallel over gloo).

    bench/ranks.py                # measures build/release, built by `./run test`
    bench/ranks.py --write        # also records docs/figures/ranks.json and renews the table of docs/many-machines.md

The four variants take turns. Exits with 1 if a median misses its goal.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import as_config
import machine
import show
from installed import ROOT, python_with_peers
from measure import quartiles
from workloads import WORKLOADS

STEPS = {"small": 40, "vit": 7, "long": 16}
ROUNDS = 5
MOST = 1.05  # times the time of one process
FIGURES = ROOT / "docs/figures/ranks.json"
XGRAD, WITH_MPI = ROOT / "build/release/xgrad", ROOT / "build/release/tests/mpi/xgrad_mpi_tool"
MPIRUN = ["mpirun", "--bind-to", "none", "-n", "2"]


def ours(folder, name, ranks):
    """The median seconds of a step in a run of xgrad."""
    config, run = folder / f"{name}.toml", folder / "run"
    changes = "evaluate_every = 1000000\n[schedule]\nwarmup = 0\n[log]\nevery = 1\n"
    config.write_text(as_config.text(WORKLOADS[name], STEPS[name], 20000) + changes)
    words = ["train", config, f"run.dir={run}", "--quiet", *([f"train.shards={ranks}"] if ranks > 1 else ["train.threads=2"])]
    start = [*MPIRUN, WITH_MPI] if ranks > 1 else [XGRAD]
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    subprocess.run([*start, *words], check=True, stdout=subprocess.DEVNULL, env=environment)
    times = [json.loads(line)["seconds"] for line in (run / "timing.jsonl").read_text().splitlines()]
    steps = [b - a for a, b in zip(times, times[1:])]
    shutil.rmtree(run)
    return statistics.median(steps[len(steps) // 4:])


def theirs(python, name, processes):
    words = [python, ROOT / "bench/peers/torch_ranks.py", json.dumps(dataclasses.asdict(WORKLOADS[name])), processes, 3 - processes, STEPS[name]]
    environment = dict(os.environ, OMP_NUM_THREADS=str(3 - processes))
    return float(subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True, env=environment).stdout)


def measured(python, name):
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            rows.append([side(number) for side in (lambda n: ours(pathlib.Path(folder), name, n), lambda n: theirs(python, name, n))
                         for number in (1, 2)])
    one, two, torch_one, torch_two = zip(*rows)
    return {"ms": [1000 * statistics.median(side) for side in zip(*rows)],
            "ours": quartiles([b / a for a, b in zip(one, two)]),
            "one": quartiles([b / a for a, b in zip(one, torch_one)]),
            "two": quartiles([b / a for a, b in zip(two, torch_two)])}


def table(results):
    head = ["model", "xgrad, one process of two threads", "two processes", "processes ÷ threads", "PyTorch, one process", "two processes",
            "PyTorch ÷ xgrad, one process", "two processes"]
    rows = []
    for name, r in results["workloads"].items():
        ms = [show.milliseconds(x) for x in r["ms"]]
        rows.append([name, ms[0], ms[1], f"{show.ratio(r['ours'])}, {show.judged(r['ours']['median'], MOST, at_most=True)}", ms[2], ms[3],
                     f"{show.ratio(r['one'])} times", f"{show.ratio(r['two'])} times"])
    return f"Measured on {machine.words(results['machine'])}.\n\n" + show.table(head, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    python = python_with_peers()
    results = {"machine": machine.described(), "workloads": {name: measured(python, name) for name in STEPS}}
    print(table(results))
    kept = all(r["ours"]["median"] <= MOST and r["two"]["median"] >= r["one"]["median"] for r in results["workloads"].values())
    if chosen.write:
        FIGURES.write_text(json.dumps(results, indent=1) + "\n")
        show.renew(ROOT / "docs/many-machines.md", "bench/ranks.py", table(results))
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
