"""The benchmark runs, both sides agree, and a small step is not slower than PyTorch's: bench_test.py BUILD_DIRECTORY."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop())


class Bench(unittest.TestCase):
    def test_micro(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder, "compare.json")
            run = subprocess.run([sys.executable, "-B", ROOT / "bench" / "compare.py", "micro", "--quick", "--only", "training",
                                  "--peers", "torch explicit", "--python", sys.executable, "--build", BUILD, "--out", out],
                                 capture_output=True, text=True)
            self.assertEqual(run.returncode, 0, run.stderr)
            result, = json.loads(out.read_text())["training"]
            self.assertEqual(result["failed"], [])
            peer, = result["peers"]
            self.assertLess(peer["difference"], 1e-4)
            # A tenth of what a quiet machine shows.
            self.assertGreater(peer["ratio"]["median"], 1)
            self.assertLess(result["xgrad"]["mib"], peer["mib"])
            self.assertIn("| micro | 1 |", run.stdout)


if __name__ == "__main__":
    try:
        import torch  # noqa: F401
    except ImportError:
        print("Skipped: python3-torch is not installed")
        sys.exit(0)
    unittest.main()
