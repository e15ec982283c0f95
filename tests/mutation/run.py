#!/usr/bin/python3
"""Plants faults in the sources, one at a time, and sees whether a test fails: run.py [--sample N] [--files PATTERN] [STEP...]

    cmake --preset release && ninja -C build/release && ./run install mutation
    tests/mutation/run.py --sample 800       # every mutant of the parts in generate.PARTS, and 800 of the others

All mutants are compiled in at once, each behind a switch; the environment variable XGRAD_MUTANT chooses one. The steps are
build, record (which tests reach which mutants), kill, commands (tests of the command for survivors in train/), same (drops
survivors that do not change the object code) and table. Results are kept in build/mutation, so that a run goes on where it
was stopped. equivalent.txt names mutants that cannot change a result, each with the reason."""

import argparse
import concurrent.futures
import dataclasses
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time

import generate
from generate import BUILD, ROOT

MUTANTS, RESULTS, REACHED = BUILD / "mutants.json", BUILD / "results.jsonl", BUILD / "reached.jsonl"
STEPS = ["build", "record", "kill", "commands", "same", "table"]
SHARDS = 4  # parts of a program that are recorded at the same time
BATCHES = (0.3, 2, 10)  # seconds of tests in the first batches of a program
# Of the command: those that hold the trainer and its files, quick ones first.
COMMAND_TESTS = ["cli/vectors", "cli/best", "cli/check", "torch/recorded", "cli/study", "cli/averaging", "cli/proofs", "cli/resume", "torch/training"]


def chance(name, seed):
    return hashlib.sha256(f"{seed}|{name}".encode()).hexdigest()


def select(arguments):
    """The mutants of this run: all of PARTS, or --parts of them, and a sample of the others."""
    files = [f for f in generate.sources() if not arguments.files or any(p in f for p in arguments.files.split(","))]
    found = generate.all_points(files)
    chosen = []
    for inside, most in ((True, arguments.parts), (False, arguments.sample)):
        here = [p for p in found if (generate.part(p) is not None) == inside]
        here.sort(key=lambda p: chance(p.name, arguments.seed))
        chosen += here if most is None else here[:most]
    return sorted(chosen, key=lambda p: (p.file, p.begin, p.operator))


def build(arguments):
    import schemata
    mutants = select(arguments)
    print(f"{len(mutants)} mutants", flush=True)
    dropped = schemata.build(mutants, arguments.jobs)
    MUTANTS.write_text(json.dumps([dataclasses.asdict(p) | {"number": i, "part": generate.part(p)}
                                   for i, p in enumerate(mutants) if i not in dropped]))
    REACHED.unlink(missing_ok=True)


def limited(cpu):
    """What a child process may use: a mutant can hang, or ask for all memory."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (int(cpu) + 1, int(cpu) + 2))
        resource.setrlimit(resource.RLIMIT_DATA, (6 << 30, 6 << 30))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return limit


def program(name):
    return BUILD / "bin" / f"{name}_test"


def run(command, mutant, folder, cpu, environment=None):
    """Runs a command with a mutant; returns its exit code, None at the end of its time, and what it printed."""
    environment = os.environ | {"XGRAD_MUTANT": str(mutant), "TMPDIR": folder, "TEST_TMPDIR": folder} | (environment or {})
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", preexec_fn=limited(cpu), start_new_session=True) as process:
        try:
            output, _ = process.communicate(timeout=60 + 20 * cpu)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            return None, ""
        return process.returncode, output


def record(arguments):
    """Runs every program once, with all mutants off, in parts, and writes down which test reaches which mutants."""
    import schemata

    def one(task):
        name, part = task
        path = BUILD / f"reached-{name}-{part}.jsonl"
        path.unlink(missing_ok=True)
        shard = {"GTEST_TOTAL_SHARDS": str(SHARDS), "GTEST_SHARD_INDEX": str(part)}
        with tempfile.TemporaryDirectory() as folder:
            run([program(name), "--gtest_brief=1"], "record", folder, 3000, {"XGRAD_MUTATION_RECORD": str(path)} | shard)
        return [json.loads(line) | {"program": name} for line in path.read_text().splitlines()] if path.exists() else []

    names = arguments.programs.split(",") if arguments.programs else schemata.TESTS[::-1]
    kept = [] if not REACHED.exists() else [t for t in map(json.loads, REACHED.read_text().splitlines()) if t["program"] not in names]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        tests = [test for found in pool.map(one, [(name, part) for name in names for part in range(SHARDS)]) for test in found]
    print(f"{len(tests)} tests, {sum(test['seconds'] for test in tests):.0f} s; without mutants these fail:",
          [test["test"] for test in tests if not test["passed"]])
    REACHED.write_text("".join(json.dumps(test) + "\n" for test in kept + tests if test["passed"]))


def batches(tests):
    """Tests of one mutant in the order in which they run: (program, tests, seconds), cheap ones first."""
    left = sorted(tests, key=lambda t: t["seconds"])
    for most in (*BATCHES, float("inf")):
        total, batch = 0, {}
        while left and (total + left[0]["seconds"] <= most or not batch):
            total += left[0]["seconds"]
            test = left.pop(0)
            batch.setdefault(test["program"], []).append(test)
        for name, chosen in sorted(batch.items(), key=lambda item: sum(t["seconds"] for t in item[1])):
            yield name, chosen, sum(t["seconds"] for t in chosen)


def failing_test(mutant, tests, budget):
    """The first test that fails with a mutant, None if all pass, and the seconds of tests that ran."""
    spent = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, chosen, seconds in batches(tests):
            if spent > 0 and spent + seconds > budget:
                return None, spent
            filters = ":".join(test["test"] for test in chosen)
            code, output = run([program(name), f"--gtest_filter={filters}", "--gtest_fail_fast", "--gtest_brief=1"], mutant,
                               folder, 10 + 10 * seconds)
            spent += seconds
            if code != 0 or "[  PASSED  ]" not in output:
                failed = [line.split()[-1 if "(" not in line else 3] for line in output.splitlines() if "[  FAILED  ]" in line]
                how = "time" if code is None or code in (-9, -24) else "crash" if code < 0 else ""
                return f"{name}.{failed[0].rstrip(',') if failed and not how else how or chosen[0]['test']}", spent
    return None, spent


def results():
    """What is known of every mutant: the last line about it."""
    if not RESULTS.exists():
        return {}
    return {line["name"]: line for line in map(json.loads, RESULTS.read_text().splitlines())}


def kill(arguments):
    tests = [json.loads(line) for line in REACHED.read_text().splitlines()]
    reaching = {}
    for test in tests:
        for number in test["mutants"]:
            reaching.setdefault(number, []).append(test)
    known = results()
    mutants = [m for m in json.loads(MUTANTS.read_text()) if not arguments.only or arguments.only in m["name"]]
    if arguments.again:  # with tests that are new
        equivalent = __import__("table").equivalent()
        mutants = [m for m in mutants if known.get(m["name"], {}).get("state") in ("survived", "unreached", None) and m["name"] not in equivalent]
    else:
        mutants = [m for m in mutants if m["name"] not in known]
    mutants.sort(key=lambda m: (m["part"] is None, chance(m["name"], "order")))
    lock, start, done = threading.Lock(), time.monotonic(), [0, 0]
    with RESULTS.open("a") as stream, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        def one(mutant):
            reach = reaching.get(mutant["number"], [])
            by, spent = failing_test(mutant["number"], reach, arguments.budget) if reach else (None, 0)
            state = "killed" if by else "survived" if reach else "unreached"
            with lock:
                done[0] += 1
                done[1] += state != "killed"
                stream.write(json.dumps({"name": mutant["name"], "state": state, "by": by, "seconds": round(spent, 2)}) + "\n")
                stream.flush()
                if done[0] % 20 == 0:
                    print(f"{done[0]} of {len(mutants)}, {done[1]} survive, {time.monotonic() - start:.0f} s", flush=True)
        list(pool.map(one, mutants))


def failing_command(mutant):
    """The first test of the command that fails with a mutant, None if all pass."""
    xgrad = str(BUILD / "bin/xgrad")
    with tempfile.TemporaryDirectory() as folder:
        for name in COMMAND_TESTS:
            words = ["/usr/bin/python3", "-B", str(ROOT / f"tests/{name}_test.py")]
            words.append(xgrad if name.startswith("torch") else "--failfast")
            code, _ = run(words, mutant, folder, 120, {"XGRAD": xgrad})
            if code != 0:
                return name.replace("/", ".")
    return None


def commands(arguments):
    """The trainer is held by tests of the command as well, which are too slow for every mutant."""
    known = results()
    mutants = [m for m in json.loads(MUTANTS.read_text()) if m["file"].startswith("train/")
               and known.get(m["name"], {}).get("state") in ("survived", "unreached")]
    if failed := failing_command(-2):
        sys.exit(f"{failed} fails without a mutant")
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool, RESULTS.open("a") as stream:
        for m, by in zip(mutants, pool.map(lambda m: failing_command(m["number"]), mutants)):
            if by:
                stream.write(json.dumps(known[m["name"]] | {"state": "killed", "by": by}) + "\n")
                stream.flush()


def table(arguments):
    import table as page
    page.print_table(json.loads(MUTANTS.read_text()), results())


def code(words, text):
    """The object code of a source."""
    words = [w for w in words if w != "-Werror" and not w.startswith("-W")]
    at = words.index("-o")
    with tempfile.NamedTemporaryFile(suffix=".o") as output:
        done = subprocess.run([*words[:at], *words[at + 2:words.index("-c")], "-w", "-x", "c++", "-c", "-", "-o", output.name],
                              input=text.encode("latin-1"), cwd=generate.RELEASE, capture_output=True)
        return output.read() if done.returncode == 0 else None


def same(arguments):
    """Compiles survivors by themselves, as the release is, and drops those that change no byte of the object."""
    known, reasons, words = results(), __import__("table").equivalent(), generate.commands()
    mutants = [m for m in json.loads(MUTANTS.read_text())
               if known.get(m["name"], {}).get("state") in ("survived", "unreached") and m["name"] not in reasons
               and not known[m["name"]].get("differs")]
    texts = {m["file"]: (ROOT / m["file"]).read_text("latin-1") for m in mutants}
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool, RESULTS.open("a") as stream:
        plain = dict(zip(texts, pool.map(lambda file: code(words[file], texts[file]), texts)))

        def one(m):
            text = texts[m["file"]]
            text = text[:m["begin"]] + (m["text"] or ("{}" if m["statement"] else "")) + text[m["end"]:]
            return code(words[m["file"]], text) == plain[m["file"]]
        for m, equal in zip(mutants, pool.map(one, mutants)):
            stream.write(json.dumps(known[m["name"]] | ({"state": "same"} if equal else {"differs": True})) + "\n")
            stream.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", default=STEPS, metavar="STEP", help=", ".join(STEPS))
    parser.add_argument("--sample", type=int, help="so many mutants outside generate.PARTS; default: all")
    parser.add_argument("--parts", type=int, help="so many mutants inside them; default: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--files", help="only files whose paths hold one of these texts, separated by commas")
    parser.add_argument("--only", help="kill: only mutants whose names hold this text")
    parser.add_argument("--again", action="store_true", help="kill: survivors of earlier runs too")
    parser.add_argument("--programs", help="record: these test programs")
    parser.add_argument("--budget", type=float, default=60, help="seconds of tests for a mutant (default 60)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    for step in arguments.steps:
        if step not in STEPS:
            sys.exit(f"{step}: no step; they are {', '.join(STEPS)}")
        globals()[step](arguments)


if __name__ == "__main__":
    main()
