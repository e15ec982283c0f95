"""Ensembles: `predict`, `eval` and `generate` with several runs, beside means that NumPy computes from what each run answers alone."""

import json

import numpy

from command import CommandTest, unittest

FILES = """
[task]
name = "files"
train = "rows.csv"
test = "test.csv"
{}
[model]
width = 8
heads = 1
layers = 1
[optim]
lr = 1e-2
[train]
keep_best = false
steps = 12
batch = 16
"""
TEXT = """
[task]
name = "files"
train = "lines.txt"
format = "lines"
tokens = "characters"
labels = "next"
[model]
width = 16
heads = 2
layers = 1
mask = "causal"
[train]
steps = 40
batch = 8
"""


def softmax(x):
    x = numpy.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


class Ensemble(CommandTest):
    def train(self, config, *runs, more=()):
        for seed, run in enumerate(runs, 1):
            self.xgrad("train", config, f"run.dir={run}", f"train.seed={seed}", "--quiet", *more)
        return runs

    def logits(self, runs, lines):
        shown = self.xgrad("predict", *runs, "--logits", stdin="\n".join(lines) + "\n").stdout.splitlines()
        return [numpy.array(line.split(), float) for line in shown]

    def answers(self, runs, lines, *words):
        shown = self.xgrad("predict", *runs, "--format", "jsonl", *words, stdin="\n".join(lines) + "\n").stdout.splitlines()
        return [json.loads(line) for line in shown]

    def evaluated(self, *words):
        return json.loads(self.xgrad("eval", *words, "--json").stdout)

    def write_rows(self, labels_of, count=300):
        """Writes rows.csv and test.csv of words with `labels_of` a row, and returns the lines and labels of the test."""
        rng = numpy.random.default_rng(1)
        rows = [(" ".join(rng.choice(["up", "down", "left", "right"], 3)), rng.random()) for _ in range(count)]
        rows = [(words, labels_of(words, noise)) for words, noise in rows]
        for name, some in (("rows.csv", rows[50:]), ("test.csv", rows[:50])):
            self.write(name, "text,label\n" + "".join(f"{words},{label}\n" for words, label in some))
        return [words for words, _ in rows[:50]], [label for _, label in rows[:50]]

    def test_classes(self):
        lines, labels = self.write_rows(lambda words, noise: words.split()[0] if noise > 0.3 else "other")
        self.write("config.toml", FILES.format(""))
        runs = self.train("config.toml", "a", "b", "c")
        names = [of["class"] for of in self.evaluated("a")["classes"]]
        p = numpy.mean([softmax(numpy.array(self.logits([run], lines))) for run in runs], 0)
        best = p.argmax(-1)
        for answer, row, own in zip(self.answers(runs, lines), p, best, strict=True):
            self.assertEqual(answer["labels"], [names[own]])
            self.assertAlmostEqual(answer["probabilities"][0], row[own], places=6)
        numpy.testing.assert_allclose(softmax(numpy.array(self.logits(runs, lines))), p, atol=1e-6)
        target = [names.index(label) for label in labels]
        found = self.evaluated(*runs)
        self.assertAlmostEqual(found["accuracy"], (best == target).mean())
        self.assertAlmostEqual(found["loss"], -numpy.log(p[range(50), target]).mean(), places=5)
        self.assertEqual((found["steps"], "step" in found), ([12, 12, 12], False))
        counts = numpy.zeros((len(names), len(names)), int)
        numpy.add.at(counts, (target, best), 1)
        self.assertEqual(found["confusion"], counts.tolist())
        shown = self.xgrad("eval", *runs).stdout
        files = ", ".join(f"{self.checkpoints(run)[-1].relative_to(self.folder)} (step 12)" for run in runs)
        self.assertTrue(shown.startswith(f"the mean of {files}\ntest  loss {found['loss']:.4f} ± "), shown)
        # Any checkpoints; overrides are for all of them.
        self.assertEqual(self.evaluated(self.checkpoints("a")[-1], "b", "c", "task.test=test.csv"), found)
        double = self.evaluated(*runs, "train.precision=double")
        self.assertAlmostEqual(double["loss"], found["loss"], places=5)
        self.assertNotEqual(double["loss"], found["loss"])

    def test_labels_that_are_yes_or_no(self):
        lines, labels = self.write_rows(lambda words, noise: " ".join(sorted(set(words.split()) - {"right"} if noise > 0.2 else {"up"})))
        self.write("config.toml", FILES.format('labels = "multi_label"'))
        runs = self.train("config.toml", "a", "b")
        p = numpy.mean([1 / (1 + numpy.exp(-numpy.array(self.logits([run], lines)))) for run in runs], 0)
        answers = self.answers(runs, lines)
        numpy.testing.assert_allclose([answer["probabilities"] for answer in answers], p, atol=1e-6)
        target = numpy.array([[name in label.split() for name in answers[0]["labels"]] for label in labels])
        found = self.evaluated(*runs)
        self.assertAlmostEqual(found["accuracy"], ((p > 0.5) == target).mean())
        self.assertAlmostEqual(found["loss"], -numpy.log(numpy.where(target, p, 1 - p)).mean(), places=5)

    def test_numbers(self):
        lines, labels = self.write_rows(lambda words, noise: round(words.count("up") + noise, 3))
        self.write("config.toml", FILES.format('labels = "numbers"'))
        runs = self.train("config.toml", "a", "b")
        mean = numpy.mean([[answer["numbers"] for answer in self.answers([run], lines)] for run in runs], 0)
        numpy.testing.assert_allclose([answer["numbers"] for answer in self.answers(runs, lines)], mean, atol=1e-5)
        labels = numpy.array(labels)
        r2 = 1 - ((mean[:, 0] - labels) ** 2).sum() / ((labels - labels.mean()) ** 2).sum()
        self.assertAlmostEqual(self.evaluated(*runs)["r2"], r2, places=4)

    def test_the_same_run_twice_gives_its_answers(self):
        runs = self.train("small.toml", "a", "b")
        lines = ["1 2 3", "7 6 5 4 3 2", "0 1"]
        for words in (("--logits",), ("--format", "tsv"), ("--precision", "double", "--logits"), ("--precision", "bf16", "--logits")):
            one, twice, both = (self.xgrad("predict", *of, *words, stdin="\n".join(lines)).stdout for of in (["a"], ["a", "a"], runs))
            self.assertEqual(one, twice)
            self.assertNotEqual(one, both)
        one, twice = self.evaluated("a"), self.evaluated("a", "a")
        self.assertEqual((one.pop("step"), twice.pop("steps")), (60, [60, 60]))
        self.assertEqual(one, twice)

    def test_the_split_is_that_of_the_first_run(self):
        """Runs of this task draw their splits by their seeds."""
        runs = self.train("small.toml", "a", "b")
        found, turned = self.evaluated(*runs), self.evaluated(*reversed(runs))
        self.assertGreater(abs(found["loss"] - turned["loss"]), 1e-4)
        self.assertEqual(self.evaluated(*runs, "train.seed=1"), found)
        self.assertAlmostEqual(self.evaluated(*reversed(runs), "train.seed=1")["loss"], found["loss"], places=6)

    def test_lengths(self):
        runs = self.train("small.toml", "a", "b", more=["model.positions=rotary"])
        row, = json.loads(self.xgrad("eval", *runs, "--lengths", "4:4", "--json").stdout)["lengths"]
        found = self.evaluated(*runs, "task.length=4", "task.min_length=4")
        self.assertEqual({name: row[name] for name in ("loss", "accuracy", "steps")}, {name: found[name] for name in ("loss", "accuracy", "steps")})
        shown = self.xgrad("eval", "a/", "b", "--lengths", "2:6", "--beside", "a", "--out", "curve.svg").stdout
        self.assertEqual([line[:12] for line in shown.splitlines() if "step" in line], ["the mean of ", "a/checkpoint"])
        self.assertIn(">a + b<", (self.folder / "curve.svg").read_text())

    def test_generated_outputs(self):
        """tests/python/ensemble_test.py decodes them by hand."""
        self.write("config.toml", (self.folder / "small.toml").read_text().replace("[model]", '[model]\nkind = "encoder_decoder"'))
        runs = self.train("config.toml", "a", "b")
        lines = ["1 2 3", "7 6 5 4 3 2"]
        self.assertEqual(self.answers(["a"], lines), self.answers(["a", "a"], lines))
        for greedy, beam in zip(self.answers(runs, lines), self.answers(runs, lines, "--beam", "3"), strict=True):
            self.assertGreaterEqual(beam["log_probability"], greedy["log_probability"] - 1e-6)
            self.assertLess(abs(beam["beam"][0]["log_probability"] - beam["log_probability"]), 1e-9)
        self.assertIn("exact_match", self.evaluated(*runs))

    def test_texts(self):
        self.write("lines.txt", "".join(f"the {who} sat on {where} {where}\n" for who in "abcdefgh" for where in "mnopqrst"))
        self.write("text.toml", TEXT)
        runs = self.train("text.toml", "a", "b")
        words = ("--text", "the ", "--length", 12, "--temperature", 0)
        text = "the "
        while len(text) < 16:
            label = self.answers(runs, [text])[0]["labels"][-1]
            if label == "<end>":
                break
            text += label.replace("␣", " ")
        self.assertEqual(self.xgrad("generate", *runs, *words).stdout, text + "\n")
        drawn = [self.xgrad("generate", *of, "--text", "a", "--length", 40).stdout for of in (["a"], ["a", "a"], runs)]
        self.assertEqual(drawn[0], drawn[1])
        self.assertNotEqual(drawn[0], drawn[2])

    def test_the_runs_of_a_sweep(self):
        """Their directories have the names of overrides."""
        self.xgrad("sweep", "small.toml", "train.steps=5", "--over", "train.seed=[1, 2]", "--out", "sweep")
        runs = [f"sweep/train.seed={seed}" for seed in (1, 2)]
        found = self.evaluated(*runs, "train.batch=100")
        self.assertEqual(found["steps"], [5, 5])
        self.assertEqual(self.evaluated(runs[0])["step"], 5)
        self.assertIn("train.seed=3: no such run", self.xgrad("eval", *runs, "sweep/train.seed=3", exit_code=6).stderr)

    def test_runs_that_differ(self):
        self.train("small.toml", "a")
        for run, key in (("sort", "task.name=sort"), ("short", "task.length=5"), ("writer", "model.kind=encoder_decoder"), ("double", "train.precision=double")):
            self.xgrad("train", "small.toml", f"run.dir={run}", key)
        for other, what in (("sort", "has task.name = sort, but a/checkpoints/step-0000000060.h5 has reverse"),
                            ("short", "has task.length = 5, but a/checkpoints/step-0000000060.h5 has 6"),
                            ("writer", "differs from a/checkpoints/step-0000000060.h5 in its classes"),
                            ("double", "has train.precision = double, but a/checkpoints/step-0000000060.h5 has float")):
            for command in ("predict", "eval"):
                said = self.xgrad(command, "a", "a", other, exit_code=2).stderr
                self.assertTrue(said.startswith(f"xgrad: {other}/checkpoints/step-0000000060.h5: {what}; "), said)
        self.xgrad("predict", "a", "double", "--precision", "double", stdin="1 2 3\n")
        self.xgrad("eval", "a", "double", "train.precision=float")
        self.assertIn("no such run directory", self.xgrad("predict", "a", "none", exit_code=6).stderr)
        self.assertIn("a beam search needs a model that generates", self.xgrad("predict", "a", "a", "--beam", 2, exit_code=2).stderr)
        self.assertIn("generate needs one that is trained", self.xgrad("generate", "a", "a", exit_code=2).stderr)

    def test_vocabularies_that_differ(self):
        self.write_rows(lambda words, noise: words.split()[0])
        self.write("config.toml", FILES.format(""))
        self.train("config.toml", "a")
        self.write_rows(lambda words, noise: {"up": "above"}.get(words.split()[0], words.split()[0]))
        self.train("config.toml", "classes")
        self.write("rows.csv", (self.folder / "rows.csv").read_text() + "never seen,down\n" * 9)
        self.train("config.toml", "words")
        for other, what in (("classes", "classes"), ("words", "vocabulary")):
            said = self.xgrad("predict", "a", other, exit_code=2).stderr
            self.assertIn(f"xgrad: {other}/checkpoints/step-0000000012.h5: differs from a/checkpoints/step-0000000012.h5 in its {what}; an ensemble", said)

    def test_inputs_that_are_scaled_by_other_numbers(self):
        """The columns of `other` are twice those of `a`, and so are the means and deviations that scale them."""
        self.write("config.toml", FILES.format('input = "x,y"\ntokens = "numbers"'))
        for run, by in (("a", 1), ("same", 1), ("other", 2)):
            for name in ("rows.csv", "test.csv"):
                self.write(name, "x,y,label\n" + "".join(f"{by * (i % 7)},{by * (i % 3)},{i % 2}\n" for i in range(60)))
            self.train("config.toml", run)
        self.xgrad("predict", "a", "same", stdin="1 2\n")
        for command in ("predict", "eval"):
            self.assertIn("in its mean and deviation of the inputs; an ensemble", self.xgrad(command, "a", "other", exit_code=2).stderr)


if __name__ == "__main__":
    unittest.main()
