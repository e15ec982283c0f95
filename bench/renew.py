#!/usr/bin/env python3
"""Measures everything again and renews the tables of docs/performance.md, on a machine that does nothing else: three quarters of an hour."""

import subprocess
import sys

from installed import ROOT

PROGRAMS = ("train_step", "kernels", "data_path", "xgrad_tool")
MEASURES = ("compare.py", "scaling.py", "where.py", "products.py", "limits.py", "data_path.py", "reading.py")


def main():
    subprocess.run(["cmake", "--preset", "release"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", ROOT / "build" / "release", *PROGRAMS], check=True)
    failed = [name for name in MEASURES
              if subprocess.run([ROOT / "bench" / name, "--write", ROOT / "docs" / "performance.md"]).returncode != 0]
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
