"""Weights under the names of timm, torchvision and Hugging Face: as those libraries themselves took them when
tests/golden/make_naming.py wrote down what they made of them."""

import venv

venv.need("numpy", "safetensors")

import hashlib  # noqa: E402
import json  # noqa: E402
import pathlib  # noqa: E402

import naming  # noqa: E402
import numpy  # noqa: E402
from command import CommandTest, unittest  # noqa: E402

GOLDEN = json.loads((pathlib.Path(__file__).resolve().parents[1] / "golden/naming.json").read_text())


class Naming(CommandTest):
    def test_the_weights_are_those_that_the_library_took(self):
        self.assertEqual(set(GOLDEN["cases"]), set(naming.CASES))
        for case, golden in GOLDEN["cases"].items():
            with self.subTest(case):
                weights, constructor, reference = naming.export(self, case)
                self.assertEqual({n: list(x.shape) for n, x in weights.items()}, golden["shapes"])
                for name, digest in golden["sha256"].items():
                    self.assertEqual(hashlib.sha256(weights[name].tobytes()).hexdigest(), digest, name)
                self.assertEqual(constructor, golden["constructor"])
                logits = numpy.array(golden["logits"])
                difference = numpy.abs(logits - reference["logits"][:len(logits)])
                if logits.ndim == 3:  # a target for each token
                    difference = difference[reference["mask"][:len(logits)]]
                self.assertLess(float(difference.max()), 1e-5)
                self.assertGreater(float(logits.std()), 0.1)

    def test_the_page_names_those_libraries(self):
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs/export.md").read_text()
        for library in ("timm", "torchvision", "transformers"):
            self.assertIn(f"{library} {GOLDEN['versions'][library].split('+')[0]}", page)

    def test_what_differs_is_listed(self):
        self.write("model.toml", naming.CONFIG.format(task="reverse", options=""))
        self.xgrad("train", "model.toml", "run.dir=run", "--quiet", "model.positions=rotary", "model.stablemax=true")
        for library, lines in {
            "timm": ("does not fit timm VisionTransformer: ", 'model.positions = "rotary"', "model.stablemax = true", "a task without images"),
            "torchvision": ("does not fit torchvision VisionTransformer: ", "model.stablemax = true", "a task without images"),
            "hf-bert": ("does not fit BERT of Hugging Face: ", 'model.norm = "pre"', "model.final_norm = true",
                        "model.embedding_norm = false", 'model.positions = "rotary"', "model.stablemax = true"),
        }.items():
            words = ("export", "run", "--to", "safetensors", "--naming", library, "--out", "never.safetensors")
            done = self.xgrad(*words, exit_code=2)
            for line in lines:
                self.assertIn(line, done.stderr)
        self.write("sequence.toml", naming.CONFIG.format(task="first", options=""))
        self.xgrad("train", "sequence.toml", "run.dir=mean", "--quiet", "model.pool=mean")
        done = self.xgrad("export", "mean", "--to", "safetensors", "--naming", "hf-bert", "--out", "never.safetensors", exit_code=2)
        self.assertIn('model.pool = "mean"', done.stderr)
        done = self.xgrad("export", "run", "--to", "onnx", "--naming", "timm", "--out", "never.onnx", exit_code=2)
        self.assertIn("--naming timm needs --to safetensors, not onnx", done.stderr)
        self.assertEqual(list(self.folder.glob("never*")), [])


if __name__ == "__main__":
    unittest.main()
