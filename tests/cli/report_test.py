"""report.html: whole without network or script, escaped, and right for runs that failed."""

import html.parser
import itertools
import json
import math
import re
import resource
import statistics

import numpy
from command import CommandTest, unittest
from pages import Chart, charts, tables

LUMINANCE = numpy.array([0.2126, 0.7152, 0.0722])
PROTANOPIA = numpy.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]])
DEUTERANOPIA = numpy.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]])
TO_LMS = numpy.array([[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
                      [0.0883024619, 0.2817188376, 0.6299787005]])
LMS_TO_OKLAB = numpy.array([[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
                            [0.0259040371, 0.7827717662, -0.8086757660]])

VOID = {"meta", "img", "br", "wbr", "line", "circle", "polyline", "polygon"}


class Page(html.parser.HTMLParser):
    """Complains of tags that do not match; keeps text by the heading above it, and attributes."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text, self.heading, self.attributes, self.tags = [], {}, "", [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attributes]
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("h1", "h2"):
            self.heading = None

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attributes]

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (self.open, tag, self.getpos())
        self.open.pop()

    def handle_data(self, data):
        if self.heading is None:
            self.heading = data
        self.text[self.heading] = self.text.get(self.heading, "") + data.replace("\xa0", " ")


def linear_rgb(colour):
    """Of #rgb or #rrggbb, without the leading character."""
    digits = colour if len(colour) == 6 else "".join(2 * digit for digit in colour)
    c = numpy.array([int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)])
    return numpy.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def oklab(rgb):
    return LMS_TO_OKLAB @ numpy.cbrt(TO_LMS @ numpy.clip(rgb, 0, 1))


class Report(CommandTest):
    def page(self, path):
        if path.startswith("run"):
            self.report(path.split("/")[0])
        return self.checked((self.folder / path).read_text())

    def checked(self, text):
        page = Page(text)
        for tag, name, value in page.attributes:
            self.assertFalse(name.startswith("on"), (tag, name))
            if name in ("src", "href", "xlink:href", "data", "action", "srcset"):
                self.assertTrue(value == "explain.html" or value.startswith("data:image/png;base64,"), value[:80])
        self.assertFalse({"script", "link", "iframe", "object"} & set(page.tags))
        self.assertNotRegex(text, r"https?:|@import|url\(")
        return page

    def lines(self, run):
        """How many curves a run has: one for each number of its training and validation rows, but perplexity is exp(loss)."""
        names = {(row["split"], name) for row in self.rows(run) if row["split"] != "test"
                 for name in row if name not in ("step", "split", "perplexity") and not name.endswith("_se")}
        self.assertGreaterEqual(len(names), 8)
        return len(names)

    def test_every_run_has_one(self):
        self.xgrad("train", "small.toml", "run.dir=run", "-q")
        page = self.page("run/report.html")
        test = [row for row in self.rows("run") if row["split"] == "test"][0]
        self.assertIn(f"{test['accuracy']:.4f} ± {test['accuracy_se']:.4f}", page.text["Results"])
        self.assertIn("from each token alone", page.text["Results"])
        self.assertIn("finished after 60 steps", " ".join(page.text["reverse"].split()))
        self.assertIn("encoder", page.text["Model"])
        self.assertIn((self.folder / "run" / "config.toml").read_text(), page.text["Configuration"])
        self.assertIn("xgrad train run/config.toml", page.text["Rerun"])
        self.assertIn("head 1", page.text["Attention"])
        # Every target of the test split once, and the right ones in the diagonal.
        cells = re.findall(r'style="--a:[\d.]+">(\d+)</td>', (self.folder / "run" / "report.html").read_text())
        counts = [[int(cell) for cell in cells[8 * row:8 * row + 8]] for row in range(8)]
        self.assertEqual(len(cells), 64)
        right = sum(counts[i][i] for i in range(8))
        self.assertAlmostEqual(right / sum(map(sum, counts)), test["accuracy"], places=6)
        self.assertEqual(page.tags.count("polyline"), self.lines("run"))

    def test_samples_are_what_predict_says(self):
        self.xgrad("train", "small.toml", "run.dir=run", "-q")
        found = re.findall(r"<dt>input</dt><dd>([\d ]+)</dd><dt>target</dt><dd>([\d ]+)</dd><dt>model</dt><dd>(.*?)</dd>",
                           self.report("run"))
        self.assertGreaterEqual(len(found), 6)
        said = self.xgrad("predict", "run", stdin="".join(row[0] + "\n" for row in found)).stdout.splitlines()
        for (given, target, model), answer in zip(found, said):
            self.assertEqual(given.split()[::-1], target.split())
            self.assertEqual(re.sub("</?mark>", "", model), answer)
            wrong = [a != b for a, b in zip(target.split(), answer.split())]
            self.assertEqual(["<mark>" in word for word in model.split()], wrong)

    def test_several_side_by_side(self):
        self.xgrad("train", "small.toml", "run.dir=one", "-q")
        self.xgrad("train", "small.toml", "run.dir=two", "optim.lr=3e-3", "-q")
        self.xgrad("report", "one", "two", "--out", "both.html")
        page = self.page("both.html")
        header, *rows = tables((self.folder / "both.html").read_text())[0]
        self.assertEqual(header[:2], ["", "optim.lr"])
        self.assertEqual(sorted(row[:2] for row in rows), [["one", "0.001"], ["two", "0.003"]])
        self.assertEqual(page.tags.count("polyline"), self.lines("one") + self.lines("two"))
        self.assertIn("--out", self.xgrad("report", "one", "two", exit_code=2).stderr)
        self.assertIn("exists", self.xgrad("report", "one", "two", "--out", "both.html", exit_code=6).stderr)
        self.checked(self.report("one"))

    def mean_and_error(self, runs, split, metric):
        """{step: (mean, standard error)} over runs, by hand."""
        found = {}
        for run in runs:
            for row in self.rows(run):
                if row["split"] == split and metric in row:
                    found.setdefault(row["step"], []).append(row[metric])
        self.assertEqual({len(values) for values in found.values()}, {len(runs)})
        return {step: (sum(values) / len(values), statistics.stdev(values) / math.sqrt(len(values)))
                for step, values in found.items()}

    def test_a_sweep_shows_the_means_of_its_groups(self):
        self.xgrad("sweep", "small.toml", "--over", "optim.lr=[1e-3, 1e-2, 1e-4]", "--over", "train.seed=[1, 2, 3, 4]",
                   "--out", "s")
        self.page("s/report.html")
        text = (self.folder / "s/report.html").read_text().replace("\xa0", " ").replace("&nbsp;", "")
        head, rest = text.split("<h2>Curves</h2>")
        runs = {f"optim.lr={lr}": [f"s/optim.lr={lr},train.seed={seed}" for seed in (1, 2, 3, 4)]
                for lr in ("0.01", "0.001", "0.0001")}  # the best first
        header, *rows = tables(head)[0]
        self.assertEqual(header, ["", "optim.lr", "validation loss", "validation accuracy", "test loss", "test accuracy", "runs", "time"])
        self.assertEqual([row[:2] for row in rows], [["1", "0.01"], ["2", "0.001"], ["3", "0.0001"]])
        for row, members in zip(rows, runs.values()):
            for split, metric in (("validation", "loss"), ("validation", "accuracy"), ("test", "loss")):
                mean, error = list(self.mean_and_error(members, split, metric).values())[-1]
                self.assertEqual(row[header.index(f"{split} {metric}")], f"{mean:.4f} ± {error:.4f}")
        self.check_settings(charts(head), runs)
        self.assertEqual(text.count('class="legend"'), 1)
        legend = re.search('<p class="legend">(.*)</p>', text)[1]
        looks = dict(re.findall('<span><i class="(.*?)"></i>(.*?)</span>', legend))
        self.assertEqual(list(looks.values()), list(runs))
        figures = dict(re.findall("<figcaption>(.*?)</figcaption>(.*?)</figure>", rest, re.DOTALL))
        for split, metric in itertools.product(("validation", "train"), ("loss", "accuracy", "exact_match")):
            figure = figures[f"{metric}, {split}"]
            self.assertEqual(dict(re.findall('<g class="(.*?)"><title>(.*?)</title>', figure)), looks)
            self.check_chart(Chart(figure), {name: self.mean_and_error(of, split, metric) for name, of in runs.items()})

    def check_settings(self, drawn, runs):
        """A point for each group over its value, at equal distances, since each is ten times the one before."""
        self.assertEqual(list(drawn), ["loss over optim.lr", "accuracy over optim.lr"])
        for metric, chart in zip(("loss", "accuracy"), drawn.values()):
            self.assertEqual(chart.titles, ["optim.lr", metric])
            self.assertEqual([value for _, value in chart.x_ticks], [1e-4, 1e-3, 1e-2])
            first, middle, last = (at for at, _ in chart.x_ticks)
            self.assertAlmostEqual(middle - first, last - middle, delta=0.2)
            joined = []
            for (name, of), (at, _) in zip(runs.items(), chart.x_ticks[::-1]):
                mean, _ = list(self.mean_and_error(of, "validation", metric).values())[-1]
                (x, y), = chart.circles[name]
                self.assertEqual(x, at)
                self.assertBetween(mean, chart.y(y + 0.15), chart.y(y - 0.15))
                joined.insert(0, (x, y))
            self.assertEqual(chart.lines["mean"][0], joined)

    def check_chart(self, chart, expected):
        """Every line is at the means and its band one standard error around them, to a tenth of a unit of the drawing."""
        self.assertGreater(chart.y(10), chart.y(200))  # larger is higher
        for name, means in expected.items():
            line, band = chart.lines[name]
            low, high = band[len(means):][::-1], band[:len(means)]
            if not band:  # as for the learning rate, which is the same in all runs
                self.assertEqual([error for _, error in means.values()], [0] * len(means))
                low = high = line
            self.assertEqual((len(line), len(low), len(high)), (len(means),) * 3)
            for i, (step, (mean, error)) in enumerate(sorted(means.items())):
                for (x, y), value in ((line[i], mean), (low[i], mean - error), (high[i], mean + error)):
                    self.assertAlmostEqual(chart.x(x), step, delta=0.2)
                    self.assertBetween(value, chart.y(y + 0.15), chart.y(y - 0.15))

    def assertBetween(self, value, low, high):
        self.assertTrue(low <= value <= high, (low, value, high))

    def test_the_colours_of_lines_can_be_told_apart(self):
        """In both schemes a contrast of 3 with the page (WCAG 2.1, 1.4.11), and distances in OKLab (Ottosson 2020) as with normal
        sight, protanopia and deuteranopia (Machado et al. 2009); 0.02 is about the least that the eye notices."""
        self.xgrad("train", "small.toml", "run.dir=run", "-q")
        text = self.report("run")
        schemes = [dict(re.findall(r"--(c\d|page):#(\w+)", block)) for block in re.findall(r":root\{(.*?)\}", text, re.DOTALL)]
        self.assertEqual([len(scheme) for scheme in schemes], [11, 11])
        for scheme in schemes:
            page, *colours = (linear_rgb(scheme[name]) for name in sorted(scheme, reverse=True))
            for colour in colours:
                dark, light = sorted(LUMINANCE @ rgb for rgb in (page, colour))
                self.assertGreaterEqual((light + 0.05) / (dark + 0.05), 3)
            for sight, least in ((numpy.eye(3), 0.16), (PROTANOPIA, 0.08), (DEUTERANOPIA, 0.08)):
                seen = [oklab(sight @ colour) for colour in colours]
                distances = [numpy.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)]
                self.assertGreaterEqual(min(distances), least)

    def test_a_group_in_which_a_run_failed_comes_last(self):
        self.xgrad("sweep", "small.toml", "--over", "optim.lr=[1e30, 1e-2]", "--over", "train.seed=[1, 2]", "--out", "s",
                   "optim.name=sgd", "train.clip=0", exit_code=1)
        page = self.page("s/report.html")
        self.assertIn("4 runs in 2 groups: 2 finished, 2 failed", page.text["reverse"])
        self.assertIn("failed after step", page.text["reverse"])
        good, bad = (page.text["Results"].index(word) for word in ("2 finished", "2 failed"))
        self.assertLess(good, bad)

    def test_a_failed_run_does_not_stand_for_its_group(self):
        """However low its last validation loss was."""
        for seed in (1, 2):
            self.xgrad("train", "small.toml", f"run.dir=run{seed}", f"train.seed={seed}", "-q")
        rows = [json.loads(row) for row in (self.folder / "run2/metrics.jsonl").read_text().splitlines()]
        for row in rows:
            row["loss"] = 1e-3
        (self.folder / "run2/metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows if row["split"] != "test"))
        (self.folder / "run2/log.txt").write_text("failed: step 3: the loss is nan\n")
        self.xgrad("report", "run1", "run2", "--out", "a.html")
        page = self.page("a.html")
        self.assertIn("1 finished, 1 failed", page.text["reverse"])
        self.assertIn("Examples: run1", page.text)
        self.assertNotIn("Examples: run2", page.text)

    def test_heads(self):
        self.xgrad("train", "small.toml", "run.dir=run", "-q")
        self.assertNotIn("Heads", self.page("run/report.html").text)
        self.xgrad("report", "run", "--heads")
        self.assertIn("Heads", self.checked((self.folder / "run/report.html").read_text()).text)
        rows = re.findall(r'<th scope="row">head (\d)</th>(.*?)</tr>', (self.folder / "run" / "report.html").read_text())
        study = re.findall(r"(?m)^ +(\d)  (.*)", self.xgrad("attention", "run").stdout)
        self.assertEqual(len(study), 2)
        self.assertEqual([(head, re.sub(r"<[^>]*>|[()]", " ", cells).split()) for head, cells in rows],
                         [(head, figures.split()) for head, figures in study])

    def test_the_page_that_explains_the_model(self):
        self.xgrad("train", "small.toml", "run.dir=run", "-q")
        self.assertIn("xgrad explain run --out run/explain.html", self.page("run/report.html").text["Model"])
        self.xgrad("explain", "run", "--out", "run/explain.html")
        link = ("a", "href", "explain.html")
        self.assertIn(link, self.page("run/report.html").attributes)
        self.xgrad("train", "small.toml", "run.dir=other", "-q", "model.normalization=rms", "train.steps=5")
        self.xgrad("report", "run", "other", "--out", "both.html")  # elsewhere
        both = self.page("both.html")
        self.assertNotIn(link, both.attributes)
        self.assertIn("run/explain.html", both.text["Model: run"])
        self.assertIn("xgrad explain other", both.text["Model: other"])

    def test_a_run_that_failed(self):
        done = self.xgrad("train", "small.toml", "run.dir=run", "optim.lr=1e30", "optim.name=sgd", "train.clip=0",
                          "-q", exit_code=5)
        page = self.page("run/report.html")
        said = " ".join(page.text["reverse"].split())
        self.assertIn("failed after step", said)
        self.assertIn(done.stderr.split("xgrad: ")[1].splitlines()[0], said)
        self.assertIn("There are none: ", page.text["Examples"])
        self.assertIn("linear_gelu", page.text["Model"])  # what it is, not why it failed

    def test_a_run_that_was_stopped_before_anything(self):
        self.xgrad("train", "small.toml", "run.dir=run", "-q")
        for path in [*self.checkpoints("run"), *(self.folder / "run" / name for name in ("metrics.jsonl", "log.txt"))]:
            path.unlink()
        page = self.page("run/report.html")
        self.assertIn("unfinished at step 0", " ".join(page.text["reverse"].split()))
        self.assertIn("Nothing was evaluated", page.text["Results"])
        self.assertIn("No step was logged", page.text["Curves"])

    def test_a_page_that_cannot_be_written_leaves_the_old_one(self):
        self.xgrad("train", "small.toml", "run.dir=run", "-q")
        before = self.report("run").encode()
        self.xgrad("report", "run", exit_code=6, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)))
        self.assertEqual((self.folder / "run/report.html").read_bytes(), before)

    def test_maps_are_of_what_can_be_seen(self):
        tiny = "examples = 40\nvalidation = 8\ntest = 8\n[model]\nwidth = 4\nheads = 1\nlayers = 1\n[train]\nsteps = 1\nbatch = 8\n"
        for task, fits, large in (("mean_of_marked", "length=128", "length=129"), ("shapes", "size=44", "size=48")):
            self.write("tiny.toml", f'[task]\nname = "{task}"\n{tiny}')
            for size, drawn in ((fits, True), (large, False)):
                run = size.replace("=", "-")
                self.xgrad("train", "tiny.toml", f"task.{size}", f"run.dir={run}", "log.tensorboard=true", "-q")
                self.assertEqual("Attention" in self.checked(self.report(run)).text, drawn, size)
                events = b"".join(path.read_bytes() for path in (self.folder / run).glob("events.*"))
                self.assertEqual(b"attention/encoder" in events, drawn, size)

    def test_the_heading_names_every_task(self):
        for task in ("double_histogram", "histogram"):
            self.write("one.toml", f'[task]\nname = "{task}"\nexamples = 40\nvalidation = 8\ntest = 8\n'
                       "[model]\nwidth = 4\nheads = 1\nlayers = 1\n[train]\nsteps = 1\n")
            self.xgrad("train", "one.toml", f"run.dir={task}", "-q")
        self.xgrad("report", "double_histogram", "histogram", "double_histogram", "--out", "all.html")
        self.assertIn("<h1>double_histogram, histogram</h1>", (self.folder / "all.html").read_text())

    def test_text_is_escaped(self):
        bad = "<script>alert('&\"')</script>"
        run = self.folder / bad.replace("/", "")
        self.xgrad("train", "small.toml", "run.dir=run", "-q")
        with open(self.folder / "run" / "metrics.jsonl", "a") as file:
            file.write(json.dumps({"step": 61, "split": "validation", bad: 1, bad + "_se": 0.5}) + "\nno json\n")
        (self.folder / "run").rename(run)
        text = self.report(run.name)
        self.assertNotIn("<script", text)
        self.assertIn("&lt;script&gt;alert(&#39;&amp;&quot;", text)
        Page(text)


if __name__ == "__main__":
    unittest.main()
