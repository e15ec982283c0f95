#!/usr/bin/env python3
"""Each kernel beside its limit, by bench/kernels: products beside OpenBLAS, passes over memory beside a copy, on one thread.

    ninja -C build/release bench/kernels
    bench/limits.py --write docs/performance.md
"""
import argparse
import json
import pathlib
import subprocess

import machine
import show
from installed import ROOT

# As bench/kernels names them.
PASSES = {"layer_norm_op": "layer norm", "gelu_op": "GELU", "dropout_op": "dropout"}


def rates(program):
    """{benchmark: median of its FLOP/s or bytes/s}; repetitions of all benchmarks are mixed."""
    words = ["--benchmark_format=json", "--benchmark_repetitions=5", "--benchmark_enable_random_interleaving=true",
             "--benchmark_report_aggregates_only=true", "--benchmark_min_time=0.05"]
    found = json.loads(subprocess.run([program, *words], stdout=subprocess.PIPE, check=True).stdout)["benchmarks"]
    return {b["run_name"]: b.get("FLOP/s") or b.get("bytes_per_second") for b in found if b["aggregate_name"] == "median"}


def tables(rate):
    def numbers(name):
        return [int(word) for word in name.split("/")[1:]]

    def product(kind, shape):
        ours, theirs = (rate[f"product<Pass::{kind}, {blas}>/{shape}"] for blas in ("false", "true"))
        return f"{ours / 1e9:.0f} ({ours / theirs:.2f})"

    products = [["{} × {} → {}".format(*numbers(name)), *(product(kind, name.split("/", 1)[1]) for kind in ("forward", "dx", "dw"))]
                for name in sorted(rate, key=numbers) if name.startswith("product<Pass::forward, false>")]
    attention = [[" × ".join(map(str, sizes)), heads, dropout / 100, f"{rate[name] / 1e9:.0f}"]
                 for name in sorted(rate, key=numbers) if name.startswith("attention/")
                 for *sizes, heads, dropout in [numbers(name)]]
    passes = [[words, f"{rate['copy'] / rate[name]:.1f}"] for name, words in PASSES.items()]
    return (show.table(["GFLOP/s of a linear layer (÷ OpenBLAS's): tokens × in → out", "forward", "dX", "dW"], products)
            + show.table(["attention, forward and backward: B × N × D", "heads", "dropout", "GFLOP/s"], attention)
            + show.table(["forward and backward of a (2048, 384) input", "time, in copies of it"], passes))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--write", type=pathlib.Path, help="a page whose tables are renewed")
    a = parser.parse_args()
    m = machine.described()
    text = f"{m['date']}, {m['processor']}, one thread.\n\n" + tables(rates(str(a.build / "bench" / "kernels")))
    print(text)
    if a.write:
        show.renew(a.write, "bench/limits.py", text)


if __name__ == "__main__":
    main()
