"""Interrupted runs end with the same bits as uninterrupted ones."""

import hashlib

from command import CommandTest, signal, unittest

LONG = ("train.steps=400", "train.evaluate_every=90", "train.save_every=11")


class Resume(CommandTest):
    def setUp(self):
        super().setUp()
        self.xgrad("train", "small.toml", *LONG, "run.dir=whole", "train.threads=1")

    def interrupt(self, run, how, *overrides):
        process = self.start("train", "small.toml", *LONG, f"run.dir={run}", *overrides)
        self.wait_for_checkpoint(process, run)
        process.send_signal(how)
        process.wait()
        return process.returncode

    def test_kill_9_loses_nothing_that_was_saved(self):
        self.assertEqual(self.interrupt("killed", signal.SIGKILL, "train.threads=2"), -signal.SIGKILL)
        self.xgrad("resume", "killed", "train.threads=2")
        self.assertEqual(self.final("killed"), self.final("whole"))

    def test_killed_again_and_again(self):
        self.interrupt("often", signal.SIGKILL)
        for _ in range(3):
            process = self.start("resume", "often", "train.threads=2")
            self.wait_for_checkpoint(process, "often", len(self.checkpoints("often")) + 1)
            process.kill()
            process.wait()
        self.xgrad("resume", "often")
        self.assertEqual(self.final("often"), self.final("whole"))

    def test_signals_save_and_say_so(self):
        for how in (signal.SIGINT, signal.SIGTERM):
            run = f"stopped-{how}"
            self.assertEqual(self.interrupt(run, how), 128 + how)
            self.xgrad("verify", self.checkpoints(run)[-1])
            self.xgrad("resume", run, "train.threads=1")
            self.assertEqual(self.final(run), self.final("whole"))

    def test_ended_before_the_first_save(self):
        run = self.folder / "young"
        self.xgrad("train", "small.toml", *LONG, "run.dir=young")
        for path in self.checkpoints("young"):
            path.unlink()
        self.xgrad("resume", "young")
        self.assertEqual(self.final("young"), self.final("whole"))
        self.assertTrue((run / "config.toml").exists())

    def test_another_config_before_the_first_save(self):
        self.xgrad("train", "small.toml", *LONG, "run.dir=early")
        for path in self.checkpoints("early"):
            path.unlink()
        refused = self.xgrad("resume", "early", "optim.lr=0.5", exit_code=2).stderr
        self.assertIn("optim.lr: 0.001 -> 0.5", refused)
        self.xgrad("resume", "early", "optim.lr=0.5", "--allow-change", "optim.lr")
        self.xgrad("resume", "early")
        self.assertIn("lr = 0.5", self.xgrad("inspect", "early", "--config").stdout)

    def test_a_newest_checkpoint_that_no_reader_takes(self):
        """Its digests hold, what they cover is no checkpoint."""
        process = self.start("train", "small.toml", *LONG, "run.dir=junk")
        self.wait_for_checkpoint(process, "junk", 3)
        process.kill()
        process.wait()
        newest = self.checkpoints("junk")[-1]
        whole = newest.read_bytes()
        payload = bytes(len(whole) - 512)
        seal = bytearray(whole[-512:])
        seal[32:64] = hashlib.sha256(payload).digest()
        seal[-32:] = hashlib.sha256(bytes(seal[:-32])).digest()
        newest.write_bytes(payload + seal)
        self.assertEqual(self.xgrad("verify", newest, exit_code=4).stdout, f"{newest}: has no superblock of version 0 at 0\n")
        self.assertIn(f"{newest.name} is damaged", self.xgrad("resume", "junk").stderr)
        self.assertEqual(self.final("junk"), self.final("whole"))

    def test_the_newest_checkpoint_is_damaged(self):
        process = self.start("train", "small.toml", *LONG, "run.dir=damaged")
        self.wait_for_checkpoint(process, "damaged", 3)
        process.kill()
        process.wait()
        newest = self.checkpoints("damaged")[-1]
        newest.write_bytes(newest.read_bytes()[:-100])
        done = self.xgrad("resume", "damaged")
        self.assertIn(f"{newest.name} is damaged", done.stderr)
        self.assertTrue(newest.with_name(newest.name + ".damaged").exists())
        self.assertEqual(self.final("damaged"), self.final("whole"))

    def test_a_finished_run_is_left_as_it_is(self):
        before = self.final("whole")
        self.xgrad("resume", "whole")
        self.assertEqual(self.final("whole"), before)

    def test_an_older_checkpoint_goes_on_in_a_new_directory(self):
        before = self.final("whole")
        self.xgrad("resume", self.checkpoints("whole")[2])
        self.assertEqual(self.final("whole"), before)
        name, checkpoint, _ = self.final("runs/whole")
        self.assertEqual((name, checkpoint), before[:2])

    def test_the_newest_checkpoint_by_any_name_is_the_run_itself(self):
        before = self.final("whole")
        newest = self.checkpoints("whole")[-1]
        for name in (newest, f".//whole/checkpoints/../checkpoints/{newest.name}"):
            self.xgrad("resume", name)
        self.assertFalse((self.folder / "runs").exists())
        self.assertEqual(self.final("whole"), before)

    def test_another_config_is_refused_by_name(self):
        done = self.xgrad("resume", "whole", "optim.lr=0.5", "model.norm=post", exit_code=2)
        self.assertIn("optim.lr: 0.001 -> 0.5", done.stderr)
        self.assertIn("model.norm", done.stderr)
        self.assertIn("--allow-change", done.stderr)

    def test_an_allowed_change(self):
        self.xgrad("resume", "whole", "train.steps=420", "--allow-change", "train.steps")
        self.assertEqual(self.final("whole")[0], "step-0000000420.h5")
        self.xgrad("resume", "whole")

    def test_two_processes_in_one_run(self):
        process = self.start("train", "small.toml", "train.steps=100000", "run.dir=busy")
        self.wait_for_checkpoint(process, "busy")
        self.assertIn(f"process {process.pid}", self.xgrad("resume", "busy", exit_code=7).stderr)
        self.assertIn("busy", self.xgrad("train", "small.toml", "run.dir=busy", exit_code=7).stderr)


if __name__ == "__main__":
    unittest.main()
