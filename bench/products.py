#!/usr/bin/env python3
"""How many times as long a training step takes as its matrix products alone, in turn, on one thread.

    cmake --build --preset release --target train_step
    bench/products.py small vit

The products are those of the linear layers and of attention, forward and backward, by xgrad's own kernels, which bench/limits.py
sets beside OpenBLAS; 1 is what no step can reach.
"""
import argparse
import statistics

import measure
import show
from installed import ROOT
from side import Side
from workloads import WORKLOADS

ROUNDS = 9


def ratios(xgrad, workload, threads):
    """Of each round."""
    side = Side("xgrad", [xgrad, *workload.options()], threads)
    side.ask("products", 1)
    slowest = max(side.ask("step", 2)["seconds"])  # warm from here on
    count = max(1, min(50, round(0.3 / slowest)))
    found = []
    for _ in range(ROUNDS):
        step, products = (statistics.median(side.ask(what, count)["seconds"]) for what in ("step", "products"))
        found.append(step / products)
    side.close()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", default=["small", "vit"], help=f"of {', '.join(WORKLOADS)}; default: small vit")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--xgrad", default=str(ROOT / "build" / "release" / "bench" / "train_step"))
    arguments = parser.parse_args()
    for name in arguments.workloads:
        found = measure.quartiles(ratios(arguments.xgrad, WORKLOADS[name], arguments.threads))
        print(f"{name:8} step ÷ its products {show.ratio(found)}", flush=True)


if __name__ == "__main__":
    main()
