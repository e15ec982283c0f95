#!/usr/bin/env python3
"""Draws the curves that bench/scaling.py measured: plot_scaling.py RESULTS.json PICTURE.svg"""

import json
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "xgrad"  # the same picture for the same results
matplotlib.rcParams["svg.fonttype"] = "none"

from matplotlib import pyplot, ticker  # noqa: E402


def main(source, target):
    curves = json.loads(pathlib.Path(source).read_text())["curves"]
    figure, axes = pyplot.subplots(2, 3, figsize=(10, 6), layout="constrained")
    for place, (name, points) in zip(axes.flat, curves.items()):
        sizes, times = [int(size) for size in points], [point["ms"] for point in points.values()]
        place.loglog(sizes, times, marker="o")
        # A dotted line of the ideal slope through the last point.
        slope = -1 if name == "threads" else 1
        place.loglog(sizes, [times[-1] * (size / sizes[-1])**slope for size in sizes], color="grey", linestyle=":")
        place.set(xlabel=name, ylabel="ms per step", xticks=sizes, xticklabels=list(points))
        place.minorticks_off()
        place.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 3, 5) if max(times) > 4 * min(times) else range(1, 10)))
        place.yaxis.set_major_formatter("{x:g}")
    figure.suptitle("Dotted: time in proportion to the size, or to 1 / threads")
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main(*sys.argv[1:])
