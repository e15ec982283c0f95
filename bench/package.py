#!/usr/bin/env python3
"""Checks the figures of the Debian packages, as the last `./run package` measured them, against their limits.

Exits with 1 if a figure is above its limit, or was not measured. --write records the figures in docs/figures/package.json and renews
the table of docs/install.md.
"""
import json
import sys

import show
from installed import ROOT

sys.path.insert(0, str(ROOT / "tests/embed"))
from package_test import FIGURES as LIMITS  # noqa: E402

FIGURES = ROOT / "docs/figures/package.json"


def table(measured):
    rows = [[what, f"{measured[what]:.3g} {unit}", f"{most} {unit}"] for what, (most, unit) in LIMITS.items()]
    return show.table(["Debian packages", "measured", "limit"], rows)


def main():
    path = ROOT / "build/package/figures.json"
    if not path.exists():
        sys.exit(f"{path} is not there: ./run package measures")
    measured = json.loads(path.read_text())
    kept = True
    for what, (most, unit) in LIMITS.items():
        value = measured.get(what)
        good = value is not None and value <= most
        kept = kept and good
        shown = "not measured" if value is None else f"{value:.3g} {unit}"
        print(f"{'ok   ' if good else 'ABOVE'} {what}: {shown}, at most {most} {unit}")
    if kept and "--write" in sys.argv[1:]:
        FIGURES.write_text(json.dumps(measured, indent=2) + "\n")
        show.renew(ROOT / "docs/install.md", "bench/package.py", table(measured))
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
