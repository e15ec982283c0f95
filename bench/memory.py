#!/usr/bin/env python3
"""Checks that the memory of a training step is linear in the number of tokens N. The number of tokens in a batch is fixed.

    cmake --build --preset release --target train_step
    bench/memory.py                                # N = 256 ... 8192, batches of 8192 tokens
    bench/memory.py --most 2048 --tokens 4096      # quicker

The library counts the bytes that forward keeps for backward, and the peak of a step (autograd/memory/memory.hpp). The system reports
the peak of the process. B N is fixed. So memory that is linear in N stays constant in this table, and memory that grows as N^2, such
as stored attention probabilities, grows as N. Exits with 1 if the exponent that fits the table best exceeds 0.05.
"""
import argparse
import sys

import measure
from installed import ROOT
from side import Side
from workloads import Workload

WIDTH, HEADS, LAYERS, VOCABULARY, DROPOUT = 64, 4, 2, 16, 0.1
MOST = 0.05
FLOAT = 4


def bytes_of(xgrad, batch, tokens):
    workload = Workload(batch, tokens, WIDTH, HEADS, LAYERS, VOCABULARY, DROPOUT)
    side = Side("xgrad", [xgrad, *workload.options()], 1)
    side.ask("step", 1)  # warm-up: from now on, small gradients and the work space of kernels are allocated
    kept, most = side.ask("activations")
    peak = side.ask("memory")[0]
    side.close()
    return kept, most, peak


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--least", type=int, default=256)
    parser.add_argument("--most", type=int, default=8192)
    parser.add_argument("--tokens", type=int, default=8192, help="number of tokens in a batch, B N")
    parser.add_argument("--xgrad", default=str(ROOT / "build" / "release" / "bench" / "train_step"))
    arguments = parser.parse_args()
    lengths = [arguments.least]
    while lengths[-1] < arguments.most:
        lengths.append(2 * lengths[-1])
    print(f"width {WIDTH}, {HEADS} heads, {LAYERS} layers, one thread; MiB\n"
          f"{'N':>6} {'B':>4} {'kept for backward':>18} {'most in a step':>15} {'process':>8} {'N x N would be':>15}")
    rows, squares = [], []
    for n in lengths:
        batch = arguments.tokens // n
        rows.append(bytes_of(arguments.xgrad, batch, n))
        squares.append(LAYERS * HEADS * batch * n * n * FLOAT)
        kept, most, peak = (value / 2**20 for value in rows[-1])
        print(f"{n:6} {batch:4} {kept:18.1f} {most:15.1f} {peak:8.1f} {squares[-1] / 2**20:15.1f}", flush=True)
    columns = list(zip(*rows))
    fits = [measure.exponent(lengths, column) for column in columns]
    stored = [measure.exponent(lengths, [value + square for value, square in zip(column, squares)]) for column in columns]
    print("grows as N^(1 + e), e = " + ", ".join(f"{e:.3f}" for e in fits) + "; with stored probabilities it would be "
          + ", ".join(f"{e:.2f}" for e in stored))
    if min(stored) <= MOST:
        sys.exit("these lengths would not tell")
    sys.exit(1 if max(fits) > MOST else 0)


if __name__ == "__main__":
    main()
