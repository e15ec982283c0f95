"""Describes the machine of a measurement."""

import datetime
import os
import pathlib
import platform
import re
import statistics
import subprocess
import time


def others():
    """The number of other running programs, on average over a second."""
    counts = []
    for _ in range(20):
        counts.append(int(re.search(r"procs_running (\d+)", pathlib.Path("/proc/stat").read_text())[1]) - 1)
        time.sleep(0.05)
    return statistics.mean(counts)


def described():
    """The date, processor (limited to a class if XGRAD_CPU is set), cores, and number of other running programs."""
    cpu = dict(re.findall(r"(?m)^(.*?): +(.*)$", subprocess.run(["lscpu"], capture_output=True, text=True).stdout))
    processor = cpu.get("Model name", platform.machine())
    if "CPU family" in cpu:  # the names of virtual processors do not say which generation they are
        processor += f", family {cpu['CPU family']} model {cpu['Model']}"
    if held := os.environ.get("XGRAD_CPU"):
        processor += f", held to {held}"
    return {"date": datetime.date.today().isoformat(), "processor": processor, "cores": len(os.sched_getaffinity(0)),
            "others": others()}


def instructions(xgrad):
    """The class of processors that `xgrad info` shows here."""
    told = subprocess.run([xgrad, "info"], capture_output=True, text=True, check=True).stdout
    return re.search(r"(?m)^processor +(\w+)$", told)[1]


def joined(before, now):
    """The machine of both measurements, or None if they are of different machines."""
    if any(before[key] != now[key] for key in ("processor", "cores")):
        return None
    dates = before["date"] if now["date"] in before["date"] else f"{before['date']} and {now['date']}"
    return now | {"date": dates, "others": max(before["others"], now["others"])}


def words(m):
    return f"{m['date']}, {m['processor']}, {m['cores']} cores, other running programs at the start: {m['others']:.1f}"
