#!/usr/bin/env python3
"""Counts the system calls for memory and the page faults of training steps after a warm-up.

    cmake --build --preset release --target train_step
    bench/warm_step.py tiny small --threads 1 2

Exits with 1 if there is a call, or more than one page fault per step on average. Needs strace, which counts the calls of all threads
between the answers of bench/train_step.cpp.
"""
import argparse
import collections
import os
import re
import sys
import tempfile

from installed import ROOT
from side import Side
from workloads import WORKLOADS

CALLS = ("mmap", "munmap", "mremap", "brk", "madvise", "mprotect")
MOST_FAULTS = 1.0  # per step
WARM_UP = 10  # steps


def calls_between(log, answers):
    """Counts the CALLS between the answers number `answers` and `answers` + 1 on standard output."""
    counts = collections.Counter()
    seen = 0
    for line in log:
        found = re.match(r"\d+ +(\w+)\((\d*)", line)
        if not found:
            continue
        if found.group(1) == "write" and found.group(2) == "1":
            seen += 1
        elif seen == answers and found.group(1) in CALLS:
            counts[found.group(1)] += 1
    if seen <= answers:
        sys.exit(f"strace saw {seen} answers")
    return counts


def measure(xgrad, workload, threads, steps):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "calls")
        command = ["strace", "-f", "-qq", "-o", path, "-e", "trace=write," + ",".join(CALLS), xgrad]
        side = Side("xgrad", [*command, *workload.options()], threads)
        side.ask("step", WARM_UP)
        before = side.ask("faults")[0]
        side.ask("step", steps)
        after = side.ask("faults")[0]
        side.close()
        with open(path) as log:
            lines = list(log)
    if not calls_between(lines, 0):
        sys.exit("strace saw no call of the steps that warm up")
    return calls_between(lines, 2), (after - before) / steps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", help=f"of {', '.join(WORKLOADS)}; default: all")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--xgrad", default=str(ROOT / "build" / "release" / "bench" / "train_step"))
    arguments = parser.parse_args()
    failed = False
    for name in arguments.workloads or WORKLOADS:
        for threads in arguments.threads:
            calls, faults = measure(arguments.xgrad, WORKLOADS[name], threads, arguments.steps)
            said = ", ".join(f"{count} {call}" for call, count in calls.items()) or "no call"
            print(f"{name:8} {threads} thread{'s' if threads > 1 else ' '}  {arguments.steps} warm steps: {said} for memory, "
                  f"{faults:.2f} page faults a step", flush=True)
            failed = failed or bool(calls) or faults > MOST_FAULTS
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
