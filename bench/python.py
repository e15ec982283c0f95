#!/usr/bin/env python3
"""Checks the limits of the Python module: the time of its import without NumPy's, and the time of training relative to the command.

    bench/python.py                              # measures build/release
    bench/python.py --python venv/bin/python     # measures the wheel that is installed there

Each round runs both sides in turn. Exits with 1 if a median is above its limit, or if the weights differ.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROUNDS = 21
MOST_IMPORT = 0.05  # seconds, without the import of NumPy
MOST_TRAINING = 1.02  # times the command's time
CONFIG = ROOT / "configs/reverse.toml"
CHANGES = {"train.steps": 1000, "train.evaluate_every": 1000, "expect.accuracy": 0.0}
TRAIN = f"import sys, xgrad; xgrad.train(sys.argv[1], {{**{CHANGES!r}, 'run.dir': sys.argv[2]}})"


def seconds(*words):
    start = time.monotonic()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - start


def trained(run):
    """The seconds of training as the run counted them, without the start of its process."""
    return json.loads((run / "timing.jsonl").read_text().splitlines()[-1])["seconds"]


def judge(what, value, most, unit):
    print(f"{'ok   ' if value <= most else 'ABOVE'} {what}: {value:.3f}{unit}, at most {most}{unit}")
    return value <= most


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", help="an interpreter in which xgrad is installed")
    chosen = parser.parse_args().python
    if not chosen:
        os.environ["PYTHONPATH"] = str(ROOT / "build/release/python")
    python = chosen or "/usr/bin/python3"
    command = subprocess.run([python, "-c", "import xgrad; print(xgrad.runs.COMMAND)"], check=True, capture_output=True, text=True).stdout.strip()
    imports = [seconds(python, "-c", "import xgrad") - seconds(python, "-c", "import numpy") for _ in range(ROUNDS)]
    words, ratios = [f"{key}={value}" for key, value in CHANGES.items()], []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(ROUNDS):
            ours, theirs = (pathlib.Path(folder, f"{side}{number}") for side in ("python", "command"))
            subprocess.run([python, "-c", TRAIN, CONFIG, ours], check=True)
            subprocess.run([command, "train", CONFIG, "-q", f"run.dir={theirs}", *words], check=True, stdout=subprocess.DEVNULL)
            newest = "checkpoints/step-0000001000.h5"
            if (ours / newest).read_bytes() != (theirs / newest).read_bytes():
                sys.exit("the weights differ")
            ratios.append(trained(ours) / trained(theirs))
    kept = [judge("seconds of the import beyond NumPy's", statistics.median(imports), MOST_IMPORT, " s"),
            judge("training from Python, beside the command", statistics.median(ratios), MOST_TRAINING, " times")]
    sys.exit(0 if all(kept) else 1)


if __name__ == "__main__":
    main()
