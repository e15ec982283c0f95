#!/usr/bin/env python3
"""Shows how the time of a training step divides among ops, by `xgrad profile` of each workload, on one thread and on two.

    ninja -C build/release xgrad_tool
    bench/where.py --write docs/kernels.md
"""
import os
import re
import subprocess
import tempfile

import as_config
import machine
import show
from side import cores
from workloads import WORKLOADS

SECONDS = 3  # of measured steps of each workload, about
PARTS = {  # {column of the table: beginnings of the profile's rows}
    "linear layers": ("linear",),
    "attention": ("self_attention",),
    "layer norm": ("layer_norm",),
    "dropout, residuals": ("dropout", "add"),
    "embedding, loss": ("embedding", "cross_entropy"),
    "optimizer": ("update", "clip"),
    "engine": ("between",),
}
# Name, calls, milliseconds, per cent; for products, GFLOP/s and its share of a large product's; GB/s and its share of a large copy's.
ROW = re.compile(r"(?m)^(\S.*?)((?: +[\d.]+){3,7})$")
STEP = re.compile(r"a step: ([\d.]+) ms, ([\d.]+) % of it in ops")
LIMIT = re.compile(r"this machine: ([\d.]+) GFLOP/s")


def part_of(name):
    return next((part for part, starts in PARTS.items() if name.startswith(starts)), "other")


def profile(xgrad, w, threads, steps):
    with tempfile.TemporaryDirectory() as folder:
        config = os.path.join(folder, "config.toml")
        with open(config, "w") as file:
            file.write(as_config.text(w, steps=1000, examples=16 * w.batch))
        return subprocess.run([xgrad, "profile", config, f"train.threads={threads}", "--steps", str(steps)], capture_output=True, text=True,
                              check=True).stdout


def measured(xgrad, w, threads):
    """A row of the table. First profiles two steps, to know how many steps to measure."""
    text = profile(xgrad, w, threads, 2)
    text = profile(xgrad, w, threads, max(5, min(2000, int(SECONDS / (1e-3 * float(STEP.search(text)[1]))))))
    step, explained = map(float, STEP.search(text).groups())
    times, gigaflops = dict.fromkeys([*PARTS, "other"], 0.0), 0.0
    for name, numbers in ROW.findall(text):
        _, milliseconds, _, *rates = map(float, numbers.split())
        times[part_of(name)] += milliseconds
        gigaflops += 1e-3 * milliseconds * rates[0] if len(rates) == 4 else 0
    limit = 1e3 * gigaflops / float(LIMIT.search(text)[1])
    return [show.milliseconds(step), *(f"{100 * t / step:.0f}" for t in times.values()), f"{explained:.1f}",
            f"{gigaflops:.3g}", f"{step / limit:.2f}"]


def text(build):
    m = machine.described()
    rows = [[name, threads, *measured(str(build / "xgrad"), w, threads)]
            for threads in (1, 2) if len(cores(threads)) == threads for name, w in WORKLOADS.items()]
    return (f"{machine.words(m)}; per cent of a step.\n\n"
            + show.table(["", "threads", "step", *PARTS, "other", "explained", "GFLOP of products", "step ÷ products at the speed of a large one"],
                         rows))


if __name__ == "__main__":
    show.measured_page("bench/where.py", __doc__, text)
