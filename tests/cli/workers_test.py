"""Workers that share the runs of a sweep."""

import csv
import os
import re
import shutil
import signal
import subprocess
import time

from command import XGRAD, CommandTest, unittest

OVER = ("--over", "optim.lr=[1e-3, 2e-3, 3e-3, 4e-3, 5e-3]", "--over", "train.seed=[1, 2, 3, 4, 5, 6]")
SHORT = ("train.steps=6", "train.evaluate_every=3", "schedule.warmup=0")


class Workers(CommandTest):
    def worker(self, *words, **more):
        return subprocess.Popen([XGRAD, "sweep", "small.toml", *words, "--worker"], cwd=self.folder, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def results(self, out):
        """The rows of results.csv without the times, by run."""
        with (self.folder / out / "results.csv").open(newline="") as file:
            return {row["run"].rsplit("/")[-1]: {k: v for k, v in row.items() if k not in ("run", "seconds")} for row in csv.DictReader(file)}

    def test_fifty_at_once_do_every_run_once(self):
        self.xgrad("sweep", "small.toml", *SHORT, *OVER, "--out", "alone")
        workers = [self.worker(*SHORT, *OVER, "--out", "shared", "--jobs", "1") for _ in range(50)]
        done = 0
        for worker in workers:
            out, err = worker.communicate(timeout=200)
            self.assertEqual(worker.returncode, 0, err)
            done += int(re.search(r"this worker did (\d+) run", err).group(1))
            self.assertIn("train.seed", (self.folder / "shared" / "results.csv").read_text())
        self.assertEqual(done, 30)
        self.assertEqual(self.results("shared"), self.results("alone"))
        for run in self.results("alone"):
            for name in ("metrics.jsonl", "checkpoints/step-0000000006.h5"):
                alone, shared = ((self.folder / out / run / name).read_bytes() for out in ("alone", "shared"))
                self.assertEqual(alone, shared, f"{run}/{name}")

    def test_a_worker_that_dies_gives_its_run_back(self):
        words = ("--over", "optim.lr=[1e-3, 2e-3]", "--out", "s", "--jobs", "1", "train.steps=3000", "train.save_every=50")
        dying = self.worker(*words, start_new_session=True)
        run = self.folder / "s" / "optim.lr=0.001"
        while not list(run.glob("checkpoints/step-*")):
            self.assertIsNone(dying.poll())
            time.sleep(0.01)
        other = self.worker(*words)
        time.sleep(0.3)
        os.killpg(dying.pid, signal.SIGKILL)
        dying.communicate(timeout=60)
        out, err = other.communicate(timeout=100)
        self.assertEqual(other.returncode, 0, err)
        self.assertIn("this worker did 2 runs", err)
        self.assertEqual({row["state"] for row in self.results("s").values()}, {"finished"})

    def test_a_run_of_another_sweep_is_named(self):
        words = ("small.toml", "--over", "optim.lr=[1e-3]", "--out", "s", "train.steps=100000", "train.evaluate_every=1000")
        first = subprocess.Popen([XGRAD, "sweep", *words], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not (self.folder / "s" / "optim.lr=0.001" / "config.toml").exists():
            self.assertIsNone(first.poll())
            time.sleep(0.01)
        said = self.xgrad("sweep", *words, exit_code=7).stderr
        first.terminate()
        self.assertEqual(first.wait(), 128 + signal.SIGTERM)
        self.assertIn("s/optim.lr=0.001 is being trained by another sweep; --worker shares the runs with it", said)

    def test_a_failed_run_is_not_repeated_by_others(self):
        words = (*SHORT, "train.clip=0", "optim.name=sgd", "--over", "optim.lr=[1e30]", "--out", "s")
        for done in (1, 0):
            worker = self.worker(*words)
            out, err = worker.communicate(timeout=60)
            self.assertIn(f"this worker did {done} run", err)
            self.assertEqual(worker.returncode, 1)
            self.assertIn("failed", out)

    def test_file_systems_without_locks_are_refused(self):
        for fault, message in (("error=ENOLCK", "cannot lock: No locks available"), ("retval=0", "locks of files have no effect here")):
            shutil.rmtree(self.folder / "s", ignore_errors=True)
            done = subprocess.run(["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject=flock:{fault}",
                                   XGRAD, "sweep", "small.toml", *SHORT, "--over", "optim.lr=[1e-3]", "--out", "s", "--worker"],
                                  cwd=self.folder, text=True, capture_output=True, timeout=60)
            self.assertEqual(done.returncode, 6)
            self.assertIn(message, done.stderr)
            self.assertEqual(list((self.folder / "s").iterdir()), [])


if __name__ == "__main__":
    unittest.main()
