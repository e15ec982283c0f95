"""The model of a run is that of its best step or, with train.keep_best=false, of its last, whichever command loads it."""

import json
import os
import re

from command import XGRAD, CommandTest, signal, subprocess, unittest

# The rate grows until nothing is left of what was learned, so the best step is not the last.
RISING = ("optim.lr=3", "schedule.warmup=60", "train.evaluate_every=9", "train.save_every=7", "train.keep=2")
BEST, LAST = "train.keep_best=true", "train.keep_best=false"
LINES = "1 2 3\n4 5 6 7\n7 6 5 4 3 2\n0 1\n"


class Best(CommandTest):
    def train(self, run, *words, config="small.toml"):
        return self.xgrad("train", config, f"run.dir={run}", *RISING, *words)

    def best(self, run, metric="loss", choose=min):
        """The first step with the best value in a validation."""
        values = {row["step"]: row[metric] for row in self.rows(run) if row["split"] == "validation"}
        return choose(values, key=values.get)

    def file(self, run, step):
        return self.folder / run / "checkpoints" / f"step-{step:010}.h5"

    def evaluated(self, *words):
        row = json.loads(self.xgrad("eval", *words, "--json").stdout)
        return {name: value for name, value in row.items() if name in self.rows(words[0])[-1]}

    def test_the_test_row_is_that_of_the_model(self):
        said = {run: self.train(run, *key) for run, key in (("best", ()), ("last", (LAST,)))}
        best = self.best("best")
        self.assertLess(best, 56)
        for run, step in (("best", best), ("last", 60)):
            row = self.rows(run)[-1]
            self.assertEqual((row["split"], row["step"]), ("test", step))
            self.assertEqual(self.evaluated(run), row)
            self.assertEqual([path.name for path in self.checkpoints(run)], [f"step-{step:010}.h5" for step in (best, 56, 60)])
        self.assertEqual(self.evaluated("best", "--last"), self.rows("last")[-1])
        self.assertEqual(self.evaluated("last", BEST), self.rows("best")[-1])
        self.assertEqual(self.evaluated("best", LAST), self.rows("last")[-1])
        self.assertNotEqual(self.rows("best")[-1], self.rows("last")[-1])
        # Training is the same, and the hash is that of the last step.
        self.assertEqual(self.rows("best")[:-1], self.rows("last")[:-1])
        hashes = {self.xgrad("inspect", run, "--hash").stdout for run in ("best", "last", self.file("last", 60))}
        self.assertEqual(len(hashes), 1)
        for run in ("best", "last"):
            self.assertIn("hash    " + hashes.copy().pop(), said[run].stdout)
        line = f"best    step {best} of 60\n"
        self.assertTrue(said["best"].stdout.startswith(line + "test    "), said["best"].stdout)
        self.assertTrue(said["last"].stdout.startswith("test    "), said["last"].stdout)
        self.assertIn(f", worse than {min(row['loss'] for row in self.rows('last') if row['split'] == 'validation'):.4f} at step {best}; "
                      "train.keep_best=true would take the weights of that step\n", said["last"].stderr)  # fmt: skip
        self.assertIn(f" at step {best}; the model has the weights of that step; train.patience would end such a run earlier\n", said["best"].stderr)
        self.assertRegex(self.xgrad("compare", "best", "last").stdout, rf"(?m)^last step +60 +60\nscored step +{best} +60$")
        for run, end in (("best", f", best step {best}"), ("last", " a second")):
            self.assertRegex(self.report(run), rf"finished</span> after 60 steps[^<]*{end}</p>")
        self.assertIn(f"at step {best}.</p>", self.report("best"))
        self.assertIn("at step 60.</p>", self.report("last"))

    def test_claims_are_about_the_model(self):
        self.train("run")
        best, last = (json.loads(self.xgrad("eval", "run", *words, "--json").stdout)["loss"] for words in ((), ("--last",)))
        self.assertLess(best, last)
        self.write("claim.toml", (self.folder / "small.toml").read_text() + f"\n[expect]\nloss = {(best + last) / 2}\n")
        for key, verdict in ((BEST, "ok"), (LAST, "FAILED")):
            said = self.train(f"of {verdict}", key, config="claim.toml").stdout
            self.assertTrue(said.endswith(f"  {verdict}\n"), said)

    def test_every_command_takes_the_model(self):
        self.train("run", "optim.lr=0.1")  # which leaves models that tell inputs apart
        steps = {(): self.best("run"), ("--last",): 60}
        first, second = " ".join(LINES.split()[:3]), "3 2 1"
        for words, stdin in ((("predict", "RUN", "--logits"), LINES), (("attention", "RUN"), ""), (("attention", "RUN", "--text", first), ""),
                             (("patch", "RUN", "--from", first, "--to", second), ""), (("eval", "RUN", "--json"), "")):  # fmt: skip
            def run(of, *more, words=words, stdin=stdin):
                return self.xgrad(*(of if word == "RUN" else word for word in words), *more, stdin=stdin).stdout
            outputs = {run("run", *last) for last in steps}
            self.assertEqual(len(outputs), 2, words)
            for last, step in steps.items():
                self.assertEqual(run("run", *last), run(self.file("run", step)), words)
        for number, (last, step) in enumerate(steps.items()):
            for of, name in (("run", "dir"), (self.file("run", step), "file")):
                self.xgrad("export", of, "--to", "safetensors", "--out", f"{name}{number}", *(last if of == "run" else ()))
            self.assertEqual((self.folder / f"dir{number}").read_bytes(), (self.folder / f"file{number}").read_bytes())
            shown = self.xgrad("explain", "run", "--every", 1, "--out", f"{number}.html", *last).stdout
            self.assertEqual(shown.split("at the steps ")[1].split(", ")[-1], f"{step}\n")
        lengths = {self.xgrad("eval", "run", "--lengths", "2:6", *last).stdout.splitlines()[0] for last in steps}
        self.assertEqual(lengths, {f"run/checkpoints/step-{step:010}.h5 (step {step}), test" for step in steps.values()})

    def test_generate_takes_the_model(self):
        for split, count in (("train", 40), ("validation", 10), ("test", 10)):
            self.write(f"{split}.txt", "the cat sat on the mat\na dog lay on a log\n" * count)
        self.write("text.toml", '[task]\nname = "files"\ntrain = "train.txt"\nvalidation = "validation.txt"\ntest = "test.txt"\n'
                   'format = "lines"\ntokens = "characters"\nlabels = "next"\n[model]\nwidth = 16\nheads = 2\nlayers = 1\n'
                   'mask = "causal"\n[train]\nsteps = 60\nbatch = 8\n')  # fmt: skip
        self.train("run", "train.best_metric=bits_per_character", config="text.toml")
        best = self.best("run", "bits_per_character")
        self.assertLess(best, 60)
        said = {last: self.xgrad("generate", "run", "--length", 60, *last).stdout for last in ((), ("--last",))}
        self.assertNotEqual(*said.values())
        self.assertEqual(said[()], self.xgrad("generate", self.file("run", best), "--length", 60).stdout)
        self.assertEqual(said[("--last",)], self.xgrad("generate", self.file("run", 60), "--length", 60).stdout)

    def test_another_metric_says_which_is_best(self):
        self.train("run", "train.best_metric=accuracy")
        self.assertEqual(self.rows("run")[-1]["step"], self.best("run", "accuracy", max))
        self.assertIn("worse than", self.train("second", "train.best_metric=accuracy").stderr)
        said = self.train_fails("train.best_metric=r2")
        self.assertEqual(said, "xgrad: train.best_metric: r2 is not measured for this task\n")
        self.assertIn("train.best_metric", self.train_fails("train.best_metric=accurcy"))

    def test_the_last_step_is_the_best(self):
        said = self.xgrad("train", "small.toml", "run.dir=run")
        self.assertEqual((self.best("run"), self.rows("run")[-1]["step"]), (60, 60))
        self.assertTrue(said.stdout.startswith("test    "), said.stdout)
        self.assertNotIn("worse than", said.stderr)
        self.assertNotIn("best step", self.report("run"))

    def test_a_run_that_goes_on_with_another_metric(self):
        """No step is the best by it until it validates."""
        self.train("run")
        self.xgrad("resume", "run", "train.best_metric=accuracy", "--allow-change", "train.best_metric")
        self.assertEqual(self.rows("run")[-1]["step"], 60)
        self.assertEqual(self.evaluated("run"), self.rows("run")[-1])
        self.xgrad("resume", "run", "train.steps=120", "--allow-change", "train.steps")
        later = {row["step"]: row["accuracy"] for row in self.rows("run") if row["split"] == "validation" and row["step"] > 60}
        self.assertEqual(self.rows("run")[-1]["step"], max(later, key=later.get))

    def test_a_finished_run_that_makes_another_choice(self):
        self.train("run")
        scored = self.rows("run")[-1]
        self.assertLess(scored["step"], 60)
        for choice, step in ((LAST, 60), (BEST, scored["step"])):
            self.xgrad("resume", "run", choice, "--allow-change", "train.keep_best")
            self.assertEqual(self.rows("run")[-1]["step"], step)
            self.assertEqual(self.evaluated("run"), self.rows("run")[-1])
            self.assertIn(f"at step {step}.</p>", self.report("run"))
        self.assertEqual(self.rows("run")[-1], scored)

    def train_fails(self, key):
        said = self.xgrad("train", "small.toml", "run.dir=none", key, exit_code=2).stderr
        self.assertFalse((self.folder / "none").exists())
        return said

    def test_patience_waits_for_the_metric(self):
        said = self.train("run", "train.patience=2", "train.best_metric=exact_match", "train.evaluate_every=3").stderr
        best = self.best("run", "exact_match", max)
        self.assertIn(f"no better validation exact_match in 2 evaluations: stopped at step {best + 6}\n", said)

    def test_a_killed_run_takes_the_same(self):
        """The test row is among the metrics that must be the same."""
        self.xgrad("verify-resume", "small.toml", *RISING, "--at", 45)

    def test_a_run_resumes_from_the_last(self):
        self.train("run")
        whole, names = self.final("run"), sorted((self.folder / "run/checkpoints").iterdir())
        self.file("run", 60).unlink()
        self.xgrad("resume", "run")
        self.assertEqual(self.final("run"), whole)
        self.assertEqual(sorted((self.folder / "run/checkpoints").iterdir()), names)  # from the best, it would have set 56 aside

    def test_a_best_checkpoint_that_is_gone(self):
        self.train("run")
        best = self.best("run")
        file = self.file("run", best)
        whole = file.read_bytes()
        commands = (("eval", "run"), ("predict", "run"), ("attention", "run"), ("explain", "run", "--out", "a.html"),
                    ("export", "run", "--to", "safetensors", "--out", "a"))  # fmt: skip
        for contents, why in ((None, f"run/checkpoints/{file.name}: is missing"), (whole[:-1], f"run/checkpoints/{file.name}: ")):
            file.unlink() if contents is None else file.write_bytes(contents)
            for words in commands:
                said = self.xgrad(*words, exit_code=4).stderr
                self.assertTrue(said.startswith(f"xgrad: {why}"), said)
                self.assertIn("it is the best checkpoint of the run (train.keep_best); to take the last one instead, use --last (", said)
                self.assertFalse((self.folder / words[-1]).is_file())
            self.assertIn("There are none: ", self.report("run"))
            self.assertEqual(json.loads(self.xgrad("eval", "run", "--last", "--json").stdout)["step"], 60)
            self.xgrad("inspect", "run")
        # A run that cannot be scored keeps what it has; another choice ends it.
        self.assertIn("it is the best checkpoint", self.xgrad("resume", "run", exit_code=4).stderr)
        self.xgrad("resume", "run", LAST, "--allow-change", "train.keep_best")
        self.assertEqual(self.rows("run")[-1], self.evaluated("run"))

    def test_a_run_in_training_may_find_a_better_one(self):
        """strace stops the command as it opens the newest checkpoint, or after it has seen the best one. Meanwhile the run
        saves a better one and removes the best so far."""
        self.train("run", "train.keep=1000")
        for path in self.checkpoints("run"):
            if path not in (self.file("run", 9), self.file("run", 14)):
                path.rename(self.folder / path.name)
        best, better = self.file("run", 9), self.file("run", 18)
        whole = best.read_bytes()
        for call, path in (("openat", "run/checkpoints/step-0000000014.h5"), ("newfstatat", best.name)):
            with self.subTest(call):
                words = ("-e", f"trace={call}", "-e", f"inject={call}:signal=SIGSTOP", "-P", path, XGRAD, "eval", "run", "--json")
                log, stopped = self.write("log", ""), re.compile(r"(?m)^(\d+) +--- stopped by SIGSTOP ---\n")
                with subprocess.Popen(["strace", "-f", "-o", log, *words], cwd=self.folder, stdout=subprocess.PIPE) as command:
                    while not stopped.search(log.read_text()):
                        self.assertIsNone(command.poll())
                    best.unlink()
                    (self.folder / better.name).rename(better)
                    os.kill(int(stopped.search(log.read_text())[1]), signal.SIGCONT)
                    self.assertEqual(json.load(command.stdout)["step"], 18)
                better.rename(self.folder / better.name)
                best.write_bytes(whole)

    def test_a_run_elsewhere_takes_the_best_along(self):
        self.train("run")
        best = self.best("run")
        self.xgrad("resume", self.file("run", 56), "run.dir=branch")
        self.assertEqual(self.rows("branch")[-1], self.rows("run")[-1])
        self.assertEqual(self.file("branch", best).read_bytes(), self.file("run", best).read_bytes())
        self.xgrad("verify", "branch")
        self.assertIn(f", best step {best}</p>", self.report("branch"))
        here = {"cwd": self.folder / "run/checkpoints"}
        self.assertEqual(subprocess.run([XGRAD, "resume", self.file("run", best).name, "run.dir=../../from-best"], **here).returncode, 0)
        self.assertEqual(self.rows("from-best")[-1], self.rows("run")[-1])
        # Without it, the run takes the best of its own.
        self.file("run", best).unlink()
        self.xgrad("resume", self.file("run", 56), "run.dir=alone")
        self.assertEqual(self.rows("alone")[-1]["step"], 60)


if __name__ == "__main__":
    unittest.main()
