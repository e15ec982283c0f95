"""Ranks on one machine read a data set once, and map the same copy of it; nothing of it stays on the disk, however they end."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from mpi_runs import ENVIRONMENT, XGRAD_MPI, digests, run, words

ROWS = 50_000
CONFIG = """
[task]
name = "files"
train = "{}"
tokens = "characters"
[model]
width = 8
heads = 1
layers = 1
[schedule]
warmup = 2
[train]
steps = 10
batch = 12
shards = 3
evaluate_every = 5
[log]
every = 1
"""


def status(process, file):
    return pathlib.Path(f"/proc/{process}/{file}").read_text()


def copies(process):
    """The files without a name that a process maps, as a set of inodes."""
    return set(re.findall(r" (\d+) +\S*/xgrad-\w+ \(deleted\)", status(process, "maps")))


class Data(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.table = cls.folder / "a.csv"
        with open(cls.table, "w") as file:
            file.write("text,label\n")
            for i in range(ROWS):
                file.write(f"{i * i} is the square of {i} and so on until its end comes,{'yes' if i % 3 else 'no'}\n")
        cls.size = cls.table.stat().st_size
        cls.config = cls.folder / "c.toml"
        cls.config.write_text(CONFIG.format(cls.table))
        cls.temporary = cls.folder / "temporary"
        cls.temporary.mkdir()
        run(0, "train", str(cls.config), f"run.dir={cls.folder / 'whole'}", "--quiet")
        cls.expected = digests(cls.folder / "whole")

    def start(self, name, *more):
        mpirun = subprocess.Popen(words(3, "train", str(self.config), f"run.dir={self.folder / name}", *more), text=True,
                                  env=dict(ENVIRONMENT, TMPDIR=str(self.temporary)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(lambda: (mpirun.poll() is None and mpirun.kill(), mpirun.communicate()))
        while not (self.folder / name / "metrics.jsonl").exists():
            self.assertIsNone(mpirun.poll())
            time.sleep(0.01)
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(mpirun.pid)], text=True, capture_output=True, check=True)
        ranks = [int(pid) for pid in children.stdout.split() if "xgrad" in status(pid, "comm")]
        self.assertEqual(len(ranks), 3)
        rank_of = {int(re.search(r"OMPI_COMM_WORLD_RANK=(\d+)", status(pid, "environ")).group(1)): pid for pid in ranks}
        return mpirun, [rank_of[r] for r in range(3)]

    def files_left(self):
        return [path for path in self.temporary.rglob("*") if "xgrad" in path.name]

    def test_the_files_are_read_once(self):
        mpirun, ranks = self.start("shared", "train.steps=1000000")
        mapped = [copies(pid) for pid in ranks]
        self.assertGreater(len(mapped[0]), 0)
        self.assertEqual(mapped[1], mapped[0])
        self.assertEqual(mapped[2], mapped[0])
        read = [int(re.search(r"rchar: (\d+)", status(pid, "io")).group(1)) for pid in ranks]
        program = os.path.getsize(XGRAD_MPI)  # which each compares with the others'
        self.assertGreater(read[0] - program, 2 * self.size, read)  # to learn the vocabulary, and to encode
        self.assertLess(max(read[1:]) - program, self.size, read)
        self.assertEqual(self.files_left(), [])
        os.kill(ranks[1], signal.SIGKILL)
        mpirun.communicate(timeout=30)
        self.assertEqual(self.files_left(), [])

    def test_the_bits_are_those_of_one_process(self):
        for ranks in (2, 3):
            run(ranks, "train", str(self.config), f"run.dir={self.folder / str(ranks)}", "--quiet")
            self.assertEqual(digests(self.folder / str(ranks)), self.expected)

    def test_a_copy_that_is_cut_off_ends_all(self):
        mpirun, ranks = self.start("cut", "train.steps=1000000")
        while not list((self.folder / "cut/checkpoints").glob("step-*.h5")):
            self.assertIsNone(mpirun.poll())
            time.sleep(0.01)
        for number in os.listdir(f"/proc/{ranks[0]}/fd"):
            path = f"/proc/{ranks[0]}/fd/{number}"
            if "/xgrad-" in os.readlink(path):
                os.truncate(path, 0)
        printed, _ = mpirun.communicate(timeout=30)
        self.assertIn("xgrad: a mapped file can no longer be read", printed)
        self.assertEqual(mpirun.returncode, 6)
        run(0, "verify", str(self.folder / "cut"))

    def test_an_error_of_the_data_is_said_once(self):
        other = self.folder / "other.toml"
        other.write_text(CONFIG.format(self.folder / "bad.csv"))
        (self.folder / "bad.csv").write_text("text,label\na,yes\nb\n")
        printed = run(3, "train", str(other), f"run.dir={self.folder / 'bad'}", code=3)
        self.assertEqual(printed.count("row 2 (line 3): has 1 of the header's 2 fields"), 1, printed)
        self.assertFalse((self.folder / "bad").exists())

    def test_a_file_that_has_changed_is_refused(self):
        table = self.folder / "changing.csv"
        shutil.copy(self.table, table)
        config = self.folder / "changing.toml"
        config.write_text(CONFIG.format(table))
        run(3, "train", str(config), f"run.dir={self.folder / 'changing'}", "--quiet")
        table.write_text(table.read_text().replace("end comes,no", "end comes,yes", 1))
        printed = run(2, "resume", str(self.folder / "changing"), code=3)
        self.assertIn(f"{table}: has changed since this run began", printed)


if __name__ == "__main__":
    unittest.main()
