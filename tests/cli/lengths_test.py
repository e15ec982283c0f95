"""`xgrad eval RUN --lengths`: scores by the length of the examples."""

import json
import re
import xml.etree.ElementTree as ET

from command import CommandTest, unittest

# Sinusoidal positions exist for any length.
WORDS = ("task.name=first", "task.length=8", "task.min_length=3", "model.positions=sinusoidal", "train.steps=40")


class Lengths(CommandTest):
    def rows_of(self, run, *words):
        return json.loads(self.xgrad("eval", run, "--json", *words).stdout)["lengths"]

    def test_a_task_draws_examples_of_every_length(self):
        self.xgrad("train", "small.toml", *WORDS, "run.dir=run")
        rows = self.rows_of("run", "--lengths", "4:40")
        self.assertEqual([row["length"] for row in rows], [4, 8, 16, 32, 40])
        for row in rows:
            # The same examples by way of the config.
            same = f"task.length={row['length']}", f"task.min_length={row['length']}"
            alone = json.loads(self.xgrad("eval", "run", *same, "--json").stdout)
            self.assertEqual(row["examples"], 100)
            for name in ("step", "split", "loss", "loss_se", "accuracy", "accuracy_se"):
                self.assertEqual(row[name], alone[name], (row["length"], name))
        self.assertEqual([row["length"] for row in self.rows_of("run", "--lengths", "4:12:3")], [4, 7, 10, 12])
        table = self.xgrad("eval", "run", "--lengths", "4:40").stdout
        for row in rows:
            self.assertRegex(table, rf"(?m)^ +{row['length']} +100 .* {row['accuracy']:.4f} ± {row['accuracy_se']:.4f}  ")

    def test_lengths_that_a_model_cannot_read_are_named(self):
        self.xgrad("train", "small.toml", *WORDS, "model.positions=learned", "run.dir=run")
        out = self.xgrad("eval", "run", "--lengths", "1:16").stdout
        self.assertIn('length 16: model.positions = "learned" has learned 8 places\n', out)
        self.assertIn("length 1: first: there are only 8 different inputs", out)
        self.assertRegex(out, r"(?m)^ +8 +100 ")
        self.assertEqual([row["length"] for row in self.rows_of("run", "--lengths", "1:16")], [4, 8])
        why = self.xgrad("eval", "run", "--lengths", "16:32", exit_code=2).stderr
        self.assertIn('--lengths: length 16: model.positions = "learned" has learned 8 places', why)

    def test_other_examples_are_sorted_by_their_lengths(self):
        rows = [{"x": " ".join("ab"[(i + n) % 2] for n in range(1 + i % 6)), "y": "ab"[i % 2]} for i in range(60)]
        for name in ("train", "test"):
            (self.folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (self.folder / "own.toml").write_text("""
            [task]
            name = "files"
            train = "train.jsonl"
            validation = "test.jsonl"
            test = "test.jsonl"
            input = "x"
            target = "y"
            [model]
            width = 8
            heads = 2
            layers = 1
            [train]
            steps = 5
            """)
        self.xgrad("train", "own.toml", "run.dir=run")
        found = self.rows_of("run", "--lengths", "2:8")
        # Lengths 1 and 2; 3 and 4; 5 and 6. The split has nothing longer.
        self.assertEqual([(row["length"], row["shortest"], row["examples"]) for row in found], [(2, 0, 20), (4, 3, 20), (8, 5, 20)])
        whole = json.loads(self.xgrad("eval", "run", "--json").stdout)
        self.assertAlmostEqual(sum(row["accuracy"] for row in found) / 3, whole["accuracy"], places=12)
        self.assertRegex(self.xgrad("eval", "run", "--lengths", "2:8").stdout, r"(?m)^ +3-4 +20 ")

    def test_a_picture_has_a_curve_for_each_run(self):
        for run in ("one", "two"):
            self.xgrad("train", "small.toml", *WORDS, f"train.seed={len(run) + ord(run[0])}", f"run.dir={run}")
        words = ("eval", "one", "--beside", "two", "--lengths", "4:64", "--out", "curve.svg")
        self.assertEqual(self.xgrad(*words).stdout.count("length  examples"), 2)
        text = (self.folder / "curve.svg").read_text()
        root = ET.fromstring(text)
        self.assertNotIn("var(", text)
        points = [re.findall(r"[\d.]+,[\d.]+", line.get("points")) for line in root.iter("{http://www.w3.org/2000/svg}polyline")]
        self.assertEqual([len(line) for line in points], [5, 5, 2, 2], "two curves, and two samples in the legend")
        across = [float(point.split(",")[0]) for point in points[0]]
        steps = [b - a for a, b in zip(across, across[1:])]
        self.assertLess(max(steps) - min(steps), 0.25, "lengths that double are equally far apart")
        titles = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
        for name in ("accuracy by length", "length", "accuracy", "one", "two"):
            self.assertIn(name, titles)
        style = next(root.iter("{http://www.w3.org/2000/svg}style")).text
        self.assertNotIn("var(", style)  # which programs other than browsers do not know
        self.assertEqual(style.count(".c0{color:#"), 2)  # in light and dark
        self.xgrad(*words, exit_code=6)

    def test_what_is_no_range_is_refused(self):
        self.xgrad("train", "small.toml", *WORDS, "run.dir=run")
        for text in ("4", "4:", "0:8", "4:8:0", "4:x", "4:8:1:2", "4:100000"):
            self.assertIn("--lengths", self.xgrad("eval", "run", f"--lengths={text}", exit_code=2).stderr, text)
        self.assertIn("the first length, 9, is above the last, 8", self.xgrad("eval", "run", "--lengths", "9:8", exit_code=2).stderr)
        self.assertIn("--lengths", self.xgrad("eval", "run", "--out", "x.svg", exit_code=2).stderr)


if __name__ == "__main__":
    unittest.main()
