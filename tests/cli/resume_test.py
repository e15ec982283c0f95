"""Interrupted runs end with the same bits as uninterrupted ones."""

import hashlib
import json
import os
import resource
import re
import shutil

from command import XGRAD, CommandTest, signal, subprocess, time, unittest

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
        shutil.rmtree(run / "checkpoints")
        self.assertIn("starts again from step 0", self.xgrad("resume", "young").stderr)
        self.assertEqual(self.final("young"), self.final("whole"))
        self.assertTrue((run / "config.toml").exists())

    def test_another_config_before_the_first_save(self):
        self.xgrad("train", "small.toml", *LONG, "run.dir=early")
        shutil.rmtree(self.folder / "early/checkpoints")
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

    def test_many_damaged_checkpoints(self):
        """A few are named, and the others counted."""
        for step in range(1000, 1040):
            self.write(f"whole/checkpoints/step-{step:010}.h5", "junk")
        said = self.xgrad("resume", "whole").stderr.splitlines()
        self.assertEqual([line for line in said if "damaged" in line or "more" in line],
                         [f"whole/checkpoints/step-{step:010}.h5 is damaged; renamed to whole/checkpoints/step-{step:010}.h5.damaged"
                          for step in (1000, 1001, 1002)] + ["and 37 more"])  # fmt: skip
        self.assertEqual(len(list(self.folder.glob("whole/checkpoints/*.damaged"))), 40)
        for path in self.checkpoints("whole"):
            path.write_text("junk")
        said = self.xgrad("resume", "whole", exit_code=4).stderr.splitlines()
        self.assertEqual(len(said), 5, said)
        self.assertRegex(said[-1], r"^  and \d+ more$")

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

    def test_an_older_checkpoint_goes_on_in_the_directory_that_run_dir_names(self):
        before = self.final("whole")
        self.xgrad("resume", self.checkpoints("whole")[2], "run.dir=branch")
        self.assertEqual(self.final("branch")[:2], before[:2])
        self.assertIn('dir = "branch"', (self.folder / "branch/config.toml").read_text())
        self.assertFalse((self.folder / "runs").exists())
        self.assertIn("already holds a run", self.xgrad("resume", self.checkpoints("whole")[2], "run.dir=whole", exit_code=6).stderr)
        self.assertEqual(self.final("whole"), before)

    def test_a_run_does_not_move(self):
        before = self.final("whole")
        for run in ("whole", self.checkpoints("whole")[-1]):
            self.assertIn("run.dir cannot change", self.xgrad("resume", run, "run.dir=elsewhere", exit_code=2).stderr)
        self.assertFalse((self.folder / "elsewhere").exists())
        self.assertEqual(self.final("whole"), before)

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

    def test_an_allowed_change_that_fails_leaves_the_run_as_it_was(self):
        config = self.folder / "whole/config.toml"
        before = config.read_bytes()
        self.xgrad("resume", "whole", "model.width=32", "--allow-change", "model.width", exit_code=4)
        self.assertEqual(config.read_bytes(), before)
        self.xgrad("resume", "whole")
        shutil.rmtree(self.folder / "whole/checkpoints")
        self.xgrad("resume", "whole", "task.name=majority", "--allow-change", "task.name", exit_code=2)
        self.assertEqual(config.read_bytes(), before)

    def test_an_allowed_change_outlives_a_kill_before_the_next_save(self):
        config = self.folder / "whole/config.toml"
        keys = {"train.steps": 100000, "train.save_every": 100000, "train.evaluate_every": 100000}
        process = self.start("resume", "whole", *(f"{k}={v}" for k, v in keys.items()), *(f"--allow-change={k}" for k in keys))
        while "100000" not in config.read_text():
            self.assertIsNone(process.poll())
            time.sleep(0.001)
        process.kill()
        process.wait()
        refused = self.xgrad("resume", "whole", "train.steps=420", exit_code=2).stderr
        self.assertEqual(refused.count("--allow-change"), 1, refused)  # the others were allowed
        self.assertIn("train.steps: 100000 -> 420", refused)
        config.write_text(config.read_text().replace("lr = 0.001", "lr = 0.5"))  # by hand, which nobody allowed
        self.assertIn("optim.lr: 0.001 -> 0.5", self.xgrad("resume", "whole", exit_code=2).stderr)

    def test_lost_checkpoints_do_not_begin_the_run_again(self):
        metrics = (self.folder / "whole/metrics.jsonl").read_bytes()
        for path in self.checkpoints("whole"):
            path.unlink()
        self.assertIn("manifest.sha256 lists", self.xgrad("resume", "whole", exit_code=4).stderr)
        self.assertEqual((self.folder / "whole/metrics.jsonl").read_bytes(), metrics)

    def test_a_run_that_lost_its_config_is_not_written_over(self):
        (self.folder / "whole/config.toml").unlink()
        before = self.final("whole")
        self.assertIn("holds checkpoints but no config.toml", self.xgrad("train", "small.toml", "run.dir=whole", exit_code=6).stderr)
        self.assertEqual(self.final("whole"), before)

    def test_files_of_others_are_left_alone(self):
        (self.folder / "notes").mkdir()
        for name in ("log.txt", "report.html", "timing.jsonl"):
            path = self.write(f"notes/{name}", "mine, without an end of line")
            self.assertIn(f"notes holds {name}", self.xgrad("train", "small.toml", "run.dir=notes", exit_code=6).stderr)
            self.assertEqual(path.read_text(), "mine, without an end of line")
            path.unlink()
        self.write("notes/readme", "mine")
        self.xgrad("train", "small.toml", "run.dir=notes")

    def test_time_goes_on(self):
        self.assertEqual(self.interrupt("stopped", signal.SIGTERM, "train.max_seconds=1000"), 128 + signal.SIGTERM)
        log = self.folder / "stopped/timing.jsonl"
        log.write_text(log.read_text().replace('"seconds":', '"seconds":5'))  # 50 seconds and more
        rows = log.read_text().count("\n")
        self.xgrad("resume", "stopped")
        for line in log.read_text().splitlines()[rows:]:
            self.assertEqual(json.loads(line)["seconds"] // 50, 1)

    def test_another_arithmetic_is_told(self):
        self.interrupt("other", signal.SIGKILL)

        def processor(environment):
            return re.search(r"(?m)^arithmetic +(\S+)$", self.xgrad("info", env=environment).stdout).group(1)

        here, lowest = processor(os.environ), {**os.environ, "XGRAD_CPU": "baseline"}
        # The suite may run on the lowest class already.
        another = lowest if here != processor(lowest) else {name: value for name, value in os.environ.items() if name != "XGRAD_CPU"}
        resumed = self.xgrad("resume", "other", env=another).stderr
        told = f"saved in the arithmetic {here}, continues in {processor(another)}: results differ in the last bits"
        self.assertEqual(told in resumed, processor(another) != here, resumed)
        self.assertNotIn("continues on", self.xgrad("resume", "whole").stderr)

    def test_what_is_damaged_twice_is_kept_twice(self):
        newest = self.checkpoints("whole")[-1]
        for text, name in (("one", newest.name + ".damaged"), ("two", newest.name + ".damaged-2")):
            newest.write_text(text)
            self.assertIn(f"renamed to whole/checkpoints/{name}\n", self.xgrad("resume", "whole").stderr)
            self.assertEqual(newest.with_name(name).read_text(), text)

    def test_a_checkpoint_of_a_later_format_is_left_alone(self):
        newest = self.checkpoints("whole")[-1]
        content = newest.read_bytes()
        seal = bytearray(content[-512:])
        seal[8:12] = (2).to_bytes(4, "little")
        seal[480:] = hashlib.sha256(seal[:480]).digest()
        newest.write_bytes(content[:-512] + seal)
        before = sorted((self.folder / "whole/checkpoints").iterdir()), newest.read_bytes()
        for words in (("resume", "whole"), ("predict", "whole"), ("inspect", newest)):
            said = self.xgrad(*words, exit_code=4).stderr
            self.assertIn("needs a newer xgrad: written by format 2.0; this one reads format 1.x", said)
        self.assertIn("needs a newer xgrad", self.xgrad("verify", newest, exit_code=4).stdout)
        self.assertEqual((sorted((self.folder / "whole/checkpoints").iterdir()), newest.read_bytes()), before)

        older = self.checkpoints("whole")[2]
        self.xgrad("resume", older)  # it is named, so the newest does not matter
        self.assertTrue((self.folder / "runs/whole/config.toml").exists())
        self.assertEqual((sorted((self.folder / "whole/checkpoints").iterdir()), newest.read_bytes()), before)

    def test_a_branch_made_inside_of_a_run(self):
        older = self.checkpoints("whole")[2]
        for folder in ("whole", "whole/checkpoints"):
            subprocess.run([XGRAD, "resume", "-q", older], cwd=self.folder / folder, check=True, capture_output=True)
            self.assertTrue((self.folder / folder / "runs/whole/config.toml").exists())

    def test_a_line_of_the_manifest_that_was_cut_off(self):
        manifest = self.folder / "whole/checkpoints/manifest.sha256"
        before = manifest.read_text()
        manifest.write_text(before + "abcdef")
        self.xgrad("resume", "whole", "train.steps=420", "--allow-change", "train.steps")
        self.assertTrue(manifest.read_text().startswith(before))
        self.assertNotIn("abcdef", manifest.read_text())

    def test_a_fault_that_comes_otherwise_is_kept_anew(self):
        diverges = ("optim.name=sgd", "train.clip=0", "schedule.name=constant")
        self.xgrad("train", "small.toml", "run.dir=run", *diverges, "optim.lr=1e30", "train.save_every=100", "train.evaluate_every=100", exit_code=5)
        kept, = (self.folder / "run").glob("fault-*.h5")
        before = kept.read_bytes()
        said = self.xgrad("resume", "run", "optim.lr=1e29", "--allow-change", "optim.lr", exit_code=5).stderr
        self.assertIn(f"kept as run/{kept.name}", said)
        self.assertNotEqual(kept.read_bytes(), before)
        self.xgrad("verify", kept)

    def test_a_log_that_cannot_be_written_hides_no_fault(self):
        self.xgrad("train", "small.toml", "run.dir=run", "optim.name=sgd", "train.clip=0", "optim.lr=1e30", exit_code=5)
        most = 1 << 20
        (self.folder / "run/log.txt").write_text("x" * (most - 1) + "\n")  # no file may grow beyond that
        said = self.xgrad("resume", "run", exit_code=5, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))).stderr
        self.assertIn("first not finite", said)
        self.assertIn("run/log.txt: cannot write: File too large", said)

    def test_two_processes_in_one_run(self):
        process = self.start("train", "small.toml", "train.steps=100000", "run.dir=busy")
        self.wait_for_checkpoint(process, "busy")
        self.assertIn(f"process {process.pid}", self.xgrad("resume", "busy", exit_code=7).stderr)
        self.assertIn("busy", self.xgrad("train", "small.toml", "run.dir=busy", exit_code=7).stderr)



class Rows(CommandTest):
    """Damage in metrics.jsonl takes no row of a step that is in the checkpoint."""

    STEPS = ("train.steps=40", "train.evaluate_every=10", "train.save_every=10", "train.threads=1", "log.every=1", "log.csv=true")

    def setUp(self):
        super().setUp()
        self.write("claim.toml", (self.folder / "small.toml").read_text() + "[expect]\naccuracy = 0.01\nwithin_steps = 10\n")
        self.xgrad("train", "claim.toml", *self.STEPS, "run.dir=run")
        self.metrics = self.folder / "run/metrics.jsonl"
        self.saved = self.metrics.read_bytes()
        self.table = (self.folder / "run/metrics.csv").read_bytes()

    def damaged(self, lines, number, kept):
        """A run with these lines. `verify` names the bad one, and the run continues without it, with the rows `kept`."""
        bad = lines[number - 1]
        with self.subTest(bad):
            self.metrics.write_bytes(b"".join(lines))
            said = self.xgrad("verify", "run", exit_code=4).stdout
            self.assertIn(f"run/metrics.jsonl: line {number} is not a row of this run; `xgrad resume run` moves it to metrics.jsonl.bad\n", said)
            done = self.xgrad("resume", "run")
            moved = f"run/metrics.jsonl: not rows of this run, moved to run/metrics.jsonl.bad: line {number}\n"
            self.assertIn(moved, done.stderr)
            self.assertIn(moved, (self.folder / "run/log.txt").read_text())
            self.assertIn("first at step 10", done.stdout)
            self.assertEqual(self.metrics.read_bytes(), b"".join(kept))
            aside = self.metrics.with_name("metrics.jsonl.bad")
            self.assertEqual(aside.read_bytes(), bad)
            aside.unlink()
            self.assertEqual((self.folder / "run/metrics.csv").read_bytes().count(b"\n"), len(kept) + 1)
            self.xgrad("verify", "run")

    def test_a_line_that_is_no_row(self):
        rows = self.saved.splitlines(keepends=True)
        for bad in (b"\n", b"# mine\n", b"{\n", b"\0" + rows[4], rows[4][:-1] + b"\0\n", b"\xff\n"):
            self.damaged([*rows[:4], bad, *rows[4:]], 5, rows)
        self.assertEqual((self.folder / "run/metrics.csv").read_bytes(), self.table)
        for step in (b"3", b"40", b"400", b"-5", b"5.5", b'"5"'):
            self.damaged([*rows[:4], rows[4].replace(b'"step":5,', b'"step":' + step + b","), *rows[5:]], 5, [*rows[:4], *rows[5:]])

    def test_the_last_row_before_undone_steps(self):
        """The row of step 30, which is that of the checkpoint; the rows after it are made again."""
        rows = self.saved.splitlines(keepends=True)
        at = next(i for i, row in enumerate(rows) if row.startswith(b'{"step":30,"split":"validation"'))
        self.checkpoints("run")[-1].unlink()
        self.damaged([*rows[:at], b"x" + rows[at], *rows[at + 1:]], at + 1, [*rows[:at], *rows[at + 1:]])

    def test_a_row_without_its_newline(self):
        for path in self.checkpoints("run")[-1:]:
            path.unlink()
        rows = self.saved.splitlines(keepends=True)
        at = next(i for i, row in enumerate(rows) if row.startswith(b'{"step":31,'))
        self.metrics.write_bytes(b"".join(rows[:at])[:-1])
        self.xgrad("resume", "run")
        self.assertEqual(self.metrics.read_bytes(), self.saved)

    def test_a_second_file_of_bad_lines(self):
        """It gets more lines, and only if it is a file of the run."""
        self.metrics.write_bytes(b"one\n" + self.saved)
        self.xgrad("resume", "run")
        self.metrics.write_bytes(b"two\n" + self.saved)
        self.xgrad("resume", "run")
        aside = self.metrics.with_name("metrics.jsonl.bad")
        self.assertEqual(aside.read_bytes(), b"one\ntwo\n")
        aside.unlink()
        aside.symlink_to("config.toml")
        self.metrics.write_bytes(b"three\n" + self.saved)
        self.assertIn("run/metrics.jsonl.bad: is a symbolic link", self.xgrad("resume", "run", exit_code=6).stderr)
        self.assertEqual(self.metrics.read_bytes(), b"three\n" + self.saved)


if __name__ == "__main__":
    unittest.main()
