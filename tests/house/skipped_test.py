"""CI's check that a skipped test says why."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / ".ci" / "skipped.py"


def complaints(*cases):
    """Each case is (status, output), as ctest --output-junit writes it."""
    rows = "".join(f'<testcase name="t{i}" status="{status}"><system-out>{output}</system-out></testcase>'
                   for i, (status, output) in enumerate(cases))
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
        file.write(f"<testsuite>{rows}</testsuite>")
        file.flush()
        run = subprocess.run([sys.executable, "-B", SCRIPT, file.name], capture_output=True, text=True)
    assert (run.returncode != 0) == bool(run.stderr), run.stderr
    return run.stderr.splitlines()


class Skipped(unittest.TestCase):
    def test_reasons_pass(self):
        self.assertEqual(complaints(("run", "Skipped"), ("notrun", "Skipped: PyTorch is not installed\n"),
                                    ("notrun", "[ RUN      ] A.b\n/a.cpp:3: Skipped\nneeds two cores\n\n[  SKIPPED ] A.b")), [])

    def test_silence_fails(self):
        found = complaints(("notrun", "Skipped: \n"), ("notrun", "/a.cpp:3: Skipped\n\n\n[  SKIPPED ] A.b"), ("disabled", ""),
                           ("notrun", ""))
        self.assertEqual([line.split(":")[0] for line in found], ["t0", "t1", "t2", "t3"])


if __name__ == "__main__":
    unittest.main()
