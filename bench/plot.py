#!/usr/bin/env python3
"""Draws the ratios that bench/compare.py found: plot.py RESULTS.json PICTURE.svg"""

import json
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "xgrad"  # the same picture for the same results
matplotlib.rcParams["svg.fonttype"] = "none"

from matplotlib import pyplot  # noqa: E402


def bars(axes, groups, goals, title):
    """groups: {group: {peer: quartiles}}; a line for the goal of each group."""
    peers = list(dict.fromkeys(peer for group in groups.values() for peer in group))
    width = 0.8 / len(peers)
    for i, peer in enumerate(peers):
        at = [(x, group[peer]) for x, group in enumerate(groups.values()) if peer in group]
        middle = [q["median"] for _, q in at]
        axes.bar([x - 0.4 + width * (i + 0.5) for x, _ in at], middle, width, label=peer,
                 yerr=[[q["median"] - q["low"] for _, q in at], [q["high"] - q["median"] for _, q in at]],
                 error_kw={"elinewidth": 1})
    for x, goal in enumerate(goals):
        axes.plot([x - 0.4, x + 0.4], [goal, goal], color="black", linestyle=":", label="goal" if x == 0 else None)
    axes.axhline(1, color="black", linewidth=1)
    axes.set(yscale="log", ylabel="peer ÷ xgrad", title=title, xticks=range(len(groups)), xticklabels=list(groups))
    ticks = [0.5, 1, 2, 4, 8, 16, 32]
    axes.set_yticks(ticks, list(map(str, ticks)))
    axes.minorticks_off()
    axes.legend(fontsize="small", ncols=2)


def main(source, target):
    results = json.loads(pathlib.Path(source).read_text())
    panels = []
    for threads in sorted({result["threads"] for result in results["training"] + results["inference"]}):
        for kind, label in (("training", "{workload}"), ("inference", "{workload}\nbatch {batch}")):
            found = [result for result in results[kind] if result["threads"] == threads]
            if found:
                groups = {label.format(**r): {peer["name"]: peer["ratio"] for peer in r["peers"]} for r in found}
                panels.append((groups, [r["goal"] for r in found], f"{kind}, {threads} thread{'s' if threads > 1 else ''}"))
    if not panels:
        return
    figure, axes = pyplot.subplots(len(panels), figsize=(9, 3.2 * len(panels)), layout="constrained", squeeze=False)
    for panel, place in zip(panels, axes[:, 0]):
        bars(place, *panel)
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main(*sys.argv[1:])
