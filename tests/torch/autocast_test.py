"""train.precision = "bf16" beside PyTorch's autocast, on the same weights: autocast_test.py XGRAD.

PyTorch also rounds the results of products to bfloat16, which xgrad keeps in float32. So both are near the logits in double,
and xgrad is nearer.
"""

import h5py
import torch
from harness import TorchTest, main
from model import Model


class Autocast(TorchTest):
    def test_logits(self):
        self.write_config("small.toml", precision="bf16")
        # A large rate gives weights with which the logits are far from 0.
        self.xgrad("train", "small.toml", "run.dir=run", "--quiet", "optim.lr=0.02", "train.steps=200")
        self.xgrad("export", "run", "--to", "hdf5", "--out", "out.h5")
        with h5py.File(self.folder / "out.h5") as f:
            state = {f"{m}.{p}": torch.tensor(d[...]) for m in f.attrs["layer_names"].astype(str) for p, d in f[m].items()}
        model = Model(width=16, heads=2, layers=2, feedforward=24, classes=10, vocabulary=10, length=6)
        model.load_state_dict(state, strict=True)
        rows = torch.tensor(self.rows)
        with torch.no_grad():
            with torch.autocast("cpu", dtype=torch.bfloat16):
                autocast = model(rows).flatten(1).double()
            exact = model.double()(rows).flatten(1)
        found = self.logits("run")
        self.assertGreater(float(exact.std()), 1)
        own, theirs = float((found - exact).pow(2).mean().sqrt()), float((autocast - exact).pow(2).mean().sqrt())
        self.assertGreater(own, 1e-4 * float(exact.std()))  # float32 is a hundred times nearer
        self.assertLess(own, theirs)
        self.assertLess(float((found - autocast).abs().max()), 0.05 * float(exact.abs().max()))


if __name__ == "__main__":
    main()
