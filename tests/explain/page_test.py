"""The page of `xgrad explain`: its size, the checkpoints that it shows, and text from outside."""

import base64
import html.parser
import json
import pathlib
import re
import shutil
import subprocess

from command import XGRAD, CommandTest, unittest

WEIGHTS = re.compile(r'<script type="text/plain" data-step="(\d+)">([A-Za-z0-9+/=]*)</script>')
HOSTILE = "</script><img/src=x/onerror=alert(1)><!--&\"'\\u2028{}"


class Tags(html.parser.HTMLParser):
    """The tags of a page, and the text of its scripts."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.scripts = [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attributes]

    def handle_data(self, data):
        if self.tags[-1:] == ["script"] and data.strip():
            self.scripts.append(data)


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1))


class Page(CommandTest):
    def explain(self, run, *words, out="page.html", exit_code=0):
        said = self.xgrad("explain", run, "--out", out, *words, exit_code=exit_code)
        return said, (self.folder / out).read_text(encoding="utf-8") if exit_code == 0 else ""

    def check_size(self, page):
        count = sum(len(part) for _, part in WEIGHTS.findall(page)) * 3 / 16
        self.assertLessEqual(len(page.encode()), 200_000 + 5.6 * count)
        return count

    def steps(self, page):
        return [int(step) for step, _ in WEIGHTS.findall(page)]

    def test_all_checkpoints_of_a_small_run(self):
        self.xgrad("train", "small.toml", "run.dir=run", "--quiet")
        said, page = self.explain("run")
        self.assertEqual(self.steps(page), [7, 14, 21, 25, 28, 35, 42, 49, 50, 56, 60])  # of train.save_every and of evaluations
        self.assertIn("7, 14, 21", said.stdout)
        self.check_size(page)
        data = data_of(page)
        self.assertEqual((data["name"], data["task"], data["config"]["width"], data["left_out"]), ("run", "reverse", 16, []))
        self.assertEqual([step for step, _ in data["curve"]["points"]], [25, 50, 60])
        self.assertEqual(len(data["examples"]), 64)
        self.assertEqual(data["examples"][0]["targets"], data["examples"][0]["ids"][::-1])
        _, page = self.explain("run", "--every", "4", out="few.html")
        self.assertEqual(self.steps(page), [21, 42, 60])
        self.assertEqual(data_of(page)["left_out"], [7, 14, 25, 28, 35, 49, 50, 56])
        _, page = self.explain(self.checkpoints("run")[2], out="one.html")
        self.assertEqual(self.steps(page), [21])
        self.assertIsNotNone(data_of(page)["curve"])

    def test_as_many_checkpoints_as_fit(self):
        large = ("model.width=256", "model.layers=3", "train.steps=4", "train.batch=4", "train.save_every=1", "task.examples=8",
                 "task.validation=8", "task.test=8", "train.evaluate_every=4")
        self.xgrad("train", "small.toml", "run.dir=run", "--quiet", *large)
        said, page = self.explain("run")
        self.assertEqual(self.steps(page), [4])
        self.assertIn("left out: the steps 1, 2, 3; --every 1 shows all", said.stdout)
        self.assertGreater(self.check_size(page), 2e6)
        said, _ = self.explain("run", "--every", "1", out="all.html", exit_code=2)
        self.assertIn("--every 2 shows fewer", said.stderr)
        self.assertFalse((self.folder / "all.html").exists())
        _, page = self.explain("run", "--every", "2", out="two.html")
        self.assertEqual(self.steps(page), [2, 4])
        self.xgrad("train", "small.toml", "run.dir=wide", "--quiet", *large, "model.width=1024", "model.layers=1", "train.steps=1")
        said, _ = self.explain("wide", out="wide.html", exit_code=2)
        self.assertIn("a page with these weights would have", said.stderr)

    def test_a_damaged_checkpoint_is_left_out(self):
        self.xgrad("train", "small.toml", "run.dir=run", "--quiet", "train.save_every=20", "train.evaluate_every=20")
        damaged = self.checkpoints("run")[0]
        damaged.write_bytes(damaged.read_bytes()[:-100] + bytes(100))
        _, page = self.explain("run")
        self.assertEqual((self.steps(page), data_of(page)["left_out"]), ([40, 60], [20]))

    def test_each_checkpoint_is_read_once(self):
        self.xgrad("train", "small.toml", "run.dir=run", "--quiet", "train.save_every=20", "train.evaluate_every=20")
        trace = ["strace", "-f", "-e", "trace=openat", "-o", str(self.folder / "trace")]
        subprocess.run([*trace, XGRAD, "explain", "run", "--out", "page.html"], cwd=self.folder, check=True, capture_output=True, timeout=600)
        opened = re.findall(r"step-(\d+)\.h5", (self.folder / "trace").read_text())
        self.assertEqual(sorted(map(int, opened)), [20, 40, 60])

    def test_averages_are_shown(self):
        self.xgrad("train", "small.toml", "run.dir=run", "--quiet", "train.ema=0.5", "train.save_every=0")
        self.xgrad("export", "run", "--to", "safetensors", "--out", "average.safetensors")
        _, page = self.explain("run")
        weights = base64.b64decode(WEIGHTS.findall(page)[-1][1])
        exported = (self.folder / "average.safetensors").read_bytes()
        first = data_of(page)["tensors"][0]
        header = json.loads(exported[8:8 + int.from_bytes(exported[:8], "little")])
        begin, end = header[first[0]]["data_offsets"]
        start = 8 + int.from_bytes(exported[:8], "little")
        self.assertEqual(weights[:end - begin], exported[start + begin:start + end])

    def files_run(self, directory):
        rows = "".join(f'{{"x": ["{"a" if i % 3 else "b"}", {json.dumps(HOSTILE)}], "y": {json.dumps(HOSTILE if i % 2 else "good")}}}\n' for i in range(60))
        self.write("rows.jsonl", rows)
        self.write("files.toml", '[task]\nname = "files"\ntrain = "rows.jsonl"\nvalidation = "rows.jsonl"\ntest = "rows.jsonl"\ninput = "x"\ntarget = "y"\n'
                                 "[model]\nwidth = 8\nheads = 1\nlayers = 1\n[train]\nsteps = 3\nbatch = 8\n")
        self.xgrad("train", "files.toml", f"run.dir={json.dumps(directory)}", "--quiet")

    def test_text_from_outside_is_data(self):
        name = "<img src=x onerror=alert(2)>"
        self.files_run(name)
        _, page = self.explain(name)
        data = data_of(page)
        self.assertEqual(data["name"], name)
        self.assertIn(HOSTILE, data["shape"]["token_names"])
        self.assertIn(HOSTILE, data["shape"]["class_names"])
        self.assertNotIn("onerror=alert", re.sub(r'id="data">.*?</script>', "", page, flags=re.DOTALL))
        tags = Tags(page)
        self.assertEqual(tags.tags.count("script"), 2 + len(self.steps(page)))
        self.assertNotIn("img", tags.tags)
        self.assertFalse({name for name in tags.attributes if name.startswith("on") or name in ("src", "href")})
        # The scripts make no HTML of text, and ask for nothing.
        script = tags.scripts[-1]
        for call in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "XMLHttpRequest", "import("):
            self.assertNotIn(call, script)
        self.assertIn("default-src 'none'", page)

    def test_a_run_without_its_data(self):
        self.files_run("run")
        (self.folder / "rows.jsonl").unlink()
        _, page = self.explain("run")
        self.assertEqual(data_of(page)["examples"], [])

    def test_what_is_not_written(self):
        self.xgrad("train", "small.toml", "run.dir=run", "--quiet", "train.steps=2")
        self.explain("run")
        said, _ = self.explain("run", exit_code=6)
        self.assertIn("page.html", said.stderr)
        said, _ = self.explain("nothing", out="other.html", exit_code=6)
        self.assertIn("nothing", said.stderr)
        shutil.rmtree(self.folder / "run/checkpoints")
        said, _ = self.explain("run", out="other.html", exit_code=6)
        self.assertFalse(pathlib.Path(self.folder / "other.html").exists())


if __name__ == "__main__":
    unittest.main()
