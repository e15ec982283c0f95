"""Tasks on vectors from the config to a prediction: one whose targets are numbers, one of classes."""

import json

from command import CommandTest, unittest

CONFIG = """
[task]
name = "{}"
length = 3
examples = 200
validation = 30
test = 50
[model]
width = 8
heads = 2
layers = 1
pool = "attention"
[train]
steps = 20
"""


class Vectors(CommandTest):
    def test_numbers(self):
        self.write("config.toml", CONFIG.format("mean_of_marked"))
        done = self.xgrad("train", "config.toml", "run.dir=run", "train.loss=huber", "expect.r2=-1000")
        self.assertIn("expect  r2 >= -1000", done.stdout)
        self.assertIn("valid r2", done.stderr)
        figures = {"loss", "r2", "mae", "rmse"}
        for row in self.rows("run"):
            self.assertEqual(figures, {key for key in row if key + "_se" in row})
        test = json.loads(self.xgrad("eval", "run", "--json").stdout)
        self.assertEqual(test, [row for row in self.rows("run") if row["split"] == "test"][0])
        page = (self.folder / "run/report.html").read_text()
        self.assertIn("lowest loss there can be", page)
        self.assertNotIn("accuracy", page)
        lines = self.xgrad("predict", "run", stdin="0.5 1, -1 0, 2 1\n3 1\n").stdout.splitlines()
        raw = self.xgrad("predict", "run", "--logits", stdin="0.5 1, -1 0, 2 1\n3 1\n").stdout.splitlines()
        for shown, exact in zip(lines, raw, strict=True):
            self.assertAlmostEqual(float(shown), float(exact), delta=1e-5 * abs(float(exact)))

    def test_bad_vectors_are_named(self):
        self.write("config.toml", CONFIG.format("mean_of_marked"))
        self.xgrad("train", "config.toml", "run.dir=run")
        for bad, said in (("1 2 3", "3 numbers"), ("1 x", '"x"'), ("1 1 " * 4, "4 vectors"), ("nan 1", '"nan"')):
            done = self.xgrad("predict", "run", stdin=f"{bad}\n", exit_code=3)
            self.assertIn("line 1: mean_of_marked: ", done.stderr)
            self.assertIn(said, done.stderr)

    def test_classes(self):
        self.write("config.toml", CONFIG.format("ar2"))
        self.xgrad("train", "config.toml", "run.dir=run", "expect.below_ceiling=1")
        report = json.loads(self.xgrad("eval", "run", "--json").stdout)
        self.assertEqual([50, 4, 4], [sum(map(sum, report["confusion"])), len(report["confusion"]), len(report["classes"])])
        right = sum(row[i] for i, row in enumerate(report["confusion"]))
        self.assertAlmostEqual(right / 50, report["accuracy"])
        for own, row in zip(report["classes"], report["confusion"], strict=True):
            self.assertEqual(own["targets"], sum(row))
        self.assertAlmostEqual(report["macro_f1"], sum(own["f1"] for own in report["classes"]) / 4)
        table = self.xgrad("eval", "run").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in table[-4:]], list("0123"))
        self.assertEqual([int(count) for count in table[-1].split()[-4:]], report["confusion"][3])

    def test_what_does_not_fit_the_targets_is_a_config_error(self):
        for task, wrong, said in (
                ("mean_of_marked", "expect.accuracy=0.5", "expect.accuracy: is not measured where targets are numbers"),
                ("mean_of_marked", "train.loss=cross_entropy", "cross_entropy is for targets that are classes"),
                ("ar2", "train.loss=mse", "mse is for targets that are numbers"),
                ("ar2", "expect.r2=0.5", "expect.r2: is not measured where targets are classes"),
                ("ar2", "model.input=one_hot", "only tokens can be one_hot")):
            self.write("config.toml", CONFIG.format(task))
            self.assertIn(said, self.xgrad("train", "config.toml", "run.dir=run", wrong, exit_code=2).stderr)
            self.assertFalse((self.folder / "run").exists())


if __name__ == "__main__":
    unittest.main()
