"""report.html in headless Chromium: no complaint, no request, nothing cut off, on a phone and a desk, in light and dark,
on paper, with and without JavaScript.

    XGRAD=build/release/xgrad PYTHONPATH=tests/cli python3 tests/browser/report_test.py

With PICTURES=FOLDER it also takes a picture of each page.
"""

import os
import pathlib
import sys

os.environ["XGRAD"] = os.path.abspath(os.environ["XGRAD"])

import chromium  # noqa: E402
from command import CommandTest, unittest  # noqa: E402

PICTURES = os.environ.get("PICTURES")
# The widest part of the page, what is wider than its box without a way to scroll, and labels cut off in charts.
WIDTHS = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
CUT_OFF = """[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1
  && !e.closest('.wide, pre, svg')).map(e => e.outerHTML.slice(0, 80))"""
CUT_LABELS = """[...document.querySelectorAll('svg text')].filter(e => e.getBoundingClientRect().right >
  e.ownerSVGElement.getBoundingClientRect().right + 1).map(e => e.textContent)"""

# Tables that can be scrolled sideways, and pairs of labels that cover each other in the plane of embeddings.
SCROLLED = "[...document.querySelectorAll('.wide')].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent.slice(0, 80))"
COVERED = """(boxes => boxes.flatMap((a, i) => boxes.slice(i + 1).filter(b => a.right > b.left + 1 && b.right > a.left + 1 &&
  a.bottom > b.top + 2 && b.bottom > a.top + 2).map(b => [a.x, a.y, b.x, b.y])))(
  [...document.querySelectorAll('.plane text')].map(e => e.getBoundingClientRect()))"""

# TOPS: the top edges of the first table, the legend and its first chart. LOOKS: the colour and dashes of each line of that chart.
TOPS = "['table', '.legend', '.legend ~ .charts svg'].map(e => document.querySelector(e).getBoundingClientRect().top)"
LOOKS = """[...document.querySelector('.legend ~ .charts svg').querySelectorAll('polyline')].map(getComputedStyle)
  .map(style => style.stroke + style.strokeDasharray)"""


class Report(CommandTest):
    def look(self, page, name, says):
        """Opens a page in every way; `says` is text that it must show."""
        with chromium.Chromium() as browser:
            for size, dark, script in (("PHONE", False, True), ("PHONE", True, False), ("DESKTOP", False, False),
                                       ("DESKTOP", True, True)):
                with self.subTest(name, size=size, dark=dark, script=script):
                    address = f"file://{page}"
                    browser.open(address, getattr(chromium, size), dark, script)
                    self.assertEqual(browser.complaints, [])
                    self.assertEqual(browser.requests, [address])
                    self.check_widths(browser)
                    self.assertIn(says, browser.evaluate("document.body.innerText"))
                    ink, paper = browser.evaluate("[getComputedStyle(document.body).color, "
                                                  "getComputedStyle(document.body).backgroundColor]")
                    self.assertEqual(brightness(ink) > brightness(paper), dark)
                    if PICTURES:
                        browser.picture(pathlib.Path(PICTURES, f"{name}-{size.lower()}{'-dark' * dark}.png"), whole=True)
                    browser.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
                    self.check_widths(browser)
            self.assertTrue(browser.printed().startswith(b"%PDF"))

    def check_widths(self, browser):
        widest, width = browser.evaluate(WIDTHS)
        self.assertLessEqual(widest, width)
        self.assertEqual(browser.evaluate(CUT_OFF), [])
        self.assertEqual(browser.evaluate(CUT_LABELS), [])

    def page(self, run, *words, exit_code=0):
        self.xgrad("train", "small.toml", f"run.dir={run}", "-q", *words, exit_code=exit_code)
        self.xgrad("report", run)
        return self.folder / run / "report.html"

    def test_a_finished_run(self):
        self.look(self.page("run"), "finished", "finished")

    def test_runs_side_by_side(self):
        names = [f"run-{i}-with-quite-a-long-name" for i in range(5)]
        for i, name in enumerate(names):
            self.page(name, f"train.seed={i + 1}", "train.steps=30")
        self.xgrad("report", *names, "--heads", "--out", "all.html")
        self.look(self.folder / "all.html", "several", names[-1])

    def test_a_sweep_of_20_runs(self):
        self.xgrad("sweep", "small.toml", "--over", "optim.lr=[1e-4, 3e-4, 1e-3, 3e-3, 1e-2]", "--over", "train.seed=[1, 2, 3, 4]",
                   "--out", "groups", "train.steps=30")
        self.xgrad("sweep", "small.toml", "--over", "optim.lr=[1e-4, 3e-4, 1e-3, 3e-3, 1e-2]", "--over", "model.layers=[1, 2]",
                   "--over", "model.dropout=[0, 0.2]", "--out", "single", "train.steps=30")
        for name, lines in (("groups", 5), ("single", 20)):
            page = self.folder / name / "report.html"
            self.look(page, f"sweep-{name}", "20 finished")
            for size in (chromium.PHONE, chromium.DESKTOP):
                with self.subTest(name, size=size), chromium.Chromium() as browser:
                    browser.open(f"file://{page}", size)
                    table, legend, first = browser.evaluate(TOPS)
                    self.assertTrue(table < legend < first)
                    self.assertEqual(len(set(browser.evaluate(LOOKS))), lines)
                    # The legend is still seen at the last chart, and a row's name beside the last column.
                    browser.evaluate("[...document.querySelectorAll('.legend ~ * svg, .legend ~ svg')].at(-1).scrollIntoView()")
                    self.assertEqual(browser.evaluate(TOPS)[1], 0)
                    browser.evaluate("document.querySelector('.wide').scrollLeft = 1e6")
                    self.assertEqual(*browser.evaluate("['.wide', 'th[scope=row]'].map(e => document.querySelector(e).getBoundingClientRect().left)"))
                    closed = browser.evaluate("document.body.scrollHeight")
                    browser.call("Emulation.setEmulatedMedia", media="print")
                    self.assertGreater(browser.evaluate("document.body.scrollHeight"), 2 * closed)  # paper shows the details
                    self.assertEqual(*browser.evaluate("(e => [e.scrollHeight, e.clientHeight])(document.querySelector('.legend'))"))

    def test_a_sweep_fits_a_window_of_1200_pixels_and_a_phone_of_400(self):
        """On the phone, only tables scroll, and each alone."""
        self.xgrad("sweep", "small.toml", "--over", "optim.lr=[1e-3, 3e-3, 1e-2]", "--over", 'optim.name=["adamw", "sgd"]',
                   "--over", "model.layers=[1, 2]", "--out", "s", "train.steps=30")
        with chromium.Chromium() as browser:
            for width in (1200, 400):
                with self.subTest(width):
                    browser.open(f"file://{self.folder}/s/report.html", (width, 900))
                    if width == 1200:
                        self.assertEqual(browser.evaluate(SCROLLED), [])
                    browser.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
                    self.check_widths(browser)

    def test_names_of_embeddings_do_not_cover_each_other(self):
        words = [f"word{'-' * (i % 7)}{i}" for i in range(150)]
        self.write("words.csv", "text,label\n" + "".join(f"{a} {b},{i % 2}\n" for i, (a, b) in enumerate(zip(words, words[1:] + words[:1]))))
        self.write("words.toml", '[task]\nname = "files"\ntrain = "words.csv"\nvalidation = "words.csv"\ntest = "words.csv"\n'
                   "[model]\nwidth = 8\nheads = 1\nlayers = 1\n[train]\nsteps = 9\n")
        self.xgrad("train", "words.toml", "run.dir=run", "-q")
        self.xgrad("report", "run")
        with chromium.Chromium() as browser:
            browser.open(f"file://{self.folder}/run/report.html", (1200, 900))
            self.assertEqual(browser.evaluate(COVERED), [])
            named = browser.evaluate("document.querySelectorAll('.plane g text').length")
            self.assertTrue(30 < named <= 152, named)
            self.assertEqual(browser.evaluate("document.querySelectorAll('.plane circle').length"), 151)

    def test_a_failed_run(self):
        page = self.page("run", "optim.lr=1e30", "optim.name=sgd", "train.clip=0", exit_code=5)
        self.look(page, "failed", "failed after step")

    def test_a_page_that_is_wrong_is_found(self):
        """The test itself: an error, a request and something too wide are all seen."""
        page = self.write("bad.html", "<body><script>console.error('no')</script><img src='http://127.0.0.1:9/x.png'>"
                                      "<p style='width: 3000px'>wide</p>")
        with chromium.Chromium() as browser:
            browser.open(f"file://{page}", chromium.PHONE)
            self.assertIn("no", browser.complaints)
            self.assertIn("http://127.0.0.1:9/x.png", browser.requests)
            self.assertEqual(len(browser.evaluate(CUT_OFF)), 1)


def brightness(colour):
    return sum(int(part) for part in colour.strip("rgba()").split(",")[:3])


if __name__ == "__main__":
    if chromium.PROGRAM is None:
        print("Chromium is not installed (apt-get install chromium)")
        sys.exit(77)
    unittest.main()
