#!/usr/bin/env python3
"""Compares each kernel with its limit and with a plain loop, on one thread. The limit is OpenBLAS for products, and a copy for passes over memory.

    ninja -C build/release bench/kernels
    bench/limits.py --write docs/kernels.md
"""
import machine
import show
from kernel_ratios import rows


def ratio(row):
    return f"{row['limit']:.2f}; {row['plain']:.0f}" if row["plain"] >= 9.5 else f"{row['limit']:.2f}; {row['plain']:.1f}"


def rate(row):
    return f"{row['FLOP/s'] / 1e9:.0f} ({ratio(row)})"


def tables(found):
    def after(kind):
        return [name.split("/")[1:] for name in found if name.split("/")[0] == kind]

    products = [["{} × {} → {}".format(*shape), *(rate(found["/".join([kind, *shape])]) for kind in ("forward", "dx", "dw"))]
                for shape in after("forward")]
    attention = [[" × ".join(sizes), heads, dropout, rate(found["/".join(["attention", *sizes, heads, dropout])])]
                 for *sizes, heads, dropout in after("attention")]
    passes = [[name, f"{row['real_time']:.0f}", ratio(row)] for name, row in found.items() if "plain" in row and "/" not in name]
    nodes = [[*length, f"{1e9 * found['/'.join(['tape', *length])]['node']:.0f}"] for length in after("tape")]
    return ("In brackets or in the last column: the fraction of its limit that a kernel reaches, and the slowdown of a plain loop.\n\n"
            + show.table(["GFLOP/s of a linear layer (of OpenBLAS; plain): tokens × in → out", "forward", "dX", "dW"], products)
            + show.table(["attention, forward and backward: B × N × D", "heads", "dropout",
                          "GFLOP/s (of its products by OpenBLAS; plain)"], attention)
            + show.table(["forward and backward of 2048 × 384 numbers; updates of 2^20", "µs", "of a copy; plain"], passes)
            + show.table(["nodes of a graph, forward and backward", "ns for each"], nodes))


def text(build):
    m = machine.described()
    return f"{m['date']}, {m['processor']}, one thread.\n\n" + tables(rows(build / "bench" / "kernels", ".", seconds=0.1))


if __name__ == "__main__":
    show.measured_page("bench/limits.py", __doc__, text)
