"""Training on a user's own files, and docs/your-data.md as its reader would follow it."""

import importlib.util
import pathlib
import re
import shlex

from command import XGRAD, CommandTest, subprocess, unittest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "your-data.md"

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

    def test_wrong_data_is_found_before_a_directory_is_made(self):
        self.write("data/rows.csv", rows(200) + "w,\n")
        done = self.xgrad("train", "data/rows.toml", "run.dir=run", exit_code=3)
        self.assertIn('rows.csv: row 201 (line 202), column "label": the label is empty', done.stderr)
        self.assertFalse((self.folder / "run").exists())
        self.xgrad("train", "data/rows.toml", "task.train=", "run.dir=run", exit_code=2)
        self.assertIn("nowhere.csv", self.xgrad("train", "data/rows.toml", "task.train=nowhere.csv", exit_code=3).stderr)

    def test_the_keys_are_explained(self):
        self.assertIn("min_count", self.xgrad("tasks", "files").stdout)


class Guide(CommandTest):
    def blocks(self):
        """(file it is called or None, language, text) of each block of the page."""
        for block in re.finditer(r"(?ms)^(?:([^\n]*)\n\n)?```(\w*)\n(.*?)^```$", PAGE.read_text()):
            name = re.search(r"`([\w.]+)`:$", block.group(1) or "")
            yield name and name.group(1), block.group(2), block.group(3)

    @unittest.skipUnless(importlib.util.find_spec("h5py"), "the Debian package python3-h5py is not installed")
    def test_follows_the_page(self):
        commands = 0
        for name, language, text in self.blocks():
            if language == "toml":
                self.write(name, text)
            elif language == "python":
                exec(compile(f"import os\nos.chdir({str(self.folder)!r})\n" + text, name or "block", "exec"), {})
            elif language == "sh":
                script = text.replace("xgrad ", shlex.quote(XGRAD) + " ")
                done = subprocess.run(["sh", "-e", "-c", script], cwd=self.folder, capture_output=True, text=True, timeout=120)
                self.assertEqual(done.returncode, 0, text + done.stderr)
                commands += text.count("xgrad ")
                if "not so bad" in text:
                    self.assertIn("\nyes\n", done.stdout)
                if "the cat runs" in text:
                    self.assertIn("\nD N V\n", done.stdout)
                if "4 120 10" in text:
                    self.assertAlmostEqual(float(done.stdout.splitlines()[-1]), 310_000, delta=20_000)
        self.assertEqual(commands, 15)


if __name__ == "__main__":
    unittest.main()
