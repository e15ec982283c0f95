"""Netron's own readers open what xgrad writes, and show every tensor."""

import venv

venv.need("netron", "numpy")

import importlib.util  # noqa: E402
import json  # noqa: E402
import pathlib  # noqa: E402
import shutil  # noqa: E402
import subprocess  # noqa: E402

import numpy  # noqa: E402
from command import CommandTest, unittest  # noqa: E402

READERS = pathlib.Path(importlib.util.find_spec("netron").origin).parent
SHOW = pathlib.Path(__file__).with_suffix("").with_name("netron.mjs")
FORMATS = {"h5": "hdf5", "onnx": "onnx", "safetensors": "safetensors", "npz": "npz"}


class Netron(CommandTest):
    def show(self, *paths):
        """{name of a file: what Netron shows}"""
        folder = self.folder / "netron"
        if not folder.exists():
            shutil.copytree(READERS, folder)
            (folder / "package.json").write_text('{"type": "module"}')  # else node does not take them for modules
        done = subprocess.run(["node", SHOW, folder, *paths], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_every_tensor_is_shown(self):
        self.xgrad("train", "small.toml", "run.dir=run", "--quiet", "train.steps=5", "model.qkv_bias=true")
        for extension, to in FORMATS.items():
            self.xgrad("export", "run", "--to", to, "--out", f"{to}.{extension}")
        with numpy.load(self.folder / "npz.npz") as file:
            weights = {name: ["float32", list(x.shape)] for name, x in file.items()}
        self.assertGreater(len(weights), 15)
        paths = [self.folder / f"{to}.{extension}" for extension, to in FORMATS.items()] + [self.checkpoints("run")[-1]]
        shown = self.show(*paths)
        self.assertEqual(len(shown), 5)
        for name, file in shown.items():
            with self.subTest(name):
                self.assertEqual(file["errors"], [])
                # Some readers give a module's name and that of its tensor apart.
                found = {key: [kind, shape] for module, tensor, kind, shape in file["tensors"]
                         for key in (tensor, f"{module}.{tensor}")}
                self.assertEqual({key: found.get(key) for key in weights}, weights)
        self.assertEqual({name.split(".")[-1]: file["format"] for name, file in shown.items()},
                         {"h5": "Keras Weights", "onnx": "ONNX v8", "safetensors": "Safetensors", "npz": "NumPy Archive"})

    def test_what_is_no_model_is_not_shown(self):
        path = self.write("broken.h5", b"\x89HDF\r\n\x1a\n" + bytes(100))
        with self.assertRaises(AssertionError):
            self.show(path)


if __name__ == "__main__":
    unittest.main()
