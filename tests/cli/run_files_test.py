"""What lies in a run directory is what the run wrote there: nothing else is written, and nothing else is taken for it."""

import hashlib
import os
import shutil
import struct

from command import CommandTest, unittest

SHORT = ("train.steps=12", "train.save_every=4", "train.evaluate_every=6", "train.threads=1")
FILES = ("run.lock", "config.toml", "config.sha256", "metrics.jsonl", "timing.jsonl", "log.txt", "report.html", "checkpoints/manifest.sha256")
KINDS = ("a link to a file", "a dangling link", "a link to a directory", "a FIFO", "a directory")


def listing(folder):
    """Every path below a folder with what it is: the target of a link, the bytes of a file, or its kind."""
    found = {}
    for path in sorted(folder.rglob("*")):
        is_file = path.is_file() and not path.is_symlink()
        found[str(path.relative_to(folder))] = (path.lstat().st_mode, path.is_symlink() and os.readlink(path), is_file and path.read_bytes())
    return found


def sealed(image, seal):
    """A checkpoint of this image whose digests hold, by docs/checkpoint-format.md."""
    seal = bytearray(seal)
    seal[32:64] = hashlib.sha256(image).digest()
    seal[-32:] = hashlib.sha256(bytes(seal[:-32])).digest()
    return bytes(image) + bytes(seal)


class RunFiles(CommandTest):
    def setUp(self):
        super().setUp()
        self.victim = self.write("victim", "not xgrad's")
        (self.folder / "elsewhere").mkdir()

    def put(self, path, kind):
        """Puts something that is no regular file in the place of a file of a run."""
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        {
            "a link to a file": lambda: path.symlink_to(self.victim),
            "a dangling link": lambda: path.symlink_to(self.folder / "absent"),
            "a link to a directory": lambda: path.symlink_to(self.folder / "elsewhere"),
            "a FIFO": lambda: os.mkfifo(path),
            "a directory": path.mkdir,
        }[kind]()

    def refused(self, path, *words):
        """The command ends with 6, names the path, and changes nothing anywhere."""
        before = listing(self.folder)
        said = self.xgrad(*words, exit_code=6).stderr
        self.assertRegex(said, rf"^xgrad: {path}: is (a symbolic link, not a regular file|a directory, not a file|not a regular file)\n$")
        self.assertEqual(listing(self.folder), before)

    def test_a_new_run_takes_no_file_that_is_not_its_own(self):
        for name in FILES:
            for kind in KINDS:
                with self.subTest(f"{name} is {kind}"):
                    shutil.rmtree(self.folder / "run", ignore_errors=True)
                    self.put(self.folder / "run" / name, kind)
                    self.refused(f"run/{name}", "train", "small.toml", *SHORT, "run.dir=run")

    def test_a_resumed_run_takes_no_file_that_is_not_its_own(self):
        self.xgrad("train", "small.toml", *SHORT, "run.dir=whole")
        for name in FILES:
            for kind in KINDS:
                with self.subTest(f"{name} is {kind}"):
                    shutil.rmtree(self.folder / "run", ignore_errors=True)
                    run = shutil.copytree(self.folder / "whole", self.folder / "run")
                    self.put(run / name, kind)
                    self.refused(f"run/{name}", "resume", "run")

    def test_checkpoints_that_are_links(self):
        self.xgrad("train", "small.toml", *SHORT, "run.dir=run")
        run = self.folder / "run"
        newest = self.checkpoints("run")[-1]
        newest.rename(self.folder / "moved.h5")
        newest.symlink_to(self.folder / "moved.h5")
        for command in ("resume", "eval"):
            self.refused(f"run/checkpoints/{newest.name}", command, "run")
        (run / "checkpoints").rename(self.folder / "others")
        (run / "checkpoints").symlink_to(self.folder / "others")
        before = listing(self.folder)
        self.assertIn("run/checkpoints: is a symbolic link, not a directory", self.xgrad("resume", "run", exit_code=6).stderr)
        self.assertEqual(listing(self.folder), before)

    def is_left_alone(self, said, *words):
        """The command ends with 6, says so, and changes nothing anywhere."""
        before = listing(self.folder)
        self.assertIn(f"xgrad: run/{said}", self.xgrad(*words, exit_code=6).stderr)
        self.assertEqual(listing(self.folder), before)

    def test_a_lock_of_another_program(self):
        (self.folder / "run").mkdir()
        foreign = ("4711\n", "not xgrad's, and longer than any name of a process" * 20, "process monitor: on", "process 12 on a host",
                   "process 12 on host\n", "process 12 at host", "process  on host")
        for text in foreign:
            with self.subTest(text):
                self.write("run/run.lock", text)
                self.is_left_alone("run.lock: is not the lock file of a run", "train", "small.toml", *SHORT, "run.dir=run")
        self.xgrad("train", "small.toml", *SHORT, "run.dir=other")
        shutil.copy(self.folder / "other/config.toml", self.folder / "run")
        for text in foreign:
            with self.subTest(text):
                self.write("run/run.lock", text)
                self.is_left_alone("run.lock: is not the lock file of a run", "resume", "run")

    def test_a_lock_after_a_power_failure(self):
        """It may come before the first save, even before the config."""
        for text in ("", "proc", "process ", "process 12", "process 12 o", "process 12 on h\0\0", "\0" * 20, "\0" * 10 + "34 on host", "process 12 on host"):
            with self.subTest(text):
                shutil.rmtree(self.folder / "run", ignore_errors=True)
                (self.folder / "run").mkdir()
                for words in (("train", "small.toml", *SHORT, "run.dir=run"), ("resume", "run")):
                    self.write("run/run.lock", text)
                    self.xgrad(*words)
                    self.assertRegex((self.folder / "run/run.lock").read_text(), r"^process \d+ on \S+$")

    def test_hard_links(self):
        """What is written in place would change the file of another name."""
        for name, text in (("run.lock", "process 12 on host"), ("metrics.jsonl", ""), ("timing.jsonl", ""), ("log.txt", ""), ("checkpoints/manifest.sha256", "")):
            with self.subTest(name):
                self.write("victim", text)
                shutil.rmtree(self.folder / "run", ignore_errors=True)
                (self.folder / "run/checkpoints").mkdir(parents=True)
                os.link(self.victim, self.folder / "run" / name)
                self.is_left_alone(f"{name}: is a hard link", "train", "small.toml", *SHORT, "run.dir=run")

    def test_a_manifest_of_another_program(self):
        (self.folder / "run/checkpoints").mkdir(parents=True)
        for name in ("checkpoints/manifest.sha256", "config.sha256"):
            self.write(f"run/{name}", f"{'0' * 64}  config.toml\n")
            before = listing(self.folder)
            said = self.xgrad("train", "small.toml", *SHORT, "run.dir=run", exit_code=6).stderr
            self.assertIn(f"xgrad: run holds {name} but no config.toml", said)
            self.assertEqual(listing(self.folder), before)
            (self.folder / "run" / name).unlink()
        self.xgrad("train", "small.toml", *SHORT, "run.dir=run")
        manifest = self.folder / "run/checkpoints/manifest.sha256"
        ours = manifest.read_text()
        for text in (f"{'0' * 64}  holiday.jpg\n", "mine\n", "mine, without an end", f"{ours}{'0' * 64}  step-1.h5\n", f"{ours}\n", f"{ours}{'x' * 64}"):
            with self.subTest(text):
                manifest.write_text(text)
                self.is_left_alone("checkpoints/manifest.sha256: line ", "resume", "run")
        manifest.write_text(ours + ours[:70])  # a kill in the middle of a line
        self.xgrad("resume", "run")
        self.assertEqual(manifest.read_text(), ours)
        for text in ("", "mine\n", f"{'0' * 64}  holiday.jpg\n", f"{'0' * 64}  config.toml", f"{'0' * 64}  config.toml\nmore\n"):
            with self.subTest(text):
                self.write("run/config.sha256", text)
                self.is_left_alone("config.sha256: is not what xgrad writes", "resume", "run")
        self.write("run/config.sha256", f"{'0' * 64}  config.toml\n")
        self.xgrad("resume", "run")

    def test_files_that_readers_find(self):
        """Neither a report nor a comparison waits for a FIFO."""
        self.xgrad("train", "small.toml", *SHORT, "run.dir=run")
        for name in ("config.toml", "metrics.jsonl", "timing.jsonl", "log.txt"):
            kept = (self.folder / "run" / name).read_bytes()
            self.put(self.folder / "run" / name, "a FIFO")
            for command in ("report", "compare"):
                self.refused(f"run/{name}", command, "run")
            (self.folder / "run" / name).unlink()
            (self.folder / "run" / name).write_bytes(kept)

    def test_a_fault_file_does_not_replace_a_link(self):
        diverges = ("optim.name=sgd", "train.clip=0", "schedule.name=constant", "optim.lr=1e30", "train.threads=1")
        self.xgrad("train", "small.toml", *diverges, "run.dir=first", exit_code=5)
        name, = (path.name for path in (self.folder / "first").glob("fault-*.h5"))
        self.put(self.folder / "second" / name, "a link to a file")
        said = self.xgrad("train", "small.toml", *diverges, "run.dir=second", exit_code=5).stderr
        self.assertIn(f"could not be kept: second/{name}: is a symbolic link", said)
        self.assertEqual(self.victim.read_text(), "not xgrad's")
        self.assertTrue((self.folder / "second" / name).is_symlink())

    def test_a_directory_that_is_moved_away_is_not_written_by_its_old_path(self):
        lasting = ("train.steps=3000", "train.save_every=10", "train.keep=1000", "train.evaluate_every=1000", "log.tensorboard=true")
        process = self.start("train", "small.toml", *lasting, "run.dir=run")
        self.wait_for_checkpoint(process, "run")
        (self.folder / "run").rename(self.folder / "moved")
        (self.folder / "run").mkdir()
        stderr = process.communicate()[1]
        self.assertEqual(process.returncode, 0, stderr)
        self.assertEqual(list((self.folder / "run").iterdir()), [])
        self.assertEqual(self.checkpoints("moved")[-1].name, "step-0000003000.h5")
        self.assertEqual(self.rows("moved")[-1]["split"], "test")
        self.xgrad("verify", *self.checkpoints("moved")[-3:])
        self.xgrad("report", "moved")

    def test_a_moved_run_that_is_stopped_says_where_it_is(self):
        process = self.start("train", "small.toml", "train.steps=1000000", "train.save_every=10", "run.dir=run")
        self.wait_for_checkpoint(process, "run")
        (self.folder / "run").rename(self.folder / "moved")
        process.terminate()
        stderr = process.communicate()[1]
        self.assertIn(f"`xgrad resume {self.folder.resolve()}/moved` continues", stderr)


class Manifest(CommandTest):
    """A checkpoint whose own digests hold, but which is not the one that the run saved."""

    def setUp(self):
        super().setUp()
        self.xgrad("train", "small.toml", *SHORT, "run.dir=run")
        self.newest = self.checkpoints("run")[-1]
        self.saved = self.newest.read_bytes()

    def replace(self, data):
        self.newest.write_bytes(data)
        self.changed = data

    def transposed(self):
        """The checkpoint with a square weight, 16 x 16, transposed."""
        image, seal = bytearray(self.saved[:-512]), self.saved[-512:]
        numbers = self.xgrad("inspect", self.newest).stdout
        digest = next(line.split()[-1] for line in numbers.splitlines() if "(16, 16)" in line and "exp_avg" not in line)
        size = 16 * 16 * 4
        at = next(i for i in range(0, len(image) - size) if hashlib.sha256(image[i:i + size]).hexdigest().startswith(digest))
        weight = struct.unpack_from("<256f", image, at)
        struct.pack_into("<256f", image, at, *(weight[16 * (i % 16) + i // 16] for i in range(256)))
        return sealed(image, seal)

    def refused(self, *words):
        before = listing(self.folder)
        done = self.xgrad(*words, exit_code=4)
        said = f"run/checkpoints/{self.newest.name}: is not the file that the run saved: its SHA-256 is not the one that manifest.sha256 lists"
        self.assertIn(said, done.stderr + done.stdout)
        self.assertIn("put the saved file back", done.stderr + done.stdout)
        after = listing(self.folder)
        for found in (before, after):
            found.pop("run/run.lock")
        self.assertEqual(after, before)

    def check_refusals(self):
        for words in (("eval", "run"), ("inspect", "run"), ("diff", "run", "run"), ("verify", f"run/checkpoints/{self.newest.name}"),
                      ("resume", f"run/checkpoints/{self.newest.name}"), ("export", "run", "--to", "safetensors", "--out", "weights.safetensors")):
            with self.subTest(words):
                self.refused(*words)

    def test_a_transposed_weight(self):
        self.replace(self.transposed())
        self.check_refusals()

    def test_moments_of_another_seed(self):
        self.xgrad("train", "small.toml", *SHORT, "train.seed=2", "run.dir=other")
        self.replace(self.checkpoints("other")[-1].read_bytes())
        self.check_refusals()

    def test_a_run_continues_from_an_earlier_one(self):
        self.replace(self.transposed())
        kept = self.newest.with_name(self.newest.name + ".damaged")
        said = self.xgrad("resume", "run").stderr
        self.assertIn(f"run/checkpoints/{self.newest.name} is not the file that the run saved; renamed to run/checkpoints/{kept.name}\n", said)
        self.assertEqual(self.newest.read_bytes(), self.saved)
        self.assertEqual(kept.read_bytes(), self.changed)

    def test_a_run_has_no_earlier_one(self):
        self.replace(self.transposed())
        for older in self.checkpoints("run")[:-1]:
            older.unlink()
        self.refused("resume", "run")

    def test_a_line_without_its_file(self):
        """As a kill between the two leaves it; it is no sign of a loss when the run then starts again, and is killed at another step."""
        manifest = self.newest.with_name("manifest.sha256")
        lines = manifest.read_text()
        for path in self.checkpoints("run"):
            path.unlink()
        manifest.write_text(f"{'0' * 64}  ../gradcheck.json\n{'0' * 64}  step-0000000003.h5\n")
        self.assertIn("starts again from step 0", self.xgrad("resume", "run").stderr)
        self.assertEqual(manifest.read_text(), f"{'0' * 64}  ../gradcheck.json\n{lines}")

    def test_what_the_message_says_to_do(self):
        self.replace(self.transposed())
        self.newest.rename(self.folder / "apart.h5")
        self.xgrad("resume", "run")
        self.assertEqual(self.newest.read_bytes(), self.saved)
        self.replace(self.changed)
        manifest = self.newest.with_name("manifest.sha256")
        manifest.write_text("".join(line for line in manifest.read_text().splitlines(keepends=True) if self.newest.name not in line))
        self.xgrad("verify", self.newest)
        self.xgrad("resume", "run")
        self.xgrad("eval", "run")

    def test_a_run_without_a_manifest(self):
        """Earlier versions wrote none."""
        self.newest.with_name("manifest.sha256").unlink()
        self.replace(self.transposed())
        self.xgrad("eval", "run")
        self.xgrad("resume", "run")

    def test_weights_to_start_from(self):
        self.replace(self.transposed())
        self.refused("train", "small.toml", *SHORT, f"model.init_from=run/checkpoints/{self.newest.name}", "run.dir=other")
        self.newest.write_bytes(self.saved)
        self.xgrad("train", "small.toml", *SHORT, f"model.init_from=run/checkpoints/{self.newest.name}", "run.dir=other")

    def test_an_older_checkpoint_may_be_wrong(self):
        """Only what is read is looked at."""
        self.checkpoints("run")[0].write_bytes(self.transposed())
        self.xgrad("resume", "run")


if __name__ == "__main__":
    unittest.main()
