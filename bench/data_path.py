#!/usr/bin/env python3
"""Measures how long training steps wait for their data: runs bench/data_path on every config, and lists those that wait too long.

    ninja -C build/release data_path
    bench/data_path.py --write docs/performance.md
"""
import json
import pathlib
import subprocess
import sys

import machine
import show
from installed import ROOT
from workloads import DATA_GOAL


def per_cent(run):
    return f"{run['median']:.1f} % [{run['low']:.1f}, {run['high']:.1f}]"


def span(values, unit):
    return f"{min(values):.3g} to {max(values):.3g} {unit}"


def tables(found):
    """A table with a row for each config that misses the goal, and one row for all others. `found` is the output of bench/data_path."""
    rows = []
    for i, threads in enumerate(run["threads"] for run in found[0]["longer"]):
        missed = [f for f in found if f["longer"][i]["median"] > DATA_GOAL]
        for f in missed:
            run = f["longer"][i]
            rows.append([pathlib.Path(f["config"]).stem, threads, show.milliseconds(run["step_ms"]), f"{f['draw_ms']:.3g} ms", per_cent(run),
                         show.judged(run["median"], DATA_GOAL, at_most=True)])
        others = [f for f in found if f not in missed]
        if others:
            runs = [f["longer"][i] for f in others]
            rows.append([f"{len(others)} others" if missed else f"all {len(others)}", threads, span([run["step_ms"] for run in runs], "ms"),
                         span([f["draw_ms"] for f in others], "ms"), f"at most {max(run['median'] for run in runs):.1f} %",
                         show.judged(max(run["median"] for run in runs), DATA_GOAL, at_most=True)])
    return show.table(["config", "threads", "step", "time to draw a batch, one thread", "slowdown with data [quartiles]", "goal, %"], rows)


def text(build):
    m = machine.described()
    configs = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "configs").glob("*.toml"))
    done = subprocess.run([build / "bench" / "data_path", *configs], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit("not every config has its data")
    return f"{machine.words(m)}.\n\n" + tables([json.loads(line) for line in done.stdout.splitlines()])


if __name__ == "__main__":
    show.measured_page("bench/data_path.py", __doc__, text)
