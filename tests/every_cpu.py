#!/usr/bin/env python3
"""The tests on every path of processors' features that this machine has: every_cpu.py [--quick] [CTEST-REGEX]

    cmake --preset release && ninja -C build/release
    tests/every_cpu.py                              # the whole suite, once for each path
    tests/every_cpu.py '^(autograd|layers|optim)'   # what works on kernels
    tests/every_cpu.py --quick                      # products, attention and gradient checks, off the machine's own path

The environment variable XGRAD_CPU chooses the path (autograd/kernels/cpu.hpp).
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PATHS = ("baseline", "avx2", "avx512", "avx512_bf16", "amx")
QUICK = "Gemm/*:Bf16*:Blas/*:Matmul*:Linear*:Attention*:LayerNorm*:Softmax*:Gradcheck*-*ScaleKeepsTheVariance:*MemoryIsLinear*"
GRADCHECK = ("gradcheck", "configs/reverse.toml", "model.width=8", "model.heads=2", "train.batch=4", "model.dropout=0.1")


def environment(path):
    return {**os.environ, "XGRAD_CPU": path}


def processor(build, path):
    """The path that xgrad says it takes where this one is asked for; None where it refuses that, since the processor lacks it.
    An empty path asks for none."""
    done = subprocess.run([build / "xgrad", "info"], env=environment(path), capture_output=True, text=True)
    return re.search(r"(?m)^processor +(\w+)$", done.stdout).group(1) if done.returncode != 2 else None


def paths(build):
    """The paths of this machine."""
    found = {path: processor(build, path) for path in PATHS}
    if found["baseline"] != "baseline" or any(taken not in (None, path) for path, taken in found.items()):
        sys.exit("xgrad info does not follow XGRAD_CPU")
    return [path for path, taken in found.items() if taken]


def commands(build, arguments):
    if not arguments.quick:
        return [["ctest", "--test-dir", build, "--output-on-failure", "--parallel", str(arguments.parallel), "-R", arguments.regex]]
    return [[build / "tests/autograd_test", "--gtest_brief=1", f"--gtest_filter={QUICK}"], [build / "xgrad", *GRADCHECK]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("regex", nargs="?", default=".", help="of names of tests, as ctest -R takes it")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--parallel", type=int, default=os.cpu_count())
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    arguments = parser.parse_args()
    found = paths(arguments.build)
    failed = []
    own = processor(arguments.build, "")
    for path in [path for path in found if path != own] if arguments.quick and len(found) > 1 else found:
        for words in commands(arguments.build, arguments):
            start = time.monotonic()
            done = subprocess.run(words, cwd=ROOT, env=environment(path))
            print(f"== {path}: {pathlib.Path(words[0]).name} "
                  f"{'passed' if done.returncode == 0 else 'FAILED'} after {time.monotonic() - start:.0f} s", flush=True)
            failed += [path] if done.returncode else []
    sys.exit(f"failed on {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
