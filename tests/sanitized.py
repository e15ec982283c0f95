#!/usr/bin/env python3
"""The command-line tests under AddressSanitizer, LeakSanitizer and UndefinedBehaviorSanitizer: sanitized.py [NAME...]

    cmake --preset asan && ninja -C build/asan xgrad_tool
    /usr/bin/python3 tests/sanitized.py               # all of them, in an hour on a quiet machine
    /usr/bin/python3 tests/sanitized.py cli.train     # one of them

CI runs the library's own tests so (`.ci/run`); these run whole processes, which takes too long there. Each process writes its
reports into a folder, so that none is lost in a test that expects a failure; in hostile/ they fail a test. Leaks are not looked for where strace watches, as
both stop the process in the same way. Exits with 1 when a test failed or there was a report.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parent
BUILD = TESTS.parent / "build/asan"
# Those of faults/ that need neither another build nor a library loaded before AddressSanitizer's, with words for them. What follows
# the calls of a process one by one, or leaves it few open files, has no place here: the sanitizers make calls of their own.
FAULTS = {
    "faults.kill": [],
    "faults.run_faults": ["RunFaults.test_standard_streams"],
    "faults.signal": ["Stop.test_at_random_times", "Stop.test_inside_evaluations", "Stop.test_killed_while_it_makes_good"],
    "faults.together": [],
}
# Those that run strace, or a locale, for which glibc keeps what it allocates.
WITHOUT_LEAKS = ("cli.proofs", "cli.surroundings", "cli.sweep", "cli.workers")
ARGUMENTS = {"hostile.hdf5": [BUILD / "xgrad"], **FAULTS}


def names():
    cli = sorted("cli." + path.name.removesuffix("_test.py") for path in TESTS.glob("cli/*_test.py"))
    return [*cli, "hostile.hdf5", *FAULTS]


def run(name, reports):
    """Whether the test passed."""
    folder, _, stem = name.partition(".")
    leaks = int(folder == "cli" and name not in WITHOUT_LEAKS)
    log = f"log_path={reports}/{name}:" if folder != "hostile" else ""  # whose tests watch which files are opened
    environment = {**os.environ, "XGRAD": str(BUILD / "xgrad"),
                   "ASAN_OPTIONS": f"{log}allocator_may_return_null=1:detect_leaks={leaks}",
                   "UBSAN_OPTIONS": f"{log}print_stacktrace=1"}
    words = [sys.executable, "-B", TESTS / folder / f"{stem}_test.py", *ARGUMENTS.get(name, ())]
    return subprocess.run(words, cwd=TESTS.parent, env=environment).returncode == 0


def main(chosen):
    unknown = set(chosen) - set(names())
    if unknown:
        sys.exit(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(names())}")
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen or names():
            start = time.monotonic()
            passed = run(name, folder)
            print(f"== {name} {'passed' if passed else 'FAILED'} after {time.monotonic() - start:.0f} s", flush=True)
            failed += [] if passed else [name]
        reports = sorted(pathlib.Path(folder).iterdir())
        for path in reports:
            print(f"== {path.name}\n{path.read_text()}")
    print(f"counted {len(chosen or names())} test programs, {len(failed)} failed, {len(reports)} reports")
    sys.exit(1 if failed or reports else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
