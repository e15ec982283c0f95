"""Builds the fuzz targets with clang and runs each for so many seconds: fuzz.py [SECONDS] [TARGET...].

What is found stays in build/fuzz/found, what was learned in build/fuzz/corpus. Ends with 1 when a target crashed, leaked,
took more than 5 s over one input or more than 512 MiB."""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/fuzz"
TARGETS = {  # and where else seeds lie
    "config": ["configs"],
    "seal": ["tests/golden"],
    "image": [],
    "safetensors": [],
    "npz": [],
    "tables": [],
    "files": [],
}


def build():
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["cmake", "--preset", "fuzz"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", BUILD, "--quiet", *(f"fuzz_{target}" for target in TARGETS)], check=True)


def run(target, seconds):
    corpus, found = BUILD / "corpus" / target, BUILD / "found"
    corpus.mkdir(parents=True, exist_ok=True)
    found.mkdir(exist_ok=True)
    seeds = [ROOT / "tests/fuzz/corpus" / target, *(ROOT / place for place in TARGETS[target])]
    # The process of a child that reads HDF5 is a copy of ours.
    environment = os.environ | {"ASAN_OPTIONS": "allocator_may_return_null=1"}
    done = subprocess.run([BUILD / f"tests/fuzz/fuzz_{target}", corpus, *seeds, f"-max_total_time={seconds}",
                           "-timeout=5", "-rss_limit_mb=512", "-max_len=20000", "-print_final_stats=1", "-verbosity=1",
                           f"-artifact_prefix={found}/{target}-"], capture_output=True, text=True, errors="replace",
                          env=environment)
    executions = re.search(r"stat::number_of_executed_units:\s+(\d+)", done.stderr)
    edges = re.findall(r"cov: (\d+)", done.stderr)
    print(f"{target:12} {int(executions[1]) if executions else 0:>12,} runs   {edges[-1] if edges else 0:>6} edges   "
          f"{'nothing found' if done.returncode == 0 else 'FOUND SOMETHING'}", flush=True)
    if done.returncode != 0:
        print(done.stderr[-5000:])
    return done.returncode == 0


if __name__ == "__main__":
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    build()
    results = [run(target, seconds) for target in sys.argv[2:] or TARGETS]
    sys.exit(0 if all(results) else 1)
