"""I8: valgrind over a run of three steps, with evaluations and saves, and over what goes on from it; 0 errors.

Builds the preset valgrind: without AVX-512, which valgrind does not know, and with every tensor a block of malloc, so that one
byte beyond it and numbers that nothing has written are seen; a planted program shows that the latter are.
"""

import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build/valgrind"
REPORT = 66
VALGRIND = ["valgrind", "--quiet", f"--error-exitcode={REPORT}", "--leak-check=full", "--errors-for-leak-kinds=definite"]
SHORT = ("train.steps=3", "train.threads=1", "train.batch=4", "train.evaluate_every=2", "schedule.warmup=1", "task.examples=16",
         "task.validation=8", "task.test=8")


class Valgrind(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for words in (["cmake", "--preset", "valgrind"], ["ninja", "-C", BUILD, "xgrad_tool", "uninitialised"]):
            subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)

    def execute(self, *words, exit_code=0):
        done = subprocess.run([*VALGRIND, *words], cwd=ROOT, capture_output=True, text=True)
        self.assertEqual(done.returncode, exit_code, done.stdout + done.stderr)
        return done.stderr

    def test_a_planted_read_is_found(self):
        said = self.execute(BUILD / "tests/faults/uninitialised", exit_code=REPORT)
        self.assertIn("uninitialised value", said)

    def test_no_report(self):
        with tempfile.TemporaryDirectory() as folder:
            run = os.path.join(folder, "run")
            said = self.execute(BUILD / "xgrad", "train", "configs/reverse.toml", f"run.dir={run}", "--quiet", *SHORT)
            said += self.execute(BUILD / "xgrad", "resume", run, "--allow-change", "train.steps", "train.steps=4", "--quiet")
            self.assertNotIn("==", said)
        print("counted 4 training steps, with evaluations and saves, under valgrind, 0 errors")


if __name__ == "__main__":
    unittest.main()
