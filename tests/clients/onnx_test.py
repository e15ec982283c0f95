"""ONNX's checker accepts what xgrad exports, and onnxruntime gives the same logits."""

import venv

venv.need("numpy", "onnx", "onnxruntime")

import json  # noqa: E402
import pathlib  # noqa: E402
import re  # noqa: E402

import numpy  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from command import CommandTest, unittest  # noqa: E402
from model_kinds import CONFIGS, MODELS, SMALL, TASKS, WRITER, shipped  # noqa: E402

TOLERANCE = 1e-5

IMAGES = pathlib.Path("/usr/share/datasets/fashion-mnist")


def check(path):
    """What ONNX itself demands, and what a reader finds in the file."""
    onnx.checker.check_model(str(path), full_check=True)
    model = onnx.shape_inference.infer_shapes(onnx.load(path), check_type=True, strict_mode=True, data_prop=True)
    assert model.opset_import[0].version == 17 and len(model.opset_import) == 1
    unused = {x.name for x in model.graph.initializer} - {x for node in model.graph.node for x in node.input}
    assert not unused, unused
    return model


def axes(value):
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]


class Onnx(CommandTest):
    def export(self, name, task, *words, steps=20):
        self.write("model.toml", SMALL.format(task=task, options=TASKS.get(task, ""), steps=steps))
        self.xgrad("train", "model.toml", f"run.dir=run-{name}", "--quiet", *words)
        path = self.folder / f"{name}.onnx"
        self.xgrad("export", f"run-{name}", "--to", "onnx", "--out", path.name)
        with numpy.load(path.with_suffix(".onnx.reference.npz")) as file:
            return path, dict(file)

    def run_in_batches(self, session, inputs, size):
        names = [i.name for i in session.get_inputs()]
        count = len(next(iter(inputs.values())))
        parts = [session.run(["logits"], {n: inputs[n][i:i + size] for n in names})[0] for i in range(0, count, size)]
        return numpy.concatenate(parts)

    def inputs_of(self, session, reference):
        """What a session reads, of a .reference.npz; a model that writes reads what it should have written before."""
        inputs = {i.name: reference[i.name] for i in session.get_inputs()}
        for name in inputs.keys() & {"ids", "decoder_ids"}:
            inputs[name] = inputs[name].astype(numpy.int64)
        if "decoder_ids" in inputs:
            begin = session.get_modelmeta().custom_metadata_map["begin_id"]
            self.assertEqual(set(inputs["decoder_ids"][:, 0].tolist()), {int(begin)})
        return inputs

    def session(self, path, level="ENABLE_ALL"):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 3
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, f"ORT_{level}")
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def check_logits(self, path, reference):
        """In batches of 1, 7 and all; each row alone without its padding; with and without onnxruntime's rewriting."""
        inputs = self.inputs_of(self.session(path), reference)
        expected = reference["logits"]
        self.assertGreater(float(expected.std()), 0.01)  # not equal for being zero
        self.assertEqual(len(expected), 100)
        if "decoder_ids" in inputs:
            real = reference["targets"] >= 0
        else:
            real = inputs["mask"] if expected.ndim == 3 and "mask" in inputs else slice(None)
        for level in ("ENABLE_ALL", "DISABLE_ALL"):
            session = self.session(path, level)
            for size in (1, 7, 100):
                found = self.run_in_batches(session, inputs, size)
                self.assertEqual(found.shape, expected.shape)
                self.assertLess(float(numpy.abs(found - expected)[real].max()), TOLERANCE, size)
        if "mask" in inputs:
            for row in range(0, 100, 5):
                self.check_alone(session, inputs, row, expected[row], reference["targets"][row])
            nothing = {n: x[:3] for n, x in inputs.items()}
            nothing["mask"] = numpy.zeros_like(nothing["mask"])
            self.assertTrue(numpy.isfinite(session.run(["logits"], nothing)[0]).all())
        return inputs

    def check_alone(self, session, inputs, row, expected, targets):
        keep = inputs["mask"][row]
        alone = {n: x[row:row + 1, keep] for n, x in inputs.items() if n != "decoder_ids"}
        if "adjacency" in alone:
            alone["adjacency"] = alone["adjacency"][:, :, keep]
        real = keep if expected.ndim == 2 else ...
        if "decoder_ids" in inputs:
            real = targets >= 0
            alone["decoder_ids"] = inputs["decoder_ids"][row:row + 1, real]
        found = session.run(["logits"], alone)[0][0]
        self.assertLess(float(numpy.abs(found - expected[real]).max()), TOLERANCE)

    def test_every_kind_gives_the_same_logits(self):
        ragged = 0
        for name, (task, *words) in MODELS.items():
            with self.subTest(name):
                path, reference = self.export(name, task, *words)
                model = check(path)
                inputs = self.check_logits(path, reference)
                place = ["outputs"] if "decoder_ids" in inputs else ["length"] if reference["logits"].ndim == 3 else []
                self.assertEqual(axes(model.graph.output[0]), ["batch", *place, reference["logits"].shape[-1]])
                ragged += not inputs["mask"].all()
        self.assertGreaterEqual(ragged, 20)

    def test_any_number_of_labels(self):
        """Their names are those of the logits, whose sigmoid is what predict gives each."""
        self.write("rows.csv", "text,label\n" + "".join(
            f"{'up ' * (i % 5)}w{i},{'u ' if i % 5 > 2 else ''}{'o' if i % 2 else ''}\n" for i in range(150)))
        path, reference = self.export("labels", "files", steps=40)
        check(path)
        inputs = self.check_logits(path, reference)
        self.assertFalse(inputs["mask"].all())
        session = self.session(path)
        self.assertEqual(session.get_modelmeta().custom_metadata_map["labels"], "o\nu")
        line = self.xgrad("predict", "run-labels", "--format", "jsonl", stdin="up up up w8\n").stdout
        words = session.get_modelmeta().custom_metadata_map["vocabulary"].split("\n")
        ids = numpy.array([[words.index(word) for word in "up up up w8".split()]])
        logits = session.run(["logits"], {"ids": ids, "mask": numpy.ones_like(ids, bool)})[0][0]
        said = json.loads(line)
        self.assertEqual(said["labels"], ["o", "u"])
        numpy.testing.assert_allclose(said["probabilities"], 1 / (1 + numpy.exp(-logits)), atol=1e-6)

    def test_batch_norm_sees_the_whole_batch(self):
        for task, *words in (("reverse",), ("majority", "model.pool=cls"), ("modular_addition", "model.norm=post")):
            with self.subTest(task):
                path, reference = self.export(task, task, "model.normalization=batch", *words)
                check(path)
                session = self.session(path)
                inputs, expected = self.inputs_of(session, reference), reference["logits"]
                real = inputs["mask"] if expected.ndim == 3 else ...
                found = self.run_in_batches(session, inputs, 100)
                self.assertLess(float(numpy.abs(found - expected)[real].max()), TOLERANCE)
                found = self.run_in_batches(session, inputs, 7)
                self.assertGreater(float(numpy.abs(found - expected)[real].max()), 100 * TOLERANCE)

    def test_every_shipped_config(self):
        """Its model, narrow, after two steps."""
        for config, words in shipped():
            with self.subTest(config.stem):
                self.xgrad("train", config, f"run.dir={config.stem}", "--quiet", *words)
                path = self.folder / f"{config.stem}.onnx"
                self.xgrad("export", config.stem, "--to", "onnx", "--out", path.name)
                check(path)
                session = self.session(path)
                with numpy.load(path.with_suffix(".onnx.reference.npz")) as reference:
                    inputs, expected, targets = self.inputs_of(session, reference), reference["logits"], reference["targets"]
                found = self.run_in_batches(session, inputs, 100)
                real = targets >= 0 if "decoder_ids" in inputs else inputs["mask"] if expected.ndim == 3 else ...
                self.assertLess(float(numpy.abs(found - expected)[real].max()), TOLERANCE)

    def test_images(self):
        for pool, positions in (("cls", "learned_2d"), ("mean", "learned_2d"), ("max", "relative_index"),
                                ("attention", "rotary"), ("cls", "learned")):
            path, reference = self.export(f"{pool}-{positions}", "fashion_mnist", f"model.pool={pool}", "model.patch=7",
                                          f"model.positions={positions}", steps=2)
            self.assertEqual(axes(check(path).graph.input[0]), ["batch", 28, 28, 1])
            self.check_logits(path, reference)
        self.check_logits(*self.export("overlap", "fashion_mnist", "model.patch_overlap=3", steps=2))

    def test_the_loop_of_the_guide_writes_what_xgrad_writes(self):
        guide = (CONFIGS.parent / "docs/export.md").read_text()
        code = next(c for c in re.findall(r"```python\n(.*?)```", guide, re.DOTALL) if "def generate" in c)
        path, reference = self.export("writer", *WRITER, "optim.lr=5e-3", steps=150)
        names = {}
        exec(code.replace("distinct.onnx", str(path)), names)
        ids, mask = reference["ids"].astype(numpy.int64), reference["mask"]
        written = names["generate"](ids, mask)
        text = "".join(" ".join(map(str, row[keep])) + "\n" for row, keep in zip(ids, mask))
        lines = self.xgrad("predict", "run-writer", stdin=text).stdout.splitlines()
        self.assertEqual([" ".join(map(str, row)) for row in written], lines)
        self.assertGreater(len(set(lines)), 30)

    def test_the_file_names_everything(self):
        path, _ = self.export("words", "negation", "model.qkv_bias=true")
        model = check(path)
        self.xgrad("export", "run-words", "--to", "npz", "--out", "w.npz")
        with numpy.load(self.folder / "w.npz") as file:
            weights = dict(file)
        found = {i.name: onnx.numpy_helper.to_array(i) for i in model.graph.initializer}
        for name, array in weights.items():
            self.assertTrue((found[name] == array).all(), name)
        self.assertEqual([i.name for i in model.graph.input], ["ids", "mask"])
        metadata = {p.key: p.value for p in model.metadata_props}
        self.assertEqual(metadata["config"], self.xgrad("inspect", "run-words", "--config").stdout)
        self.assertEqual((metadata["xgrad_version"] + "\n", metadata["step"]), (self.xgrad("--version").stdout, "20"))
        self.assertEqual(len(metadata["vocabulary"].split("\n")), len(weights["embedding.token.weight"]))
        if "labels" in metadata:
            self.assertEqual(len(metadata["labels"].split("\n")), len(weights["head.bias"]))

    def test_the_same_weights_give_the_same_file(self):
        path, _ = self.export("one", "reverse")
        self.xgrad("export", "run-one", "--to", "onnx", "--out", "two.onnx")
        self.assertEqual(path.read_bytes(), (self.folder / "two.onnx").read_bytes())


if __name__ == "__main__":
    unittest.main()
