"""Training on a user's own files, and docs/your-data.md and docs/data-reference.md as their reader would follow it."""

import json
import math
import pathlib
import re
import shlex

from command import XGRAD, CommandTest, subprocess, unittest

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
PAGES = "\n".join((DOCS / name).read_text() for name in ("your-data.md", "data-reference.md"))

# What blocks of the page hold that tests/readme/onnxruntime_test.py and tests/embed/install_test.py run.
ELSEWHERE = ["onnxruntime", "cmake", "#include"]

CONFIG = """
[task]
name = "files"
train = "rows.csv"

[model]
width = 16
heads = 1
layers = 1

[train]
steps = 20
save_every = 10
"""


def rows(count):
    return "text,label\n" + "".join(f"w{i} {'up' if i % 3 else 'down'},{'u' if i % 3 else 'd'}\n" for i in range(count))


class Files(CommandTest):
    def setUp(self):
        super().setUp()
        (self.folder / "data").mkdir()
        self.write("data/rows.csv", rows(200))
        self.write("data/rows.toml", CONFIG)

    def test_a_run_needs_its_files_only_to_train_and_to_score(self):
        self.xgrad("train", "data/rows.toml", "run.dir=run")
        kept = str(self.folder / "data" / "rows.csv")
        self.assertIn(f'train = "{kept}"', (self.folder / "run" / "config.toml").read_text())
        self.xgrad("train", "run/config.toml", "run.dir=again")
        self.assertEqual(self.final("run"), self.final("again"))
        self.xgrad("eval", "run")
        self.xgrad("export", "run", "--to", "hdf5", "--out", "weights.h5")
        before = self.xgrad("predict", "run", "--logits", stdin="w1 up\nnever seen\n").stdout
        (self.folder / "data" / "rows.csv").unlink()
        for run in ("run", "weights.h5"):
            self.assertEqual(self.xgrad("predict", run, "--logits", stdin="w1 up\nnever seen\n").stdout, before)
        self.assertRegex(self.xgrad("predict", "run", stdin="w1 up\n").stdout, "^[ud]\n$")
        self.assertIn("there is no such file", self.xgrad("eval", "run", exit_code=3).stderr)

    def test_a_resumed_run_ends_like_one_that_never_stopped(self):
        self.xgrad("train", "data/rows.toml", "run.dir=whole")
        self.xgrad("train", "data/rows.toml", "run.dir=half", "train.save_every=10")
        for path in self.checkpoints("half")[1:]:
            path.unlink()
        self.xgrad("resume", "half")
        self.assertEqual(self.final("whole"), self.final("half"))

    def test_a_changed_training_file_is_not_resumed(self):
        self.xgrad("train", "data/rows.toml", "run.dir=run")
        self.checkpoints("run")[-1].unlink()
        self.write("data/rows.csv", rows(201))
        self.assertIn("has changed since this run began", self.xgrad("resume", "run", exit_code=3).stderr)

    def test_lost_data_cost_no_result(self):
        self.write("data/test.csv", rows(50))
        self.xgrad("train", "data/rows.toml", "run.dir=run", "task.test=data/test.csv")
        before = (self.folder / "run/metrics.jsonl").read_bytes()
        self.assertIn(b'"test"', before)
        (self.folder / "data/test.csv").unlink()
        self.assertIn("test.csv", self.xgrad("resume", "run", exit_code=3).stderr)
        self.assertEqual((self.folder / "run/metrics.jsonl").read_bytes(), before)

    def test_wrong_data_is_found_before_a_directory_is_made(self):
        self.write("data/rows.csv", rows(200) + "w,\n")
        done = self.xgrad("train", "data/rows.toml", "run.dir=run", exit_code=3)
        self.assertIn('rows.csv: row 201 (line 202), column "label": the label is empty', done.stderr)
        self.assertFalse((self.folder / "run").exists())
        self.write("data/test.csv", rows(50) + "w201 up,\n")
        self.write("data/rows.csv", rows(200))
        for split in ("validation", "test"):
            said = self.xgrad("train", "data/rows.toml", f"task.{split}=data/test.csv", "run.dir=run", exit_code=3).stderr
            self.assertIn('test.csv: row 51 (line 52), column "label": the label is empty', said)
            self.assertFalse((self.folder / "run").exists())
        self.xgrad("train", "data/rows.toml", "task.train=", "run.dir=run", exit_code=2)
        self.assertIn("nowhere.csv", self.xgrad("train", "data/rows.toml", "task.train=nowhere.csv", exit_code=3).stderr)

    def test_control_characters_do_not_reach_a_terminal(self):
        """ESC and U+009B begin commands to a terminal: in a value, in the name of a column, in a cell."""
        train = ("train", "data/rows.toml", "run.dir=run")
        said = self.xgrad(*train, "model.width=\x1b[31m", exit_code=2).stderr
        self.assertIn("override 'model.width=\\u001B[31m'", said)
        said += self.xgrad("sweep", "data/rows.toml", "--over", "\x1b[31m", exit_code=2).stderr
        self.write("data/rows.csv", rows(200).replace("label", "\x1b[31m", 1))
        said += self.xgrad(*train, exit_code=3).stderr
        self.assertIn('it has "text", " [31m"', said)
        said += self.xgrad(*train, "task.target='\x1b[32m'", exit_code=2).stderr
        self.write("data/rows.csv", rows(200) + "w, \x1b[31m\n")
        said += self.xgrad(*train, exit_code=3).stderr
        self.assertIn('the label is "  [31m"', said)
        for words in (["\x1b[31m"], ["config", "\x1b[31m"], ["eval", "x", "--split", "\x1b[31m"], ["tasks", "\x1b[31m"]):
            said += self.xgrad(*words, exit_code=2).stderr
        said += self.xgrad("compare", "\x1b[31m", "x", exit_code=6).stderr
        self.assertIn("\\u009B31m", self.xgrad(*train, "model.width=\x9b31m", exit_code=2).stderr)
        self.write("data/rows.csv", rows(200) + "w, \x9b31m\n")
        said += self.xgrad(*train, exit_code=3).stderr + self.xgrad("\x9b31m", exit_code=2).stderr + self.xgrad("eval", "\x9b31m", exit_code=6).stderr
        self.assertNotRegex(said, "[\x1b\x9b]")

    def test_paths_that_are_too_long(self):
        path = "/" + 5000 * "a"
        for ending in ("", ".tsv", ".npy", ".h5"):
            said = self.xgrad("train", "data/rows.toml", f"task.train={path}{ending}", exit_code=3).stderr
            self.assertRegex(said, "^xgrad: /a{999}[.]{3}: there is no such file\n$")
        self.write("images.toml", '[task]\nname = "fashion_mnist"\n[train]\nsteps = 1\n')
        said = self.xgrad("train", "images.toml", f"task.path={path}", exit_code=3).stderr
        self.assertRegex(said, "^xgrad: /a{999}[.]{3}: there is no such file; install it with")
        for command in ("resume", "inspect", "eval"):
            self.assertRegex(self.xgrad(command, path, exit_code=6).stderr, "^xgrad: /a{999}[.]{3}: File name too long\n$")

    def test_names_that_are_too_long_for_new_files(self):
        self.xgrad("train", "data/rows.toml", "run.dir=run", "-q")
        sweep = ("sweep", "data/rows.toml", "--over", "optim.lr=[1]", "--out")
        name = 300 * "a"
        for words in (("report", "run", "--out"), ("profile", "data/rows.toml", "--trace"), ("attention", "run", "--out"),
                      ("export", "run", "--to", "npz", "--out"), sweep):
            said = self.xgrad(*words, name, exit_code=6).stderr
            self.assertRegex(said, "^xgrad: a{300}(/optim.lr=1/config.toml)?: (cannot create: )?File name too long\n$")
            said = self.xgrad(*words, 2048 * "a/", exit_code=2).stderr
            self.assertIn(f"{words[-1]}: is too long: 4096 bytes, the limit is 4095\n", said)
        said = self.xgrad("train", "data/rows.toml", f"run.dir={30000 * 'a/'}", exit_code=2).stderr
        self.assertRegex(said, ": run.dir: is too long: 60000 bytes, the limit is 4095\n$")
        self.assertFalse((self.folder / "a").exists())
        said = self.xgrad(*sweep, "data/rows.csv/s", exit_code=6).stderr
        self.assertEqual(said, "xgrad: data/rows.csv: cannot create the directory: File exists\n")

    def test_unknown_tokens_are_counted(self):
        self.xgrad("train", "data/rows.toml", "run.dir=run")
        known = self.xgrad("predict", "run", stdin="up down\n")
        self.assertEqual(known.stderr, "")
        done = self.xgrad("predict", "run", stdin="up UP\nup\nnobody up\n")
        self.assertEqual(done.stderr, "2 of 5 tokens are not in the vocabulary and were read as <unk>, in 2 of 3 lines\n")
        self.assertEqual(len(done.stdout.splitlines()), 3)
        bad = self.xgrad("predict", "run", stdin="nobody\n\xff\0\n", exit_code=3)
        self.assertIn("1 of 1 tokens are not in the vocabulary and were read as <unk>, in 1 of 1 lines\n", bad.stderr)
        test = json.loads(self.xgrad("eval", "run", "--json").stdout)
        # Every row of the test split has a word of its own, and one that others have.
        self.assertEqual(test["tokens"], 2 * test["unknown_tokens"])
        self.assertIn(f"unknown  {test['unknown_tokens']} of {test['tokens']} tokens are not in the vocabulary", self.xgrad("eval", "run").stdout)
        self.write("data/known.csv", "text,label\nup,u\ndown,d\n")
        all_known = ("eval", "run", "task.test=data/known.csv")
        self.assertNotIn("unknown", self.xgrad(*all_known).stdout + self.xgrad(*all_known, "--json").stdout)

    def test_what_is_unknown_tells_nothing(self):
        """Training teaches <unk>: a text of nothing else gets what is said of all rows, here two of three."""
        letters = "".join(f"{'ab'[i % 3 == 0] * (1 + i % 5)},{'b' if i % 3 == 0 else 'a'}\n" for i in range(300))
        self.write("data/rows.csv", "text,label\n" + letters)
        for split in ("validation", "test"):
            self.write(f"data/{split}.csv", "text,label\na,a\nb,b\n")
        train = ("train", "data/rows.toml", "task.tokens=characters", "task.validation=data/validation.csv", "task.test=data/test.csv",
                 "task.max_length=5", "model.pool=mean", "optim.lr=1e-2", "train.steps=200", "train.batch=32", "expect.accuracy=1")
        self.xgrad(*train, "run.dir=run", "task.unknown=0.1")
        row, = self.xgrad("predict", "run", "--format", "jsonl", stdin="Q\n").stdout.splitlines()
        self.assertAlmostEqual(json.loads(row)["probabilities"][0], 2 / 3, delta=0.2)

    def test_naive_bayes_stands_beside_the_model(self):
        done = self.xgrad("train", "data/rows.toml", "run.dir=run")
        self.assertRegex(done.stdout, r"\nrule +naive Bayes of 1- to 2-grams: accuracy 1.0000, exact match 1.0000\n")
        self.assertIn("accuracy of the rule &quot;naive Bayes of 1- to 2-grams&quot;", self.report("run"))

    def test_any_number_of_labels(self):
        self.write("data/rows.csv", "text,label\n" + "".join(
            f"w{i} {'up ' if i % 2 else ''}{'left' if i % 3 else ''},{'u ' if i % 2 else ''}{'l' if i % 3 else ''}\n" for i in range(200)))
        train = ("train", "data/rows.toml", "task.labels=multi_label", "optim.lr=1e-2", "train.steps=60", "train.save_every=30")
        self.xgrad(*train, "run.dir=run", "expect.accuracy=0.9")
        self.assertIn("accuracy of the most frequent answer", self.report("run"))
        self.checkpoints("run")[-1].unlink()
        self.xgrad("resume", "run")
        self.xgrad(*train, "run.dir=whole", "expect.accuracy=0.9")
        self.assertEqual(self.final("run"), self.final("whole"))
        self.predicts_each_label("run")
        self.scores_each_label("run")
        self.xgrad("export", "run", "--to", "hdf5", "--out", "weights.h5")
        (self.folder / "data/rows.csv").unlink()
        self.predicts_each_label("weights.h5")

    def predicts_each_label(self, run):
        def lines(*words):
            return self.xgrad("predict", run, *words, stdin="w1 up left\nw2 left\nw3 up\nw4\n").stdout.split("\n")[:-1]
        self.assertEqual(lines(), ["l u", "l", "u", ""])
        for text, tsv, row, raw in zip(lines(), lines("--format", "tsv"), map(json.loads, lines("--format", "jsonl")), lines("--logits")):
            self.assertEqual(row["labels"], ["l", "u"])
            for probability, logit in zip(row["probabilities"], map(float, raw.split()), strict=True):
                self.assertAlmostEqual(probability, 1 / (1 + math.exp(-logit)), places=7)
            self.assertEqual(text.split(), [name for name, p in zip(row["labels"], row["probabilities"]) if p > 0.5])
            self.assertEqual(tsv, "l u\t" + " ".join(f"{p:.6f}" for p in row["probabilities"]))

    def scores_each_label(self, run):
        row = json.loads(self.xgrad("eval", run, "--json").stdout)
        self.assertEqual([of["class"] for of in row["classes"]], ["l", "u"])
        self.assertNotIn("confusion", row)
        self.assertAlmostEqual(row["macro_f1"], sum(of["f1"] for of in row["classes"]) / 2)
        self.assertGreater(row["accuracy"], 0.9)
        table = self.xgrad("eval", run).stdout
        self.assertRegex(table, r"(?m)^u +\d\.\d+ ± .* +\d+$")
        self.assertNotIn("predicted as", table)

    def test_a_classifier_starts_from_what_found_hidden_words(self):
        self.write("data/lines.csv", "text\n" + "".join(f"up w{i} down v{i % 9}\n" for i in range(100)))
        self.xgrad("train", "data/rows.toml", "task.train=data/lines.csv", "task.labels=masked", "run.dir=masked")
        begin = ("train", "data/rows.toml", f"model.init_from={self.checkpoints('masked')[-1]}")
        strict = self.xgrad(*begin, "run.dir=never", exit_code=4).stderr
        self.assertIn("missing parameter embedding.class_token", strict)
        self.assertFalse((self.folder / "never").exists())
        begun = self.xgrad(*begin, "model.init_strict=false", "run.dir=run").stderr
        lines = [line for line in begun.splitlines() if line.startswith("weights ")]
        self.assertEqual([line.split(": ")[:2] for line in lines], [
            ["weights taken from the file", "14"], ["weights missing in the file", "1"],
            ["weights of another shape or meaning", "3"], ["weights unused in the file", "0"]])
        self.assertRegex(lines[0], r"embedding.token.weight \(the rows of \d+ words of \d+\), encoder.layers.0.self_attn.in_proj_weight")
        self.assertIn(": embedding.class_token", lines[1])
        self.assertRegex(lines[2], r"embedding.position.weight \(the file has \(4, 16\), the model \(3, 16\)\), head.weight .*, head.bias ")
        self.assertEqual((self.folder / "run" / "log.txt").read_text().splitlines()[:4], lines)
        self.assertRegex(begun, r"weights +14 tensors, [\d,]+ numbers, from .*masked")

    def test_gradients_of_a_single_row(self):
        self.write("one.csv", "text\nabcab\n")
        one = [f"task.{split}=one.csv" for split in ("train", "validation", "test")]
        small = ("model.width=4", "model.feedforward=4", "model.heads=2")
        masked = ("task.labels=masked", "task.tokens=characters")
        self.assertIn("head.bias", self.xgrad("gradcheck", "data/rows.toml", *one, *masked, *small).stdout)

    def test_lines_may_end_as_on_windows(self):
        self.xgrad("train", "data/rows.toml", "task.tokens=characters", "run.dir=run", "-q")
        plain = self.xgrad("predict", "run", "--logits", stdin="w1 up\nw2 down").stdout
        self.assertEqual(self.xgrad("predict", "run", "--logits", stdin="w1 up\r\nw2 down\r").stdout, plain)

    def test_the_keys_are_explained(self):
        shown = re.findall(r"(?m)^  (\w+) +(\S+)  ", self.xgrad("tasks", "files").stdout)
        self.assertIn(("min_count", "1"), shown)
        self.assertEqual(re.findall(r"(?m)^\| `(\w+)` \| [^|]+ \| `([^`]*)` \|", PAGES), shown)


class Guide(CommandTest):
    def blocks(self):
        """(file it is called or None, language, text) of each block of the page."""
        for block in re.finditer(r"(?ms)^(?:([^\n]*)\n\n)?```(\w*)\n(.*?)^```$", PAGES):
            name = re.search(r"`([\w.]+)`:$", block.group(1) or "")
            yield name and name.group(1), block.group(2), block.group(3)

    def test_follows_the_page(self):
        commands = 0
        for name, language, text in self.blocks():
            if any(said in text for said in ELSEWHERE):
                continue
            if language == "toml":
                self.write(name, text)
            elif language == "python":
                exec(compile(f"import os\nos.chdir({str(self.folder)!r})\n" + text, name or "block", "exec"), {})
            elif language == "sh":
                script = text.replace("xgrad ", shlex.quote(XGRAD) + " ")
                done = subprocess.run(["sh", "-e", "-c", script], cwd=self.folder, capture_output=True, text=True, timeout=600)
                self.assertEqual(done.returncode, 0, text + done.stderr)
                commands += text.count("xgrad ")
                if "not so bad" in text:
                    self.assertIn("\nyes\n", done.stdout)
                if "the cat runs" in text:
                    self.assertIn("\nD N V\n", done.stdout)
                if "Привет" in text:
                    self.assertIn("6 of 27 tokens are not in the vocabulary and were read as <unk>, in 1 of 3 lines\n", done.stderr)
                    self.assertRegex(done.stdout, r"rule +naive Bayes of 1- to 4-grams: accuracy 0\.8")
                if "a song" in text:
                    self.assertIn("\nfood music\n", done.stdout)
                if "from-letters" in text:
                    self.assertRegex(done.stderr, r"\nweights taken from the file: 26: .*embedding.token.weight \(the rows of \d+ words of \d+\)")
                if "4 120 10" in text:
                    self.assertAlmostEqual(float(done.stdout.splitlines()[-1]), 310_000, delta=20_000)
        self.assertEqual(commands, 26)


if __name__ == "__main__":
    unittest.main()
