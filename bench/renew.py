#!/usr/bin/env python3
"""Repeats all measurements and renews the tables of docs/performance.md and docs/kernels.md: renew.py MACHINE. Takes an hour on a machine
that runs nothing else.

MACHINE is the name of this machine in tables of several machines, such as "AMD Zen 4".
"""

import subprocess
import sys

from installed import ROOT

PROGRAMS = ("train_step", "kernels", "data_path", "xgrad_tool")
PAGES = {"compare.py": None, "scaling.py": "performance", "where.py": "kernels", "products.py": "kernels", "limits.py": "kernels",
         "plain_c.py": "performance", "data_path.py": "performance", "reading.py": "performance"}  # compare.py knows its pages


def measure(name, machine):
    page = PAGES[name]
    where = ["--write", ROOT / "docs" / f"{page}.md"] if page else ["--publish", machine]
    return subprocess.run([ROOT / "bench" / name, *where]).returncode == 0


def main(machine):
    subprocess.run(["cmake", "--preset", "release"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", ROOT / "build" / "release", *PROGRAMS], check=True)
    failed = [name for name in PAGES if not measure(name, machine)]
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
