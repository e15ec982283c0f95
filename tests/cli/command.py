"""Runs the xgrad command for the tests in this folder; its path is in the environment variable XGRAD."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

XGRAD = os.environ["XGRAD"]
# Whether AddressSanitizer is in it, which needs terabytes of addresses.
SANITIZED = b"__asan_init" in pathlib.Path(XGRAD).read_bytes()

# A run of a second or less: dropout, ragged lengths, several epochs, saves and evaluations in mid-epoch.
CONFIG = """
[task]
name = "reverse"
length = 6
min_length = 2
symbols = 8
examples = 1000
validation = 100
test = 100

[model]
width = 16
heads = 2
layers = 1
dropout = 0.1
attention_dropout = 0.1

[train]
steps = 60
batch = 48
evaluate_every = 25
save_every = 7
keep = 1000

[log]
every = 10
"""


class CommandTest(unittest.TestCase):
    """Each test works in an empty folder of its own, with small.toml in it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write("small.toml", CONFIG)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text) if isinstance(text, str) else path.write_bytes(text)
        return path

    def xgrad(self, *words, exit_code=0, stdin="", **options):
        """Runs xgrad to its end and expects that exit code."""
        done = subprocess.run(
            [XGRAD, *map(str, words)], cwd=self.folder, input=stdin, text=True, capture_output=True, timeout=1200 if SANITIZED else 120, **options
        )
        self.assertEqual(done.returncode, exit_code, done.stdout + done.stderr)
        return done

    def start(self, *words):
        process = subprocess.Popen(
            [XGRAD, *map(str, words)], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.addCleanup(lambda: (process.poll() is None and process.kill(), process.communicate()))
        return process

    def wait_for_checkpoint(self, process, run, at_least=1):
        """Returns when `run` has so many checkpoints; fails when the process ends before."""
        while len(self.checkpoints(run)) < at_least:
            self.assertIsNone(process.poll(), "the run ended before it could be interrupted")
            time.sleep(0.001)

    def left_running(self):
        """Ends the processes that still work in the test's folder, and returns their ids."""
        left = []
        for link in pathlib.Path("/proc").glob("[0-9]*/cwd"):
            with contextlib.suppress(OSError):  # of another user, or gone
                if link.resolve() == self.folder.resolve():
                    left.append(int(link.parent.name))
                    os.kill(left[-1], signal.SIGKILL)
        return left

    def report(self, run):
        """Makes the page of a run, and returns its text."""
        self.xgrad("report", run)
        return (self.folder / run / "report.html").read_text()

    def checkpoints(self, run):
        return sorted((self.folder / run / "checkpoints").glob("step-*.h5"))

    def final(self, run):
        """What a run leaves that must be the same to the byte however it got there."""
        metrics = (self.folder / run / "metrics.jsonl").read_bytes()
        last = self.checkpoints(run)[-1]
        return last.name, last.read_bytes(), metrics

    def rows(self, run):
        return [json.loads(line) for line in (self.folder / run / "metrics.jsonl").read_text().splitlines()]


__all__ = ["SANITIZED", "CommandTest", "signal", "subprocess", "unittest"]
