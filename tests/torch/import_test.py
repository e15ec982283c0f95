"""Weights that PyTorch made become a checkpoint, and the model stays the same: import_test.py XGRAD."""

import json

import h5py
import numpy
import torch
from harness import TorchTest, main
from model import Model


def write_safetensors(path, arrays):
    header, data = {}, b""
    for name, array in arrays.items():
        header[name] = {"dtype": {4: "F32", 8: "F64"}[array.itemsize], "shape": array.shape,
                        "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def write_npz(path, arrays):
    numpy.savez_compressed(path, **arrays)


def write_hdf5(path, arrays):
    """Flat names, groups for modules, and groups all the way: the three ways that are one name."""
    with h5py.File(path, "w") as file:
        for place, (name, array) in enumerate(arrays.items()):
            module, _, leaf = name.rpartition(".")
            file.create_dataset([name, f"{module}/{leaf}", name.replace(".", "/")][place % 3], data=array,
                                **({"chunks": array.shape, "compression": "gzip"} if array.ndim == 2 else {}))


WRITERS = {"safetensors": write_safetensors, "npz": write_npz, "hdf5": write_hdf5}


class Import(TorchTest):
    def convert(self, form, precision="float", exit_code=0):
        return self.xgrad("import", f"weights.{form}", "--from", form, "--config", "small.toml", "--out", f"{form}.h5",
                          exit_code=exit_code)

    def trained_model(self, dtype):
        """A few steps of PyTorch's own, so that no tensor is as it begins."""
        model = Model(width=16, heads=2, layers=2, feedforward=24, classes=10, vocabulary=10, length=6)
        for layer in model.encoder.layers:
            layer.self_attn.in_proj_bias = torch.nn.Parameter(torch.randn(48) / 10)
        model = model.to(dtype)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        ids = torch.tensor(self.rows)
        for _ in range(5):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.flip(1).flatten()).backward()
            optimizer.step()
        return model.eval()

    def round_trip(self, precision, dtype, tolerance):
        self.write_config("small.toml", precision=precision, bias=True)
        model = self.trained_model(dtype)
        arrays = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
        for form, write in WRITERS.items():
            with self.subTest(form):
                write(self.folder / f"weights.{form}", arrays)
                self.assertIn(f"in {len(arrays)} tensors, of weights.{form}", self.convert(form).stdout)
                self.check_close(f"{form}.h5", model, tolerance, spread=0.1)
        first = (self.folder / "safetensors.h5").read_bytes()
        self.assertTrue(all((self.folder / f"{form}.h5").read_bytes() == first for form in WRITERS))

    def test_float(self):
        self.round_trip("float", torch.float32, 1e-5)
        self.xgrad("verify", "npz.h5")
        self.xgrad("eval", "npz.h5")
        self.xgrad("export", "npz.h5", "--to", "safetensors", "--out", "back.safetensors")
        self.xgrad("train", "small.toml", "model.init_from=npz.h5", "train.steps=1", "--quiet")

    def test_double(self):
        self.round_trip("double", torch.float64, 1e-10)

    def test_what_does_not_fit_is_listed_and_nothing_written(self):
        self.write_config("small.toml", bias=True)
        arrays = {name: t.numpy() for name, t in self.trained_model(torch.float32).state_dict().items()}
        del arrays["head.bias"]
        arrays["extra.weight"] = arrays["head.weight"]
        arrays["embedding.token.weight"] = arrays["embedding.token.weight"].T.copy()
        for form, write in WRITERS.items():
            write(self.folder / f"weights.{form}", arrays)
            message = self.convert(form, exit_code=4).stderr
            for line in (f"weights.{form} does not fit the model", "missing parameter head.bias",
                         "unexpected parameter extra.weight",
                         "embedding.token.weight: the file has (16, 10), the model (10, 16)"):
                self.assertIn(line, message)
            self.assertFalse((self.folder / f"{form}.h5").exists())

    def test_other_types_and_what_is_not_finite(self):
        self.write_config("small.toml", bias=True)
        arrays = {name: t.numpy() for name, t in self.trained_model(torch.float32).state_dict().items()}
        for change, reason in ((lambda a: a.astype(numpy.int64), "neither float32 nor float64"),
                               (lambda a: a * numpy.float32("nan"), "head.bias: entry 0 of shape (10) is not finite")):
            write_hdf5(self.folder / "weights.hdf5", arrays | {"head.bias": change(arrays["head.bias"])})
            message = self.convert("hdf5", exit_code=4).stderr
            self.assertIn("weights.hdf5: head", message)
            self.assertIn(reason, message)

    def test_half_precision_in_hdf5_is_exact(self):
        self.write_config("small.toml", bias=True)
        arrays = {name: t.numpy().astype(numpy.float16) for name, t in self.trained_model(torch.float32).state_dict().items()}
        write_hdf5(self.folder / "weights.hdf5", arrays)
        write_npz(self.folder / "weights.npz", {name: array.astype(numpy.float32) for name, array in arrays.items()})
        self.convert("hdf5"), self.convert("npz")
        self.assertEqual((self.folder / "hdf5.h5").read_bytes(), (self.folder / "npz.h5").read_bytes())

    def test_a_checkpoint_that_h5py_changed(self):
        self.write_config("small.toml", bias=True)
        self.xgrad("train", "small.toml", "run.dir=run", "--quiet")
        source = next((self.folder / "run/checkpoints").glob("*.h5"))
        changed = self.folder / "weights.hdf5"
        changed.write_bytes(source.read_bytes())
        with h5py.File(changed, "r+") as file:
            file["head/bias"][...] += 1
        self.assertIn("weights.hdf5", self.xgrad("eval", "weights.hdf5", exit_code=4).stderr)
        before = self.logits(str(source))
        self.convert("hdf5")
        torch.testing.assert_close(self.logits("hdf5.h5"), before + 1, rtol=0, atol=1e-5)


if __name__ == "__main__":
    main()
