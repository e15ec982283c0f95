#!/usr/bin/env python3
"""How fast a table of a user's own is read, and the memory it takes: `xgrad summary` of 1,000,000 rows with 200 words each.

    ninja -C build/release xgrad_tool
    bench/reading.py --write docs/performance.md
"""
import itertools
import os
import pathlib
import random
import subprocess
import tempfile
import time

import machine
import show

ROWS, WORDS, VOCABULARY = 1_000_000, 200, 20_000
CONFIG = '[task]\nname = "files"\ntrain = "rows.tsv"\n[model]\nwidth = 16\nheads = 1\nlayers = 1\n[train]\nsteps = 1\n'


def write_table(path):
    """Words of two to five letters, the k-th most frequent about 1/k as often as the first."""
    draw = random.Random(1)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 5))) for _ in range(VOCABULARY)]
    sums = list(itertools.accumulate(1 / (k + 1) for k in range(VOCABULARY)))
    with open(path, "w") as file:
        file.write("text\tlabel\n")
        for row in range(ROWS):
            file.write(" ".join(draw.choices(words, cum_weights=sums, k=WORDS)) + f"\tc{row % 5}\n")


def text(build):
    m = machine.described()
    with tempfile.TemporaryDirectory() as folder:
        rows = pathlib.Path(folder) / "rows.tsv"
        write_table(rows)
        (rows.parent / "rows.toml").write_text(CONFIG)
        begin = time.monotonic()
        process = subprocess.Popen([build / "xgrad", "summary", "rows.toml"], cwd=folder, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit("the table cannot be read")
        size = rows.stat().st_size
    processor = used.ru_utime + used.ru_stime
    rate, memory = size / 1e6 / seconds, used.ru_maxrss * 1024 / 1e9
    head = ["table", "time", "of a processor", "rate", "goal, MB/s", "most memory", "goal, GB"]
    row = [f"{size / 1e6:.0f} MB, {ROWS:,} rows of {WORDS} words", f"{seconds:.1f} s", f"{processor:.1f} s", f"{rate:.0f} MB/s",
           show.judged(rate, 50), f"{memory:.2f} GB", show.judged(memory, 1.2, at_most=True)]
    return f"{machine.words(m)}.\n\n" + show.table(head, [row])


if __name__ == "__main__":
    show.measured_page("bench/reading.py", __doc__, text)
