"""NumPy reads and writes what xgrad exports and starts from, and the checker recomputes it."""

import venv

venv.need("numpy")

import json  # noqa: E402
import re  # noqa: E402
import sys  # noqa: E402

import numpy  # noqa: E402
from command import CommandTest, subprocess, unittest  # noqa: E402

# Together they have every order and kind of norm, activation, positions, pool, bias, precision and loss of numbers.
MODELS = (
    (),
    ("model.norm=post", "model.normalization=rms", "model.activation=relu", "model.layers=2"),
    ("model.norm=sandwich", "model.positions=sinusoidal", "model.activation=silu", "model.qkv_bias=true"),
    ("model.norm=none", "model.positions=none", "model.activation=gelu_tanh", "model.out_bias=false", "model.head_dim=5",
     "model.final_norm=false", "train.precision=double"),
    ("task=majority", "model.pool=mean"),
    ("model.stablemax=true", "train.label_smoothing=0.1", "train.precision=double"),
    ("task=majority", "model.pool=cls", "model.normalization=rms", "train.precision=double"),
    ("task=mean_of_marked", "model.pool=mean"),
    ("task=mean_of_marked", "train.loss=mae", "train.head_diversity=0.1"),
    ("task=mean_of_marked", "train.loss=huber", "train.huber_delta=0.3", "train.precision=double"),
)
MAJORITY = '[task]\nname = "majority"\nlength = 9\nmin_length = 2\n[model]\nwidth = 16\nheads = 2\n[train]\nsteps = 20\n'


class Npz(CommandTest):
    def train(self, run, *words):
        config = "small.toml"
        if words and words[0].startswith("task="):
            config = "other.toml"
            self.write(config, MAJORITY.replace("majority", words[0].removeprefix("task=")))
            words = words[1:]
        self.xgrad("train", config, f"run.dir={run}", "--quiet", *words)

    def check(self, script, exit_code=0):
        done = subprocess.run([sys.executable, self.folder / script], capture_output=True, text=True)
        self.assertEqual(done.returncode, exit_code, done.stdout + done.stderr)
        return done.stdout

    def test_the_checker_agrees_with_every_kind(self):
        for number, words in enumerate(MODELS):
            with self.subTest(words):
                self.train(f"run-{number}", *words)
                self.xgrad("export", f"run-{number}", "--to", "npz", "--out", f"{number}.npz")
                self.assertRegex(self.check(f"{number}.check.py"), r"\d+ gradients of 100 examples: all within \S+\n$")

    def test_the_checker_cuts_images_into_patches(self):
        self.write("images.toml", '[task]\nname = "shapes"\n[model]\nwidth = 16\nheads = 2\n[train]\nsteps = 20\n')
        for overlap in (0, 3):
            self.xgrad("train", "images.toml", f"run.dir=run-{overlap}", f"model.patch_overlap={overlap}", "--quiet")
            self.xgrad("export", f"run-{overlap}", "--to", "npz", "--out", f"{overlap}.npz")
            self.assertIn("all within", self.check(f"{overlap}.check.py"))

    def test_answers_have_a_reference_and_no_checker(self):
        """Targets that are yes or no: the loss and the gradient of its last bias, from the logits that are there."""
        self.write("rows.csv", "text,label\n" + "".join(f"a b c{i % 5},{'x ' * (i % 2)}{'y' * (i % 3 == 0)}\n" for i in range(60)))
        self.write("rows.toml", '[task]\nname = "files"\ntrain = "rows.csv"\nvalidation = "rows.csv"\ntest = "rows.csv"\n'
                   'labels = "multi_label"\n[model]\nwidth = 8\nheads = 1\nlayers = 1\n[train]\nsteps = 2\n')
        self.xgrad("train", "rows.toml", "run.dir=run", "--quiet")
        said = self.xgrad("export", "run", "--to", "npz", "--out", "w.npz").stdout
        self.assertIn("no checker, because it does not support targets that are yes or no\n", said)
        with numpy.load(self.folder / "w.reference.npz") as file:
            z, t, valid = (file[name].astype(float) for name in ("logits", "targets", "valid"))
            p = 1 / (1 + numpy.exp(-z))
            loss = -(valid * (t * numpy.log(p) + (1 - t) * numpy.log(1 - p))).sum() / valid.sum()
            self.assertAlmostEqual(float(file["loss"]), loss, 12)
            self.assertLess(numpy.abs(file["gradient.head.bias"] - (valid * (p - t)).sum(0) / valid.sum()).max(), 1e-13)

    def test_gradients_that_are_differences_of_nearly_equal_numbers(self):
        """As those of a model that has learned: float32 has few digits left of them, the reference has them all."""
        self.write("learned.toml", MAJORITY.replace("steps = 20", "steps = 600\n[optim]\nlr = 1e-2"))
        self.xgrad("train", "learned.toml", "run.dir=run", "--quiet")
        self.assertLess(json.loads(self.xgrad("eval", "run", "--json").stdout)["loss"], 1e-3)
        self.xgrad("export", "run", "--to", "npz", "--out", "w.npz")
        self.assertIn("all within", self.check("w.check.py"))

    def test_the_checker_sees_any_wrong_gradient(self):
        self.train("run")
        self.xgrad("export", "run", "--to", "npz", "--out", "w.npz")
        with numpy.load(self.folder / "w.reference.npz") as file:
            good = dict(file)
        self.assertFalse(good["mask"].all())
        gradients = [name for name in good if name.startswith("gradient.")]
        self.assertGreater(len(gradients), 15)
        for name in ("logits", "loss", *gradients[::3]):
            with self.subTest(name):
                bad = {**good, name: good[name] + 0.01 * numpy.abs(good[name]).max()}
                numpy.savez(self.folder / "w.reference.npz", **bad)
                self.assertIn("differ by more than", self.check("w.check.py", exit_code=1))

    def test_numpy_reads_every_weight(self):
        self.train("run")
        self.xgrad("export", "run", "--to", "npz", "--out", "w.npz")
        with numpy.load(self.folder / "w.npz") as file:
            weights = dict(file)
        said = self.xgrad("inspect", "run").stdout
        for name, array in weights.items():
            self.assertIn(name, said)
            self.assertEqual(array.dtype, numpy.float32)
        self.assertEqual(sum(array.size for array in weights.values()),
                         int(re.search(r"([\d,]+) numbers in", self.xgrad(
                             "export", "run", "--to", "npz", "--out", "again.npz").stdout).group(1).replace(",", "")))
        self.assertEqual((self.folder / "w.npz").read_bytes(), (self.folder / "again.npz").read_bytes())
        self.assertEqual((self.folder / "w.reference.npz").read_bytes(), (self.folder / "again.reference.npz").read_bytes())

    def test_every_format_has_the_same_reference_beside_it(self):
        self.train("run")
        logits = {}
        for to, name in (("npz", "w.reference.npz"), ("onnx", "w.onnx.reference.npz"), ("hdf5", "w.hdf5.reference.npz"),
                         ("safetensors", "w.safetensors.reference.npz")):
            said = self.xgrad("export", "run", "--to", to, "--out", f"w.{to}").stdout
            self.assertIn(f"\n{name}\n", said)
            with numpy.load(self.folder / name) as reference:
                logits[to] = reference["logits"][reference["mask"].astype(bool)]
                ids = [" ".join(map(str, row[mask > 0])) for row, mask in zip(reference["ids"], reference["mask"])]
        answers = self.xgrad("predict", "run", "--logits", stdin="".join(line + "\n" for line in ids)).stdout.split()
        expected = numpy.array(answers, float).reshape(logits["npz"].shape)
        for to, found in logits.items():
            self.assertLess(float(numpy.abs(found - expected).max()), 1e-5, to)

    def test_a_run_begins_with_what_numpy_wrote(self):
        self.train("run")
        self.xgrad("export", "run", "--to", "npz", "--out", "w.npz")
        ask = "1 2 3\n4 5 6 7\n"
        logits = self.xgrad("predict", "run", "--logits", stdin=ask).stdout
        with numpy.load(self.folder / "w.npz") as file:
            weights = dict(file)
        columns_first = {name: numpy.asfortranarray(array) for name, array in weights.items()}
        wide = {name: array.astype(float) for name, array in weights.items()}
        for number, (save, arrays) in enumerate(((numpy.savez, weights), (numpy.savez_compressed, columns_first),
                                                 (numpy.savez, wide))):
            save(self.folder / f"{number}.npz", **arrays)
            # A step this small changes no weight.
            begun = self.xgrad("train", "small.toml", f"model.init_from={number}.npz", f"run.dir=again-{number}",
                               "train.steps=1", "optim.lr=1e-300", "train.seed=9")
            self.assertIn(f"all {len(weights)} tensors", begun.stderr)
            self.assertEqual(self.xgrad("predict", f"again-{number}", "--logits", stdin=ask).stdout, logits)

    def test_what_does_not_fit_is_listed(self):
        self.train("run")
        self.xgrad("export", "run", "--to", "npz", "--out", "w.npz")
        with numpy.load(self.folder / "w.npz") as file:
            weights = dict(file)
        weights["head.weight"] = weights["head.weight"].T
        weights["more"] = weights.pop("head.bias")
        numpy.savez(self.folder / "wrong.npz", **weights)
        numpy.savez(self.folder / "half.npz", head=numpy.zeros(3, numpy.float16))
        said = self.xgrad("train", "small.toml", "model.init_from=wrong.npz", "run.dir=never", exit_code=4).stderr
        for line in ("missing parameter head.bias", "unexpected parameter more",
                     "head.weight: the file has (16, 8), the model (8, 16)"):
            self.assertIn(line, said)
        said = self.xgrad("train", "small.toml", "model.init_from=half.npz", "run.dir=never", exit_code=4).stderr
        self.assertIn("half.npz: 'head.npy': has the type '<f2'", said)
        self.assertFalse((self.folder / "never").exists())

    def test_nothing_is_replaced_and_nothing_is_left(self):
        self.train("run")
        for taken in ("w.npz", "w.reference.npz", "w.check.py"):
            self.write(taken, "mine")
            said = self.xgrad("export", "run", "--to", "npz", "--out", "w.npz", exit_code=6).stderr
            self.assertIn(f"{taken}: cannot create: File exists", said)
            self.assertEqual([path.name for path in self.folder.glob("w.*")], [taken])
            (self.folder / taken).unlink()


if __name__ == "__main__":
    unittest.main()
