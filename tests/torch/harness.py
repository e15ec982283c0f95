"""What those tests share that hold the command's models to PyTorch's: NAME_test.py XGRAD."""

import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

import torch

# A model and its task that a test trains in a moment.
CONFIG = """
[task]
name = "reverse"
length = 6
[model]
width = 16
heads = 2
layers = 2
feedforward = 24
norm = "{norm}"
activation = "{activation}"
qkv_bias = {bias}
[train]
steps = 20
batch = 8
precision = "{precision}"
"""


class TorchTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.rows = [[random.randrange(10) for _ in range(6)] for _ in range(20)]

    def write_config(self, name, norm="pre", activation="gelu", bias=False, precision="float"):
        (self.folder / name).write_text(CONFIG.format(norm=norm, activation=activation, bias=str(bias).lower(), precision=precision))

    def xgrad(self, *words, text="", exit_code=0):
        run = subprocess.run([XGRAD, *words], input=text, capture_output=True, text=True, cwd=self.folder)
        if exit_code is not None:
            self.assertEqual(run.returncode, exit_code, run.stdout + run.stderr)
        return run

    def logits(self, source):
        text = "".join(" ".join(map(str, row)) + "\n" for row in self.rows)
        lines = self.xgrad("predict", "--logits", source, text=text).stdout.splitlines()
        return torch.tensor([[float(number) for number in line.split()] for line in lines], dtype=torch.float64)

    def check_close(self, source, model, tolerance, spread=0.01):
        """The logits of a run or checkpoint are the model's, which are not equal for being zero."""
        with torch.no_grad():
            expected = model(torch.tensor(self.rows)).flatten(1).double()
        found = self.logits(source)
        self.assertEqual(found.shape, expected.shape)
        self.assertLess(float((found - expected).abs().max()), tolerance)
        self.assertGreater(float(expected.std()), spread)


def main():
    global XGRAD
    XGRAD = str(pathlib.Path(sys.argv.pop()).resolve())
    torch.manual_seed(1)
    random.seed(1)
    unittest.main()
