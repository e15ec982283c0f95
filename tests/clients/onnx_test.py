"""ONNX's checker accepts what xgrad exports, and onnxruntime gives the same logits."""

import venv

venv.need("numpy", "onnx", "onnxruntime")

import pathlib  # noqa: E402

import numpy  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from command import CommandTest, unittest  # noqa: E402

TOLERANCE = 1e-5

SMALL = """
[task]
name = "{task}"
{options}
[model]
width = 16
heads = 2
layers = 2
[train]
steps = {steps}
batch = 16
"""
TASKS = {
    "reverse": "length = 6\nmin_length = 2\nsymbols = 8",
    "majority": "length = 9\nmin_length = 2",
    "negation": "",
    "modular_addition": "",
}
# Together they have every word of every key that a model has.
MODELS = {
    "plain": ("reverse",),
    "post": ("reverse", "model.norm=post", "model.normalization=rms", "model.activation=relu"),
    "sandwich": ("reverse", "model.norm=sandwich", "model.positions=sinusoidal", "model.activation=silu",
                 "model.qkv_bias=true"),
    "none": ("reverse", "model.norm=none", "model.positions=none", "model.activation=gelu_tanh", "model.out_bias=false",
             "model.head_dim=5", "model.final_norm=false", "model.layers=1"),
    "double": ("reverse", "train.precision=double"),
    "no layers": ("reverse", "model.layers=0"),
    "mean": ("majority", "model.pool=mean"),
    "cls": ("majority", "model.pool=cls", "model.positions=sinusoidal"),
    "max": ("majority", "model.pool=max", "model.positions=relative_index"),
    "attention": ("majority", "model.pool=attention", "model.positions=rotary"),
    "turned": ("reverse", "model.positions=rotary", "model.head_dim=6", "model.qkv_bias=true"),
    "part of the way": ("majority", "model.pool=cls", "model.positions=relative_index"),
    "one-hot": ("reverse", "model.input=one_hot"),
    "words": ("negation",),
    "vectors": ("anomaly",),
    "of one length": ("modular_addition", "model.pool=mean"),
}
IMAGES = pathlib.Path("/usr/share/datasets/fashion-mnist")


def check(path):
    """What ONNX itself demands, and what a reader finds in the file."""
    onnx.checker.check_model(str(path), full_check=True)
    model = onnx.shape_inference.infer_shapes(onnx.load(path), check_type=True, strict_mode=True, data_prop=True)
    assert model.opset_import[0].version == 17 and len(model.opset_import) == 1
    return model


def axes(value):
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]


class Onnx(CommandTest):
    def export(self, name, task, *words, steps=20):
        self.write("model.toml", SMALL.format(task=task, options=TASKS.get(task, ""), steps=steps))
        self.xgrad("train", "model.toml", f"run.dir=run-{name}", "--quiet", *words)
        path = self.folder / f"{name}.onnx"
        self.xgrad("export", f"run-{name}", "--to", "onnx", "--out", path.name)
        with numpy.load(path.with_suffix(".reference.npz")) as file:
            return path, dict(file)

    def run_in_batches(self, session, inputs, size):
        names = [i.name for i in session.get_inputs()]
        count = len(next(iter(inputs.values())))
        parts = [session.run(["logits"], {n: inputs[n][i:i + size] for n in names})[0] for i in range(0, count, size)]
        return numpy.concatenate(parts)

    def check_logits(self, path, reference):
        """In batches of 1, 7 and all; each row alone without its padding; with and without onnxruntime's rewriting."""
        inputs = {n: reference[n] for n in ("ids", "mask", "image", "vectors") if n in reference}
        if "ids" in inputs:
            inputs["ids"] = inputs["ids"].astype(numpy.int64)
        expected = reference["logits"]
        self.assertGreater(float(expected.std()), 0.01)  # not equal for being zero
        self.assertEqual(len(expected), 100)
        real = inputs["mask"] if expected.ndim == 3 and "mask" in inputs else slice(None)
        for level in (onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
                      onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL):
            options = onnxruntime.SessionOptions()
            options.graph_optimization_level, options.intra_op_num_threads = level, 1
            session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
            for size in (1, 7, 100):
                found = self.run_in_batches(session, inputs, size)
                self.assertEqual(found.shape, expected.shape)
                self.assertLess(float(numpy.abs(found - expected)[real].max()), TOLERANCE, size)
        if "mask" in inputs:
            for row in range(0, 100, 5):
                keep = inputs["mask"][row]
                alone = {n: x[row:row + 1, keep] for n, x in inputs.items()}
                found = session.run(["logits"], alone)[0][0]
                self.assertLess(float(numpy.abs(found - expected[row][keep if expected.ndim == 3 else ...]).max()), TOLERANCE)
            nothing = {n: x[:3] for n, x in inputs.items()}
            nothing["mask"] = numpy.zeros_like(nothing["mask"])
            self.assertTrue(numpy.isfinite(session.run(["logits"], nothing)[0]).all())
        return inputs

    def test_every_kind_gives_the_same_logits(self):
        ragged = 0
        for name, (task, *words) in MODELS.items():
            with self.subTest(name):
                path, reference = self.export(name, task, *words)
                model = check(path)
                logits = {1: ["batch"], 2: ["batch", "length"]}[reference["logits"].ndim - 1]
                self.assertEqual(axes(model.graph.output[0]), [*logits, reference["logits"].shape[-1]])
                inputs = self.check_logits(path, reference)
                ragged += not inputs["mask"].all()
        self.assertGreaterEqual(ragged, 7)

    def test_images(self):
        if not IMAGES.exists():
            self.skipTest("dataset-fashion-mnist is not installed")
        for pool, positions in (("cls", "learned_2d"), ("mean", "learned_2d"), ("max", "relative_index"),
                                ("attention", "rotary"), ("cls", "learned")):
            path, reference = self.export(f"{pool}-{positions}", "fashion_mnist", f"model.pool={pool}", "model.patch=7",
                                          f"model.positions={positions}", steps=2)
            self.assertEqual(axes(check(path).graph.input[0]), ["batch", 28, 28, 1])
            self.check_logits(path, reference)

    def test_what_has_no_form_here_is_refused_by_name(self):
        for task, setting, said in (("reverse", "model.kind=mlp", 'model.kind = "mlp"'), ("motif", "model.heads=2", "graphs")):
            self.write("model.toml", SMALL.format(task=task, options="", steps=1))
            self.xgrad("train", "model.toml", f"run.dir=run-{task}", "--quiet", setting)
            done = self.xgrad("export", f"run-{task}", "--to", "onnx", "--out", "never.onnx", exit_code=2)
            self.assertIn("cannot be exported to ONNX: ", done.stderr)
            self.assertIn(said, done.stderr)
        self.assertEqual(list(self.folder.glob("never*")), [])

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
