"""Weights go to PyTorch and come back, by safetensors and HDF5, and the model stays the same: export_test.py XGRAD."""

import pathlib

import h5py
import torch
from harness import TorchTest, main
from model import Model

ROOT = pathlib.Path(__file__).resolve().parents[2]


def functions_of_the_guide():
    """read_safetensors and write_safetensors as docs/export.md has them, and nothing else to run."""
    names = {}
    for block in (ROOT / "docs/export.md").read_text().split("```python\n")[1:]:
        code = block.split("```")[0]
        if "_safetensors(path" in code and "def " in code:
            exec(code, names)
    return names["read_safetensors"], names["write_safetensors"]


class Export(TorchTest):
    def model(self, bias):
        model = Model(width=16, heads=2, layers=2, feedforward=24, classes=10, vocabulary=10, length=6)
        if bias:
            for layer in model.encoder.layers:
                layer.self_attn.in_proj_bias = torch.nn.Parameter(torch.zeros(48))
        return model

    def there_and_back(self, precision, bias, tolerance):
        read, write = functions_of_the_guide()
        self.write_config("small.toml", precision=precision, bias=bias)
        self.xgrad("train", "small.toml", "run.dir=run", "--quiet")
        self.xgrad("export", "run", "--to", "safetensors", "--out", "out.safetensors")
        self.xgrad("export", "run", "--to", "hdf5", "--out", "out.h5")

        there = read(self.folder / "out.safetensors")
        with h5py.File(self.folder / "out.h5") as f:  # the line of docs/checkpoint-format.md
            same = {f"{m}.{p}": d[...] for m in f.attrs["layer_names"].astype(str) for p, d in f[m].items()}
            self.assertEqual(list(f["optimizer"]), [])
        self.assertEqual(set(there), set(same))
        self.assertTrue(all((there[name] == same[name]).all() for name in same))
        model = self.model(bias).to(torch.float64 if precision == "double" else torch.float32)
        state = {name: torch.tensor(array) for name, array in there.items()}
        self.assertEqual(str(model.load_state_dict(state, strict=True)), "<All keys matched successfully>")
        self.check_close("run", model, tolerance)

        # Another model, of PyTorch's making. A step this small changes no weight.
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += 0.1 * torch.randn_like(parameter)
        write(self.folder / "back.safetensors", {name: t.numpy() for name, t in model.state_dict().items()})
        begun = self.xgrad("train", "small.toml", "model.init_from=back.safetensors", "run.dir=back", "train.steps=1",
                           "optim.lr=1e-300")
        self.assertIn(f"all {len(state)} tensors", begun.stderr)
        self.check_close("back", model, tolerance)

    def test_float(self):
        self.there_and_back("float", False, 1e-5)

    def test_double_with_bias(self):
        self.there_and_back("double", True, 1e-10)

    def test_what_does_not_fit_is_listed(self):
        _, write = functions_of_the_guide()
        self.write_config("small.toml")
        weights = {name: t.numpy() for name, t in self.model(True).state_dict().items()}
        del weights["head.bias"]
        weights["embedding.token.weight"] = weights["embedding.token.weight"].T.copy()
        write(self.folder / "wrong.safetensors", weights)
        done = self.xgrad("train", "small.toml", "model.init_from=wrong.safetensors", "run.dir=wrong", exit_code=4)
        for line in ("missing parameter head.bias", "unexpected parameter encoder.layers.0.self_attn.in_proj_bias",
                     "unexpected parameter encoder.layers.1.self_attn.in_proj_bias",
                     "embedding.token.weight: the file has (16, 10), the model (10, 16)"):
            self.assertIn(line, done.stderr)
        self.assertFalse((self.folder / "wrong").exists())


if __name__ == "__main__":
    main()
