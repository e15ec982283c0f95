#!/usr/bin/env python3
"""Checks that kernels have not become slower, by ratios only: to a plain loop, and to OpenBLAS or a copy.

    cmake --build --preset release --target kernels
    bench/kernel_ratios.py

Absolute times say nothing on a shared machine. bench/kernels measures in turn and prints ratios of medians. The minimum of a ratio is
at most half of its measured value: noise stays above the minimum, and a kernel that falls back to plain loops is below. If a ratio is
below its minimum, it is measured once more. Exits with 1 if it is still below.
"""
import argparse
import json
import subprocess
import sys

from installed import ROOT

# For each benchmark: the minimum share of its limit, and the minimum factor over the plain loop. The compiler makes adam's plain loop
# nearly as fast as the kernel, so there only the copy shows a fault: a loop that is not vectorised reaches 0.4 of it.
FLOORS = {
    "forward/2048/128/128": (0.5, 5.0),
    "dx/2048/128/128": (0.5, 10.0),
    "dw/2048/128/128": (0.5, 10.0),
    "layer_norm": (0.3, 1.1),
    "softmax": (0.3, 2.0),
    "cross_entropy": (0.15, 2.5),  # 0.23 on machines with fast copies (AMD EPYC, Zen 5)
    "gelu": (0.3, 3.5),
    "dropout_add": (0.3, 5.0),
    "adam": (0.8, 0.7),
    "attention/32/64/128/4/0": (0.3, 3.0),
}


def rows(program, pattern, seconds):
    """{benchmark: its row} for all benchmarks with matching names."""
    words = [program, "--benchmark_format=json", f"--benchmark_min_time={seconds}", f"--benchmark_filter={pattern}"]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
    return {row["name"].removesuffix("/manual_time"): row for row in json.loads(done.stdout)["benchmarks"]}


def measured(program, names, seconds):
    found = rows(program, "^(" + "|".join(names) + ")(/manual_time)?$", seconds)
    if set(found) != set(names):
        sys.exit(f"{program} has no benchmark {', '.join(sorted(set(names) - set(found)))}")
    return {name: (row["limit"], row["plain"]) for name, row in found.items()}


def below(ratios):
    return [name for name, pair in ratios.items() if any(value < floor for value, floor in zip(pair, FLOORS[name]))]


def show(ratios):
    for name, (limit, plain) in ratios.items():
        least, factor = FLOORS[name]
        print(f"{name:26} {limit:5.2f} of its limit (at least {least:.2f})   {plain:6.1f} x the plain loop (at least {factor:.1f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", default=str(ROOT / "build" / "release" / "bench" / "kernels"))
    parser.add_argument("--seconds", type=float, default=0.03, help="time of each kernel, without limit and plain loop")
    arguments = parser.parse_args()
    ratios = measured(arguments.kernels, list(FLOORS), arguments.seconds)
    show(ratios)
    slow = below(ratios)
    if slow:
        print("once more: " + ", ".join(slow))
        again = measured(arguments.kernels, slow, 4 * arguments.seconds)
        show(again)
        slow = below(again)
    sys.exit(f"slower than they were: {', '.join(slow)}" if slow else 0)


if __name__ == "__main__":
    main()
