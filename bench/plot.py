#!/usr/bin/env python3
"""Draws the ratio of the best peer's time to xgrad's, as bench/compare.py measured it on all machines: plot.py PICTURE.svg"""

import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "xgrad"  # the same picture for the same results
matplotlib.rcParams["svg.fonttype"] = "none"

import machines  # noqa: E402
import show  # noqa: E402
from matplotlib import pyplot  # noqa: E402

PANELS = (
    ("training", "training step, the best of PyTorch and JAX", "{workload}"),
    ("bf16", "training step in bfloat16, the best of PyTorch in bfloat16 and float32", "{workload}"),
    ("inference", "forward pass, onnxruntime", "{workload}\nbatch {batch}"),
)


def bars(axes, kind, title, label):
    """Draws a group of bars for each workload, with a bar for each machine and number of threads."""
    found = {}  # {machine and number of threads: {group: quartiles}}
    for name, results in machines.known().items():
        for result in results[kind]:
            peer = show.of(result, "onnxruntime") if kind == "inference" else show.best(result)
            if peer:
                threads = f"{result['threads']} thread{'s' if result['threads'] > 1 else ''}"
                found.setdefault(f"{name}, {threads}", {})[label.format(**result)] = peer["ratio"]
    groups = list(dict.fromkeys(group for ratios in found.values() for group in ratios))
    width = 0.8 / max(1, len(found))
    for i, (series, ratios) in enumerate(found.items()):
        at = [(groups.index(group) - 0.4 + width * (i + 0.5), q) for group, q in ratios.items()]
        axes.bar([x for x, _ in at], [q["median"] for _, q in at], width, label=series,
                 yerr=[[q["median"] - q["low"] for _, q in at], [q["high"] - q["median"] for _, q in at]],
                 error_kw={"elinewidth": 1})
    axes.axhline(1, color="black", linewidth=1)
    axes.set(yscale="log", xlabel="model", ylabel="time of peer ÷ time of xgrad", title=title, xticks=range(len(groups)), xticklabels=groups)
    ticks = [0.5, 1, 2, 4, 8]
    axes.set_yticks(ticks, list(map(str, ticks)))
    axes.minorticks_off()
    axes.legend(fontsize="small", ncols=2)


def main(target):
    panels = [panel for panel in PANELS if any(results[panel[0]] for results in machines.known().values())]
    figure, axes = pyplot.subplots(len(panels), figsize=(9, 3.2 * len(panels)), layout="constrained", squeeze=False)
    for place, panel in zip(axes[:, 0], panels):
        bars(place, *panel)
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main(*sys.argv[1:])
