"""What helps before and between runs: trials, sweeps, comparisons, the profile, the manual."""

import contextlib
import csv
import json
import math
import os
import pty
import re
import shutil
import statistics
import tomllib

from command import XGRAD, CommandTest, signal, subprocess, unittest


class Trials(CommandTest):
    def left(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_a_batch_is_learnt_by_heart(self):
        out = self.xgrad("train", "small.toml", "optim.lr=1e-2", "--overfit-batch", "-q").stdout
        self.assertRegex(out, r"^learnt by heart: one batch of 48 examples, loss \d\.\d+e-04 after \d+ steps\n$")
        self.assertEqual(self.left(), ["small.toml"])

    def test_a_model_that_cannot_learn_it(self):
        words = ("train", "small.toml", "model.layers=0", "model.positions=none", "--overfit-batch", "-q")
        self.assertIn("NOT learnt", self.xgrad(*words, exit_code=1).stdout)

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
        self.assertIn("learnt by heart: one batch of 60 examples", out)


class Compare(CommandTest):
    def test_shows_what_differs(self):
        self.xgrad("train", "small.toml", "run.dir=one", "-q")
        self.xgrad("train", "small.toml", "run.dir=two", "optim.lr=3e-3", "model.layers=2", "-q")
        lines = self.xgrad("compare", "one", "two").stdout.splitlines()
        table = {re.split("  +", line)[0]: re.split("  +", line)[1:] for line in lines}
        self.assertEqual(table["optim.lr"], ["0.001", "0.003"])
        self.assertEqual(table["model.layers"], ["1", "2"])
        self.assertEqual(table["last step"], ["60", "60"])
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


class Sweep(CommandTest):
    def runs(self, folder="runs/sweep-small"):
        return sorted(path.name for path in (self.folder / folder).iterdir() if path.is_dir())

    def table(self, out):
        return [re.split("  +", line.strip()) for line in out.splitlines() if line]

    def test_trains_the_grid_once(self):
        over = ("--over", "optim.lr=[1e-3, 1e-2]", "--over", "model.layers=[1, 2]")
        table = self.table(self.xgrad("sweep", "small.toml", *over).stdout)
        self.assertEqual(table[0][:2], ["optim.lr", "model.layers"])
        self.assertEqual(len(table), 5)
        losses = [float(row[2]) for row in table[1:]]
        self.assertEqual(losses, sorted(losses))
        self.assertEqual(len(self.runs()), 4)
        # Each row is what the run itself says.
        for lr, layers, loss, *_ in table[1:]:
            run = f"runs/sweep-small/optim.lr={lr},model.layers={layers}"
            last = [row for row in self.rows(run) if row["split"] == "validation"][-1]
            self.assertEqual(loss, f"{last['loss']:.4f}")
        page = (self.folder / "runs/sweep-small/report.html").read_text()
        for run in self.runs():
            self.assertIn(run, page)
        before = {path: path.stat().st_mtime_ns for path in self.folder.glob("runs/*/*/metrics.jsonl")}
        again = self.xgrad("sweep", "small.toml", *over)
        self.assertIn("0 of them to train", again.stderr)
        self.assertEqual(self.table(again.stdout), table)
        self.assertEqual({path: path.stat().st_mtime_ns for path in before}, before)

    def test_lists_the_runs_for_other_programs(self):
        """results.csv and results.json, read by Python's own readers, say what the files of each run say."""
        over = ("--over", "optim.lr=[1e-3, 1e30]", "--over", 'schedule.name=["cosine", "constant"]', "--over", "train.seed=[1, 2]")
        self.xgrad("sweep", "small.toml", "optim.name=sgd", "train.clip=0", *over, "--out", "s", exit_code=1)
        listed = json.loads((self.folder / "s/results.json").read_text())
        with open(self.folder / "s/results.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(sorted(run["run"] for run in listed), self.runs("s"))
        self.assertEqual([run["run"] for run in listed], [row["run"] for row in rows])
        for run, row in zip(listed, rows):
            self.assertEqual((run["optim.lr"], run["schedule.name"], run["train.seed"]),
                             tuple(kind(run["run"].split(f"{key}=")[1].split(",")[0].replace("_", "+")) for key, kind in
                                   (("optim.lr", float), ("schedule.name", str), ("train.seed", int))))
            self.assertEqual(run["state"], "failed" if run["optim.lr"] == 1e30 else "finished")
            for split in ("validation", "test"):
                lines = [line for line in self.rows(f"s/{run['run']}") if line["split"] == split]
                numbers = {f"{split}_{name}": value for name, value in lines[-1].items() if name not in ("step", "split")} if lines else {}
                self.assertEqual({name: value for name, value in run.items() if name.startswith(split)}, numbers)
            for name, text in row.items():
                # A number may have more digits than Python would write.
                number = isinstance(run.get(name), (int, float))
                self.assertEqual(float(text) if number else text, run.get(name, ""), name)

    def test_shows_its_progress_on_a_terminal(self):
        ours, theirs = pty.openpty()
        over = ("--over", "optim.lr=[1e-3, 2e-3, 3e-3, 4e-3]", "--jobs", "1", "--out", "s")
        sweep = subprocess.Popen([XGRAD, "sweep", "small.toml", *over], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        text = b""
        with contextlib.suppress(OSError):  # the terminal is gone when the sweep is
            while part := os.read(ours, 4096):
                text += part
        os.close(ours)
        self.assertEqual(sweep.wait(), 0)
        shown = re.findall(r"(\d) of 4 runs done, (\d) running(?:, best validation loss ([\d.]+), (\S+) left)?", text.decode())
        self.assertEqual(shown[0][:2], ("0", "1"))
        self.assertEqual([int(done) for done, *_ in shown], sorted(int(done) for done, *_ in shown))
        losses = {run: [row["loss"] for row in self.rows(f"s/{run}") if row["split"] == "validation"][-1] for run in self.runs("s")}
        for done, _, best, _ in shown:
            if done != "0":
                self.assertEqual(best, f"{min(list(losses.values())[:int(done)]):.4f}")

    def test_a_run_without_its_page_is_resumed(self):
        over = ("--over", "optim.lr=[1e-3, 1e-2]", "--out", "s")
        table = self.xgrad("sweep", "small.toml", *over).stdout
        page = self.folder / "s/optim.lr=0.01/report.html"
        page.unlink()
        again = self.xgrad("sweep", "small.toml", *over)
        self.assertIn("1 of them to train", again.stderr)
        self.assertEqual(again.stdout, table)
        self.assertTrue(page.exists())

    def test_goes_on_where_it_was_interrupted(self):
        over = ("--over", "optim.lr=[1e-3, 1e-2]")
        table = self.xgrad("sweep", "small.toml", *over).stdout
        run = self.folder / "runs/sweep-small/optim.lr=0.01"
        shutil.rmtree(self.folder / "runs/sweep-small/optim.lr=0.001")
        for path in self.checkpoints(run)[1:]:
            path.unlink()
        rows = (run / "metrics.jsonl").read_text().splitlines(keepends=True)
        (run / "metrics.jsonl").write_text("".join(row for row in rows if '"test"' not in row))
        again = self.xgrad("sweep", "small.toml", *over)
        self.assertIn("2 of them to train", again.stderr)
        self.assertEqual(again.stdout, table)

    def test_who_stops_it_stops_its_runs(self):
        over = ("--over", "optim.lr=[1e-3, 1e-2]", "train.steps=1000000", "--jobs", 1, "--out", "s")
        sweep = self.start("sweep", "small.toml", *over)
        self.wait_for_checkpoint(sweep, "s/optim.lr=0.001")
        sweep.send_signal(signal.SIGTERM)
        said = sweep.communicate()[1]
        self.assertEqual(sweep.returncode, 128 + signal.SIGTERM)
        self.assertIn("run the same command to continue", said)
        self.assertEqual(self.runs("s"), ["optim.lr=0.001"])
        free = ("resume", "s/optim.lr=0.001", "train.max_seconds=0.01", "-q")
        self.xgrad(*free, exit_code=128 + signal.SIGALRM)  # 7 while another process is at it

    def test_a_run_that_cannot_start_ends_those_beside_it(self):
        (self.folder / "s/optim.lr=0.01.log").mkdir(parents=True)
        over = ("--over", "optim.lr=[1e-3, 1e-2]", "train.steps=100000", "--jobs", 2, "--out", "s")
        self.assertIn("cannot start a run", self.xgrad("sweep", "small.toml", *over, exit_code=6).stderr)
        self.assertTrue((self.folder / "s/optim.lr=0.001.log").exists())
        self.assertEqual(self.left_running(), [])

    def test_seeds_become_a_mean(self):
        over = ("--over", "optim.lr=[1e-3, 1e-2]", "--over", "train.seed=[1, 2, 3]")
        out = self.xgrad("sweep", "small.toml", *over, "--out", "s").stdout
        self.assertIn("mean of 3 seeds ± 95 % interval", out)
        self.assertEqual(len(self.runs("s")), 6)
        row = [line for line in out.splitlines() if line.startswith("0.01 ")][0]
        losses = [[r for r in self.rows(f"s/optim.lr=0.01,train.seed={seed}") if r["split"] == "validation"][-1]["loss"]
                  for seed in (1, 2, 3)]
        mean = sum(losses) / 3
        half = 4.303 * (sum((x - mean) ** 2 for x in losses) / 2 / 3) ** 0.5
        self.assertIn(f"{mean:.4f} ± {half:.4f}", row)

    def test_random_and_halving(self):
        over = ("--over", "optim.lr=[1e-4, 1e-3, 1e-2]", "--over", "model.layers=[1, 2]")
        self.xgrad("sweep", "small.toml", *over, "--random", 3, "--out", "r")
        self.assertEqual(len(self.runs("r")), 3)
        out = self.xgrad("sweep", "small.toml", "--over", "optim.lr=[1e-4, 1e-3, 1e-2]", "--halving", "--out", "h").stdout
        self.assertEqual(re.findall(r"(?m)^(\d+) steps$", out), ["15", "30", "60"])
        self.assertEqual(self.runs("h"), sorted(
            [f"optim.lr={lr},train.steps=15,schedule.warmup=0" for lr in ("0.0001", "0.001", "0.01")]
            + [f"optim.lr={lr},train.steps=30,schedule.warmup=0" for lr in ("0.001", "0.01")] + ["optim.lr=0.01"]))

    def halved(self, axis, *words):
        """{the setting: (train, schedule) of its shortest run} of two settings."""
        out = self.xgrad("sweep", "small.toml", "--over", axis, "--halving", "--out", "h", *words).stdout
        configs = [tomllib.loads((self.folder / "h" / run / "config.toml").read_text()) for run in self.runs("h") if run.count("=") > 1]
        self.assertEqual(len(configs), 2)
        shutil.rmtree(self.folder / "h")
        return out, [(config["train"], config["schedule"]) for config in configs]

    def test_halving_shortens_each_setting_by_itself(self):
        _, short = self.halved("schedule.warmup=[0, 20]")
        self.assertEqual([(train["steps"], schedule["warmup"]) for train, schedule in short], [(30, 0), (30, 10)])
        out, short = self.halved("train.steps=[20, 40]", "schedule.warmup=10")
        self.assertEqual([(train["steps"], schedule["warmup"]) for train, schedule in short], [(10, 5), (20, 5)])
        self.assertIn("10 to 20 steps\n", out)
        _, short = self.halved("schedule.every=[10, 20]", "schedule.name=step", "schedule.every=1")
        self.assertEqual([schedule["every"] for _, schedule in short], [5, 10])
        _, short = self.halved("optim.lr=[1e-3, 1e-2]", "schedule.name=plateau")
        self.assertEqual([train["evaluate_every"] for train, _ in short], [13, 13])

    def test_what_is_wrong_is_said_before_anything_runs(self):
        for over, said in (("optim.lr=1e-3", "[ ]"), ("optim.lr=[", "TOML"), ("lr=[1]", "SECTION.KEY"),
                           ("optim.lr=[]", "[ ]"), ("optim.rl=[1]", "optim.rl"), ("model.heads=[2, 5]", "heads")):
            self.assertIn(said, self.xgrad("sweep", "small.toml", "--over", over, exit_code=2).stderr)
        for key in ("optim.lr", "train.seed"):
            twice = ("--over", f"{key}=[1]", "--over", f"{key}=[2]")
            self.assertIn(f"--over: {key} is given twice", self.xgrad("sweep", "small.toml", *twice, exit_code=2).stderr)
        for over, name in (("optim.lr=[1e-3, 0.001]", "optim.lr=0.001"), ("train.seed=[4, 2, 4]", "train.seed=4")):
            alike = self.xgrad("sweep", "small.toml", "--over", over, exit_code=2)
            self.assertIn(f"two runs have the name {name}", alike.stderr)
        none = self.xgrad("sweep", "small.toml", "--over", "optim.lr=[1]", "--jobs", 0, exit_code=2)
        self.assertIn("--jobs: is 0, must be a finite number above 0", none.stderr)
        for words in (("sweep", "small.toml", "--over", "optim.lr=[1]"), ("profile", "small.toml", "--trace"), ("check", "small.toml", "--table"),
                      ("report", "run"), ("attention", "run"), ("export", "run", "--to", "npz"),
                      ("import", "file", "--from", "npz", "--config", "small.toml")):
            option = words[-1] if words[-1] in ("--trace", "--table") else "--out"
            words = [*words, option] if option == "--out" else words
            for path, said in (("~/x", 'begins with "~", which only a shell expands; write the whole path, or ./~ for a name that begins with it'),
                               ("a\nb", 'is "a\\u000Ab", must have no control characters')):
                self.assertIn(f"{option}: {said}", self.xgrad(*words, path, exit_code=2).stderr)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["small.toml"])

    def test_a_run_that_fails_does_not_end_the_sweep(self):
        words = ("sweep", "small.toml", "optim.name=sgd", "train.clip=0", "--over", "optim.lr=[1e-2, 1e30]", "--out", "s")
        done = self.xgrad(*words, exit_code=1)
        self.assertIn("exit code 5", done.stderr)
        self.assertEqual(self.table(done.stdout)[2][1], "failed")
        self.assertNotEqual(self.table(done.stdout)[1][1], "failed")


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
        explained = float(re.search(r"ms, ([\d.]+) % of it explained", out).group(1))
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


class Manual(CommandTest):
    def commands(self):
        """{command: its long options}, as --help shows them."""
        listed = self.xgrad("--help").stdout.split("Subcommands:")[1]
        names = re.findall(r"(?m)^  (\S+)  ", listed)
        self.assertGreater(len(names), 15)
        return {name: set(re.findall(r"--[a-z][\w-]*", self.xgrad(name, "--help").stdout)) for name in names}

    def test_man_names_everything(self):
        page = self.xgrad("man").stdout.replace("\\-", "-")
        for name, options in self.commands().items():
            section = page.split(f".SS {name}\n")[1].split(".SS ")[0]
            for option in options:
                self.assertIn(option, section, name)
        if shutil.which("groff"):
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=self.xgrad("man").stdout, text=True,
                                  capture_output=True)
            self.assertEqual(done.stderr, "")

    def test_everything_has_help_and_a_name_of_its_own(self):
        sections = re.findall(r"(?s)\.SS (.*?)\n(.*?)(?=\.S[SH] )", self.xgrad("man").stdout)
        names = [name for name, _ in sections]
        self.assertGreater(len(names), 15)
        self.assertEqual(sorted(set(names)), sorted(names))
        for name, text in sections:
            told, *options = text.split(".TP\n")
            self.assertRegex(told, r"^[A-Z].{8,}\.\n$", name)
            words = []
            for option in options:
                head, told = option.split("\n", 1)
                self.assertRegex(told, r"^\S.{4,}\n$", f"{name} {head}")
                words += head.removesuffix(" VALUE").split(" ", 1)[1].split(", ")
            self.assertEqual(sorted(set(words)), sorted(words), name)

    def complete(self, *words):
        script = self.write("completion", self.xgrad("completion", "bash").stdout)
        line = " ".join(f"'{word}'" for word in words)
        ask = f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _xgrad; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        done = subprocess.run(["bash", "-c", ask], cwd=self.folder, text=True, capture_output=True)
        self.assertEqual(done.stderr, "")
        return set(done.stdout.split())

    def test_completion_knows_everything(self):
        commands = self.commands()
        self.assertEqual(self.complete("xgrad", ""), set(commands) | {"--help", "--version"})
        for name, options in commands.items():
            self.assertLessEqual(options, self.complete("xgrad", name, "--"), name)
        self.assertEqual(self.complete("xgrad", "eval", "run", "--split", "t"), {"train", "test"})
        self.assertEqual(self.complete("xgrad", "train", "sm"), {"small.toml"})

    def test_completion_knows_the_keys_of_a_config(self):
        keys = {f"optim.{key}=" for key in self.keys_of("optim")}
        self.assertIn("optim.lr=", keys)
        self.assertEqual(self.complete("xgrad", "train", "small.toml", "optim."), keys)
        self.assertEqual(self.complete("xgrad", "sweep", "small.toml", "optim.lr"), {"optim.lr="})
        self.assertEqual(self.complete("xgrad", "eval", "run", "train.precision="), {"train.precision=float", "train.precision=double"})
        self.assertEqual(self.complete("xgrad", "train", "small.toml", "train.recompute", "=", "t"), {"true"})
        self.assertEqual(self.complete("xgrad", "train", "small.toml", "train.recompute", "="), {"true", "false"})
        self.assertEqual(self.complete("xgrad", "train", "small.toml", "task.name=reve"), {"task.name=reverse"})
        self.assertIn("task.symbols=", self.complete("xgrad", "train", "small.toml", "task."))
        self.assertEqual(self.complete("xgrad", "train", "small.toml", "optim.lr="), set())
        self.assertEqual(self.complete("xgrad", "train", ""), {"small.toml", "completion"})

    def keys_of(self, section):
        """From the schema."""
        properties = json.loads(self.xgrad("config", "--schema").stdout)["properties"][section]["properties"]
        return [key for key in properties if key != "groups"]

    def test_the_manual_has_every_key(self):
        page = self.xgrad("man").stdout.split(".SH CONFIGURATION KEYS")[1].split(".SH EXIT STATUS")[0]
        for section in ("model", "optim", "schedule", "train", "log", "mpi", "expect"):
            for key in self.keys_of(section):
                self.assertRegex(page, rf"(?m)^  {key} ")


if __name__ == "__main__":
    unittest.main()
