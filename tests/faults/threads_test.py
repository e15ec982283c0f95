"""I8: ThreadSanitizer over training steps of several encoders on three threads, and over the tests that start threads; 0 reports.

Builds the preset tsan. TBB is not compiled for ThreadSanitizer; autograd/parallel.cpp tells it what a parallel loop orders and
what not, so that nothing needs to be suppressed, and a race between the blocks of a loop is found, as a planted one shows.
"""

import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TESTS = ROOT / "build/tsan/tests"
PROGRAM = TESTS / "faults/threaded_steps"
# The tests whose calls meet on several threads, by program.
THREADED = {
    "autograd_test": "*Parallel*:Threads*:Engine*:*Threads*",
    "data_test": "PrefetchLoader*:Loader*:*Threads*",
    "train_test": "Predictor*",
}
REPORT = 66
ENVIRONMENT = {**os.environ, "TSAN_OPTIONS": f"exitcode={REPORT} ignore_noninstrumented_modules=1 allocator_may_return_null=1"}


class Threads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for words in (["cmake", "--preset", "tsan"], ["ninja", "-C", "build/tsan", "threaded_steps", *THREADED]):
            subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)

    def execute(self, what):
        return subprocess.run([PROGRAM, what], env=ENVIRONMENT, capture_output=True, text=True)

    def test_a_planted_race_is_found(self):
        done = self.execute("race")
        self.assertEqual(done.returncode, REPORT, done.stderr)
        self.assertIn("data race", done.stderr)

    def test_no_report(self):
        for what in ("none", "steps"):
            done = self.execute(what)
            self.assertEqual((done.returncode, done.stderr), (0, ""), what)
        print("counted 9 training steps of 3 encoders under ThreadSanitizer, 0 reports")

    def test_no_report_of_the_threaded_tests(self):
        for program, names in THREADED.items():
            done = subprocess.run([TESTS / program, f"--gtest_filter={names}"], cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-8000:])
            ran = re.search(r"\[  PASSED  \] (\d+) tests", done.stdout)
            print(f"counted {ran[1]} tests of {program} under ThreadSanitizer, 0 reports")


if __name__ == "__main__":
    unittest.main()
