#!/usr/bin/env python3
"""Compares training steps of tiny models with those of a program of loops in plain C, bench/peers/plain.c, in turn, on one thread.

    ninja -C build/release train_step
    bench/plain_c.py --write docs/performance.md

The models have one layer and no dropout; a batch is one sequence of 16 tokens. Width 16 with a vocabulary of 27 letters is the size of
github.com/realies/microgpt.c. Floating-point operations of a step are those of its matrix products, forward and backward: six for each
token and weight of a matrix, and twelve for each pair of tokens and feature in attention.
"""
import dataclasses
import os
import pathlib
import subprocess
import tempfile

import machine
import measure
import show
from installed import ROOT
from side import Side
from workloads import Workload

WIDTHS = (16, 32, 64, 128)
SMALLEST = Workload(batch=1, tokens=16, width=16, heads=4, layers=1, vocabulary=27, dropout=0.0)
TOLERANCE = 1e-4


def gigaflops(w, milliseconds):
    products = 6 * (12 * w.width**2 * w.layers + w.vocabulary * w.width) + 12 * w.tokens * w.width * w.layers
    return f"{products * w.batch * w.tokens / milliseconds / 1e6:.1f}"


def compiled(folder):
    """Compiles the C program for this processor, or for the class of --class. Returns its path."""
    program = pathlib.Path(folder) / "plain"
    processor = {"avx2": "x86-64-v3"}.get(os.environ.get("XGRAD_CPU"), "native")
    options = ("-O3", f"-march={processor}", "-ffast-math")
    subprocess.run(["cc", *options, str(ROOT / "bench" / "peers" / "plain.c"), "-o", str(program), "-lm"], check=True)
    return str(program)


def row(train_step, plain, w):
    def started(name, program):
        return lambda: Side(name, [program, *w.options()], 1)

    found = measure.compare("step", started("xgrad", train_step), {"C": started("C", plain)}, TOLERANCE)
    if found["failed"]:
        raise RuntimeError(found["failed"][0]["why"])
    times = found["xgrad"]["ms"], found["peers"][0]["ms"]
    return [w.width, *(f"{1e3 * time:.1f}" for time in times), *(gigaflops(w, time) for time in times),
            show.ratio(found["peers"][0]["ratio"])]


def text(build):
    m = machine.described()
    compiler = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    with tempfile.TemporaryDirectory() as folder:
        plain = compiled(folder)
        rows = [row(str(build / "bench" / "train_step"), plain, dataclasses.replace(SMALLEST, width=width)) for width in WIDTHS]
    head = ["width", "xgrad, µs a step", "C, µs a step", "xgrad, GFLOP/s", "C, GFLOP/s", "C ÷ xgrad [quartiles]"]
    return f"{machine.words(m)}; one thread; {compiler}.\n\n" + show.table(head, rows)


if __name__ == "__main__":
    show.measured_page("bench/plain_c.py", __doc__, text)
