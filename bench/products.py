#!/usr/bin/env python3
"""Measures the ratio of the time of a training step to the time of its matrix products alone, in turn, on one thread.

    ninja -C build/release train_step
    bench/products.py --write docs/kernels.md

The products are those of the linear layers and of attention, forward and backward, by xgrad's kernels, which bench/limits.py compares
with OpenBLAS. No step can reach a ratio of 1.
"""
import statistics

import machine
import measure
import show
from side import Side
from workloads import PRODUCTS_GOALS, WORKLOADS

ROUNDS = 9


def measured(xgrad, workload):
    """The seconds of a step and of its products, in each round."""
    side = Side("xgrad", [xgrad, *workload.options()], 1)
    side.ask("products", 1)
    slowest = max(side.ask("step", 2)["seconds"])  # warm-up
    count = max(1, min(50, round(0.3 / slowest)))
    rounds = [[statistics.median(side.ask(what, count)["seconds"]) for what in ("step", "products")] for _ in range(ROUNDS)]
    side.close()
    return zip(*rounds)


def row(xgrad, name, goal):
    steps, products = measured(xgrad, WORKLOADS[name])
    ratio = measure.quartiles([step / alone for step, alone in zip(steps, products)])
    return [name, *(show.milliseconds(1e3 * statistics.median(times)) for times in (steps, products)), show.ratio(ratio),
            show.judged(ratio["median"], goal, at_most=True)]


def text(build):
    m = machine.described()
    rows = [row(str(build / "bench" / "train_step"), name, goal) for name, goal in PRODUCTS_GOALS.items()]
    return (f"{machine.words(m)}; one thread.\n\n"
            + show.table(["", "step", "its products alone", "step ÷ products [quartiles]", "goal"], rows))


if __name__ == "__main__":
    show.measured_page("bench/products.py", __doc__, text)
