#!/usr/bin/env python3
"""Measures how the time and memory of a training step grow with batch, tokens, width, layers and threads. Measures xgrad alone.

    ninja -C build/release train_step
    bench/scaling.py --write docs/performance.md

The points of a curve take turns, as sides do in bench/compare.py. The exponent e of time ~ size^e is fitted by least squares in
logarithms: over the whole curve, and over its upper half, where the constant costs of a step matter little.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess

import machine
import measure
import show
from installed import ROOT, python_with_peers
from side import Side, cores
from workloads import Workload

ROUNDS = 5
BASE = Workload(batch=8, tokens=64, width=128, heads=4, layers=2, vocabulary=32, dropout=0.1)
TOKENS = 8192  # in a batch, for the curve of memory


def curve(sizes, **settings):
    """A workload for each size; a setting is a number or a function of the size."""
    return {size: dataclasses.replace(BASE, **{k: v(size) if callable(v) else v for k, v in settings.items()})
            for size in sizes}


def same(size):
    return size


CURVES = {
    "batch": curve((1, 2, 4, 8, 16, 32), batch=same),
    "tokens": curve((64, 128, 256, 512, 1024, 2048), tokens=same, batch=1),
    "width": curve((32, 64, 128, 256, 512), width=same, heads=lambda width: width // 32),
    "layers": curve((1, 2, 4, 8, 16), layers=same),
    "length at constant tokens per batch": curve((256, 512, 1024, 2048, 4096, 8192), tokens=same, batch=lambda n: TOKENS // n, layers=1),
}


def points(program, workloads, threads_of):
    """Measures the workloads in turn. Returns {size: {"ms", "mib"}}."""
    found = {}
    try:
        for size, w in workloads.items():
            found[size] = measure.Timed(Side(str(size), [program, *w.options()], threads_of(size)), "step")
            found[size].warm_up()
        for number in range(ROUNDS):
            for timed in found.values():
                timed.take_turn(number)
        return {size: {"ms": 1e3 * statistics.median(t.times), "mib": t.side.ask("memory")[0] / 2**20}
                for size, t in found.items()}
    finally:
        for timed in found.values():
            timed.side.close()


def exponent(curve):
    return measure.exponent(curve, [point["ms"] for point in curve.values()])


def upper_half(curve):
    return dict(list(curve.items())[len(curve) // 2:])


def tables(results):
    rows = []
    for name, points in results["curves"].items():
        sizes = list(points)
        rows.append([name, f"{sizes[0]} to {sizes[-1]}", " · ".join(show.milliseconds(p["ms"]) for p in points.values()),
                     *((f"{exponent(points):.2f}", f"{exponent(upper_half(points)):.2f}") if name != "threads" else ("", ""))])
    memory = results["curves"]["length at constant tokens per batch"]
    return (f"{machine.words(results['machine'])}; one thread but for the last row.\n\n"
            + show.table(["varied", "sizes", "step", "exponent", "exponent, upper half"], rows)
            + f"Peak memory with {TOKENS} tokens in a batch, in MiB:\n\n"
            + show.table(["tokens of a sequence", *memory], [["peak", *(f"{p['mib']:.0f}" for p in memory.values())]]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "scaling.json", help="results as JSON")
    parser.add_argument("--write", type=pathlib.Path, help="renews the table and the picture of this page")
    a = parser.parse_args()
    program = str(a.build / "bench" / "train_step")
    described = machine.described()
    curves = {name: points(program, workloads, lambda size: 1) for name, workloads in CURVES.items()}
    threads = range(1, len(os.sched_getaffinity(0)) + 1)
    curves["threads"] = points(program, {n: dataclasses.replace(BASE, batch=32) for n in threads}, same)
    results = {"machine": described, "curves": curves}
    a.out.write_text(json.dumps(results, indent=1) + "\n")
    print(tables(results))
    if a.write:
        show.renew(a.write, "bench/scaling.py", tables(results))
        picture = a.write.parent / "pictures" / "scaling.svg"
        subprocess.run([python_with_peers(), str(ROOT / "bench" / "plot_scaling.py"), str(a.out), str(picture)], check=True)


if __name__ == "__main__":
    main()
