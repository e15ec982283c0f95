"""report.html: whole without network or script, escaped, and right for runs that failed."""

import html.parser
import json
import re
import resource

from command import CommandTest, unittest

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
        self.text[self.heading] = self.text.get(self.heading, "") + data


class Report(CommandTest):
    def page(self, path):
        text = (self.folder / path).read_text()
        page = Page(text)
        for tag, name, value in page.attributes:
            self.assertFalse(name.startswith("on"), (tag, name))
            if name in ("src", "href", "xlink:href", "data", "action", "srcset"):
                self.assertTrue(value.startswith("data:image/png;base64,"), value[:80])
        self.assertFalse({"script", "link", "iframe", "object"} & set(page.tags))
        self.assertNotRegex(text, r"https?:|@import|url\(")
        return page

    def lines(self, run):
        """How many curves a run has: one for each number of its training and validation rows."""
        names = {(row["split"], name) for row in self.rows(run) if row["split"] != "test"
                 for name in row if name not in ("step", "split") and not name.endswith("_se")}
        self.assertGreaterEqual(len(names), 8)
        return len(names)

    def test_every_run_leaves_one(self):
        self.xgrad("train", "small.toml", "run.dir=run", "-q")
        page = self.page("run/report.html")
        test = [row for row in self.rows("run") if row["split"] == "test"][0]
        self.assertIn(f"{test['accuracy']:.4f} ± {test['accuracy_se']:.4f}", page.text["Results"])
        self.assertIn("from each token alone", page.text["Results"])
        self.assertIn("finished after 60 steps", " ".join(page.text["reverse"].split()))
        self.assertIn("encoder", page.text["Model"])
        self.assertIn((self.folder / "run" / "config.toml").read_text(), page.text["Configuration"])
        self.assertIn("xgrad train run/config.toml", page.text["Again"])
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
                           (self.folder / "run" / "report.html").read_text())
        self.assertGreaterEqual(len(found), 8)
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
        self.assertIn("optim.lr: 0.001 -> 0.003", page.text["From one to two"])
        self.assertEqual(page.tags.count("polyline"), self.lines("one") + self.lines("two"))
        self.assertIn("--out", self.xgrad("report", "one", "two", exit_code=2).stderr)
        self.assertIn("exists", self.xgrad("report", "one", "two", "--out", "both.html", exit_code=6).stderr)
        (self.folder / "one" / "report.html").unlink()
        self.xgrad("report", "one")
        self.page("one/report.html")

    def test_heads(self):
        self.xgrad("train", "small.toml", "run.dir=run", "-q")
        self.assertNotIn("Heads", self.page("run/report.html").text)
        self.xgrad("report", "run", "--heads")
        self.assertIn("Heads", self.page("run/report.html").text)
        rows = re.findall(r'<th scope="row">head (\d)</th>(.*?)</tr>', (self.folder / "run" / "report.html").read_text())
        study = re.findall(r"(?m)^ +(\d)  (.*)", self.xgrad("attention", "run").stdout)
        self.assertEqual(len(study), 2)
        self.assertEqual([(head, re.sub(r"<[^>]*>|[()]", " ", cells).split()) for head, cells in rows],
                         [(head, figures.split()) for head, figures in study])

    def test_a_run_that_failed(self):
        done = self.xgrad("train", "small.toml", "run.dir=run", "optim.lr=1e30", "optim.name=sgd", "train.clip=0",
                          "-q", exit_code=5)
        page = self.page("run/report.html")
        said = " ".join(page.text["reverse"].split())
        self.assertIn("failed after step", said)
        self.assertIn(done.stderr.split("xgrad: ")[1].splitlines()[0], said)
        self.assertIn("could not be looked at", page.text["Examples"])
        self.assertIn("linear_gelu", page.text["Model"])  # what it is, not why it failed

    def test_a_run_that_was_stopped_before_anything(self):
        self.xgrad("train", "small.toml", "run.dir=run", "-q")
        for path in [*self.checkpoints("run"), *(self.folder / "run" / name for name in ("metrics.jsonl", "log.txt"))]:
            path.unlink()
        self.xgrad("report", "run")
        page = self.page("run/report.html")
        self.assertIn("unfinished at step 0", " ".join(page.text["reverse"].split()))
        self.assertIn("Nothing was evaluated", page.text["Results"])
        self.assertIn("No step was logged", page.text["Curves"])

    def test_a_page_that_cannot_be_written_leaves_the_old_one(self):
        self.xgrad("train", "small.toml", "run.dir=run", "-q")
        before = (self.folder / "run/report.html").read_bytes()
        self.xgrad("report", "run", exit_code=6, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)))
        self.assertEqual((self.folder / "run/report.html").read_bytes(), before)

    def test_maps_are_of_what_can_be_seen(self):
        tiny = "examples = 40\nvalidation = 8\ntest = 8\n[model]\nwidth = 4\nheads = 1\nlayers = 1\n[train]\nsteps = 1\nbatch = 8\n"
        for task, fits, large in (("mean_of_marked", "length=128", "length=129"), ("shapes", "size=44", "size=48")):
            self.write("tiny.toml", f'[task]\nname = "{task}"\n{tiny}')
            for size, drawn in ((fits, True), (large, False)):
                run = size.replace("=", "-")
                self.xgrad("train", "tiny.toml", f"task.{size}", f"run.dir={run}", "log.tensorboard=true", "-q")
                self.assertEqual("Attention" in self.page(f"{run}/report.html").text, drawn, size)
                events = b"".join(path.read_bytes() for path in (self.folder / run).glob("events.*"))
                self.assertEqual(b"attention/encoder" in events, drawn, size)

    def test_the_heading_names_every_task(self):
        for task in ("double_histogram", "histogram"):
            self.write("one.toml", f'[task]\nname = "{task}"\nexamples = 40\nvalidation = 8\ntest = 8\n'
                       "[model]\nwidth = 4\nheads = 1\nlayers = 1\n[train]\nsteps = 1\n")
            self.xgrad("train", "one.toml", f"run.dir={task}", "-q")
        self.xgrad("report", "double_histogram", "histogram", "double_histogram", "--out", "all.html")
        self.assertIn("<h1>double_histogram, histogram</h1>", (self.folder / "all.html").read_text())

    def test_a_run_of_an_earlier_version(self):
        self.xgrad("train", "small.toml", "run.dir=run", "-q")
        config = self.folder / "run/config.toml"
        config.write_text(config.read_text().replace("[optim]\n", "[optim]\nmomentum = 0.9\n"))
        (self.folder / "run/report.html").unlink()
        self.xgrad("report", "run")
        self.assertIn("finished", self.xgrad("compare", "run", "run").stdout)
        self.assertIn("validation", self.xgrad("inspect", "run").stdout)

    def test_text_is_escaped(self):
        bad = "<script>alert('&\"')</script>"
        run = self.folder / bad.replace("/", "")
        self.xgrad("train", "small.toml", "run.dir=run", "-q")
        with open(self.folder / "run" / "metrics.jsonl", "a") as file:
            file.write(json.dumps({"step": 61, "split": "validation", bad: 1, bad + "_se": 0.5}) + "\nno json\n")
        (self.folder / "run").rename(run)
        (run / "report.html").unlink()
        self.xgrad("report", run.name)
        text = (run / "report.html").read_text()
        self.assertNotIn("<script", text)
        self.assertIn("&lt;script&gt;alert(&#39;&amp;&quot;", text)
        Page(text)


if __name__ == "__main__":
    unittest.main()
