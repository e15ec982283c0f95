"""The long tier of the tests in this folder: full.py [NAME...], where a name is that of a file NAME_test.py here.

Runs them one after the other with their full counts, stops at the first that fails, and ends with a table of what was reached.
Wants the release build: cmake --preset release && ninja -C build/release
"""

import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parent.parent / "build/release"
ARGUMENTS = {"save_faults": [BUILD / "tests/faults/save_loop"]}


def run(name):
    """Shows what the harness says as it comes; its exit code and its counts."""
    words = [sys.executable, "-B", HERE / f"{name}_test.py", *ARGUMENTS.get(name, ())]
    environment = {**os.environ, "XGRAD": str(BUILD / "xgrad"), "XGRAD_TIER": "full",
                   "SHIFTED_BLOCKS": str(BUILD / "tests/faults/libshifted_blocks.so"),
                   "FAILING_BLOCKS": str(BUILD / "tests/faults/libfailing_blocks.so")}
    counts = []
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            counts += [line.removeprefix("counted ").strip()] if line.startswith("counted ") else []
    return process.returncode, counts


def main(names):
    known = sorted(path.name.removesuffix("_test.py") for path in HERE.glob("*_test.py"))
    unknown = set(names) - set(known)
    if unknown:
        sys.exit(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    table = []
    for name in names or known:
        print(f"== {name}", flush=True)
        before = time.monotonic()
        code, counts = run(name)
        table += [(name, f"{time.monotonic() - before:.0f} s", count) for count in counts or ["no counts"]]
        if code != 0:
            sys.exit(f"{name} failed; XGRAD_SEED repeats its random choices")
    for row in table:
        print("{:<12} {:>7}  {}".format(*row))


if __name__ == "__main__":
    main(sys.argv[1:])
