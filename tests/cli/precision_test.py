"""train.precision = "bf16" as a user meets it."""

import json
import os
import re

import h5py
import numpy
from command import CommandTest, unittest

BF16 = "train.precision=bf16"


class Precision(CommandTest):
    def weights(self, run):
        with h5py.File(self.checkpoints(run)[-1]) as file:
            found = {}
            file.visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
            return found

    def test_weights_and_moments_are_float32(self):
        self.xgrad("train", "small.toml", "run.dir=a", BF16)
        tensors = [array for array in self.weights("a").values() if array.dtype.kind == "f" and array.ndim > 0]
        self.assertGreater(len(tensors), 20)
        self.assertEqual({array.dtype for array in tensors}, {numpy.dtype("float32")})

    def test_a_run_says_that_it_emulates_products(self):
        def said(run, *words, **environment):
            return self.xgrad("train", "small.toml", f"run.dir={run}", *words, env=os.environ | environment).stderr

        self.assertIn("train.precision is bf16: xgrad emulates", said("a", BF16, XGRAD_CPU="baseline"))
        self.assertNotIn("bf16", said("b", XGRAD_CPU="baseline"))
        native = re.search(r"(?m)^processor +(avx512_bf16|amx)$", self.xgrad("info").stdout)
        self.assertEqual("bf16" in said("c", BF16), native is None)

    def test_the_same_bits_on_any_number_of_threads_and_after_a_resume(self):
        for threads in (1, 2, 3, 8):
            self.xgrad("train", "small.toml", f"run.dir=t{threads}", BF16, f"train.threads={threads}", "train.recompute=false")
        self.xgrad("train", "small.toml", "run.dir=again", BF16, "train.recompute=true")
        for run in ("t2", "t3", "t8", "again"):
            self.assertEqual(self.final(run), self.final("t1"), run)
        self.xgrad("verify-resume", "small.toml", "--quiet", BF16)

    def test_it_trains_as_well_as_float(self):
        """Near the losses of float, but not on them."""
        losses = []
        for run, words in (("a", ()), ("b", (BF16,))):
            self.xgrad("train", "small.toml", f"run.dir={run}", *words)
            losses.append([row["loss"] for row in self.rows(run) if row["split"] == "test"])
        self.assertNotEqual(*losses)
        self.assertAlmostEqual(losses[0][0], losses[1][0], delta=0.02)

    def test_a_resume_in_another_precision_is_asked_for(self):
        self.xgrad("train", "small.toml", "run.dir=a", "train.steps=30")
        refused = self.xgrad("resume", "a", BF16, exit_code=2).stderr
        self.assertIn("--allow-change train.precision", refused)
        self.xgrad("resume", "a", BF16, "train.steps=40", "--allow-change", "train.precision", "--allow-change", "train.steps")
        self.assertIn('precision = "bf16"', (self.folder / "a/config.toml").read_text())
        self.xgrad("resume", "a", "train.precision=float", "train.steps=50", "--allow-change", "train.precision", "--allow-change", "train.steps")

    def test_predict_in_either(self):
        self.xgrad("train", "small.toml", "run.dir=a", BF16)
        line = "1 2 3 4 5\n"
        own, float32, bf16 = (
            self.xgrad("predict", "a", "--logits", *words, stdin=line).stdout for words in ((), ("--precision", "float"), ("--precision", "bf16"))
        )
        self.assertEqual(own, bf16)
        self.assertNotEqual(own, float32)
        numpy.testing.assert_allclose(*(numpy.array(text.split(), float) for text in (bf16, float32)), atol=0.05)

    def test_predict_converts_the_weights(self):
        """The reference beside an npz file has logits that the export computed in double."""
        for run, precision in (("a", "float"), ("b", "double")):
            self.xgrad("train", "small.toml", f"run.dir={run}", f"train.precision={precision}")
            self.xgrad("export", run, "--to", "npz", "--out", f"{run}.npz")
            with numpy.load(self.folder / f"{run}.reference.npz") as reference:
                known = reference["mask"] > 0
                expected = reference["logits"][known]
                lines = "".join(" ".join(map(str, ids[mask])) + "\n" for ids, mask in zip(reference["ids"], known))
            for asked, least, most in (("double", 0, 1e-12), ("float", 1e-9, 1e-4)):
                text = self.xgrad("predict", run, "--logits", "--precision", asked, stdin=lines).stdout
                error = float(numpy.abs(numpy.array(text.split(), float).reshape(expected.shape) - expected).max())
                self.assertTrue(least <= error <= most, f"{run} in {asked}: {error}")

    def test_an_export_holds_float32_weights_and_a_reference_of_the_run(self):
        """Beside npz and ONNX files, whose readers compute in float64 and float32, the reference is in these."""
        self.xgrad("train", "small.toml", "run.dir=a", BF16)
        for to, name in (("npz", "a.npz"), ("safetensors", "a.safetensors"), ("hdf5", "a.h5"), ("onnx", "a.onnx")):
            self.xgrad("export", "a", "--to", to, "--out", name)
        weights = numpy.load(self.folder / "a.npz")
        self.assertEqual({weights[name].dtype for name in weights.files if weights[name].dtype.kind == "f"}, {numpy.dtype("float32")})
        exact, plain, own, same = (numpy.load(self.folder / f"a{name}.reference.npz") for name in ("", ".onnx", ".safetensors", ".h5"))
        numpy.testing.assert_allclose(plain["logits"], exact["logits"], atol=1e-4)
        self.assertGreater(numpy.abs(own["logits"] - exact["logits"]).max(), 1e-3)
        rows = [ids[mask == 1] for ids, mask in zip(own["ids"], own["mask"])]
        lines = "".join(" ".join(map(str, row)) + "\n" for row in rows)
        said = self.xgrad("predict", "a", "--logits", stdin=lines).stdout.splitlines()
        for row, line, logits in zip(rows, said, own["logits"]):
            predicted = numpy.array(line.split(), "float32").reshape(len(row), -1)
            numpy.testing.assert_allclose(logits[:len(row)], predicted, atol=2e-5)
        for name in own.files:
            numpy.testing.assert_array_equal(own[name], same[name], name)

    def test_scores_by_length_are_those_of_the_run(self):
        self.xgrad("train", "small.toml", "run.dir=a", "task.min_length=6", BF16)
        whole, plain = (json.loads(self.xgrad("eval", "a", "--json", *words).stdout) for words in ((), ("train.precision=float",)))
        for words, expected in (((), whole), (("train.precision=float",), plain)):
            row, = json.loads(self.xgrad("eval", "a", "--json", "--lengths", "6:6", *words).stdout)["lengths"]
            for name in ("loss", "loss_se", "perplexity"):
                self.assertEqual(row[name], expected[name], name)
        self.assertNotEqual(whole["loss"], plain["loss"])

    def test_gradcheck_says_what_it_does_not_cover(self):
        said = self.xgrad("gradcheck", "small.toml", BF16).stdout
        self.assertIn("rounding of products' operands to bfloat16", said)
        self.assertNotIn("bfloat16", self.xgrad("gradcheck", "small.toml").stdout)

    def test_check_takes_overrides_after_its_configs(self):
        small = (self.folder / "small.toml").read_text()
        for name in ("first.toml", "second=2.toml"):
            self.write(name, small + "\n[expect]\naccuracy = 0.01\n")
        done = self.xgrad("check", "first.toml", "second=2.toml", BF16, "train.steps=20")
        self.assertEqual(done.stdout.count(" hold"), 2)
        for run in ("runs/first", "runs/second=2"):
            config = (self.folder / run / "config.toml").read_text()
            self.assertIn('precision = "bf16"', config)
            self.assertIn("steps = 20", config)
        self.assertIn("train.precison", self.xgrad("check", "first.toml", "train.precison=bf16", exit_code=2).stderr)
        self.assertIn("configs is required", self.xgrad("check", BF16, exit_code=2).stderr)

    def test_it_keeps_less_memory(self):
        """Activations that products read take half of the memory; the residual stream stays in float."""
        kept = []
        for words in ((), (BF16,)):
            text = self.xgrad("summary", "small.toml", "model.width=128", "model.layers=4", "model.dropout=0", "train.batch=64", *words).stdout
            number, unit = text.split("activations ")[1].split()[:2]
            self.assertEqual(unit, "MB")
            kept.append(float(number))
        self.assertLess(kept[1], 0.62 * kept[0])


if __name__ == "__main__":
    unittest.main()
