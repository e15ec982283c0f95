#!/usr/bin/env python3
"""The rows of docs/spec.md, with their tests and what became of them in the last run of ctest: spec.py BUILD [--write]

    ./run test; tests/spec.py build/release   # exits with 1 unless every test of every row passed
    tests/spec.py build/release --write       # writes the names of the tests into docs/spec.md

A test belongs to the rows that its name carries: Scores.S2_3_S2_4_AreScaled belongs to S2.3 and S2.4.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "spec.md"
PROGRAMS = ["autograd", "layers", "optim", "text", "storage", "data", "train"]
LINE = re.compile(r"\| (S\d\.\d+) \| (.*) \| `([^`]*)` \| (.*) \|")


def rows_of(name):
    """The rows that a test's name carries."""
    return [f"S{text}.{row}" for text, row in re.findall(r"(?<![A-Za-z0-9])S(\d)_(\d+)(?=[_ ]|$)", name.replace("_S", " S"))]


def listed(program):
    """Suite.Name of every test of a GoogleTest program; parameters are left out."""
    suite = ""
    for line in subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout.splitlines():
        name = line.split("#")[0].strip()
        if not line.startswith(" "):
            suite = name
        elif suite.endswith("."):
            yield suite + name


def tests_by_row(build):
    """row -> [(program, test)]; program is None for a method of a Python test."""
    found = {}
    for name in PROGRAMS:
        program = build / "tests" / f"{name}_test"
        for test in listed(program):
            for row in rows_of(test):
                found.setdefault(row, []).append((program, test))
    for path in sorted((ROOT / "tests").glob("*/*_test.py")):
        for test in re.findall(r"def (test_S\d_\w+)", path.read_text()):
            for row in rows_of(test):
                found.setdefault(row, []).append((None, f"{path.stem}.{test}"))
    return found


def tests_text(tests):
    return ", ".join(f"`{test}`" for _, test in tests)


def write(build):
    found = tests_by_row(build)
    fill = lambda line: f"| {line[1]} | {line[2]} | `{line[3]}` | {tests_text(found.get(line[1], []))} |"
    PAGE.write_text(LINE.sub(fill, PAGE.read_text()))


def scripts(build):
    """The stem of each script that ctest runs -> ctest's name of it."""
    # ctest empties the log of the folder that it is given, even when it only lists the tests, so it gets another folder.
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "CTestTestfile.cmake").write_text(f"subdirs([==[{build}]==])\n")
        shown = subprocess.run(["ctest", "--test-dir", folder, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    return {pathlib.Path(word).stem: test["name"]
            for test in json.loads(shown.stdout)["tests"] for word in test.get("command", []) if word.endswith("_test.py")}


def results(build):
    """ctest's name of a test -> "passed" or "failed", from the log of its last run."""
    log = build / "Testing" / "Temporary" / "LastTest.log"
    if not log.exists():
        return {}
    # What a test printed stands before its verdict, so the last verdict of its part counts.
    parts = re.findall(r'(?ms)^"([^"\n]+)" start time: .*?$(.*?)^"\1" end time: ', log.read_text(errors="replace"))
    verdict = lambda part: "passed" if re.findall(r"(?m)^Test (.*)\.$", part)[-1:] == ["Passed"] else "failed"
    return {name: verdict(part) for name, part in parts}


def report(build):
    """Prints the rows; returns whether every test of every row passed."""
    found, ended, script = tests_by_row(build), results(build), scripts(build)
    count = {"passed": 0, "failed": 0, "not run": 0, "no test": 0}
    for row, what, _, _ in LINE.findall(PAGE.read_text()):
        print(f"{row}  {what}")
        states = []
        for program, test in found.get(row, []):
            name = f"{program.stem.removesuffix('_test')}.{test}" if program else script.get(test.split(".")[0])
            states.append(ended.get(name, "not run"))
            print(f"      {states[-1]:7}  {test}")
        state = next((state for state in ("failed", "not run") if state in states), "passed") if states else "no test"
        count[state] += 1
    print(f"{sum(count.values())} rows: " + ", ".join(f"{n} {state}" for state, n in count.items() if n))
    return count["passed"] == sum(count.values())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=lambda path: pathlib.Path(path).resolve(), metavar="BUILD", help="folder of the build")
    parser.add_argument("--write", action="store_true", help="write the names of the tests into docs/spec.md")
    chosen = parser.parse_args()
    sys.exit(write(chosen.build) if chosen.write else not report(chosen.build))
