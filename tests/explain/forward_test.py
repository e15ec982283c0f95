"""The JavaScript of a page computes what xgrad computes in double, for every kind of model and every shipped config, also with a
head silenced and with an activation patched."""

import collections
import json
import pathlib
import subprocess
import sys

try:
    import xgrad
except ModuleNotFoundError as error:
    print(f"{error}: the module of Python is not built; ./run test builds it")
    sys.exit(77)

import numpy
from command import CommandTest, unittest
from model_kinds import CONFIGS, MODELS, SMALL, TASKS, shipped

TOLERANCE = 1e-5
EXAMPLES = 32
FORWARD = pathlib.Path(__file__).with_name("forward.mjs")
# Mean and deviation of a pixel divided by 255, as in data/tasks/images/fashion_mnist.cpp. A line of text has pixels from 0 to 255.
PIXEL_MEAN, PIXEL_DEVIATION = 0.2860, 0.3530


def line_of(example, read, found, task):
    """The line that `xgrad predict` reads for an example of a page."""
    shape = found["shape"]
    if shape["input"] == "tokens":
        return read["text"]
    numbers = example["features"]
    if task == "fashion_mnist":
        return " ".join(str(round(255 * (x * PIXEL_DEVIATION + PIXEL_MEAN))) for x in numbers)
    features = shape["features"] or len(numbers)
    means, deviations = shape["input_mean"] or [0], shape["input_deviation"] or [1]
    numbers = [x * deviations[i % len(means)] + means[i % len(means)] for i, x in enumerate(numbers)]
    return ", ".join(" ".join(map(repr, numbers[i:i + features])) for i in range(0, len(numbers), features))


class Forward(CommandTest):
    def compare(self, runs):
        """Compares the pages of {name: (run, task)} with xgrad."""
        for name, (run, task) in runs.items():
            self.xgrad("explain", run, "--out", f"{name}.html")
            names = xgrad.load(self.folder / run).state_dict()
            modules = sorted({weight.rsplit(".", 1)[0] for weight in names if weight.endswith("in_proj_weight")})
            blocks = "encoder.layers.0.linear1.weight" in names
            options = [{}, *({"silence": [module, 0]} for module in modules[:1])] + [{"patch": ["encoder.layers.0.residual_after", 0, 1]}] * blocks
            asked = [[str(self.folder / f"{name}.html"), *options]]
            done = subprocess.run(["node", FORWARD], input=json.dumps(asked), capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)
            found = json.loads(done.stdout)[0]
            with self.subTest(name):
                self.assertEqual(found["unread"], [])
                self.assertGreaterEqual(len(found["examples"]), min(EXAMPLES, 14 if found["shape"]["input"] == "image" else EXAMPLES))
                self.check_page(xgrad.load(self.folder / run, precision="double"), task, options, found)

    def check_page(self, model, task, options, found):
        shape, examples = found["shape"], found["examples"][:EXAMPLES]
        reads = found["read"] or [None] * len(examples)
        lines = [line_of(example, read, found, task) for example, read in zip(examples, reads)]
        self.assertTrue(all(read is None or read["same"] for read in reads), reads[:2])
        for option, passes in zip(options, found["passes"], strict=True):
            other = model.capture(lines[1]) if "patch" in option else None
            for line, one in zip(lines, passes):
                logits, outputs = numpy.array(one["logits"]), None
                if shape["output"] == "generated":  # without the end, or the last of a longest output
                    written = [c for c in one["outputs"] if c != shape["classes"] - 1]
                    outputs = [" ".join(shape["class_names"][c] for c in written[:shape["max_outputs"] - 1])]
                seen = model.capture(line, outputs=outputs)
                replace = self.replaced(option, seen, other, found["config"]["heads"])
                expected = model.logits(line, replace=replace, outputs=outputs)[0].reshape(-1, shape["classes"])
                expected = expected[:len(logits)]
                self.assertEqual(logits.shape, expected.shape)
                self.check_logits(logits, expected, (option, line))
                if one["decoded"] is not None:
                    self.check_logits(numpy.array(one["decoded"]), expected[-len(one["decoded"]):], (option, line, "decoded"))
                if outputs is not None:
                    self.assertEqual(one["outputs"], expected.argmax(1).tolist())

    def check_logits(self, logits, expected, what):
        difference = numpy.abs(logits - expected) / numpy.maximum(1, numpy.abs(expected))
        self.assertLess(float(difference.max()), TOLERANCE, what)
        self.assertEqual(logits.argmax(1).tolist(), expected.argmax(1).tolist(), what)

    def replaced(self, option, seen, other, heads):
        """The activations that an option changes, from those of the pass and of a second input."""
        if "silence" in option:
            name = option["silence"][0] + ".head_outputs"
            value = seen[name].copy()
            value[..., :value.shape[-1] // heads] = 0
            return {name: value}
        if "patch" in option:
            name = option["patch"][0]
            value = seen[name].copy()
            value[:, 0] = other[name][:, 0]
            return {name: value}
        return {}

    def test_every_kind_of_model(self):
        runs = {}
        for name, (task, *words) in MODELS.items():
            self.write("model.toml", SMALL.format(task=task, options=TASKS.get(task, ""), steps=5))
            run = name.replace(" ", "-")
            self.xgrad("train", "model.toml", f"run.dir={run}", "--quiet", "task.examples=64" if task != "modular_addition" else "train.batch=8", *words)
            runs[run] = (run, task)
        self.compare(runs)

    def test_every_shipped_config(self):
        runs = {}
        for config, words in shipped(test=EXAMPLES):
            self.xgrad("train", config, f"run.dir={config.stem}", "--quiet", *words)
            runs[config.stem] = (config.stem, "")
        self.compare(runs)

    def test_configs_of_installed_texts(self):
        """They read a part of their dictionary, or of the verses of two books: all of it takes minutes."""
        words = pathlib.Path("/usr/share/festival/dicts/cmu/cmudict-0.4.out").read_text().splitlines()
        self.write("words", "\n".join(words[1::40]) + "\n")
        verses = subprocess.run(["/usr/bin/bible", "-f", "gen1:1-exo40:38"], capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL).stdout
        count = collections.Counter(verses)  # a reader cannot type <unk>, which a rare character is, nor a second part, which has no begin
        usual = [verse for verse in verses.splitlines() if len(verse) < 120 and all(count[c] > 100 for c in verse.split(" ", 1)[1])]
        self.write("verses", "\n".join(usual) + "\n")
        runs = {}
        for config, file in (("cmu", "words"), ("kjv_book", "verses"), ("kjv_masked", "verses"), ("kjv_next", "verses")):
            self.xgrad("train", CONFIGS / f"{config}.toml", f"run.dir={config}", "--quiet", "train.steps=2", "train.epochs=0", "train.batch=8",
                       "schedule.warmup=1", "model.width=16", f"task.path={self.folder / file}")
            runs[config] = (config, "")
        self.compare(runs)

    def test_frames(self):
        """Numbers of files are scaled for the model, and a reader types them as they stand in the file."""
        random = numpy.random.default_rng(1)
        with open(self.folder / "rows.jsonl", "w", encoding="utf-8") as file:
            for i in range(500):
                frames = random.normal([10, -2, 0], [3, 0.5, 1], (random.integers(2, 9), 3)) + i % 2
                file.write(json.dumps({"x": frames.tolist(), "y": "ab"[i % 2]}) + "\n")
        self.write("frames.toml", '[task]\nname = "files"\ntrain = "rows.jsonl"\ninput = "x"\ntarget = "y"\ntokens = "numbers"\n'
                                  '[model]\nwidth = 16\nheads = 2\nlayers = 2\npool = "mean"\n[train]\nsteps = 20\nbatch = 16\n')
        self.xgrad("train", "frames.toml", "run.dir=frames", "--quiet")
        self.compare({"frames": ("frames", "")})

    def test_images(self):
        runs = {}
        for pool, positions in (("cls", "learned_2d"), ("mean", "learned_2d"), ("max", "relative_index"), ("attention", "rotary")):
            self.write("model.toml", SMALL.format(task="fashion_mnist", options="", steps=2))
            run = f"{pool}-{positions}"
            self.xgrad("train", "model.toml", f"run.dir={run}", "--quiet", f"model.pool={pool}", f"model.positions={positions}",
                       f"model.patch_overlap={3 if pool == 'mean' else 0}", "model.patch=7")
            runs[run] = (run, "fashion_mnist")
        self.compare(runs)


if __name__ == "__main__":
    unittest.main()
