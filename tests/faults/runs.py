"""A run of some 50 ms for the harnesses in this folder, and what must hold of its directory whatever happened to it.

The path of xgrad is in the environment variable XGRAD. XGRAD_TIER=full asks for the full counts; full.py sets it.
"""

import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import tempfile
import tomllib
import unittest

XGRAD = os.environ["XGRAD"]
FULL = os.environ.get("XGRAD_TIER") == "full"
SAVE_EVERY = 7
# Calls that leave nothing that outlives the process, and whose number differs with the turns of threads; a kill at one is a kill at the
# call before it.
OF_MEMORY = {"brk", "mmap", "munmap", "mprotect", "madvise", "futex", "sched_yield", "mbind"}

# Dropout, ragged lengths, accumulation, warm-up, mean of the weights, patience; saves and evaluations in mid-epoch.
CONFIG = f"""
[task]
name = "reverse"
length = 5
min_length = 2
symbols = 6
examples = 90
validation = 16
test = 16

[model]
width = 8
heads = 2
layers = 1
dropout = 0.1
attention_dropout = 0.1

[optim]
lr = 0.01

[schedule]
warmup = 10

[train]
steps = 60
batch = 8
accumulate = 2
ema = 0.9
patience = 50
evaluate_every = 9
save_every = {SAVE_EVERY}
keep = 3
threads = 1

[log]
every = 1
"""


def tier(quick, full):
    return full if FULL else quick


def count(number, what):
    """A line for the table of full.py."""
    print(f"counted {number:,} {what}", flush=True)


def sealed_step(name, data):
    """The step in a checkpoint's seal, by docs/checkpoint-format.md; None when it does not verify."""
    image, seal = data[:-512], data[-512:]
    if len(data) < 512 or seal[:8] != b"XGRADCK1" or hashlib.sha256(seal[:480]).digest() != seal[480:]:
        return None
    length, step = struct.unpack("<QQ", seal[16:32])
    whole = length == len(image) and hashlib.sha256(image).digest() == seal[32:64]
    return step if whole and name == f"step-{step:010}.h5" else None


def owes_validation(data):
    """Whether the bytes of a checkpoint have the mark of a run that was stopped inside the validation of its last step."""
    return b"owes_validation" in data


def checkpoints(run):
    return sorted((run / "checkpoints").glob("step-*.h5")) if run.is_dir() else []


def temporaries(run):
    return sorted(str(p) for p in run.rglob(".*.tmp"))


def trained_steps(metrics):
    """The steps of the whole rows in the bytes of a metrics.jsonl."""
    found = []
    for line in metrics.split(b"\n")[:-1]:
        try:
            row = json.loads(line)
        except ValueError:
            break
        found += [row["step"]] if row["split"] == "train" else []
    return found


def best_step(run, until):
    """The step with the least validation loss of those logged up to `until`; None where there is none."""
    metrics = run / "metrics.jsonl"
    rows = [json.loads(line) for line in metrics.read_bytes().split(b"\n")[:-1]] if metrics.exists() else []
    losses = {row["step"]: row["loss"] for row in rows if row["split"] == "validation" and row["step"] <= until}
    return min(losses, key=losses.get, default=None)


def trained(run):
    """The last step that the run has logged."""
    metrics = run / "metrics.jsonl"
    return max(trained_steps(metrics.read_bytes()), default=0) if metrics.exists() else 0


def final(run):
    """What must be the same to the byte however a run got there."""
    last = checkpoints(run)[-1]
    return last.name, last.read_bytes(), (run / "metrics.jsonl").read_bytes()


class RunTest(unittest.TestCase):
    """Works in a folder of its own with tiny.toml in it; random choices are those of `self.random`."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "tiny.toml").write_text(CONFIG)
        seed = int(os.environ.get("XGRAD_SEED", random.SystemRandom().randrange(10**6)))
        self.random = random.Random(seed)
        self.seed = f"XGRAD_SEED={seed}"
        self.digests, self.wholes, self.made = {}, {}, 0
        self.damaged = set()  # what the bytes of a checkpoint may be that was damaged before

    def new_run(self):
        self.made += 1
        return self.folder / f"run-{self.made}"

    def words(self, run, *overrides):
        """The command that begins the run, or goes on with it."""
        if (run / "config.toml").exists():
            return [XGRAD, "resume", run.name, *overrides]
        return [XGRAD, "train", "tiny.toml", f"run.dir={run.name}", *overrides]

    def execute(self, words, timeout=120, **options):
        return subprocess.run([*map(str, words)], cwd=self.folder, capture_output=True, text=True, timeout=timeout, **options)

    def whole(self, *overrides):
        """What an uninterrupted run leaves."""
        if overrides not in self.wholes:
            run = self.new_run()
            done = self.execute(self.words(run, *overrides))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.wholes[overrides] = final(run)
        return self.wholes[overrides]

    def write_of_row(self, step, *overrides):
        """Which call of write logs this step in metrics.jsonl."""
        run, log = self.new_run(), self.folder / "log"
        self.execute([*strace(log, "-e", "trace=write", "-s", 64), *self.words(run, *overrides)])
        shutil.rmtree(run)
        writes = [line for line in log.read_text().splitlines() if line.startswith("write(")]
        return next(number for number, line in enumerate(writes, 1) if rf'"{{\"step\":{step},\"split\":\"train\"' in line)

    def killed_at(self, step, *overrides):
        """A run that was killed as it logged this step."""
        run, row = self.new_run(), self.write_of_row(step, *overrides)
        kill = ["-e", "trace=write", "-e", f"inject=write:signal=SIGKILL:when={row}"]
        done = self.execute([*strace("/dev/null", *kill), *self.words(run, *overrides)])
        self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr)
        return run

    def stopped_inside_validation(self, step, *overrides):
        """A run that was stopped inside the validation of this step, and owes it."""
        run, row = self.new_run(), self.write_of_row(step, *overrides)
        self.execute([*strace("/dev/null", "-e", "trace=write", "-e", f"inject=write:signal=SIGTERM:when={row}"), *self.words(run, *overrides)])
        self.assertTrue(owes_validation((run / f"checkpoints/step-{step:010}.h5").read_bytes()))
        return run

    def check(self, run, why, *overrides):
        """Every checkpoint verifies, none is older than the last save that was completed, a step has one content, or two where it
        owed its validation, and that of the best step is there."""
        for path in checkpoints(run):
            data = path.read_bytes()
            step = sealed_step(path.name, data)
            if data in self.damaged:
                continue
            self.assertIsNotNone(step, f"{path.name} does not verify: {why}")
            digest, kind = hashlib.sha256(data).digest(), (overrides, step, owes_validation(data))
            self.assertEqual(self.digests.setdefault(kind, digest), digest, f"{path.name} has other bytes: {why}")
        latest = self.latest(run)
        best = best_step(run, latest)
        self.assertTrue(best is None or (run / f"checkpoints/step-{best:010}.h5").exists(), f"{best} is the best: {why}")
        completed = (max(trained(run), 1) - 1) // SAVE_EVERY * SAVE_EVERY
        self.assertGreaterEqual(latest, completed, f"the save of step {completed} is lost: {why}")
        return latest

    def latest(self, run):
        return max((sealed_step(path.name, path.read_bytes()) or 0 for path in checkpoints(run)), default=0)

    def finish(self, run, why, *overrides):
        """Goes on to the end, which is that of an uninterrupted run; if it saves, only the newest checkpoints and the best stay."""
        begun, before = (run / "config.toml").exists(), self.latest(run)
        done = self.execute(self.words(run, *(() if begun else overrides)))
        self.assertEqual(done.returncode, 0, f"{why}: {done.stderr}")
        for mine, other in zip(final(run), self.whole(*overrides)):
            self.assertEqual(mine, other, f"the resumed run ended differently: {why}")
        self.assertEqual(temporaries(run), [], why)
        if self.latest(run) > before:
            keep = tomllib.loads((run / "config.toml").read_text())["train"]["keep"]
            self.assertLessEqual(len(checkpoints(run)), keep + 1, why)
        self.assertLessEqual({path.read_bytes() for path in run.rglob("*.damaged")}, self.damaged, why)
        return done


def strace(*options):
    """The words that run a command under strace, without a word of its own."""
    return ["strace", "-qq", "-o", *map(str, options)]


def why_no_strace():
    try:
        run = subprocess.run([*strace("/dev/null"), "true"], capture_output=True, text=True)
    except FileNotFoundError:
        return "strace is not installed"
    return run.returncode and f"strace cannot trace here: {run.stderr.strip()}"


def main():
    if reason := why_no_strace():
        print(reason)
        raise SystemExit(1 if FULL else 77)
    unittest.main(failfast=FULL)
