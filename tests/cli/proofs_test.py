"""verify-resume, diff and replay as a user meets them."""

import hashlib
import math
import os
import pathlib
import re
import struct
import tempfile
import time
import unittest.mock

from command import CommandTest, signal, subprocess, unittest

DIVERGES = ("optim.name=sgd", "optim.lr=1e30", "optim.weight_decay=0", "train.clip=0", "schedule.name=constant")


def sealed(image, seal):
    """Another image behind a file's seal, made to fit it."""
    seal = seal[:32] + hashlib.sha256(image).digest() + seal[64:480]
    return image + seal + hashlib.sha256(seal).digest()


class Proofs(CommandTest):
    def test_verify_resume(self):
        for at, words in ((30, ()), (31, ("--at", 31, "train.ema=0.9", "schedule.name=plateau", "train.patience=9", "optim.name=lion", "train.head_diversity=1"))):
            done = self.xgrad("verify-resume", "small.toml", "--quiet", *words)
            self.assertIn(f"60 steps, and {at} steps, killed and resumed from step 28\n", done.stdout)
            self.assertIn("resumed to the bit", done.stdout)
            self.assertEqual(done.stdout.count("the same"), 2)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["small.toml"])
        self.assertIn("--at is 60, must be above 0 and below", self.xgrad("verify-resume", "small.toml", "--at", 60, exit_code=2).stderr)

    def test_verify_resume_without_a_folder_for_its_runs(self):
        with unittest.mock.patch.dict(os.environ, TMPDIR="/none"):
            said = self.xgrad("verify-resume", "small.toml", exit_code=6).stderr
        self.assertEqual(said, "xgrad: /none: cannot create a temporary directory in it: No such file or directory; set TMPDIR to another folder\n")

    def test_verify_resume_kills_and_resumes(self):
        """As strace sees it: one process is killed behind the save of step 28, another reads that and goes on."""
        log = self.folder / "log"
        subprocess.run(["strace", "-f", "-y", "-o", log, "-e", "trace=openat,renameat2", os.environ["XGRAD"], "verify-resume", "small.toml"],
                       cwd=self.folder, check=True, capture_output=True)  # fmt: skip
        before, *killed, after = re.split(r"(?m)^(\d+) +\+\+\+ killed by SIGKILL \+\+\+\n", log.read_text())  # its threads, too
        saved = r'(?m)^(\d+) +renameat2\(\d+<\S+/killed/checkpoints>.*"step-0*(\d+)\.h5".* = 0$'
        one, other = re.findall(saved, before), re.findall(saved, after)
        self.assertEqual([step for _, step in one], ["7", "14", "21", "25", "28"])
        self.assertLessEqual({process for process, _ in one}, {*killed})
        self.assertEqual([step for _, step in other][:1] + [step for _, step in other][-1:], ["35", "60"])
        self.assertFalse({process for process, _ in other} & {*killed})
        self.assertRegex(after[:after.index(f'step-{int(other[0][1]):010}.h5')], rf'(?m)^{other[0][0]} +openat\(.*/killed/checkpoints/step-0000000028\.h5')

    def test_verify_resume_finds_a_difference(self):
        """The negative control: somebody changes the config of the second run before it is killed, and so that of its other half."""
        for key, old, new, same in (("optim.lr", "lr = 0.001", "lr = 0.002", 0), ("log.every", "every = 10", "every = 20", 1)):
            with self.subTest(key), tempfile.TemporaryDirectory() as scratch, unittest.mock.patch.dict(os.environ, TMPDIR=scratch):
                process = self.start("verify-resume", "small.toml", "--quiet", "train.steps=600")
                while not (found := list(pathlib.Path(scratch).glob("xgrad-*/killed/config.toml"))):
                    self.assertIsNone(process.poll())
                    time.sleep(0.001)
                text = found[0].read_text()
                self.assertIn(old, text)
                found[0].write_text(text.replace(old, new))
                said, _ = process.communicate()
                self.assertEqual(process.returncode, 1, said)
                self.assertIn("600 steps, and 300 steps, killed and resumed from step 294\n", said)
                self.assertIn("the resumed run differs\n", said)
                self.assertEqual((said.count("the same"), said.count("DIFFERENT")), (same, 2 - same), said)
                self.assertEqual("parameter head.weight: " in said, key == "optim.lr", said)

    def test_verify_resume_that_is_stopped_leaves_nothing(self):
        scratch = self.folder / "scratch"
        scratch.mkdir()
        with unittest.mock.patch.dict(os.environ, TMPDIR=str(scratch)):
            for number, leaves in ((signal.SIGTERM, 0), (signal.SIGINT, 0), (signal.SIGKILL, 1)):
                process = self.start("verify-resume", "small.toml", "--quiet", "train.steps=1000000")
                while not list(scratch.glob("xgrad-*/whole/checkpoints/*")):
                    self.assertIsNone(process.poll())
                    time.sleep(0.01)
                process.send_signal(number)
                process.wait()
                if leaves:
                    time.sleep(0.5)  # nobody waits for them
                self.assertEqual(self.left_running(), [])
                self.assertEqual(process.returncode, -number if leaves else 128 + number)
                self.assertEqual(len(list(scratch.iterdir())), leaves)

    def test_verify_resume_keeps_a_step_that_failed(self):
        with unittest.mock.patch.dict(os.environ, TMPDIR=str(self.folder)):
            said = self.xgrad("verify-resume", "small.toml", *DIVERGES, exit_code=5).stderr
        kept = pathlib.Path(re.search(r"kept as (\S+/fault-\d+\.h5)", said).group(1))
        self.assertIn(f"the runs are kept in {kept.parent.parent}\n", said)
        self.xgrad("replay", kept, exit_code=1)

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
        kept = self.folder / "run" / f"fault-{step:010}.h5"
        self.assertIn(f"kept as run/{kept.name}", done.stderr)
        self.xgrad("verify", kept)
        said = self.xgrad("replay", kept, exit_code=1).stdout
        self.assertIn("the first to differ from the reference: op ", said)
        self.assertEqual(said.count("\n> "), 1)
        self.assertIn("`xgrad replay` runs it", self.xgrad("inspect", kept, exit_code=4).stderr)
        # What was saved before is whole, and the same fault comes again.
        before = kept.read_bytes()
        if self.checkpoints("run"):
            self.xgrad("verify", *self.checkpoints("run"))
        self.xgrad("resume", "run", exit_code=5)
        self.assertEqual(kept.read_bytes(), before)

    def test_replay_refuses_numbers_that_are_no_batch(self):
        self.xgrad("train", "small.toml", *DIVERGES, "run.dir=run", exit_code=5)
        kept = next((self.folder / "run").glob("fault-*.h5")).read_bytes()
        ids, targets = self.batch_in(kept)
        for place, number, said in ((ids, 10, "id 10 at"), (ids, -1, "id -1 at"), (targets, 10, "10"), (ids, 0.5, "batch.0.ids: is 0.5"),
                                    (ids, math.nan, "batch.0.ids: is nan"), (targets, 1e300, "batch.0.targets: is 1e+300")):
            with self.subTest(number):
                self.write("bad.h5", sealed(kept[:place] + struct.pack("<d", number) + kept[place + 8:-512], kept[-512:]))
                self.xgrad("verify", "bad.h5")
                said_of = self.xgrad("replay", "bad.h5", exit_code=4).stderr
                self.assertTrue(said_of.startswith("xgrad: bad.h5: "), said_of)
                self.assertIn(said, said_of)

    def batch_in(self, data):
        """Where ids and targets begin, the only long rows of float64 that are small whole numbers."""
        numbers = struct.unpack(f"<{len(data) // 8}d", data[:len(data) // 8 * 8])
        fits = "".join("x" if x == -100 or x in range(1, 10) else "0" if x == 0 else " " for x in numbers)
        rows = [found.start() * 8 for found in re.finditer(r"x[x0]{99,}", fits)]
        self.assertEqual(len(rows), 2)
        return rows

    def test_replay_refuses_a_checkpoint(self):
        self.xgrad("train", "small.toml", "run.dir=run")
        self.assertIn("not a step that failed", self.xgrad("replay", self.checkpoints("run")[0], exit_code=4).stderr)


if __name__ == "__main__":
    unittest.main()
