#!/usr/bin/env python3
"""The weights after training steps have the same SHA-256 on any number of threads, on the workloads of bench/compare.py.

    cmake --build --preset release --target train_step
    bench/same_bits.py                          # every workload, 200 steps: the long tier, half an hour
    bench/same_bits.py micro tiny --steps 20

Exits with 1 when a hash differs from that of one thread or, in the arithmetic fma-1, from the one in tests/golden/hashes.txt.
"""
import argparse
import sys
import time

from installed import ROOT
from side import Side
from workloads import WORKLOADS

THREADS = (1, 2, 3, 8)


def hash_after(xgrad, workload, steps, threads):
    side = Side("xgrad", [xgrad, *workload.options()], threads)
    before = side.ask("hash")
    side.ask("step", steps)
    after = side.ask("hash")
    side.close()
    if after == before:
        sys.exit(f"{steps} steps have changed nothing")
    return after


def golden_hashes(xgrad):
    """The hashes that every processor with fused multiply-add has, as NAME@STEPS; none on others."""
    side = Side("xgrad", [xgrad, *WORKLOADS["micro"].options()], 1)
    arithmetic = side.ask("arithmetic")
    side.close()
    lines = (ROOT / "tests" / "golden" / "hashes.txt").read_text().splitlines()
    return dict(line.split() for line in lines if line and line[0] != "#") if arithmetic == "fma-1" else {}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", help=f"of {', '.join(WORKLOADS)}; default: all")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--xgrad", default=str(ROOT / "build" / "release" / "bench" / "train_step"))
    arguments = parser.parse_args()
    differ = []
    golden = golden_hashes(arguments.xgrad)
    for name in arguments.workloads or WORKLOADS:
        start = time.monotonic()
        hashes = [hash_after(arguments.xgrad, WORKLOADS[name], arguments.steps, count) for count in THREADS]
        same = len(set(hashes)) == 1
        expected = golden.get(f"{name}@{arguments.steps}", hashes[0])
        differ += [] if same and hashes[0] == expected else [name]
        print(f"{name:8} {arguments.steps} steps on {', '.join(map(str, THREADS))} threads: "
              f"{hashes[0] if same else 'DIFFER ' + ' '.join(hashes)}{'' if hashes[0] == expected else ', NOT ' + expected}  ({time.monotonic() - start:.0f} s)", flush=True)
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
