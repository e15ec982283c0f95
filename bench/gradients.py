#!/usr/bin/env python3
"""Checks the gradients of every config, and measures the CPU time of each check: gradients.py [--write] [--xgrad PATH].

Exits with 1 when a check fails or takes more than 300 s. --write records the results in docs/figures/gradients.json and renews the table
of docs/proof.md."""

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile

import machine
import show
from installed import ROOT

MOST_SECONDS = 300
FIGURES = ROOT / "docs/figures/gradients.json"


def check(xgrad, config):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "certificate.json"
        code = subprocess.run([xgrad, "gradcheck", config, "--certificate", path], cwd=ROOT, stdout=subprocess.DEVNULL).returncode
        found = json.loads(path.read_text()) if path.exists() else None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    if found is None or code != 0:
        return {"config": config.stem, "passed": False}
    *tensors, _ = found["tensors"]
    return {
        "config": config.stem, "passed": found["passed"], "tensors": len(tensors),
        "entries": sum(row["entries"] for row in tensors), "directions": sum(row["directions"] for row in found["tensors"]),
        "lengths": found["lengths"], "scalar": found["differences"]["scalar"],
        "worst": max(row["worst"]["of_largest"] for row in found["tensors"]), "seconds": round(seconds, 1),
    }  # fmt: skip


def lengths(row):
    return "images" if row["lengths"][0] == 0 else " and ".join(map(str, row["lengths"]))


def table(rows):
    lines = [[f"`{r['config']}`", r["tensors"], f"{r['entries']:,}", lengths(r), r["scalar"], f"{r['worst']:.0e}", f"{r['seconds']:.1f} s"]
             for r in rows]  # fmt: skip
    return show.table(["config", "tensors", "entries", "lengths", "differences in", "worst error", "processor"], lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--xgrad", default=ROOT / "build/release/xgrad")
    arguments = parser.parse_args()
    rows = [check(arguments.xgrad, config) for config in sorted((ROOT / "configs").glob("*.toml"))]
    good = True
    for row in rows:
        kept = row["passed"] and row["seconds"] <= MOST_SECONDS
        good = good and kept
        print("ok    " if kept else "FAILED", *(f"{key} {value}" for key, value in row.items() if key != "passed"))
    if good and arguments.write:
        FIGURES.write_text(json.dumps({"processor": machine.described()["processor"], "configs": rows}, indent=1) + "\n")
        show.renew(ROOT / "docs/proof.md", "bench/gradients.py", table(rows))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
