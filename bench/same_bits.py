#!/usr/bin/env python3
"""Checks that weights after training steps have the SHA-256 in tests/golden/hashes.txt, for the workloads of bench/compare.py.

    cmake --build --preset release --target train_step
    bench/same_bits.py                   # every workload, 200 steps on 1, 2, 3 and 8 threads; half an hour
    bench/same_bits.py --threads 1       # every workload, 200 steps on one thread; ten minutes
    bench/same_bits.py --short           # every workload, with fewer steps for large ones; a minute
    bench/same_bits.py tiny --steps 20

Exits with 1 if the hash depends on the number of threads or, in the arithmetic fma-1, if a hash is not in hashes.txt.
"""
import argparse
import hashlib
import sys
import tempfile
import time

from installed import ROOT
from side import Side
from workloads import WORKLOADS

THREADS = (1, 2, 3, 8)
SHORT = {"small": 60, "vit": 8, "long": 25, "long4k": 25}  # steps with --short; the others have 200
GOLDEN = ROOT / "tests" / "golden" / "hashes.txt"


def hash_after(xgrad, workload, steps, threads):
    side = Side("xgrad", [xgrad, *workload.options()], threads)
    side.ask("step", steps)
    with tempfile.NamedTemporaryFile() as file:
        side.ask("weights", file.name)
        digest = hashlib.sha256(file.read()).hexdigest()
    side.close()
    return digest


def arithmetic(xgrad):
    side = Side("xgrad", [xgrad, *WORKLOADS["micro"].options()], 1)
    name = side.ask("arithmetic")
    side.close()
    return name


def golden_hashes():
    """{(workload, steps): hash on every processor with fused multiply-add}."""
    lines = (line.split() for line in GOLDEN.read_text().splitlines() if "@" in line and line[0] != "#")
    return {(name.split("@")[0], int(name.split("@")[1])): value for name, value in lines}


def cases(arguments):
    """Yields workload, steps and numbers of threads. If --short reduces the steps, there is only one number of threads."""
    for number, name in enumerate(arguments.workloads or WORKLOADS):
        steps = SHORT.get(name, arguments.steps) if arguments.short else arguments.steps
        yield name, steps, arguments.threads or (THREADS if steps == arguments.steps else [1 + number % 2])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", help=f"of {', '.join(WORKLOADS)}; default: all")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--short", action="store_true", help="fewer steps for large workloads")
    parser.add_argument("--threads", type=int, nargs="+", help=f"default: {THREADS}")
    parser.add_argument("--xgrad", default=str(ROOT / "build" / "release" / "bench" / "train_step"))
    arguments = parser.parse_args()
    failed = False
    golden = golden_hashes() if arithmetic(arguments.xgrad) == "fma-1" else {}
    for name, steps, threads in cases(arguments):
        start = time.monotonic()
        hashes = [hash_after(arguments.xgrad, WORKLOADS[name], steps, count) for count in threads]
        expected = golden.get((name, steps), "no hash in hashes.txt") if golden else hashes[0]
        same = set(hashes) == {expected}
        failed |= not same
        print(f"{f'{name}@{steps}':26} {' '.join(sorted(set(hashes)))}  {'' if same else f'NOT {expected}, '}on {', '.join(map(str, threads))} threads"
              f" ({time.monotonic() - start:.0f} s)", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
