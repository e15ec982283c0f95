"""The line of Python in docs/checkpoint-format.md reads the golden checkpoint into a state dictionary of PyTorch."""

import pathlib
import unittest

import h5py
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden/checkpoint-1.0.h5"


class Checkpoint(unittest.TestCase):
    def state(self):
        text = (ROOT / "docs/checkpoint-format.md").read_text()
        code = text.split("```python\n")[1].split("```")[0].replace("step-0000001200.h5", str(GOLDEN))
        names = {"h5py": h5py, "torch": torch}
        exec(code, names)
        return names["state"]

    def test_the_documented_line_reads_every_weight(self):
        state = self.state()
        self.assertEqual(len(state), 5)
        weight = state["encoder.layers.0.attention.in_proj_weight"]
        torch.testing.assert_close(weight, (torch.arange(6) / 7 - 1).reshape(3, 2), rtol=0, atol=1e-7)
        self.assertEqual((state["head.scale"].dtype, state["head.scale"].item()), (torch.float64, 3.0))

    def test_the_rest_is_there(self):
        with h5py.File(GOLDEN) as file:
            self.assertEqual(file["trainer/step"][()], 1200)
            self.assertEqual(file["trainer/config"][()].decode(), "[train]\nseed = 1 # π\n")
            names = file["trainer/parameters"][()].decode().split()
            self.assertEqual(list(file["optimizer/exp_avg"]), sorted(names))


if __name__ == "__main__":
    unittest.main()
