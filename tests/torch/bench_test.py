"""The benchmark runs, and its sides agree or are shown as failed: bench_test.py BUILD."""

import dataclasses
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop())
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench/peers")]

import measure  # noqa: E402
import numpy  # noqa: E402
import show  # noqa: E402
import worker  # noqa: E402
from side import Side  # noqa: E402
from workloads import WORKLOADS, step_goal  # noqa: E402


class Bench(unittest.TestCase):
    def test_a_step(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder, "compare.json")
            run = subprocess.run([sys.executable, "-B", ROOT / "bench" / "compare.py", "micro", "--quick", "--only", "training",
                                  "--peers", "torch explicit", "jax", "--python", sys.executable, "--build", BUILD, "--out", out],
                                 capture_output=True, text=True)
            self.assertEqual(run.returncode, 1, run.stderr)  # no goal is judged without a peer
            results = json.loads(out.read_text())
        told = subprocess.run([BUILD / "xgrad", "info"], capture_output=True, text=True).stdout
        # By the kernels that run, the goals of bfloat16 are chosen.
        self.assertIn(f"processor  {results['machine']['instructions']}\n", told)
        result, = results["training"]
        peer, = result["peers"]
        self.assertLess(peer["difference"], 1e-4)
        self.assertLess(result["xgrad"]["mib"], peer["mib"])
        # Debian has no JAX.
        self.assertEqual([(failed["name"], failed["why"]) for failed in result["failed"]],
                         [("jax", "step: ModuleNotFoundError: No module named 'jax'")])
        judged = "not judged: without jax" if step_goal(results["machine"], result) else ""  # a goal, where one was set
        self.assertRegex(run.stdout, rf"\| micro \| 1 \| .* \| failed \| .*{judged} \|\n")

    def test_another_model_is_refused(self):
        def start(name, command, w):
            return lambda: Side(name, [*command, *w.options()], 1)

        w = WORKLOADS["micro"]
        torch = [sys.executable, ROOT / "bench" / "peers" / "torch_side.py", "--attention", "explicit"]
        other = start("other", torch, dataclasses.replace(w, heads=1))
        found = measure.compare("step", start("xgrad", [BUILD / "bench" / "train_step"], w), {"other": other}, 1e-4)
        self.assertEqual(found["peers"], [])
        self.assertIn("differs from xgrad by", found["failed"][0]["why"])

    def test_a_gradient_that_is_not_a_number_differs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "gradients")
            theirs = {"a": numpy.ones(3, "float32"), "b": numpy.zeros(2, "float32")}
            for ours, expected in (([1, 1, 1, 0, 0], 0), ([1, math.nan, 1, 0, 0], math.nan), ([1, 1, 1, 0, 0.5], 0.5)):
                numpy.array(ours, "float32").tofile(path)
                found = worker.worst(numpy, path, ["a", "b"], theirs, 1.0, 1.0)
                self.assertEqual(str(found), str(float(expected)))

    def test_a_page_is_renewed_in_its_place(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "page.md")
            page.write_text("before\n<!-- a -->\nold\n<!-- end -->\n<!-- b -->\n<!-- end -->\n")
            show.renew(page, "a", "new\n")
            self.assertEqual(page.read_text(), "before\n<!-- a -->\nnew\n<!-- end -->\n<!-- b -->\n<!-- end -->\n")
            self.assertRaises(ValueError, show.renew, page, "c", "new\n")


if __name__ == "__main__":
    unittest.main()
