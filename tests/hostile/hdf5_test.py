"""Hostile HDF5 with digests that hold, as a checkpoint, as weights and as data: refused by name, within 256 MiB, and
no other file is opened: hdf5_test.py XGRAD."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy
from hdf5_files import HOSTILE, NO_MEMORY, sealed

CONFIG = """
[task]
name = "reverse"
length = 6
[model]
width = 16
heads = 2
layers = 1
[train]
steps = 2
batch = 8
"""
DATA = """
[task]
name = "files"
train = "data.h5"
input = "x"
target = "y"
tokens = "numbers"
[model]
width = 16
heads = 1
layers = 1
[train]
steps = 2
batch = 8
"""
# Runs a command from a small process, since the memory of who forks counts as the child's.
MEASURE = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, used.ru_maxrss / 1024)
"""
READERS = {  # the command, its exit code when it refuses
    "checkpoint": (["inspect", "checkpoint.h5"], 4),
    "weights": (["import", "weights.h5", "--from", "hdf5", "--config", "small.toml", "--out", "out.h5"], 4),
    "data": (["train", "data.toml", "--dry-run"], 3),
}


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        (cls.folder / "small.toml").write_text(CONFIG)
        (cls.folder / "data.toml").write_text(DATA)
        (cls.folder / "plugins").mkdir()
        run = subprocess.run([XGRAD, "train", "small.toml", "run.dir=run", "--quiet"], cwd=cls.folder, capture_output=True)
        assert run.returncode == 0, run.stderr
        checkpoint = max((cls.folder / "run/checkpoints").glob("*.h5")).read_bytes()
        (cls.folder / "good-checkpoint.h5").write_bytes(checkpoint[:-512])
        shutil.copy(cls.folder / "good-checkpoint.h5", cls.folder / "good-weights.h5")
        with h5py.File(cls.folder / "good-data.h5", "w") as file:
            file["x"] = numpy.random.default_rng(1).normal(size=(200, 4)).astype("f4")
            file["y"] = numpy.arange(200) % 3

    def read(self, reader, edit):
        """Makes a file, gives it to the reader, and returns (exit code, message, MiB, opened files)."""
        path = self.folder / f"{reader}.h5"
        shutil.copy(self.folder / f"good-{path.name}", path)
        with h5py.File(path, "r+") as file:
            edit(file, "x" if reader == "data" else "head/weight")
        if reader == "checkpoint":
            path.write_bytes(sealed(path.read_bytes(), step=2))
        (self.folder / "out.h5").unlink(missing_ok=True)
        words = [XGRAD, *READERS[reader][0]]
        plugins = {"HDF5_PLUGIN_PATH": str(self.folder / "plugins")}
        traced = subprocess.run(["strace", "-f", "-o", "trace", "-e", "trace=%file", *words], cwd=self.folder,
                                env=os.environ | plugins, capture_output=True)
        (self.folder / "out.h5").unlink(missing_ok=True)
        measured = subprocess.run([sys.executable, "-S", "-c", MEASURE, *words], cwd=self.folder, env=os.environ | plugins,
                                  capture_output=True, text=True, check=True, timeout=60)
        code, mebibytes = measured.stdout.split()
        self.assertEqual(int(code), traced.returncode)
        return int(code), measured.stderr, float(mebibytes), self.touched()

    def touched(self):
        """Paths in the calls that take one, without numbers of processes and random names."""
        text = (self.folder / "trace").read_text()
        paths = re.findall(r'\w+\((?:AT_FDCWD, )?"([^"]+)"', text)
        return {re.sub(r"\.[0-9]+\.[0-9a-f]{16}\.tmp|/proc/\d+|-[A-Za-z0-9]{6}\b", "#", path) for path in paths}

    def check(self, reader, place):
        _, _, _, known = self.read(reader, lambda file, path: None)
        for edit, reasons in HOSTILE.items():
            with self.subTest(edit.__name__):
                code, message, mebibytes, touched = self.read(reader, edit)
                self.assertEqual(code, READERS[reader][1] if reasons[place] else 0, message)
                if not (SANITIZED and reasons[place] == NO_MEMORY):
                    self.assertIn(reasons[place] or "", message)
                if reasons[place]:
                    self.assertIn(f"{reader}.h5", message)
                    self.assertFalse((self.folder / "out.h5").exists())
                self.assertLess(mebibytes, 2048 if SANITIZED else 256)
                self.assertEqual(touched - known, set())

    def test_good_files_are_read(self):
        for reader in READERS:
            self.assertEqual(self.read(reader, lambda file, path: None)[0], 0, reader)

    def test_as_a_checkpoint(self):
        self.check("checkpoint", 0)

    def test_as_weights(self):
        self.check("weights", 1)

    def test_as_data(self):
        self.check("data", 2)


if __name__ == "__main__":
    XGRAD = str(pathlib.Path(sys.argv.pop()).resolve())
    # AddressSanitizer takes memory and time of its own, and ends the process that reads where there is no more memory.
    SANITIZED = b"__asan_init" in pathlib.Path(XGRAD).read_bytes()
    unittest.main()
