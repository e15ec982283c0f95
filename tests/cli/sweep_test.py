"""Sweeps: the grid, its table and files, progress, interruption, seeds, halving; and how runs share the cores, with the bits of the same runs alone."""

import contextlib
import csv
import json
import os
import pty
import re
import shutil
import tomllib

from command import XGRAD, CommandTest, signal, subprocess, unittest

SHORT = ("train.steps=6", "train.evaluate_every=3", "schedule.warmup=0")
RUNS = {"optim.lr=0.001,train.seed=1", "optim.lr=0.001,train.seed=2", "optim.lr=0.002,train.seed=1", "optim.lr=0.002,train.seed=2"}


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
        over = ("--over", "optim.lr=[1e-3, 1e30]", "--over", 'schedule.name=[cosine, constant]', "--over", "train.seed=[1, 2]")
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

    def test_a_value_is_no_formula_to_a_spreadsheet(self):
        self.write("d.csv", "=1+2,-x,-1\n" + "".join(f"a b{i},c d{i},{i % 2}\n" for i in range(60)))
        self.write("d.toml", '[task]\nname = "files"\ntrain = "d.csv"\ntarget = "-1"\n[model]\nwidth = 8\nheads = 1\nlayers = 1\n'
                   "[train]\nsteps = 1\n")
        self.xgrad("sweep", "d.toml", "--over", 'task.input=["=1+2", "-x"]', "--over", "task.unknown=[0.0, 0.1]", "--out", "s")
        with open(self.folder / "s/results.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual({(row["task.input"], row["task.unknown"]) for row in rows},
                         {(name, number) for name in ("'=1+2", "'-x") for number in ("0.0", "0.1")})
        self.assertEqual({run["task.input"] for run in json.loads((self.folder / "s/results.json").read_text())}, {"=1+2", "-x"})

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
        self.assertIn("s/optim.lr=0.01.log: is a directory, not a file", self.xgrad("sweep", "small.toml", *over, exit_code=6).stderr)
        self.assertTrue((self.folder / "s/optim.lr=0.001.log").exists())
        self.assertEqual(self.left_running(), [])

    def test_a_log_that_is_the_file_of_another_name(self):
        victim = self.write("victim", "mine")
        (self.folder / "s").mkdir()
        log = self.folder / "s/optim.lr=0.001.log"
        for link, what in ((os.link, "a hard link"), (os.symlink, "a symbolic link"), (lambda _, path: os.mkfifo(path), "not a regular file")):
            with self.subTest(what):
                link(victim, log)
                said = self.xgrad("sweep", "small.toml", "--over", "optim.lr=[1e-3]", "--out", "s", exit_code=6).stderr
                self.assertIn(f"xgrad: s/optim.lr=0.001.log: is {what}", said)
                self.assertEqual(victim.read_text(), "mine")
                log.unlink()
        self.xgrad("sweep", "small.toml", "--over", "optim.lr=[1e-3]", "--out", "s")

    def test_what_a_killed_one_left_goes(self):
        sweep = ("sweep", "small.toml", "--over", "optim.lr=[1e-3]", "--out", "s")
        self.xgrad(*sweep)
        for name in ("results.csv", "results.json", "report.html"):
            self.write(f"s/.{name}.123.0123456789abcdef.tmp", "whole")
        self.xgrad(*sweep)
        self.assertEqual([path.name for path in (self.folder / "s").iterdir() if path.name.startswith(".")], [])

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

    def test_a_sweep_without_a_run_ends_with_the_error_of_the_first(self):
        self.write("files.toml", '[task]\nname = "files"\ntrain = "absent.csv"\ntest = "absent.csv"\n[train]\nsteps = 2\n')
        done = self.xgrad("sweep", "files.toml", "--over", "train.seed=[1, 2]", "--out", "s", exit_code=3)
        self.assertTrue(done.stderr.endswith(f"xgrad: {self.folder.resolve()}/absent.csv: there is no such file\n"), done.stderr)
        self.assertEqual(sorted(path.name for path in (self.folder / "s").iterdir()), ["train.seed=1.log", "train.seed=2.log"])


class Shared(CommandTest):
    def sweep(self, out, jobs, cores):
        words = [XGRAD, "sweep", "small.toml", *SHORT, "--over", "optim.lr=[1e-3, 2e-3]", "--over", "train.seed=[1, 2]", "--out", out, "--jobs", str(jobs)]
        done = subprocess.run(words, cwd=self.folder, text=True, capture_output=True, preexec_fn=lambda: os.sched_setaffinity(0, cores))
        self.assertEqual(done.returncode, 0, done.stderr)
        runs = {path.parent.name: path.parent for path in (self.folder / out).glob("*/config.toml")}
        self.assertEqual(set(runs), RUNS)
        return runs

    def test_runs_share_the_cores(self):
        cores = sorted(os.sched_getaffinity(0))
        for number in {1, len(cores)}:
            for jobs in (1, 2, 3, 9):
                with self.subTest(cores=number, jobs=jobs):
                    expected = max(1, number // min(jobs, len(RUNS)))
                    for run in self.sweep(f"s-{number}-{jobs}", jobs, cores[:number]).values():
                        self.assertEqual(tomllib.loads((run / "config.toml").read_text())["train"]["threads"], expected)

    def test_an_override_sets_the_threads_of_each_run(self):
        for words in (["train.threads=3", "--over", "train.seed=[1, 2]"], ["--over", "train.threads=[3]", "--over", "train.seed=[1, 2]"]):
            self.xgrad("sweep", "small.toml", *SHORT, *words, "--out", f"s-{len(words)}")
        configs = list(self.folder.glob("s-*/*/config.toml"))
        self.assertEqual([tomllib.loads(path.read_text())["train"]["threads"] for path in configs], 4 * [3])

    def test_so_it_does_for_a_run_that_goes_on(self):
        over = ("--over", "train.seed=[1]", "--out", "s")
        self.xgrad("sweep", "small.toml", *SHORT, "train.threads=3", *over)
        run = self.folder / "s/train.seed=1"
        for words, threads in ((["train.threads=2"], 2), ([], len(os.sched_getaffinity(0)))):
            for path in self.checkpoints(run)[1:]:
                path.unlink()
            (run / "metrics.jsonl").write_text("")
            trace = ["strace", "-f", "-qq", "-o", "log", "-s", "99", "-e", "trace=execve"]
            subprocess.run([*trace, XGRAD, "sweep", "small.toml", *SHORT, *words, *over], cwd=self.folder, check=True, capture_output=True)
            said = (self.folder / "log").read_text()
            self.assertRegex(said, rf'"resume", "s/train.seed=1", "--quiet", .*"train.threads={threads}"\]')

    def test_pictures_of_reports_start_no_threads(self):
        """LAPACK may be OpenBLAS's, which starts a thread for each core when it is loaded."""
        words = ["strace", "-f", "-o", "log", "-e", "trace=openat,clone,clone3", XGRAD, "sweep", "small.toml", *SHORT, "--over", "train.seed=[1, 2]", "--out", "s"]
        environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
        subprocess.run(words, cwd=self.folder, check=True, capture_output=True, env=environment)
        calls = {}
        for line in (self.folder / "log").read_text().splitlines():
            process, _, call = line.partition(" ")
            calls.setdefault(process, []).append(call)
        drawn = [lines[number:] for lines in calls.values() for number, call in enumerate(lines) if re.search(r'liblapack\.so\.3".*= \d', call)]
        self.assertGreater(len(drawn), 0, "the page of the sweep")
        for lines in drawn:
            self.assertEqual([call for call in lines if "CLONE_THREAD" in call], [])

    def test_runs_have_the_bits_of_the_same_runs_alone(self):
        for number, (name, run) in enumerate(self.sweep("s", 3, os.sched_getaffinity(0)).items()):
            self.xgrad("train", "small.toml", *SHORT, *name.split(","), f"run.dir=alone-{number}", "train.threads=2")
            for file in ("metrics.jsonl", "checkpoints/step-0000000006.h5"):
                self.assertEqual((run / file).read_bytes(), (self.folder / f"alone-{number}" / file).read_bytes(), f"{name}/{file}")


if __name__ == "__main__":
    unittest.main()
