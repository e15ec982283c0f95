"""verify-resume, diff and replay as a user meets them."""

import re

from command import CommandTest, unittest

DIVERGES = ("optim.name=sgd", "optim.lr=1e30", "optim.weight_decay=0", "train.clip=0", "schedule.name=constant")


class Proofs(CommandTest):
    def test_verify_resume(self):
        for words in ((), ("--at", 31, "train.ema=0.9", "schedule.name=plateau", "train.patience=9", "optim.name=lion", "train.head_diversity=1")):
            done = self.xgrad("verify-resume", "small.toml", "--quiet", *words)
            self.assertIn("resumed to the bit", done.stdout)
            self.assertEqual(done.stdout.count("the same"), 2)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["small.toml"])
        self.assertIn("--at 60 of a run of 60", self.xgrad("verify-resume", "small.toml", "--at", 60, exit_code=2).stderr)

    def test_diff(self):
        self.xgrad("train", "small.toml", "run.dir=a")
        self.xgrad("train", "small.toml", "run.dir=b", "train.threads=2")
        self.assertIn("the same to the bit", self.xgrad("diff", "a", "b").stdout)
        self.xgrad("train", "small.toml", "run.dir=c", "optim.lr=2e-3")
        said = self.xgrad("diff", "a", "c", exit_code=1).stdout
        self.assertIn("config optim.lr: 0.001 -> 0.002", said)
        self.assertRegex(said, r"parameter head.weight: \d+ of \d+ numbers differ, by at most \S+ and \d+ ulp")
        self.assertRegex(self.xgrad("diff", "a", self.checkpoints("a")[0], exit_code=1).stdout, "step: 60 -> 7")

    def test_a_run_that_diverges_is_kept_and_replayed(self):
        done = self.xgrad("train", "small.toml", *DIVERGES, "run.dir=run", exit_code=5)
        step = int(re.search(r"step (\d+): ", done.stderr).group(1))
        self.assertRegex(done.stderr, r"first not finite: op \d+ \w+ in \S+: .*\[[\d, ]+\] of \([\d, ]+\) is -?(nan|inf)")
        kept = self.folder / "run" / f"fault-{step - 1:010}.h5"
        self.assertIn(f"kept as run/{kept.name}", done.stderr)
        self.xgrad("verify", kept)
        said = self.xgrad("replay", kept, exit_code=1).stdout
        self.assertIn("the first to leave its band: op ", said)
        self.assertEqual(said.count("\n> "), 1)
        self.assertIn("`xgrad replay` runs it", self.xgrad("inspect", kept, exit_code=4).stderr)
        # What was saved before is whole, and the same fault comes again.
        before = kept.read_bytes()
        if self.checkpoints("run"):
            self.xgrad("verify", *self.checkpoints("run"))
        self.xgrad("resume", "run", exit_code=5)
        self.assertEqual(kept.read_bytes(), before)

    def test_replay_refuses_a_checkpoint(self):
        self.xgrad("train", "small.toml", "run.dir=run")
        self.assertIn("not a step that failed", self.xgrad("replay", self.checkpoints("run")[0], exit_code=4).stderr)


if __name__ == "__main__":
    unittest.main()
