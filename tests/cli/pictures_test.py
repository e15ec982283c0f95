"""The numbers of report.html, read back from its curves, tables and pictures."""

import json
import math
import re

import h5py
import numpy
from command import CommandTest, unittest
from pages import charts, pixels, sparks, tables

TABLE = """
[task]
name = "files"
train = "train.csv"
test = "test.csv"

[model]
width = 8
heads = 1
layers = 1

[train]
steps = 60
batch = 32
"""


class RunTest(CommandTest):
    def train(self, *words, config="small.toml"):
        self.xgrad("train", config, "run.dir=run", "-q", *words)
        return self.page()

    def page(self):
        return self.report("run")

    def part(self, page, heading):
        """What stands below a heading of the page."""
        return re.search(f"<h2>{heading}</h2>(.*?)(<h2>|</body>)", page, re.DOTALL)[1]


class Pictures(RunTest):
    def points(self, split, metric):
        """(step, value, standard error) of the finite ones in metrics.jsonl."""
        return [(row["step"], row[metric], row.get(metric + "_se", 0)) for row in self.rows("run")
                if row["split"] == split and isinstance(row.get(metric), (int, float))]

    def write_rows(self, rows):
        """Replaces metrics.jsonl and makes the page again."""
        self.write("run/metrics.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        return self.page()

    def check_axes(self, chart):
        """Larger is higher, later is further right, and every label is where its value is."""
        for ticks, scale, direction in ((chart.y_ticks, chart.y, -1), (chart.x_ticks, chart.x, 1)):
            self.assertGreaterEqual(len(ticks), 2)
            for (at, value), (after, larger) in zip(ticks, ticks[1:]):
                self.assertLess(value, larger)
                self.assertGreater((after - at) * direction, 0)
            for at, value in ticks:
                low, high = sorted((scale(at - 0.2), scale(at + 0.2)))
                self.assertTrue(low <= value * (1 + 1e-3) and value * (1 - 1e-3) <= high, (at, value, low, high))
        for gap in chart.label_gaps:
            self.assertAlmostEqual(gap, 4, delta=0.11)

    def check_line(self, chart, name, expected, band):
        line, polygon = chart.lines[name]
        self.assertEqual(len(line), len(expected))
        self.assertEqual(len(polygon), 2 * len(line) if band else 0)
        if len(line) <= 40:
            self.assertEqual(chart.circles[name], line)
        for i, ((x, y), (step, value, error)) in enumerate(zip(line, expected)):
            self.assertTrue(0 <= x <= chart.width and 0 <= y <= chart.height)
            self.assertAlmostEqual(chart.x(x), step, delta=0.1 + 0.003 * expected[-1][0])
            self.check_height(chart, y, value)
            if band:
                self.check_height(chart, polygon[i][1], value + error)
                self.check_height(chart, polygon[-1 - i][1], value - error)
                self.assertEqual((polygon[i][0], polygon[-1 - i][0]), (x, x))

    def check_height(self, chart, y, value):
        room = 1e-3 * abs(value)  # labels have four digits
        self.assertTrue(chart.y(y + 0.3) - room <= value <= chart.y(y - 0.3) + room, (chart.y(y), value))

    def check_curves(self, page, metrics):
        drawn = charts(page)
        self.assertEqual(set(drawn), metrics)
        for metric, chart in drawn.items():
            with self.subTest(metric):
                self.check_axes(chart)
                self.check_line(chart, "train", self.points("train", metric), band=False)
                validated = self.points("validation", metric)
                self.assertEqual("validation" in chart.lines, metric in metrics)
                if validated:
                    self.check_line(chart, "validation", validated, band=True)
        self.check_sparks(page, metrics)

    def check_sparks(self, page, charted):
        """Every number without a chart has its ends and its range in a row, unless it is computed from the loss."""
        derived = {"perplexity", "rmse"}
        expected = {}
        for split in ("train", "validation"):
            for metric in next(row for row in self.rows("run") if row["split"] == split):
                values = [value for _, value, _ in self.points(split, metric)]
                if metric not in charted | derived | {"step"} and not metric.endswith("_se") and values:
                    expected[f"{metric}, {split}"] = [f"{value:.4g}" for value in (values[0], values[-1], min(values), max(values))]
        self.assertEqual(sparks(page), expected)

    def test_curves_are_the_rows_of_the_run(self):
        self.check_curves(self.train("optim.lr=1e-2"), {"loss", "accuracy", "exact_match"})

    def test_curves_of_numbers_go_below_zero(self):
        self.write("small.toml", (self.folder / "small.toml").read_text().replace("symbols = 8\n", "").replace("reverse", "mean_of_marked"))
        self.check_curves(self.train(), {"loss", "r2", "mae"})
        self.assertLess(min(value for _, value, _ in self.points("train", "r2")), 0)

    def test_a_wide_range_is_drawn_by_its_logarithm(self):
        self.train("train.steps=2")
        losses = [900.0, 250.0, 60.0, 9.0, 2.5, 0.4, 0.03]
        rows = [{"step": 6000 * i, "split": "train", "loss": loss, "accuracy": i / 8} for i, loss in enumerate(losses)]
        rows += [{"step": 6000 * i, "split": "validation", "loss": 2 * loss, "loss_se": loss / 4, "accuracy": i / 7,
                  "accuracy_se": 0.01 * i} for i, loss in enumerate(losses)]
        rows += [{"step": 42000, "split": "train", "loss": None, "accuracy": 0.5}]
        drawn = charts(self.write_rows(sorted(rows, key=lambda row: row["step"])))
        for metric in ("loss", "accuracy"):
            self.check_axes(drawn[metric])
            self.check_line(drawn[metric], "train", self.points("train", metric), band=False)
            self.check_line(drawn[metric], "validation", self.points("validation", metric), band=True)
        heights = [y for x, y in drawn["loss"].lines["train"][0]]
        for before, after, low, high in zip(heights, heights[1:], losses[1:], losses):  # equal ratios, equal distances
            self.assertAlmostEqual((after - before) / (heights[-1] - heights[0]), math.log(high / low) / math.log(900 / 0.03),
                                   delta=0.002)

    def test_a_long_curve_keeps_its_ends_and_its_places(self):
        self.train("train.steps=2")
        rows = [{"step": step, "split": "train", "loss": 2 + math.sin(step / 50)} for step in range(1, 2001)]
        chart = charts(self.write_rows(rows))["loss"]
        self.check_axes(chart)
        kept = [round(chart.x(x)) for x, y in chart.lines["train"][0]]
        self.assertEqual((kept[0], kept[-1]), (1, 2000))
        self.assertGreaterEqual(len(kept), 200)
        steps = [rows[min(1999, 7 * i)]["step"] for i in range(len(kept))]
        self.check_line(chart, "train", [(step, 2 + math.sin(step / 50), 0) for step in steps], band=False)

    def test_the_table_has_the_last_row_of_each_split(self):
        page = self.train()
        header, *table = tables(self.part(page, "Results"))[0]
        self.assertEqual(header, ["", "validation", "test"])
        found = {row[0]: row[1:] for row in table if "accuracy " not in row[0]}
        last = {row["split"]: row for row in self.rows("run")}
        expected = {name: [f"{last[split][name]:.4f} ± {last[split][name + '_se']:.4f}" for split in header[1:]]
                    for name in ("loss", "accuracy", "exact_match")}
        self.assertEqual(found, expected)

    def test_confusion_counts_the_predictions_of_the_test_file(self):
        """Three classes of different sizes, of which the rarest is rarely found."""
        random = numpy.random.default_rng(3)
        words = {"up": "abcde", "down": "cdefg", "still": "efgab"}
        def rows(count):
            labels = random.choice(list(words), size=count, p=[0.55, 0.35, 0.1])
            return [(" ".join(random.choice(list(words[label]), size=3)), str(label)) for label in labels]
        test = rows(300)
        for name, of in (("train", rows(600)), ("test", test)):
            self.write(f"{name}.csv", "text,label\n" + "".join(f"{text},{label}\n" for text, label in of))
        self.write("table.toml", TABLE)
        page = self.train(config="table.toml")
        said = self.xgrad("predict", "run", stdin="".join(text + "\n" for text, label in test)).stdout.split()
        part = self.part(page, "Confusion")
        header, *body = tables(part)[0]
        self.assertEqual([row[0] for row in body], header[1:])
        self.assertEqual(set(header[1:]), set(words))
        counts = numpy.array([[sum((label, answer) == (target, model) for (_, label), answer in zip(test, said))
                               for model in header[1:]] for target in header[1:]])
        self.assertEqual([[int(cell) for cell in row[1:]] for row in body], counts.tolist())
        self.assertFalse((counts == counts.T).all())
        shares = (counts / counts.sum(1, keepdims=True)).flatten()
        cells = re.findall(r'<td class="(\w*)" style="--a:([\d.]+)">', part)
        for (look, shade), share in zip(cells, shares, strict=True):
            self.assertAlmostEqual(float(shade), share, delta=0.00501)
            self.assertEqual(look, "strong" if share > 0.5 else "zero" if share == 0 else "")



class AttentionMaps(RunTest):
    """Drawn and stored maps against those of the exported weights: softmax(2 Q K^T) of each head after a layer norm."""

    def setUp(self):
        super().setUp()
        self.text = self.train("task.name=rotate", "model.positions=learned", "optim.lr=3e-3", "task.min_length=6", "model.scale=2")
        self.xgrad("export", "run", "--to", "npz", "--out", "weights.npz")
        self.weights = dict(numpy.load(self.folder / "weights.npz"))

    def maps(self, ids):
        """(heads, queries, keys)"""
        weights, layer = self.weights, "encoder.layers.0."
        x = weights["embedding.token.weight"][ids] + weights["embedding.position.weight"][:len(ids)]
        x = (x - x.mean(1, keepdims=True)) / numpy.sqrt(x.var(1, keepdims=True) + 1e-5)
        x = x * weights[layer + "norm1.weight"] + weights[layer + "norm1.bias"]
        q, k, _ = numpy.split(x @ weights[layer + "self_attn.in_proj_weight"].T, 3, axis=1)
        scores = 2 * numpy.array([q[:, :8] @ k[:, :8].T, q[:, 8:] @ k[:, 8:].T])
        p = numpy.exp(scores - scores.max(2, keepdims=True))
        return p / p.sum(2, keepdims=True)

    def test_of_the_report(self):
        """White is 0 and dark blue the largest weight, by the square root."""
        part = self.part(self.text, "Attention")
        ids = [int(token) for token in re.search("<dt>input</dt><dd>([^<]*)</dd>", part)[1].split()]
        drawn = re.findall('aria-label="attention map of (.*?)".*?href="(.*?)"', part, re.DOTALL)
        self.assertEqual([name for name, _ in drawn], [f"encoder.layers.0.self_attn, head {head}" for head in (0, 1)])
        for p, (_, uri) in zip(self.maps(ids), drawn):
            shade = numpy.sqrt(p / p.max())[..., None]
            expected = 247 + shade * (numpy.array([8, 48, 107]) - 247)
            self.assertGreater(numpy.abs(expected - expected.transpose(1, 0, 2)).max(), 20)
            self.assertLess(numpy.abs(pixels(uri) - (expected - 0.5)).max(), 0.6)

    def test_of_one_input(self):
        ids = [3, 1, 4, 1, 5, 2]
        out = self.xgrad("attention", "run", "--text", " ".join(map(str, ids))).stdout
        rows = re.findall(r"(?m)^\d       ((?: (?:\S\S|  )){6})$", out)
        self.assertEqual(len(rows), 12)
        for row, p in zip(rows, self.maps(ids).reshape(12, 6)):
            for cell, value in zip((row[i:i + 2] for i in range(1, 18, 3)), p):
                self.assertEqual(cell[0], cell[1])
                self.assertTrue(-1e-4 <= value - " .:-=+*#%@".index(cell[0]) / 10 <= 0.1 + 1e-4, (cell, value))

    def test_of_a_file_with_what_is_said_of_them(self):
        self.xgrad("attention", "run", "--examples", 20, "--maps", 20, "--out", "maps.h5")
        with h5py.File(self.folder / "maps.h5") as file:
            inputs = file["inputs"][()].decode().splitlines()
            stored = {name: values[()] for name, values in file["encoder.layers.0.self_attn"].items()}
        expected = numpy.array([self.maps([int(token) for token in line.split()]) for line in inputs])
        self.assertEqual(expected.shape, (20, 2, 6, 6))
        def near(name, values):
            self.assertLess(numpy.abs(stored[name] - values).max(), 1e-4, name)
        near("maps", expected)
        near("entropy", -(expected * numpy.log(expected)).sum(3).mean((0, 2)))
        distance = numpy.abs(numpy.arange(6)[:, None] - numpy.arange(6))
        near("distance", (expected * distance).sum(3).mean((0, 2)))
        norm = numpy.linalg.norm(expected, axis=(2, 3))
        turned = numpy.linalg.norm(expected - expected.transpose(0, 1, 3, 2), axis=(2, 3))
        near("asymmetry", (turned / norm / math.sqrt(2)).mean(0))
        cosine = numpy.einsum("sgij,shij->sgh", expected, expected) / norm[:, :, None] / norm[:, None]
        near("redundancy", cosine.mean(0))


if __name__ == "__main__":
    unittest.main()
