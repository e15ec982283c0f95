"""The runs of a sweep share the cores, and have the bits of the same runs alone."""

import os
import subprocess
import tomllib

from command import XGRAD, CommandTest, unittest

SHORT = ("train.steps=6", "train.evaluate_every=3", "schedule.warmup=0")
RUNS = {"optim.lr=0.001,train.seed=1", "optim.lr=0.001,train.seed=2", "optim.lr=0.002,train.seed=1", "optim.lr=0.002,train.seed=2"}


class Sweep(CommandTest):
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

    def test_runs_have_the_bits_of_the_same_runs_alone(self):
        for number, (name, run) in enumerate(self.sweep("s", 3, os.sched_getaffinity(0)).items()):
            self.xgrad("train", "small.toml", *SHORT, *name.split(","), f"run.dir=alone-{number}", "train.threads=2")
            for file in ("metrics.jsonl", "checkpoints/step-0000000006.h5"):
                self.assertEqual((run / file).read_bytes(), (self.folder / f"alone-{number}" / file).read_bytes(), f"{name}/{file}")


if __name__ == "__main__":
    unittest.main()
