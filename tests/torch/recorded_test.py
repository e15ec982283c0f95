"""`xgrad train` compared with what PyTorch's training loop made of the same cases when golden/make_training.py ran it:
recorded_test.py XGRAD. Needs no PyTorch."""

import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from cases import CASES, RECORDED, WEIGHTS, config_of, data_of, initial_weights, rows_of, summary, weights_of

GOLDEN = json.loads((pathlib.Path(__file__).resolve().parents[1] / "golden/training.json").read_text())
TOLERANCE = 1e-9


class Recorded(unittest.TestCase):
    def check_rows(self, rows, expected):
        for step, figures in expected.items():
            for name, value in figures.items():
                self.assertAlmostEqual(rows[int(step)][name], value, delta=TOLERANCE * abs(value), msg=f"{step} {name}")

    def check_tensors(self, tensors, expected):
        self.assertEqual(set(tensors), set(expected))
        for name, x in tensors.items():
            norm = expected[name][0]
            for found, wanted in zip(summary(x), expected[name], strict=True):
                self.assertLess(abs(found - wanted), TOLERANCE * math.sqrt(x.size) * norm, name)

    def check(self, name):
        golden, case = GOLDEN[name], CASES[name]
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            data_of(case).write(folder)
            np.savez(folder / WEIGHTS, **initial_weights(golden["shapes"]))
            (folder / "a.toml").write_text(config_of(case))
            subprocess.run([XGRAD, "train", "a.toml", "run.dir=run", "--quiet"], cwd=folder, check=True, capture_output=True)
            self.check_rows(rows_of(folder / "run", "train"), golden["train"])
            self.check_rows(rows_of(folder / "run", "validation"), golden["validation"])
            weights, averages = weights_of(folder / "run")
            self.check_tensors(weights, golden["weights"])
            self.check_tensors(averages, golden["averages"])

    def test_all_are_there(self):
        self.assertEqual(list(GOLDEN), ["torch", *RECORDED])


for name in RECORDED:
    setattr(Recorded, f"test_{name}", lambda self, name=name: self.check(name))

if __name__ == "__main__":
    XGRAD = str(pathlib.Path(sys.argv.pop()).resolve())
    unittest.main()
