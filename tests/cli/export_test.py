"""`xgrad export` and model.init_from as a user meets them."""

import array
import hashlib
import json
import os
import re
import tomllib
import zipfile

from command import SANITIZED, XGRAD, CommandTest, signal, subprocess, unittest


def read(path):
    """metadata, name -> (shape, numbers); what the format demands of a file is checked on the way"""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    assert start % 8 == 0 and data[8:9] == b"{"
    header = json.loads(data[8:start])
    metadata, tensors, end = header.pop("__metadata__"), {}, 0
    for name, entry in header.items():
        assert entry["dtype"] == "F32" and entry["data_offsets"][0] == end
        end = entry["data_offsets"][1]
        numbers = array.array("f", data[start:][slice(*entry["data_offsets"])])
        tensors[name] = (entry["shape"], list(numbers))
    assert start + end == len(data) and list(tensors) == sorted(tensors)
    assert metadata["sha256"] == hashlib.sha256(data[start:]).hexdigest()
    return metadata, tensors


class Export(CommandTest):
    def setUp(self):
        super().setUp()
        self.xgrad("train", "small.toml", "run.dir=run")

    def export(self, run, to, out, exit_code=0):
        return self.xgrad("export", run, "--to", to, "--out", out, exit_code=exit_code)

    def test_safetensors(self):
        said = self.export("run", "safetensors", "w.safetensors").stdout
        metadata, tensors = read(self.folder / "w.safetensors")
        self.assertEqual(sorted(metadata), ["config", "format", "sha256", "xgrad_version"])
        self.assertEqual(metadata["format"], "pt")
        self.assertEqual(metadata["xgrad_version"] + "\n", self.xgrad("--version").stdout)
        self.assertEqual(metadata["config"], self.xgrad("inspect", "run", "--config").stdout)
        self.assertEqual(tomllib.loads(metadata["config"])["model"]["width"], 16)
        self.assertEqual(tensors["head.bias"][0], [8])
        self.assertIn(f"in {len(tensors)} tensors, of run/checkpoints/step-0000000060.h5", said)

    def test_the_same_weights_give_the_same_file_and_nothing_else(self):
        (self.folder / "out").mkdir()
        for to in ("safetensors", "hdf5"):
            self.export("run", to, f"out/first.{to}")
            self.export(self.checkpoints("run")[-1], to, f"out/second.{to}")
            first, second = ((self.folder / "out" / f"{name}.{to}").read_bytes() for name in ("first", "second"))
            self.assertEqual(first, second)
        self.assertEqual(sorted(path.name for path in (self.folder / "out").iterdir()), sorted(
            f"{name}{ending}" for name in ("first", "second")
            for ending in (".hdf5", ".hdf5.reference.npz", ".safetensors", ".safetensors.reference.npz")))

    def test_a_reference_has_the_name_of_its_file(self):
        for to, out, reference in (("hdf5", "o.hdf5", "o.hdf5.reference.npz"), ("hdf5", "o.h5", "o.h5.reference.npz"),
                                   ("safetensors", "weights", "weights.reference.npz"), ("onnx", "o.onnx", "o.onnx.reference.npz"),
                                   ("npz", "o.npz", "o.reference.npz")):
            self.assertEqual(self.export("run", to, out).stdout.splitlines()[1], reference)
            self.assertTrue((self.folder / reference).exists())

    def test_one_that_was_killed_is_completed(self):
        """strace kills it at each call that publishes one of its three files; the same command then leaves the same files."""
        self.export("run", "npz", "whole.npz")
        endings = ("npz", "reference.npz", "check.py")
        whole = [(self.folder / f"whole.{ending}").read_bytes() for ending in endings]
        for call in ("fsync", "renameat2"):
            for number in range(1, len(endings) + 1):
                with self.subTest(f"{call} {number}"):
                    out = self.folder / f"{call}-{number}"
                    out.mkdir()
                    killed = subprocess.run(
                        ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:signal=SIGKILL:when={number}", XGRAD,
                         "export", "run", "--to", "npz", "--out", out / "w.npz"], cwd=self.folder)
                    self.assertEqual(killed.returncode, -signal.SIGKILL)
                    self.export("run", "npz", out / "w.npz")
                    self.assertEqual(sorted(path.name for path in out.iterdir()), sorted(f"w.{ending}" for ending in endings))
                    self.assertEqual([(out / f"w.{ending}").read_bytes() for ending in endings], whole)
        self.assertIn("w.npz: cannot create: File exists", self.export("run", "npz", out / "w.npz", exit_code=6).stderr)
        (out / "w.reference.npz").unlink()
        (out / "w.npz").write_bytes(b"mine")
        self.assertIn("w.npz: cannot create: File exists", self.export("run", "npz", out / "w.npz", exit_code=6).stderr)
        self.assertFalse((out / "w.reference.npz").exists())

    def test_nothing_is_replaced(self):
        path = self.write("taken", "mine")
        for to in ("safetensors", "hdf5"):
            self.assertIn("taken: cannot create: File exists", self.export("run", to, "taken", exit_code=6).stderr)
        self.assertEqual(path.read_text(), "mine")
        self.assertIn("nowhere", self.export("run", "hdf5", "nowhere/w.h5", exit_code=6).stderr)
        self.assertIn("safetensors", self.export("run", "pickle", "w.pt", exit_code=2).stderr)
        names = self.xgrad("export", "run", "--to", "hdf5", "--out", "w.h5", "--naming", "keras", exit_code=2)
        self.assertIn("torch", names.stderr)
        self.assertFalse((self.folder / "w.h5").exists())

    def test_hdf5_is_the_model_without_its_training(self):
        self.export("run", "hdf5", "w.h5")
        self.xgrad("verify", "w.h5")
        inspected = self.xgrad("inspect", "w.h5").stdout
        self.assertIn("step 60", inspected)
        self.assertNotIn("exp_avg", inspected)
        ask = "1 2 3\n4 5 6 7\n"
        self.assertEqual(self.xgrad("predict", "w.h5", "--logits", stdin=ask).stdout,
                         self.xgrad("predict", "run", "--logits", stdin=ask).stdout)
        self.assertIn("no run to resume", self.xgrad("resume", "w.h5", exit_code=6).stderr)

    def test_a_run_begins_with_what_was_exported(self):
        ask = "1 2 3\n4 5 6 7\n"
        logits = self.xgrad("predict", "run", "--logits", stdin=ask).stdout
        self.export("run", "safetensors", "w.safetensors")
        _, tensors = read(self.folder / "w.safetensors")
        inspected = self.xgrad("inspect", "run").stdout
        for name, (_, numbers) in tensors.items():
            digest = hashlib.sha256(array.array("f", numbers).tobytes()).hexdigest()[:16]
            self.assertRegex(inspected, rf"(?m)^{re.escape(name)} .* {digest}$")
        # A step this small changes no weight.
        still = ("train.steps=1", "train.seed=9", "optim.lr=1e-300")
        for number, file in enumerate(("w.safetensors", self.checkpoints("run")[-1])):
            begun = self.xgrad("train", "small.toml", f"model.init_from={file}", f"run.dir=again-{number}", *still)
            digest = hashlib.sha256((self.folder / file).read_bytes()).hexdigest()[:16]
            self.assertRegex(begun.stderr, rf"weights +all {len(tensors)} tensors, [\d,]+ numbers, from .*{digest}")
            self.assertEqual(self.xgrad("predict", f"again-{number}", "--logits", stdin=ask).stdout, logits)
            quiet = self.xgrad("train", "small.toml", f"model.init_from={file}", "--quiet", *still)
            self.assertEqual(quiet.stderr, "")

    if not SANITIZED:  # AddressSanitizer takes memory of its own
        def test_weights_that_grow_are_refused(self):
            """A quarter of a MiB that unpacks to 256 is read by a process that may not take so much."""
            header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (67108864,), }".ljust(117) + b"\n"
            with zipfile.ZipFile(self.folder / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as file, file.open("head.weight.npy", "w") as array:
                array.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
                for _ in range(256):
                    array.write(bytes(1 << 20))
            words = [XGRAD, "train", "small.toml", "model.init_from=bomb.npz"]
            process = subprocess.Popen(words, cwd=self.folder, stderr=subprocess.PIPE, text=True)
            with process.stderr as stream:
                said = stream.read()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(process.returncode, 4, said)
            self.assertIn("bomb.npz", said)
            self.assertLess(used.ru_maxrss, 150 << 10, "KiB, with those of its children")

    def test_resume_needs_the_file_no_more(self):
        self.export("run", "safetensors", "w.safetensors")
        words = ("small.toml", "model.init_from=w.safetensors", "train.seed=9")
        self.xgrad("train", *words, "run.dir=whole")
        self.xgrad("train", *words, "run.dir=cut")
        for path in self.checkpoints("cut")[1:]:
            path.unlink()
        (self.folder / "w.safetensors").unlink()
        resumed = self.xgrad("resume", "cut")
        self.assertNotIn("weights", resumed.stderr)
        self.assertEqual(self.final("cut"), self.final("whole"))

    def test_what_cannot_be_loaded_leaves_no_run(self):
        self.export("run", "safetensors", "w.safetensors")
        good = (self.folder / "w.safetensors").read_bytes()
        self.write("bad", good[:-1] + bytes([good[-1] ^ 1]))
        for file, code, said in (("none", 6, "none: cannot open"), ("bad", 4, "bad: damaged"),
                                 ("small.toml", 4, "small.toml: is not a safetensors file")):
            done = self.xgrad("train", "small.toml", f"model.init_from={file}", "run.dir=never", exit_code=code)
            self.assertIn(said, done.stderr)
        wide = self.xgrad("train", "small.toml", "model.init_from=w.safetensors", "model.layers=2", "model.width=32",
                          "run.dir=never", exit_code=4).stderr
        self.assertIn("shape differs: parameter head.weight: the file has (8, 16), the model (8, 32)", wide)
        self.assertIn("missing parameter encoder.layers.1.linear1.weight", wide)
        self.assertFalse((self.folder / "never").exists())


if __name__ == "__main__":
    unittest.main()
