#!/usr/bin/env python3
"""Measures the time and memory of reading a table of a user: by `xgrad summary` of 1,000,000 rows with 200 words each, and by `xgrad
train` for a few steps, which also counts n-grams for naive Bayes.

    ninja -C build/release xgrad_tool
    bench/reading.py --write docs/performance.md
    bench/reading.py --rows 10000               # quicker
"""
import argparse
import itertools
import os
import pathlib
import random
import subprocess
import tempfile
import time

import machine
import show

WORDS, VOCABULARY = 200, 20_000
CONFIG = '[task]\nname = "files"\ntrain = "rows.tsv"\n[model]\nwidth = 16\nheads = 1\nlayers = 1\n[train]\nsteps = 5\n'


def write_table(path, count):
    """Writes rows of words of two to five letters. The k-th most frequent word is about 1/k as frequent as the first."""
    draw = random.Random(1)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 5))) for _ in range(VOCABULARY)]
    sums = list(itertools.accumulate(1 / (k + 1) for k in range(VOCABULARY)))
    with open(path, "w") as file:
        file.write("text\tlabel\n")
        for row in range(count):
            file.write(" ".join(draw.choices(words, cum_weights=sums, k=WORDS)) + f"\tc{row % 5}\n")


def measured(command, build, folder):
    """Runs a command. Returns seconds, seconds of CPU time, and peak bytes of memory."""
    begin = time.monotonic()
    process = subprocess.Popen([build / "xgrad", command, "rows.toml"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.monotonic() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"xgrad {command}: exit code {process.returncode}")
    return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def text(build, rows):
    m = machine.described()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rows.tsv"
        write_table(path, rows)
        path.with_suffix(".toml").write_text(CONFIG)
        size = path.stat().st_size / 1e6
        for command in ("summary", "train"):
            seconds, processor, memory = measured(command, build, folder)
            rate = size / seconds
            goal = show.judged(rate, 50) if command == "summary" else ""  # training does more than reading
            lines.append([f"`{command}`", f"{seconds:.1f} s", f"{processor:.1f} s", f"{rate:.0f} MB/s", goal,
                         f"{memory / 1e9:.2f} GB", show.judged(memory / 1e9, 1.2, at_most=True)])
    head = [f"{size:.0f} MB, {rows:,} rows of {WORDS} words", "time", "processor time", "rate", "goal, MB/s", "peak memory", "goal, GB"]
    return f"{machine.words(m)}.\n\n" + show.table(head, lines)


if __name__ == "__main__":
    show.measured_page("bench/reading.py", __doc__, text, rows=1_000_000)
