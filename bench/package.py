#!/usr/bin/env python3
"""Whether the figures of the Debian packages keep the limits of README.md's table: those that the last `./run package` measured.

Exits with 1 when one is above its limit, or was not measured.
"""
import json
import runpy
import sys

from installed import ROOT


def main():
    limits = runpy.run_path(str(ROOT / "tests/embed/package_test.py"))["FIGURES"]
    path = ROOT / "build/package/figures.json"
    if not path.exists():
        sys.exit(f"{path} is not there: ./run package measures")
    measured = json.loads(path.read_text())
    kept = True
    for what, (most, unit) in limits.items():
        value = measured.get(what)
        good = value is not None and value <= most
        kept = kept and good
        shown = "not measured" if value is None else f"{value:.3g} {unit}"
        print(f"{'ok   ' if good else 'ABOVE'} {what}: {shown}, at most {most} {unit}")
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
