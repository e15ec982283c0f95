#!/usr/bin/env python3
"""Compares training steps of tiny models with those of a program of loops in plain C, bench/peers/plain.c, in turn, on one thread.

    ninja -C build/release train_step
    bench/plain_c.py --write docs/performance.md

The models have one layer and no dropout; a batch is one sequence of 16 tokens. Width 16 with a vocabulary of 27 letters is the size of
github.com/realies/microgpt.c. The C program is compiled for this processor with -O3 -ffast-math. It calls no engine: its time is that of
the arithmetic. Floating-point operations of a step are counted as six for each weight of a matrix and token.
"""
import dataclasses
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
    weights = w.layers * 12 * w.width**2 + w.vocabulary * w.width
    return f"{6 * weights * w.batch * w.tokens / milliseconds / 1e6:.2g}"


def row(train_step, plain, w):
    def started(name, program):
        return lambda: Side(name, [program, *w.options()], 1)

    found = measure.compare("step", started("xgrad", train_step), {"C": started("C", plain)}, TOLERANCE)
    if found["failed"]:
        raise RuntimeError(found["failed"][0]["why"])
    ours, theirs = found["xgrad"]["ms"], found["peers"][0]["ms"]
    return [w.width, f"{1e3 * ours:.3g}", f"{1e3 * theirs:.3g}", gigaflops(w, ours), gigaflops(w, theirs), show.ratio(found["peers"][0]["ratio"])]


def text(build):
    m = machine.described()
    with tempfile.NamedTemporaryFile(prefix="plain-") as plain:
        plain.close()
        subprocess.run(["cc", "-O3", "-march=native", "-ffast-math", str(ROOT / "bench" / "peers" / "plain.c"), "-o", plain.name, "-lm"], check=True)
        rows = [row(str(build / "bench" / "train_step"), plain.name, dataclasses.replace(SMALLEST, width=width)) for width in WIDTHS]
    head = ["width", "xgrad, µs a step", "C, µs a step", "xgrad, GFLOP/s", "C, GFLOP/s", "C ÷ xgrad [quartiles]"]
    return f"{machine.words(m)}; one thread.\n\n" + show.table(head, rows)


if __name__ == "__main__":
    show.measured_page("bench/plain_c.py", __doc__, text)
