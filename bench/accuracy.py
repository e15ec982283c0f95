"""Measures the seconds from the start of a process until the model that it trains has an accuracy of 0.99 on the validation split."""

import os
import re
import statistics
import subprocess
import tempfile
import time

from measure import quartiles
from side import cores

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EVERY, GOAL = 10, 0.99
# Both programs print a row for each evaluation: "step  train loss  valid loss  valid accuracy ± standard error  ...".
ROW = re.compile(r"\s*([\d,]+)\s+[\d.]+\s+[\d.]+\s+([\d.]+) ± ")


def until_learned(command, threads):
    """Runs a program until a row reaches the goal, then stops it. Returns (seconds, steps)."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               env=dict(os.environ, OMP_NUM_THREADS=str(threads)),
                               preexec_fn=lambda: os.sched_setaffinity(0, cores(threads)))
    said = []
    for line in process.stderr:
        said.append(line)
        row = ROW.match(line)
        if row and float(row[2]) >= GOAL:
            seconds = time.perf_counter() - start
            process.terminate()
            process.communicate()
            return seconds, int(row[1].replace(",", ""))
    raise RuntimeError(f"{command[0]} ended before it had learned: {''.join(said[-3:])}")


def measure(python, xgrad, threads, seeds):
    """Runs both programs in turn with each seed."""
    config = os.path.join(ROOT, "configs", "reverse.toml")
    script = os.path.join(ROOT, "bench", "reverse_torch.py")
    found = {"xgrad": [], "torch": []}
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            found["torch"].append(until_learned([python, script, config, str(seed), str(EVERY), str(threads)], threads))
            found["xgrad"].append(until_learned(
                [xgrad, "train", config, f"train.seed={seed}", f"train.threads={threads}", f"train.evaluate_every={EVERY}",
                 "train.save_every=2000", f"run.dir={folder}/{seed}"], threads))
    ratios = [t / x for (t, _), (x, _) in zip(found["torch"], found["xgrad"])]
    result = {"threads": threads, "ratio": quartiles(ratios)}
    for side, rows in found.items():
        result[side] = {"seconds": statistics.median(s for s, _ in rows), "steps": statistics.median(n for _, n in rows)}
    return result
