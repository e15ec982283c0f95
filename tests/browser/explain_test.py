"""The page of `xgrad explain` in headless Chromium: it computes what it computes under Node, complains of nothing, asks for nothing,
fits a phone and a desk in light and dark, and obeys the keyboard.

    XGRAD=build/release/xgrad PYTHONPATH=tests/cli python3 tests/browser/explain_test.py

With PICTURES=FOLDER it also takes a picture of each page. It prints how long a page takes to open and to answer.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

os.environ["XGRAD"] = os.path.abspath(os.environ["XGRAD"])

import chromium  # noqa: E402
from command import CommandTest, unittest  # noqa: E402
from model_kinds import SMALL, TASKS  # noqa: E402

PICTURES = os.environ.get("PICTURES")
FORWARD = pathlib.Path(__file__).resolve().parents[1] / "explain/forward.mjs"
KINDS = {
    "tokens": ("reverse", "model.heads=1", "model.layers=1", "optim.lr=3e-3"),
    "class": ("majority", "model.pool=cls"),
    "causal": ("reverse", "model.mask=causal", "model.positions=rotary"),
    "writer": ("distinct", "model.kind=encoder_decoder"),
    "graph": ("motif", "model.mask=adjacency", "model.pool=max"),
    "picture": ("fashion_mnist", "model.patch=7", "model.pool=mean"),
    "vectors": ("anomaly",),
    "window": ("reverse", "model.kind=window_mlp"),
}
READY = "document.querySelector('main') && !document.querySelector('main').hidden"
# Elements that are wider than the page and cannot be scrolled.
CUT_OFF = """[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1
  && !e.closest('.scroll, pre, svg, option') && e.getClientRects().length).map(e => e.outerHTML.slice(0, 80))"""
# Everything that can be reached by the keyboard has a name; a canvas in a button is named by it.
NAMELESS = """[...document.querySelectorAll('button, select, input, textarea, canvas[role], svg[role], [role=region]')]
  .filter(e => e.getClientRects().length && !(e.getAttribute('aria-label') || e.labels?.length || e.getAttribute('aria-labelledby')
  || e.textContent.trim())).map(e => e.outerHTML.slice(0, 80))"""
ANSWER = "document.querySelector('#answer').innerText"
KEYS = {"Enter": (13, "\r"), " ": (32, " "), "ArrowRight": (39, ""), "ArrowDown": (40, ""), "Tab": (9, ""), "Home": (36, "")}


class Explain(CommandTest):
    def page(self, name, task, *words, steps=30):
        self.write("model.toml", SMALL.format(task=task, options=TASKS.get(task, ""), steps=steps))
        self.xgrad("train", "model.toml", f"run.dir={name}", "--quiet", "train.save_every=10", "train.evaluate_every=10", "train.keep=100", *words)
        self.xgrad("explain", name, "--out", f"{name}.html")
        return self.folder / f"{name}.html"

    def press(self, browser, key):
        code, text = KEYS[key]
        for kind in ("keyDown", "keyUp"):
            browser.call("Input.dispatchKeyEvent", type=kind, key=key, code="Space" if key == " " else key, windowsVirtualKeyCode=code, text=text if kind == "keyDown" else "")

    def type(self, browser, text):
        browser.evaluate(f"(e => {{ e.value = {json.dumps(text)}; e.dispatchEvent(new Event('input')); }})(document.querySelector('#text'))")

    def look(self, browser, page, name):
        address = f"file://{page}"
        for size in ("PHONE", "DESKTOP"):
            for dark in (False, True):
                with self.subTest(name, size=size, dark=dark):
                    browser.open(address, getattr(chromium, size), dark, wait=READY)
                    self.assertEqual(browser.evaluate(CUT_OFF), [])
                    self.assertEqual(browser.evaluate(NAMELESS), [])
                    self.assertTrue(browser.evaluate(ANSWER).strip())
                    self.assertEqual(browser.complaints, [])
                    self.assertEqual(browser.requests, [address])
                    if PICTURES:
                        browser.picture(pathlib.Path(PICTURES, f"explain-{name}-{size.lower()}{'-dark' * dark}.png"), whole=True)
        self.assertTrue(browser.printed().startswith(b"%PDF"))

    def test_every_kind(self):
        with chromium.Chromium() as browser:
            for name, (task, *words) in KINDS.items():
                page = self.page(name, task, *words)
                self.look(browser, page, name)
                opened = browser.evaluate("Math.round(performance.timing.domComplete - performance.timing.navigationStart)")
                took = browser.evaluate("(t => (document.querySelector('#next').click(), document.body.offsetHeight, performance.now() - t))(performance.now())")
                print(f"{name}: opened in {opened} ms, another example in {took:.0f} ms", file=sys.stderr)
                self.assertEqual(browser.complaints, [])
                self.same_as_under_node(browser, page, name)

    def same_as_under_node(self, browser, page, name):
        """The script up to the page's own part, in a page that hands its logits over."""
        done = subprocess.run(["node", FORWARD], input=json.dumps([[str(page), {}]]), capture_output=True, text=True, timeout=300, check=True)
        expected = [[one["outputs"], one["logits"]] for one in json.loads(done.stdout)[0]["passes"][0]]
        text = page.read_text()
        code = text.split('id="code">')[1].split("// ==== The page")[0]
        data, weights = text.split('id="data">')[1].split("</script>")[0], text.rsplit("data-step=", 1)[1].split(">")[1].split("<")[0]
        self.write("bare.html", f"""<script type="module">{code}
          const {{ config, shape, tensors, examples }} = {data}, model = {{ config, shape, weights: unpack(tensors, "{weights}") }};
          const floats = (base64) => new Float32Array(Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)).buffer);
          window.found = examples.slice(0, {len(expected)}).map((example) => {{
            if (example.features) example.features = floats(example.features);
            const outputs = shape.output === "generated" ? generate(model, example) : [];
            const logits = forward(model, example, {{ outputs: outputs.slice(0, -1) }});
            return [outputs, Array.from({{ length: logits.rows }}, (_, n) => Array.from(row(logits, n)))];
          }});</script>""")
        browser.open(f"file://{self.folder}/bare.html", wait="window.found")
        found = browser.evaluate("window.found")
        self.assertEqual([outputs for outputs, _ in found], [outputs for outputs, _ in expected])
        flat = [[x for _, logits in side for row in logits for x in row] for side in (found, expected)]
        self.assertEqual(len(flat[0]), len(flat[1]))
        self.assertLess(max(abs(a - b) for a, b in zip(*flat)), 1e-9, name)  # their exp and tanh differ in the last digit

    def test_the_keyboard_alone(self):
        page = self.page("run", *KINDS["tokens"], steps=300)
        with chromium.Chromium() as browser:
            browser.open(f"file://{page}", wait=READY)
            self.type(browser, "1 2 3 4")
            right = browser.evaluate(ANSWER)
            browser.evaluate("document.querySelector('.map').focus()")
            self.press(browser, "Enter")
            self.assertEqual(browser.evaluate("document.querySelector('.map').getAttribute('aria-pressed')"), "true")
            self.assertNotEqual(browser.evaluate(ANSWER), right)
            self.press(browser, "Enter")
            self.assertEqual(browser.evaluate(ANSWER), right)
            # The token under the focus is framed in the maps, and the arrow keys move on.
            browser.evaluate("document.querySelector('#answer button').focus()")
            self.assertEqual(browser.evaluate("document.querySelectorAll('.across').length"), 1)
            self.press(browser, "ArrowRight")
            self.assertEqual(browser.evaluate("document.activeElement.dataset.n"), "1")
            self.assertEqual(browser.evaluate("[...document.querySelectorAll('#answer button')].filter(b => b.tabIndex === 0).length"), 1)
            browser.evaluate("document.querySelector('#step').focus()")
            self.press(browser, "Home")
            self.assertIn("Step 10", browser.evaluate("document.querySelector('#step-text').textContent"))
            self.type(browser, "1 x 3")
            self.assertIn("“x”", browser.evaluate("document.querySelector('#error').textContent"))
            self.type(browser, "1 2")
            self.assertEqual(browser.evaluate("document.querySelector('#error').textContent"), "")
            self.assertEqual(browser.complaints, [])

    def test_a_patch_is_kept_and_mixed(self):
        page = self.page("run", *KINDS["tokens"], steps=300)
        with chromium.Chromium() as browser:
            full = "[...document.querySelectorAll('#grid button')].length && [...document.querySelectorAll('#grid button')].every(b => b.textContent !== '·')"
            browser.open(f"file://{page}", wait=full)
            answer = browser.evaluate(ANSWER)
            browser.evaluate("""[...document.querySelectorAll('#grid button')].sort((a, b) => b.textContent - a.textContent)[0].click()""")
            self.assertNotEqual(browser.evaluate(ANSWER), answer)
            browser.evaluate("(e => (e.value = 0, e.dispatchEvent(new Event('input'))))(document.querySelector('#amount'))")
            self.assertEqual(browser.evaluate(ANSWER), answer)
            browser.evaluate("document.querySelector('.chip').click()")
            self.assertEqual(browser.evaluate("document.querySelectorAll('.chip, .kept').length"), 0)
            self.assertEqual(browser.complaints, [])

    def test_drawing(self):
        page = self.page("run", *KINDS["picture"])
        with chromium.Chromium() as browser:
            browser.open(f"file://{page}", wait=READY)
            browser.evaluate("document.querySelector('#clear').click()")
            empty = browser.evaluate("document.querySelector('#drawing').toDataURL()")
            x, y = browser.evaluate("(r => [r.left + r.width / 2, r.top + r.height / 2])(document.querySelector('#drawing').getBoundingClientRect())")
            for kind, place in (("mousePressed", x), ("mouseMoved", x + 40), ("mouseReleased", x + 40)):
                browser.call("Input.dispatchMouseEvent", type=kind, x=place, y=y, button="left", buttons=0 if kind == "mouseReleased" else 1, clickCount=1)
            drawn = browser.evaluate("document.querySelector('#drawing').toDataURL()")
            self.assertNotEqual(drawn, empty)
            browser.evaluate("document.querySelector('#drawing').focus()")
            for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", " "):
                self.press(browser, key)
            self.assertNotEqual(browser.evaluate("document.querySelector('#drawing').toDataURL()"), drawn)
            self.assertEqual(browser.complaints, [])

    def test_a_frame_is_pointed_at(self):
        page = self.page("run", *KINDS["vectors"])
        mark = "[...document.querySelectorAll('#frames .down')].map(e => [e.hidden, e.style.left])[0]"
        with chromium.Chromium() as browser:
            browser.open(f"file://{page}", wait=READY)
            self.assertTrue(browser.evaluate(mark)[0])
            browser.evaluate("document.querySelector('#frames canvas').focus()")
            self.press(browser, "ArrowRight")
            self.assertEqual(browser.evaluate(mark), [False, browser.evaluate("`${100 / document.querySelector('#frames canvas').width}%`")])
            self.assertGreater(browser.evaluate("document.querySelectorAll('.across').length"), 0)
            self.assertEqual(browser.evaluate("document.querySelectorAll('#focus image').length"), 2)
            self.assertEqual(browser.complaints, [])

    def test_a_text_goes_on(self):
        self.write("lines.txt", "".join(f"abc abc abc {i}\n" for i in range(200)))
        self.write("lines.toml", '[task]\nname = "files"\ntrain = "lines.txt"\nformat = "lines"\ntokens = "characters"\nlabels = "next"\n'
                                 '[model]\nwidth = 16\nheads = 2\nlayers = 2\nmask = "causal"\n[optim]\nlr = 1e-2\n[train]\nsteps = 150\nbatch = 16\n')
        self.xgrad("train", "lines.toml", "run.dir=run", "--quiet")
        self.xgrad("explain", "run", "--out", "page.html")
        with chromium.Chromium() as browser:
            browser.open(f"file://{self.folder}/page.html", wait=READY)
            self.type(browser, "abc a")
            browser.evaluate("document.querySelector('#go-on').click()")
            deadline = time.monotonic() + chromium.TIMEOUT
            while browser.evaluate("document.querySelector('#go-on').textContent") != "Continue" and time.monotonic() < deadline:
                time.sleep(0.1)
            text = browser.evaluate("document.querySelector('#text').value")
            self.assertTrue(text.startswith("abc abc"), text)
            self.assertEqual(len(text) + 1, browser.evaluate("document.querySelectorAll('#answer .token').length"))  # and the beginning
            self.assertEqual(browser.complaints, [])

    def test_hostile_text_stays_text(self):
        hostile = "</script><img/src=x/onerror=alert(1)>"
        self.write("rows.jsonl", "".join(f'{{"x": ["{"a" if i % 3 else "b"}", {json.dumps(hostile)}], "y": {json.dumps(hostile if i % 2 else "good")}}}\n' for i in range(60)))
        self.write("files.toml", '[task]\nname = "files"\ntrain = "rows.jsonl"\nvalidation = "rows.jsonl"\ntest = "rows.jsonl"\ninput = "x"\ntarget = "y"\n'
                                 "[model]\nwidth = 8\nheads = 1\nlayers = 1\n[train]\nsteps = 3\nbatch = 8\n")
        self.xgrad("train", "files.toml", 'run.dir="<img src=x onerror=alert(2)>"', "--quiet")
        self.xgrad("explain", "<img src=x onerror=alert(2)>", "--out", "page.html")
        with chromium.Chromium() as browser:
            self.look(browser, self.folder / "page.html", "hostile")
            self.type(browser, f"a {hostile}")
            self.assertIn(hostile, browser.evaluate("document.body.innerText"))
            self.assertEqual(browser.evaluate("document.querySelectorAll('img, a, iframe, [onerror]').length"), 0)
            self.assertEqual(browser.complaints, [])


if __name__ == "__main__":
    if chromium.PROGRAM is None:
        print("Chromium is not installed (apt-get install chromium)")
        sys.exit(77)
    unittest.main()
