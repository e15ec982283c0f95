"""A model that xgrad trained is the same model in PyTorch: live_test.py XGRAD."""

import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

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
[train]
steps = 20
batch = 8
"""


class Live(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.directory = pathlib.Path(temporary.name)

    def xgrad(self, *words, text=""):
        run = subprocess.run([XGRAD, *words], input=text, capture_output=True, text=True, cwd=self.directory)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def check(self, norm, activation):
        (self.directory / "config.toml").write_text(CONFIG.format(norm=norm, activation=activation))
        self.xgrad("train", "config.toml", "run.dir=run", "--quiet")
        checkpoint = sorted((self.directory / "run" / "checkpoints").glob("*.h5"))[-1]

        # How docs/checkpoint-format.md tells users to read one.
        with h5py.File(checkpoint) as f:
            weights = {f"{m}.{p}": torch.from_numpy(d[...])
                       for m in f.attrs["layer_names"].astype(str) for p, d in f[m].items()}

        vocabulary, width = weights["embedding.token.weight"].shape
        length = weights["embedding.position.weight"].shape[0]
        model = Model(width=width, heads=2, layers=2, feedforward=24, classes=weights["head.bias"].shape[0], norm=norm,
                      activation=activation, vocabulary=vocabulary, length=length)
        self.assertEqual(str(model.load_state_dict(weights)), "<All keys matched successfully>")

        rows = [[random.randrange(vocabulary) for _ in range(length)] for _ in range(20)]
        lines = self.xgrad("predict", "--logits", "run", text="".join(" ".join(map(str, row)) + "\n" for row in rows))
        logits = torch.tensor([[float(number) for number in line.split()] for line in lines.splitlines()])
        expected = model(torch.tensor(rows)).flatten(1)
        self.assertEqual(logits.shape, expected.shape)
        self.assertLess(float((logits - expected).abs().max()), 1e-5)
        self.assertGreater(float(expected.std()), 0.01)  # not equal for being zero

    def test_pre_norm(self):
        self.check("pre", "gelu")

    def test_post_norm(self):
        self.check("post", "gelu_tanh")


if __name__ == "__main__":
    XGRAD = str(pathlib.Path(sys.argv.pop()).resolve())
    try:
        import h5py
        import torch
    except ImportError:
        print("Skipped: PyTorch or h5py is not installed (apt-get install python3-torch python3-h5py)")
        sys.exit(0)
    from model import Model
    torch.manual_seed(1)
    random.seed(1)
    unittest.main()
