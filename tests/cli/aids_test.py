"""What helps before and between runs: trials, comparisons, the profile."""

import json
import math
import os
import pathlib
import re
import statistics

from command import CommandTest, unittest


class Trials(CommandTest):
    def left(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_a_batch_is_memorised(self):
        out = self.xgrad("train", "small.toml", "optim.lr=1e-2", "--overfit-batch", "-q").stdout
        self.assertRegex(out, r"^memorised: one batch of 48 examples, loss \d\.\d+e-04 after \d+ steps\n$")
        self.assertEqual(self.left(), ["small.toml"])

    def test_a_model_that_cannot_learn_it(self):
        words = ("train", "small.toml", "model.layers=0", "model.positions=none", "--overfit-batch", "-q")
        self.assertIn("NOT memorised", self.xgrad(*words, exit_code=1).stdout)

    def test_a_batch_of_noise_is_memorised_as_long_as_the_loss_falls(self):
        """It takes more than 2,000 steps."""
        config = pathlib.Path(__file__).resolve().parents[2] / "configs" / "mean_of_marked.toml"
        out = self.xgrad("train", config, "train.batch=48", "--overfit-batch", "-q").stdout
        self.assertRegex(out, r"^memorised: one batch of 48 examples, loss \d\.\d+e-04 after \d+ steps\n$")

    def test_dry_run(self):
        (self.folder / "tmp").mkdir()
        out = self.xgrad("train", "small.toml", "--dry-run", env={**os.environ, "TMPDIR": str(self.folder / "tmp")}).stdout
        self.assertRegex(out, r"60 steps\nstep 1  loss \d\.\d+\nstep 2  loss \d\.\d+\nvalidation  loss .*\na checkpoint was saved")
        self.assertEqual(self.left(), ["small.toml", "tmp"])
        self.assertEqual(list((self.folder / "tmp").iterdir()), [])
        self.xgrad("train", "small.toml", "--dry-run", "--overfit-batch", exit_code=2)

    def test_lr_find(self):
        out = self.xgrad("lr-find", "small.toml", "--steps", 60).stdout
        found = float(re.search(r"falls fastest at optim.lr=(\S+)", out).group(1))
        self.assertTrue(1e-5 < found < 0.5, out)
        self.assertGreater(out.count("*"), 20)
        self.assertIn("--from", self.xgrad("lr-find", "small.toml", "--from", 1, "--to", 0.1, exit_code=2).stderr)
        self.assertIn("--to: is inf, must be a finite number", self.xgrad("lr-find", "small.toml", "--to", "inf", exit_code=2).stderr)
        self.assertIn("--steps", self.xgrad("profile", "small.toml", "--steps", "1e22", exit_code=2).stderr)
        self.assertEqual(self.left(), ["small.toml"])

    def test_lr_find_says_why_it_found_none(self):
        wild = ("lr-find", "small.toml", "optim.name=sgd", "train.clip=0", "optim.momentum=0", "--to", 1e38)
        self.assertRegex(self.xgrad(*wild, "--from", 100, exit_code=1).stderr, r"the loss diverged after \d+ steps; start lower")
        self.assertRegex(self.xgrad(*wild, "--from", 1e35, exit_code=5).stderr, r"the loss is not finite after \d+ steps; start lower")

    def test_lr_find_lets_gradients_grow(self):
        words = ("lr-find", "small.toml", "--steps", 60)
        self.assertEqual(self.xgrad(*words, "train.spike=1.01").stdout, self.xgrad(*words).stdout)

    def test_a_batch_is_what_there_is_without_any_decay(self):
        words = ("train", "small.toml", "task.examples=60", "train.accumulate=2", "optim.lr=1e-2", "--overfit-batch", "-q")
        out = self.xgrad(*words, 'optim.groups=[{match = "*", weight_decay = 50}]').stdout
        self.assertEqual(out, self.xgrad(*words).stdout)
        self.assertIn("memorised: one batch of 60 examples", out)


class Compare(CommandTest):
    def test_shows_what_differs(self):
        self.xgrad("train", "small.toml", "run.dir=one", "-q")
        self.xgrad("train", "small.toml", "run.dir=two", "optim.lr=3e-3", "model.layers=2", "-q")
        lines = self.xgrad("compare", "one", "two").stdout.splitlines()
        table = {re.split("  +", line)[0]: re.split("  +", line)[1:] for line in lines}
        self.assertEqual(table["optim.lr"], ["0.001", "0.003"])
        self.assertEqual(table["model.layers"], ["1", "2"])
        self.assertEqual([table["last step"], table["scored step"]], [["60", "60"]] * 2)
        test = [row for row in self.rows("two") if row["split"] == "test"][0]
        self.assertEqual(table["test accuracy"][1], f"{test['accuracy']:.4f} ± {test['accuracy_se']:.4f}")
        self.assertNotIn("model.width", table)

    def test_shows_the_means_over_seeds(self):
        over = ("--over", "optim.lr=[1e-3, 1e-2]", "--over", "train.seed=[1, 2, 3]")
        self.xgrad("sweep", "small.toml", *over, "--out", "s")
        runs = [f"s/optim.lr={lr},train.seed={seed}" for lr in (0.001, 0.01) for seed in (1, 2, 3)]
        lines = self.xgrad("compare", *runs).stdout.splitlines()
        table = {re.split("  +", line)[0]: re.split("  +", line)[1:] for line in lines}
        self.assertEqual(table[""], ["optim.lr=0.001", "optim.lr=0.01"])
        self.assertEqual(table["state"], ["3 finished", "3 finished"])
        for cell, members in zip(table["test accuracy"], (runs[:3], runs[3:])):
            values = [row["accuracy"] for run in members for row in self.rows(run) if row["split"] == "test"]
            error = statistics.stdev(values) / math.sqrt(3)
            self.assertEqual(cell, f"{sum(values) / 3:.4f} ± {error:.4f}")
        alone = self.xgrad("compare", *runs[:3]).stdout
        self.assertRegex(alone, r"train.seed +1 +2 +3\n")

    def test_a_mean_is_over_finished_runs(self):
        for seed in (1, 2, 3, 4):
            self.xgrad("train", "small.toml", f"run.dir=x{seed}/run", f"train.seed={seed}", "-q")
        names = {seed: f"x{seed}/run" for seed in (1, 2, 3, 4)}
        alone = self.xgrad("compare", *names.values()).stdout.splitlines()
        self.assertEqual(re.split("  +", alone[0])[1:], list(names.values()))
        for seed in (3, 4):  # stopped before their last evaluation
            rows = [row for row in self.rows(names[seed]) if row["split"] != "test" and row["step"] < 60]
            (self.folder / names[seed] / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        self.xgrad("train", "small.toml", "run.dir=other/run", "optim.lr=0.01", "-q")

        def cells(*seeds):
            out = self.xgrad("compare", *(names[seed] for seed in seeds), "other/run").stdout
            table = {re.split("  +", line)[0]: re.split("  +", line)[1:] for line in out.splitlines()}
            return table[""], table["state"][0], table["validation loss"][0]

        last = {seed: [row["loss"] for row in self.rows(run) if row["split"] == "validation"][-1] for seed, run in names.items()}
        mean, error = (last[1] + last[2]) / 2, abs(last[1] - last[2]) / 2
        heads = ["optim.lr=0.001", "other/run"]
        self.assertEqual(cells(1, 2, 3, 4), (heads, "2 finished, 2 unfinished", f"{mean:.4f} ± {error:.4f}"))
        self.assertEqual(cells(1, 3, 4), (heads, "1 finished, 2 unfinished", f"{last[1]:.4f}"))
        mean, error = (last[3] + last[4]) / 2, abs(last[3] - last[4]) / 2
        self.assertEqual(cells(3, 4), (heads, "2 unfinished", f"{mean:.4f} ± {error:.4f}"))

    def test_a_value_that_holds_an_arrow(self):
        self.xgrad("train", "small.toml", "run.dir=one", "-q")
        for name in ("a -> b: c.h5", "c.h5"):
            (self.folder / name).write_bytes(self.checkpoints("one")[-1].read_bytes())
        self.xgrad("train", "small.toml", "run.dir=two", "model.init_from=a -> b: c.h5", "-q")
        self.xgrad("train", "small.toml", "run.dir=three", "model.init_from=c.h5", "-q")
        row, = (line for line in self.xgrad("compare", "two", "three").stdout.splitlines() if "init_from" in line)
        self.assertEqual(re.split("  +", row)[:3], ["model.init_from", '"a -> b: c.h5"', '"c.h5"'])


class Profile(CommandTest):
    def profile(self, *words):
        """The output, and its rows by name."""
        out = self.xgrad("profile", "small.toml", "train.threads=1", *words).stdout
        return out, {re.split("  +", line)[0]: re.split("  +", line)[1:] for line in out.splitlines()[1:] if line}

    def test_what_lies_between_ops_is_not_explained(self):
        """Of a single step the explained share, a median, is what the rows add up to."""
        out, rows = self.profile("model.width=4", "train.batch=1", "--steps", 1)
        unnamed = {name: float(row[2]) for name, row in rows.items() if name == "other" or name.startswith("between ops: ")}
        self.assertGreaterEqual(set(unnamed), {"other", "between ops: model", "between ops: backward", "between ops: loss"})
        explained = float(re.search(r"ms, ([\d.]+) % of it in ops", out).group(1))
        self.assertAlmostEqual(explained, 100 - sum(unnamed.values()), delta=0.05 * (len(unnamed) + 1) + 1e-6)

    def test_explains_a_step(self):
        out, rows = self.profile("model.width=64", "--steps", 10, "--trace", "trace.json")
        # The norm and the update read 51,336 gradients; it reads and writes as many values and twice as many moments.
        _, milliseconds, _, rate, _ = map(float, rows["update"])
        self.assertAlmostEqual(1e6 * milliseconds * rate / (51336 * 4), 8, delta=1)
        for op in ("linear", "linear backward", "self_attention", "loader", "update", "cross_entropy backward"):
            self.assertIn(op, rows)
        self.assertEqual(rows["self_attention"][0], "1")
        shares = [float(row[2]) for row in rows.values() if len(row) > 2]
        self.assertAlmostEqual(sum(shares), 100, delta=2)
        events = json.loads((self.folder / "trace.json").read_text())["traceEvents"]
        self.assertEqual(sum(event["name"] == "self_attention" for event in events), 2)
        step = [event for event in events if event["name"] == "step"][0]
        for event in events:
            self.assertGreaterEqual(event["dur"], 0)
            self.assertLessEqual(event["ts"] + event["dur"], step["ts"] + step["dur"] + 0.01)
        self.assertIn("exists", self.xgrad("profile", "small.toml", "--trace", "trace.json", exit_code=6).stderr)


if __name__ == "__main__":
    unittest.main()
