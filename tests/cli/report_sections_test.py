"""The sections of report.html: their order, examples, classes, marks, and each number once."""

import itertools
import json
import re
import shutil
import statistics

from command import CommandTest, unittest
from pages import charts, sparks, tables


class Sections(CommandTest):
    def headings(self, page):
        return re.findall("<h2>(.*?)</h2>", page)

    def test_begins_with_what_was_learned(self):
        self.xgrad("train", "small.toml", "run.dir=run", "-q")
        page = self.report("run")
        self.assertEqual(self.headings(page), ["Examples", "Attention", "Classes", "Confusion", "Embeddings", "Curves", "Other numbers",
                                               "Results", "Model", "Configuration", "Rerun", "Machine"])
        test = self.rows("run")[-1]
        self.assertRegex(page, f"On the test split: accuracy <strong>{test['accuracy']:.4f}.{{0,12}}</strong>, loss <strong>{test['loss']:.4f}")
        self.xgrad("report", "run", "--out", "again.html")
        self.assertEqual((self.folder / "again.html").read_text(), page)

    def test_the_surest_errors_come_first(self):
        """Against the probabilities that predict says."""
        self.write("rows.csv", "text,label\n" + "".join(f"{a} {b},{'xyz'[(i + (i % 9 == 0)) % 3]}\n"
                                                       for i, (a, b) in enumerate(itertools.product("abcdefgh", repeat=2))))
        self.write("rows.toml", '[task]\nname = "files"\ntrain = "rows.csv"\nvalidation = "rows.csv"\ntest = "rows.csv"\n'
                   "[model]\nwidth = 8\nheads = 1\nlayers = 1\n[train]\nsteps = 60\n")
        self.xgrad("train", "rows.toml", "run.dir=run", "-q")
        page = self.report("run")
        rows = [line.split(",") for line in (self.folder / "rows.csv").read_text().splitlines()[1:]]
        said = [json.loads(line) for line in self.xgrad("predict", "run", "--format", "jsonl", stdin="".join(text + "\n" for text, _ in rows)).stdout.splitlines()]
        answers = [(text, target, *self.answer(one)) for (text, target), one in zip(rows, said, strict=True)]
        wrong = sorted((row for row in answers if row[1] != row[2]), key=lambda row: -row[3])
        right = [row for row in answers if row[1] == row[2]]
        self.assertIn(f"Wrong: {len(wrong)} of 64,", page)
        self.assertIn(f"Right: {len(right)} of 64<", page)
        found = re.findall(r"<dt>input</dt><dd>(.*?)</dd><dt>target</dt><dd>(.*?)</dd><dt>model</dt><dd>(.*?)</dd>"
                           r'<dt>probability</dt><dd><span class="bar" style="--a:[\d.]+">([\d.]+)</span></dd>', page)
        expected = [*wrong[:6], *right[:6]]
        self.assertEqual([(text, target, re.sub("</?mark>", "", answer)) for text, target, answer, _ in found], [row[:3] for row in expected])
        for row, (_, _, _, shown) in zip(expected, found):
            self.assertAlmostEqual(float(shown), row[3], delta=6e-5)
        self.check_classes(page, [(target, answer) for _, target, answer, _ in answers])

    def answer(self, prediction):
        """(label, probability)"""
        return prediction["labels"][0], prediction["probabilities"][0]

    def check_classes(self, page, pairs):
        """Precision, recall and F1 as scikit-learn has them with zero_division=0."""
        header, *rows = tables(re.search("<h2>Classes</h2>(.*?)<h2>", page, re.DOTALL)[1])[0]
        self.assertEqual(header, ["class", "targets", "precision", "recall", "F1"])
        scores = []
        for name in (row[0] for row in rows[:-1]):
            both = sum(target == answer == name for target, answer in pairs)
            targets, guesses = (sum(pair[side] == name for pair in pairs) for side in (0, 1))
            scores.append((both / max(1, guesses), both / max(1, targets), 2 * both / max(1, targets + guesses)))
            self.assertIn([name, str(targets), *(f"{score:.4f}" for score in scores[-1])], rows)
        self.assertEqual({row[0] for row in rows[:-1]}, {"x", "y", "z"})
        self.assertEqual(rows[-1], ["mean (macro F1)", "", "", "", f"{statistics.mean(score[2] for score in scores):.4f}"])

    def write_losses(self, training, validation, **more):
        shutil.rmtree(self.folder / "run", ignore_errors=True)
        self.xgrad("train", "small.toml", "train.steps=1", "run.dir=run", "-q")
        rows = [row for i, (a, b) in enumerate(zip(training, validation)) for row in
                ({"step": 1000 * (i + 1), "split": "train", "loss": a, **more},
                 {"step": 1000 * (i + 1), "split": "validation", "loss": b, "loss_se": 0.01, **more})]
        self.write("run/metrics.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        return self.report("run")

    def test_the_best_step_is_marked_and_overfitting_is_said(self):
        page = self.write_losses([0.9, 0.5, 0.3, 0.2, 0.1], [1.0, 0.7, 0.8, 0.9, 0.95])
        self.assertIn("after step 2,000, the validation loss rose from 0.7000 to 0.9500, while the training loss fell from 0.5000 to 0.1000.", page)
        chart = charts(page)["loss"]
        self.assertEqual(chart.marks, ["best: step 2,000, 0.7"])
        self.assertEqual(chart.titles, ["step", "loss"])
        for training, validation in (([0.9, 0.5, 0.4], [1.0, 0.7, 0.6]),  # both fall
                                     ([0.9, 0.5, 0.6], [1.0, 0.7, 0.8]),  # both rise
                                     ([0.9, 0.5, 0.4], [1.0, 0.7, 0.715])):  # within two standard errors
            with self.subTest(training):
                page = self.write_losses(training, validation)
                self.assertNotIn("Overfitting", page)
                self.assertEqual(len(charts(page)["loss"].marks), 1)

    def test_no_number_is_shown_twice(self):
        """Perplexity is exp(loss), and exact match is accuracy where each example has one target."""
        page = self.write_losses([0.9, 0.5], [1.0, 0.7], accuracy=0.5, exact_match=0.5, perplexity=None, norm=3.0)
        self.assertEqual(list(charts(page)), ["loss", "accuracy", "norm"])
        self.assertNotIn("exact_match", sparks(page))
        page = self.write_losses([0.9, 0.5], [1.0, 0.7], accuracy=0.5, exact_match=0.4, perplexity=3.0, norm=3.0)
        self.assertEqual(list(charts(page)), ["loss", "accuracy", "exact_match"])
        self.assertEqual(set(sparks(page)), {f"{name}, {split}" for name in ("perplexity", "norm") for split in ("train", "validation")})
        shutil.rmtree(self.folder / "run")
        self.xgrad("train", "small.toml", "run.dir=run", "-q")
        page = self.report("run")
        last = [row for row in self.rows("run") if row["split"] == "validation"][-1]
        self.assertIn(f"At the end, perplexity = exp(loss): {last['perplexity']:.4g}.", page)
        self.assertEqual(page.count("perplexity"), 1)

    def test_many_numbers_are_small_lines(self):
        numbers = {f"layers.{i}.norm": i + 0.5 for i in range(120)}
        page = self.write_losses([0.9, 0.5, 0.7], [1.0, 0.7, 0.8], **numbers)
        self.assertEqual(len(charts(page)), 3)
        self.assertEqual(len(sparks(page)), 2 * (120 - 2))
        self.assertEqual(sparks(page)["layers.7.norm, train"], ["7.5"] * 4)
        self.assertIn("<summary>236 numbers</summary>", page)

    def test_settings_without_an_order_are_named_at_the_axis(self):
        self.xgrad("sweep", "small.toml", "--over", 'optim.name=["sgd", "adamw", "lion"]', "--over", "model.layers=[1, 2]", "--out", "s",
                   "train.steps=9")
        page = (self.folder / "s/report.html").read_text().replace("&quot;", "")
        self.assertEqual(tables(page)[0][0][:4], ["", "model.layers", "optim.name", "validation loss"])  # not the keys of one optimizer
        drawn = charts(page)
        self.assertEqual(sorted(drawn), ["accuracy over model.layers", "accuracy over optim.name", "accuracy, validation",
                                         "exact_match, validation", "loss over model.layers", "loss over optim.name", "loss, validation"])
        for title in ("loss over optim.name", "accuracy over optim.name"):
            self.assertEqual([name for _, name in drawn[title].x_ticks], ["adamw", "lion", "sgd"])

    def test_text_of_the_data_is_escaped(self):
        """In examples, at the axes of maps, in tables of classes and beside embeddings."""
        words, labels = ("<script>", "&\"'", "<b>"), ("<i>yes", "</svg>no")
        self.write("rows.csv", "text,label\n" + "".join(f'"{(a + " " + b).replace(chr(34), chr(34) * 2)}",{labels[i % 2]}\n'
                                                       for i, (a, b) in enumerate(itertools.product(words, repeat=2))))
        self.write("rows.toml", '[task]\nname = "files"\ntrain = "rows.csv"\nvalidation = "rows.csv"\ntest = "rows.csv"\n'
                   "[model]\nwidth = 8\nheads = 1\nlayers = 1\n[train]\nsteps = 9\n")
        self.xgrad("train", "rows.toml", "run.dir=run", "-q")
        page = self.report("run")
        for text in ("<script", "<b>", "<i>", "</svg>no"):
            self.assertNotIn(text, page)
        for part in ("Examples", "Attention", "Embeddings"):
            self.assertIn("&lt;script&gt;", re.search(f"<h2>{part}</h2>(.*?)<h2>", page, re.DOTALL)[1])
        for part in ("Classes", "Confusion"):
            self.assertIn("&lt;/svg&gt;no", re.search(f"<h2>{part}</h2>(.*?)<h2>", page, re.DOTALL)[1])

    def test_axes_of_attention_have_tokens(self):
        self.xgrad("train", "small.toml", "run.dir=run", "-q")
        page = self.report("run")
        part = re.search("<h2>Attention</h2>(.*?)<h2>", page, re.DOTALL)[1]
        tokens = re.search("<dt>input</dt><dd>(.*?)</dd>", part)[1].split()
        maps = re.findall("<svg.*?</svg>", part, re.DOTALL)
        self.assertEqual(len(maps), 2)
        for text in maps:
            labels = re.findall("<text[^>]*>(.*?)</text>", text)
            self.assertEqual(labels, ["query", "key", *tokens, *tokens])


if __name__ == "__main__":
    unittest.main()
