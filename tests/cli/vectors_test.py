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
        page = self.report("run")
        self.assertIn("lowest possible loss", page)
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

    def test_graphs_as_text(self):
        self.write("paths.csv", "nodes,edges,label\n" + "".join(
            f"a b c{i},{'0-1 1-2' if i % 2 else ''},{i % 2}\n" for i in range(60)))
        self.write("paths.toml", """
[task]
name = "files"
train = "paths.csv"
input = "nodes"
edges = "edges"
[model]
width = 8
heads = 1
layers = 2
mask = "adjacency"
[train]
steps = 5
""")
        self.xgrad("train", "paths.toml", "run.dir=run")
        pairs = '{"nodes": ["a", "b", "c1"], "edges": [[0, 1], [1, 2]]}'
        text = '{"nodes": "a b c1", "edges": "0-1 1-2"}'
        lines = self.xgrad("predict", "run", "--logits", stdin=f"a b c1\t0-1 1-2\n{pairs}\n{text}\na b c1\t\n").stdout.splitlines()
        self.assertEqual(lines[0], lines[1])
        self.assertEqual(lines[0], lines[2])
        self.assertNotEqual(lines[0], lines[3])
        for bad in ("0-1-2", "a-b", "0-", "1"):
            done = self.xgrad("predict", "run", stdin=f"a b\t0-1\na b\t0-1 {bad}\n", exit_code=3)
            self.assertEqual(len(done.stdout.splitlines()), 1)
            self.assertIn(f'line 2: files: column "edges": edge 2 is "{bad}", must be two nodes', done.stderr)
        done = self.xgrad("predict", "run", stdin="a b\t0-2\n", exit_code=3)
        self.assertIn('line 1: files: column "edges": edge 1 has node 2, must be from 0 to 1', done.stderr)

    def test_what_does_not_fit_the_targets_is_a_config_error(self):
        for task, wrong, said in (
                ("mean_of_marked", "expect.accuracy=0.5", "expect.accuracy: is not measured for targets that are numbers"),
                ("mean_of_marked", "train.loss=cross_entropy", "cross_entropy is for targets that are classes"),
                ("ar2", "train.loss=mse", "mse is for targets that are numbers"),
                ("ar2", "expect.r2=0.5", "expect.r2: is not measured for targets that are classes"),
                ("ar2", "model.input=one_hot", "one_hot needs a task whose examples are tokens")):
            self.write("config.toml", CONFIG.format(task))
            self.assertIn(said, self.xgrad("train", "config.toml", "run.dir=run", wrong, exit_code=2).stderr)
            self.assertFalse((self.folder / "run").exists())


if __name__ == "__main__":
    unittest.main()
