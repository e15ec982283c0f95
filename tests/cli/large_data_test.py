"""Data sets of several times the memory that a run may have. The limit on data (RLIMIT_DATA) counts what a process has for itself and can write,
in threads and heaps, and not the mapped copy of a data set, whose pages the system takes back when it needs room."""

import os
import resource

import h5py
import numpy as np

from command import SANITIZED, CommandTest, unittest

MIB = 1 << 20
LIMIT = 96 * MIB
ROWS, TOKENS, FEATURES = 75_000, 64, 16  # 293 MiB of float32
CONFIG = """[task]
name = "files"
train = "{}"
validation = "{}"
test = "{}"
{}

[model]
width = 8
heads = 1
layers = 1

[train]
steps = 4
evaluate_every = 2
batch = 8
bucket = 2
threads = 2
"""
VECTORS = 'input = "x"\ntarget = "y"\ntokens = "numbers"'


class LargeData(CommandTest):
    @classmethod
    def setUpClass(cls):
        """The same vectors in three formats, and characters."""
        cls.rows = np.random.default_rng(1).integers(0, 256, size=(ROWS, TOKENS, FEATURES), dtype=np.uint8)
        cls.labels = cls.rows[:, 0, 0] % 2

    def setUp(self):
        super().setUp()
        self.temporary = self.folder / "temporary"
        self.temporary.mkdir()

    def limited(self, *words, limit=LIMIT, exit_code=0, **options):
        def limit_data():
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        if SANITIZED:  # its shadow of the memory counts as data
            limit_data = None
        return self.xgrad(*words, exit_code=exit_code, preexec_fn=limit_data, env={**os.environ, "TMPDIR": str(self.temporary)}, **options)

    def write_npy(self, folder, rows, order):
        (self.folder / folder).mkdir()
        np.save(self.folder / folder / "x.npy", np.asarray(self.rows[rows], order=order))
        np.save(self.folder / folder / "y.npy", self.labels[rows])
        return folder

    def write_hdf5(self, name, rows):
        with h5py.File(self.folder / name, "w") as file:
            file.create_dataset("x", data=self.rows[rows], chunks=(min(500, len(self.rows[rows])), TOKENS, FEATURES))
            file.create_dataset("y", data=self.labels[rows])
        return name

    def test_vectors_in_arrays(self):
        """Three readers of the same numbers: their runs have the same rows of metrics."""
        some = slice(0, 200)
        tables = {"rows": [self.write_npy("rows", slice(None), "C"), *(self.write_npy(n, some, "C") for n in ("v", "t"))],
                  "columns": [self.write_npy("columns", slice(None), "F"), *(self.write_npy(n, some, "F") for n in ("fv", "ft"))],
                  "hdf5": [self.write_hdf5("x.h5", slice(None)), *(self.write_hdf5(n, some) for n in ("v.h5", "t.h5"))]}
        found = {}
        for name, files in tables.items():
            config = self.write(f"{name}.toml", CONFIG.format(*files, VECTORS))
            self.limited("train", config, f"run.dir=run-{name}", "--quiet")
            found[name] = (self.folder / f"run-{name}" / "metrics.jsonl").read_text()
            self.assertEqual(list(self.temporary.iterdir()), [])
        self.assertEqual(found["columns"], found["rows"])
        self.assertEqual(found["hdf5"], found["rows"])
        self.assertEqual(found["rows"].count("validation"), 2)

        # Less than half of the data fits into this limit; a resume and the commands that score read them again.
        self.limited("resume", "run-rows")
        self.limited("eval", "run-hdf5", "task.test=v.h5")
        self.changed("rows/x.npy", "run-rows")

    def changed(self, name, run):
        """A file that has changed is refused by name."""
        with open(self.folder / name, "r+b") as file:
            file.seek(5000)
            byte = file.read(1)
            file.seek(5000)
            file.write(bytes([byte[0] ^ 1]))
        done = self.limited("resume", run, exit_code=3)
        self.assertIn("has changed since this run began", done.stderr)

    def text(self, name, rows):
        """Rows of 200 letters; each is a token of four bytes."""
        letters = np.random.default_rng(2).integers(ord("a"), ord("a") + 8, size=(rows, 200), dtype=np.uint8)
        path = self.write(name, "text\tlabel\n")
        with open(path, "ab") as file:
            for row in letters:
                file.write(row.tobytes() + (b"\tyes\n" if row[0] % 2 else b"\tno\n"))
        return name

    def test_text(self):
        config = self.write("text.toml", CONFIG.format(self.text("a.tsv", 400_000), self.text("v.tsv", 200), self.text("t.tsv", 200),
                                                       'tokens = "characters"'))  # 305 MiB of ids
        self.limited("train", config, "run.dir=run", "--quiet")
        self.changed("a.tsv", "run")

    def test_a_folder_without_room(self):
        config = self.write("text.toml", CONFIG.format(self.text("a.tsv", 40_000), *2 * [self.text("v.tsv", 200)], 'tokens = "characters"'))
        done = self.xgrad("train", config, exit_code=6, env={**os.environ, "TMPDIR": "/nonexistent"})
        self.assertEqual(done.stderr, "xgrad: /nonexistent: cannot create a temporary file in it: No such file or directory; "
                                      "set TMPDIR to a folder with room for a copy of the data\n")
        self.assertFalse((self.folder / "runs").exists())

    def test_a_copy_that_is_cut_off_ends_the_run_with_a_message(self):
        config = self.write("text.toml", CONFIG.format(self.text("a.tsv", 40_000), *2 * [self.text("v.tsv", 200)],
                                                       'tokens = "characters"\nunknown = 0'))
        process = self.start("train", config, "train.steps=1000000", "run.dir=run")
        self.wait_for_checkpoint(process, "run")
        copies = [path for path in os.listdir(f"/proc/{process.pid}/fd") if "/xgrad-" in self.target(process, path)]
        self.assertGreater(len(copies), 0)
        for copy in copies:
            os.truncate(f"/proc/{process.pid}/fd/{copy}", 0)
        _, said = process.communicate(timeout=60)
        self.assertIn("xgrad: a mapped file can no longer be read", said)
        self.assertEqual(process.returncode, 6)
        self.xgrad("verify", "run")

    def target(self, process, number):
        try:
            return os.readlink(f"/proc/{process.pid}/fd/{number}")
        except OSError:
            return ""


if __name__ == "__main__":
    unittest.main()
