"""`xgrad verify-resume --ranks` kills and resumes a run of several processes, and compares it with one of one process."""

import pathlib
import subprocess
import tempfile
import unittest

from mpi_runs import XGRAD, XGRAD_MPI

CONFIG = """
[task]
name = "reverse"
length = 4
examples = 100
validation = 10
test = 10
[model]
width = 8
dropout = 0.1
[schedule]
warmup = 2
[train]
steps = 20
batch = 16
shards = 3
evaluate_every = 5
"""


class VerifyResume(unittest.TestCase):
    def run_it(self, program, *words):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "c.toml").write_text(CONFIG)
            done = subprocess.run([program, "verify-resume", "c.toml", "--quiet", *words], cwd=folder, text=True, capture_output=True, timeout=120)
            self.assertEqual([path.name for path in pathlib.Path(folder).iterdir()], ["c.toml"])
            return done

    def test_the_bits_are_those_of_one_process(self):
        done = self.run_it(XGRAD_MPI, "--ranks", "3", "--at", "13")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("20 steps, and 13 steps on 3 processes, killed and resumed from step 10\n", done.stdout)
        self.assertRegex(done.stdout, r"metrics.jsonl +\d+ bytes  the same\nlast checkpoint +\d+ bytes  the same\nresumed to the bit\n")

    def test_more_processes_than_shards(self):
        done = self.run_it(XGRAD_MPI, "--ranks", "4")
        self.assertEqual(done.returncode, 2)
        self.assertIn("set train.shards=4 or more", done.stderr)

    def test_without_mpi(self):
        done = self.run_it(XGRAD, "--ranks", "3")
        self.assertEqual(done.returncode, 2)
        self.assertIn("this xgrad cannot start several processes", done.stderr)


if __name__ == "__main__":
    unittest.main()
