"""C1, C4: fails or kills a series of saves at every system call that it makes: save_faults_test.py SAVE_LOOP.

Each trial has checkpoints of steps 1 and 2, then saves 3 and 4 with one fault. Whatever the fault, a checkpoint loads
afterwards, none older than the last save that succeeded; an error ends in success or in exit 6 with a message, and
leaves no temporary file.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SAVE_LOOP = sys.argv.pop()
CALLS = ("openat", "fallocate", "write", "fsync", "close", "pread64", "renameat2", "unlinkat", "getdents64")
FAULTS = ("signal=SIGKILL", "error=ENOSPC", "error=EIO", "error=EDQUOT", "error=EACCES", "error=EMFILE", "error=EINTR")


def strace(*arguments):
    return subprocess.run(["strace", "-qq", "-f", *map(str, arguments)], capture_output=True, text=True)


def why_no_strace():
    try:
        run = strace("-o", "/dev/null", "true")
    except FileNotFoundError:
        return "strace is not installed"
    return run.returncode and f"strace cannot trace here: {run.stderr.strip()}"


class Trial:
    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.saves = pathlib.Path(self.folder.name) / "saves"
        self.progress = pathlib.Path(self.folder.name) / "progress"
        self.saves.mkdir()
        self.progress.mkdir()
        subprocess.run([SAVE_LOOP, self.saves, self.progress, "1", "2"], check=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def go_on(self, *options):
        return strace(*options, SAVE_LOOP, self.saves, self.progress, 3, 4)

    def succeeded(self):
        return max(int(p.name) for p in self.progress.iterdir())

    def latest(self):
        run = subprocess.run([SAVE_LOOP, self.saves], capture_output=True, text=True)
        return int(run.stdout) if run.returncode == 0 else run.stderr

    def temporaries(self):
        return [p.name for p in self.saves.iterdir() if p.suffix == ".tmp"]


def calls_of_saves(name):
    """Numbers, from 1, of the calls of this name that come once the program is at work in the directory."""
    with Trial() as trial:
        log = trial.saves.parent / "log"
        trial.go_on("-o", log, "-e", f"trace={name},openat")
        at_work, number, numbers = False, 0, []
        for line in log.read_text().splitlines():
            at_work = at_work or str(trial.saves) in line
            if re.match(rf"\d+ +{name}\(", line):
                number += 1
                if at_work:
                    numbers.append(number)
        return numbers


class SaveFaults(unittest.TestCase):
    def check(self, name, number, fault):
        with Trial() as trial:
            run = trial.go_on("-o", "/dev/null", "-e", f"trace={name}", "-e", f"inject={name}:{fault}:when={number}")
            self.assertGreaterEqual(trial.latest(), trial.succeeded(), run)
            if fault.startswith("error"):
                self.assertEqual(trial.temporaries(), [], run)
                self.assertIn(run.returncode, (0, 6), run)
                self.assertTrue(run.stderr.startswith(str(trial.saves)) if run.returncode else trial.succeeded() == 4, run)

    def test_every_call_may_fail_or_be_the_last(self):
        trials = 0
        for name in CALLS:
            numbers = calls_of_saves(name)
            self.assertTrue(numbers, f"a save makes no call of {name}")
            for number in numbers:
                for fault in FAULTS:
                    with self.subTest(f"{name} {number} {fault}"):
                        self.check(name, number, fault)
                    trials += 1
        print(f"counted {trials} faults and kills at the calls of saves")

    def test_order_of_a_save_outlives_a_power_failure(self):
        """The line of the manifest is on disk before the data are, the data before the name is, and the name before the save
        succeeds. Then the lock is closed."""
        save = ("openat openat write close openat fsync close "
                "openat fallocate write fsync close openat pread64 pread64 close renameat2 fsync close mkdir")
        with Trial() as trial:
            log = trial.saves.parent / "log"
            trial.go_on("-o", log, "-e", "trace=" + ",".join(set(save.split())))
            at_work = log.read_text().split(str(trial.saves), 1)[1]
        calls = ["openat"] + re.findall(r"^\d+ +(\w+)\(", at_work, re.MULTILINE)
        self.assertEqual(" ".join(calls[:len(save.split())]), save)

    def test_without_renameat2(self):
        for link in ((), ("-e", "inject=linkat:error=EPERM")):
            with self.subTest(link), Trial() as trial:
                run = trial.go_on("-o", "/dev/null", "-e", "inject=renameat2:error=EINVAL", *link)
                self.assertEqual((run.returncode, trial.latest(), trial.temporaries()), (0, 4, []), run)
                again = trial.go_on("-o", "/dev/null", "-e", "inject=renameat2:error=EINVAL", *link)
                self.assertEqual(again.returncode, 6)
                self.assertIn("File exists", again.stderr)
                self.assertEqual(trial.temporaries(), [])


if __name__ == "__main__":
    if reason := why_no_strace():
        print(reason)
        sys.exit(77)
    unittest.main()
