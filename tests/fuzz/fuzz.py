"""Builds the fuzz targets with clang and runs each: fuzz.py [--seconds S] [--runs N] [--write [--add]] [TARGET...].

A target runs until one of the limits. --write records the counts in docs/figures/fuzz.json and renews the table of docs/reliability.md.
Findings are kept in build/fuzz/found, the corpus in build/fuzz/corpus. Ends with 1 when a target crashed, leaked, took more than
5 s over one input or more than 512 MiB.

libhdf5 crashes and hangs on some files, which is why xgrad reads them in a confined process. The target hdf5 reads in its own process:
that is fast, and the sanitizers see our code. libFuzzer starts it again after each such end. One counts as found if the fault may be
ours, or if the target files, which reads the same input as xgrad does, does not survive it."""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))
import show  # noqa: E402

BUILD = ROOT / "build/fuzz"
FIGURES = ROOT / "docs/figures/fuzz.json"
TARGETS = {  # and where seeds lie
    "config": ["tests/fuzz/corpus/config", "configs"],
    "seal": ["tests/fuzz/corpus/seal", "tests/golden"],
    "image": ["tests/fuzz/corpus/image"],
    "safetensors": ["tests/fuzz/corpus/safetensors"],
    "npz": ["tests/fuzz/corpus/npz"],
    "tables": ["tests/fuzz/corpus/tables"],
    "files": ["tests/fuzz/corpus/files"],
    "hdf5": ["tests/fuzz/corpus/files"],
}
# The process of a child that reads HDF5 is a copy of ours.
ENVIRONMENT = os.environ | {"ASAN_OPTIONS": "allocator_may_return_null=1", "ASAN_SYMBOLIZER_PATH": "/usr/bin/llvm-symbolizer-19"}
RESTARTED = [f"-fork={os.cpu_count()}", "-ignore_crashes=1", "-ignore_timeouts=1", "-ignore_ooms=1", "-detect_leaks=0", "-timeout=2"]


def build():
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["cmake", "--preset", "fuzz"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", BUILD, "--quiet", *(f"fuzz_{target}" for target in TARGETS)], check=True)


def call(target, *words):
    return subprocess.run([BUILD / f"tests/fuzz/fuzz_{target}", "-rss_limit_mb=512", *words], capture_output=True, text=True,
                          errors="replace", env=ENVIRONMENT)


def call_confined(artifact):
    """The confined process gives up after ten seconds instead of a minute."""
    return subprocess.run(["prlimit", "--cpu=10:20", BUILD / "tests/fuzz/fuzz_files", "-timeout=100", artifact], capture_output=True,
                          text=True, errors="replace", env=ENVIRONMENT)


def is_ours(report):
    """Whether our code may be at fault: if some stack of a sanitizer's report, be it of an access or an allocation, has a function of
    ours inside any of libhdf5. Memory has limits only in the confined process."""
    if "libFuzzer: out-of-memory" in report:
        return False
    stacks = re.findall(r"(?m)(?:^ +#\d+ .*\n)+", report)
    frames = [re.search(r"(?m)^ +#\d+ .*(libhdf5|\.[ch]pp:\d+)", stack) for stack in stacks]
    return not any(frames) or any(frame and frame[1] != "libhdf5" for frame in frames)


def judge(artifacts):
    """Shows the ends that count as found and returns their number."""
    bad = 0
    for artifact in artifacts:
        alone, confined = call("hdf5", "-timeout=5", artifact), call_confined(artifact)
        if confined.returncode != 0 or (alone.returncode != 0 and is_ours(alone.stderr)):
            bad += 1
            print(f"{artifact}:\n{(alone if confined.returncode == 0 else confined).stderr[-5000:]}")
    return bad


def run(target, limits):
    corpus, found = BUILD / "corpus" / target, BUILD / "found" / target
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    done = call(target, corpus, *(ROOT / place for place in TARGETS[target]), *limits, "-timeout=5", "-max_len=20000",
                "-print_final_stats=1", "-verbosity=1", f"-artifact_prefix={found}/", *(RESTARTED if target == "hdf5" else []))
    counts = re.findall(r"(?m)^(?:#|stat::number_of_executed_units: +)(\d+)", done.stderr)
    edges = re.findall(r"cov: (\d+)", done.stderr)
    result = {"runs": int(counts[-1]) if counts else 0, "edges": int(edges[-1]) if edges else 0,
              "seconds": round(time.monotonic() - begin)}
    good = done.returncode == 0
    if target == "hdf5":
        ends = re.findall(r"oom/timeout/crash: (\d+)/(\d+)/(\d+)", done.stderr)
        result["restarts"] = sum(map(int, ends[-1])) if ends else 0
        good = done.returncode >= 0 and judge(sorted(found.iterdir())) == 0  # else it says how its last restart came about
    print(f"{target:12} {json.dumps(result)}   {'nothing found' if good else 'FOUND SOMETHING'}", flush=True)
    if not good:
        print(done.stderr[-5000:])
    return result if good else None


def page(figures):
    """What docs/reliability.md tells."""
    rows = [[f"`{target}`", f"{of['runs']:,}", f"{of['edges']:,}", of["seconds"]] for target, of in figures.items()]
    table = show.table(["target", "inputs", "edges of the code reached", "seconds"], rows)
    return table + f"libhdf5 crashed, hung or took too much memory {figures['hdf5']['restarts']:,} times in `hdf5`.\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=600, help="for each target")
    parser.add_argument("--runs", type=int, default=-1, help="for each target")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--add", action="store_true", help="with --write: to what is recorded of an earlier campaign")
    parser.add_argument("target", nargs="*")
    a = parser.parse_args()
    build()
    results = {target: run(target, [f"-max_total_time={a.seconds}", f"-runs={a.runs}"]) for target in a.target or TARGETS}
    if a.write and all(results.values()):
        known = json.loads(FIGURES.read_text())
        for target, result in results.items() if a.add else ():
            result |= {key: result[key] + known[target][key] for key in result.keys() - {"edges"}}
        figures = {target: (known | results)[target] for target in TARGETS if target in known | results}
        FIGURES.write_text(json.dumps(figures, indent=2) + "\n")
        show.renew(ROOT / "docs/reliability.md", "tests/fuzz/fuzz.py", page(figures))
    sys.exit(0 if all(results.values()) else 1)


if __name__ == "__main__":
    main()
