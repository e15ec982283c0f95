"""The programs of examples/: each command knows their parts."""

import json
import os
import pathlib
import re
import shutil
import unittest

from command import CommandTest, subprocess

EXAMPLES = pathlib.Path(os.environ["EXAMPLES"])
SOURCES = pathlib.Path(__file__).resolve().parents[2] / "examples"
ENGINE = ("fit_curve", "two_tokens", "encoder_block")  # those that need no config


class Examples(CommandTest):
    def setUp(self):
        super().setUp()
        for path in SOURCES.glob("*.toml"):
            shutil.copy(path, self.folder)

    def call(self, name, *words, exit_code=0, text=None):
        done = subprocess.run([EXAMPLES / name, *map(str, words)], cwd=self.folder, capture_output=True, text=True, input=text)
        self.assertEqual(done.returncode, exit_code, done.stdout + done.stderr)
        return done

    def rows(self, run, split="train"):
        return [row for row in super().rows(run) if row["split"] == split]

    def test_programs_are_short(self):
        for path in SOURCES.glob("*.cpp"):
            self.assertLessEqual(path.read_text().count("\n"), 60, path.name)
            self.assertTrue(path.stem in ENGINE or (SOURCES / f"{path.stem}.toml").exists())

    def test_the_page_shows_what_programs_of_the_engine_print(self):
        """To the digit in the arithmetic of most processors; in another one, they learn the same."""
        page = (SOURCES / "README.md").read_text()
        shown = dict(re.findall(r"(?ms)^\[(\w+)\.cpp\]\(.*?^```\n(.*?)^```$", page))
        self.assertEqual(sorted(shown), sorted(ENGINE))
        usual = re.search(r"(?m)^arithmetic +fma-1$", self.xgrad("info").stdout)
        for name in ENGINE:
            printed = self.call(name).stdout
            if usual:
                self.assertEqual(printed, shown[name])
            self.assertEqual(printed.splitlines()[-1].split("loss")[0], shown[name].splitlines()[-1].split("loss")[0])

    def test_the_page_lists_every_program(self):
        listed = re.findall(r"\[(\w+\.(?:cpp|py))\]\(\1\)", (SOURCES / "README.md").read_text())
        self.assertEqual(sorted(listed), sorted(path.name for path in SOURCES.iterdir() if path.suffix in (".cpp", ".py")))

    def test_own_task(self):
        shown = self.call("own_task", "train", "own_task.toml", "run.dir=run").stdout
        self.assertIn("accuracy", shown)
        self.assertGreater(self.rows("run", "test")[0]["accuracy"], 0.9)
        self.assertEqual(self.call("own_task", "predict", "run", text="1 1 1 0 1 1 1 1 0 1 1 1 1 1 1\n").stdout.split()[0], "yes")
        self.assertIn("accuracy", self.call("own_task", "eval", "run").stdout)
        self.assertRegex(self.call("own_task", "tasks", "more_ones").stdout, r"bias +0\.5 +from 0 to 1 +Probability")
        wrong = self.call("own_task", "train", "own_task.toml", "task.bais=0.3", exit_code=2).stderr
        self.assertIn("bias", wrong)
        self.call("own_task", "sweep", "own_task.toml", "--over", "train.seed=[1, 2]", "--jobs", "2", "train.steps=20")
        self.assertEqual(len(list(self.folder.glob("runs/sweep-own_task/*/config.toml"))), 2)
        # xgrad itself does not know the task.
        self.assertIn('there is no task "more_ones" in this program;', self.xgrad("eval", "run", exit_code=2).stderr)

    def test_own_attention(self):
        self.assertIn("attention.k_proj.weight", self.call("own_attention", "gradcheck", "own_attention.toml").stdout)
        self.call("own_attention", "train", "own_attention.toml", "run.dir=run")
        losses = [row["loss"] for row in self.rows("run", "validation")]
        self.assertLess(losses[-1], 0.7 * losses[0])
        self.assertIn("accuracy", self.call("own_attention", "eval", "run").stdout)
        self.assertRegex(self.call("own_attention", "summary", "own_attention.toml").stdout, r"(?m)^    v_proj +\(32, 8, 32\)")
        self.assertEqual(len(self.call("own_attention", "predict", "run", text="1 2 3 1 2 3 1 2\n").stdout.split()), 8)
        self.assertRegex(self.call("own_attention", "config", "model").stdout, r"residual +1\.0 +from 0 to 10 +Weight of")
        schema = json.loads(self.call("own_attention", "config", "--schema").stdout)["properties"]["model"]
        self.assertIn("linear", schema["properties"]["kind"]["enum"])
        self.assertEqual(schema["properties"]["residual"]["maximum"], 10)
        self.assertIn("linear", self.call("own_attention", "config", "model.kind").stdout)
        completion = self.call("own_attention", "completion", "bash").stdout
        self.assertIn("model.residual=", completion)
        self.assertRegex(completion, r"(?m)^    model.kind\) words='.*\blinear\b")
        self.assertIn("complete -o filenames -F _own_attention own_attention\n", completion)
        self.assertRegex(self.call("own_attention", "man").stdout, r"(?m)^  residual +1\.0 +from 0 to 10 +Weight of")
        wrong = self.call("own_attention", "train", "own_attention.toml", "model.residula=2", exit_code=2).stderr
        self.assertIn("residual", wrong)
        unread = 'own_attention.toml:10:1: model.heads: is not a key of model.kind = "linear", but of encoder, encoder_decoder, mlp, window_mlp'
        text = (self.folder / "own_attention.toml").read_text()
        self.write("unread.toml", text.replace("[model]\n", "[model]\nheads = 2\n"))
        self.assertIn(unread.replace("own_attention.toml", "unread.toml"), self.call("own_attention", "train", "unread.toml", exit_code=2).stderr)
        for words, said in ((["model.residual=11"], "is 11"), (["model.kind=linaer"], "linear"), (["model.heads=2"], "model.heads: is not a key of")):
            self.assertIn(said, self.call("own_attention", "train", "own_attention.toml", *words, exit_code=2).stderr)
        self.write("encoder.toml", (self.folder / "own_attention.toml").read_text().replace('"linear"', '"encoder"'))
        wrong = self.call("own_attention", "train", "encoder.toml", exit_code=2).stderr
        self.assertRegex(wrong, r'encoder\.toml:\d+:1: model\.residual: is not a key of model\.kind = "encoder", but of linear')
        images = (self.folder / "own_attention.toml").read_text().replace('"histogram"', '"shapes"').replace("length = 8\nsymbols = 6\n", "")
        self.write("images.toml", images)
        wrong = self.call("own_attention", "train", "images.toml", exit_code=2).stderr
        self.assertIn("model.kind: linear reads tokens; the task's examples are images", wrong)
        self.assertIn("model.kind", self.call("own_attention", "export", "run", "--to", "onnx", "--out", "m.onnx", exit_code=2).stderr)
        wrong = self.xgrad("eval", "run", exit_code=2).stderr
        self.assertRegex(wrong, r'^xgrad: run/\S+: model\.kind: there is no "linear" in this program; use the program that added it\n$')

    def test_own_optimizer(self):
        self.call("own_optimizer", "train", "own_optimizer.toml", "run.dir=run", "log.every=1")
        rows = self.rows("run")
        self.assertEqual([row["lr"] for row in rows], [0.003 * 0.5 ** (4 * i // 300) for i in range(300)])
        self.assertLess(rows[-1]["loss"], 0.5 * rows[0]["loss"])
        # Resumed in the middle, it goes on to the same bits: its state and its keys are saved.
        done = self.call("own_optimizer", "verify-resume", "own_optimizer.toml", "--quiet", "train.steps=40")
        self.assertIn("resumed to the bit", done.stdout)
        for words, said in ((["optim.beta=1.5"], "is 1.5"), (["optim.name=adam"], ""), (["optim.betas=[0.5, 0.9]"], "but of"),
                            (["schedule.intervals=0"], "is 0")):
            if said:
                self.assertIn(said, self.call("own_optimizer", "train", "own_optimizer.toml", *words, exit_code=2).stderr)
            else:
                self.call("own_optimizer", "train", "own_optimizer.toml", *words, "--dry-run")
        self.assertIn("signum: steps by the sign", self.call("own_optimizer", "config", "optim.name").stdout)

    def test_predictor(self):
        shown = self.call("predictor", "predictor.toml", "run", "3 1 4 1 5 9").stdout
        labels = shown.split()[::2]
        self.assertEqual(labels, self.xgrad("predict", "run", stdin="3 1 4 1 5 9\n").stdout.split())
        self.assertEqual(labels, list("951413"))
        self.assertEqual(self.call("predictor", "predictor.toml", "run", "3 1 4 1 5 9").stdout, shown)
        self.assertIn("nowhere.toml", self.call("predictor", "nowhere.toml", "none", "1", exit_code=1).stderr)

    def test_training_loop(self):
        """It takes the steps of the trainer."""
        shown = self.call("training_loop", "training_loop.toml").stdout
        self.xgrad("train", "training_loop.toml", "run.dir=run", "log.every=100", "train.evaluate_every=1000")
        self.assertEqual(shown.splitlines(), [f"step {row['step']}, loss {row['loss']:.4f}" for row in self.rows("run")])


if __name__ == "__main__":
    unittest.main()
