"""Files of gigabytes: what is no file of its kind is refused before it is read, and text becomes token ids while it is read. Holes
make a large file of a few bytes; the peak of memory is what the system measured."""

import os
import pty
import random
import struct
import zipfile

from command import XGRAD, CommandTest, subprocess, unittest

LARGE = 5 << 30
MIB = 1 << 20
FILES = """[task]
name = "files"
train = "{}"

[model]
width = 16
heads = 1
layers = 1

[train]
steps = 2
"""


class LargeFiles(CommandTest):
    def peak(self, *words, exit_code=0):
        """Runs xgrad; its standard error, and the most memory that it held, in bytes."""
        with open(self.folder / "said", "w+") as said:
            process = subprocess.Popen([XGRAD, *map(str, words)], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=said)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            text = said.read()
        self.assertEqual(process.returncode, exit_code, text)
        return text, used.ru_maxrss * 1024

    def large(self, name, start=b"", end=b""):
        path = self.write(name, start)
        with open(path, "r+b") as file:
            file.truncate(LARGE - len(end))
            file.seek(0, os.SEEK_END)
            file.write(end)
        return path

    def refuses(self, message, *words, exit_code):
        said, peak = self.peak(*words, exit_code=exit_code)
        self.assertIn(message, said)
        self.assertLess(peak, 200 * MIB, words)

    def test_configs(self):
        self.large("a.toml")
        self.refuses(f"a.toml: has {LARGE} bytes, must have at most {MIB}", "train", "a.toml", exit_code=2)
        self.refuses("a.toml: has ", "summary", "a.toml", exit_code=2)

    def test_weights(self):
        header = b'{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}'
        self.large("zero.safetensors")
        self.large("more.safetensors", struct.pack("<Q", len(header)) + header)
        self.large("long.safetensors", struct.pack("<Q", LARGE - 8) + b"{")
        self.large("zero.npz")
        self.large("start.npz", b"PK\3\4")
        self.large("zero.h5")
        self.large("start.h5", b"\x89HDF\r\n\x1a\n")
        for file, form, message in (
            ("zero.safetensors", "safetensors", "is no safetensors file: there is no header at byte 8"),
            ("more.safetensors", "safetensors", f"{LARGE - 8 - len(header) - 16} bytes after the last tensor"),
            ("long.safetensors", "safetensors", "bytes; the limit is 100000000"),
            ("zero.npz", "npz", "is no zip archive: it does not begin as one"),
            ("start.npz", "npz", "is no zip archive: it does not end as one"),
            ("zero.h5", "hdf5", "is not an HDF5 file, or damaged"),
        ):
            self.refuses(message, "import", file, "--from", form, "--config",
                         "small.toml", "--out", "out.h5", exit_code=4)
            if form != "hdf5":
                self.refuses(file, "train", "small.toml", f"model.init_from={file}", exit_code=4)
        self.refuses("not written by xgrad", "train", "small.toml", "model.init_from=start.h5", exit_code=4)
        self.refuses("not written by xgrad", "predict", "start.h5", exit_code=4)

    def test_the_end_of_an_archive_may_have_a_comment(self):
        self.xgrad("train", "small.toml", "run.dir=run", "-q")
        self.xgrad("export", "run", "--to", "npz", "--out", "w.npz", "--raw")
        with zipfile.ZipFile(self.folder / "w.npz", "a") as archive:
            archive.comment = b"PK\5\6" * 16000
        self.xgrad("import", "w.npz", "--from", "npz", "--config", "small.toml", "--out", "out.h5")

    def test_tables(self):
        for name, message in (("a.csv", "header, column 1: has more than 1048576 bytes, the most of a field"),
                              ("a.tsv", "header, column 1: has more than 1048576 bytes, the most of a field"),
                              ("a.jsonl", "row 1 (line 1): has more than 16777216 bytes, the most of a line"),
                              ("a.h5", "is not an HDF5 file, or damaged"),
                              ("a.npy", "is not a npy file")):
            self.large(name)
            self.write("a.toml", FILES.format(name))
            self.refuses(f"{name}: {message}", "train", "a.toml", "task.labels=masked", exit_code=3)

    def rows(self, name, count):
        """Rows of 100 words of four letters each; returns their bytes."""
        draw = random.Random(1)
        words = ["".join(draw.choices("abcdefghij", k=4)) for _ in range(5000)]
        path = self.write(name, "text\tlabel\n")
        with open(path, "a") as file:  # a process that is started counts our own memory as its
            for i in range(count):
                file.write(" ".join(draw.choices(words, k=100)) + f"\tc{i % 3}\n")
        self.write("a.toml", FILES.format(name))
        return path.stat().st_size

    def test_text_does_not_stay_in_memory(self):
        found = []
        for count in (20_000, 100_000):
            size = self.rows("a.tsv", count)
            said, peak = self.peak("summary", "a.toml")
            self.assertEqual(said, "", "no progress line without a terminal")
            found.append((size, peak))
        (small, least), (large, most) = found
        self.assertLess(most - least, 0.95 * (large - small))  # four bytes for each token, whose text takes five

    def test_a_terminal_sees_how_far_it_is(self):
        self.rows("a.tsv", 40_000)
        ours, theirs = pty.openpty()
        process = subprocess.Popen([XGRAD, "train", "a.toml"], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 65536):
                shown += part
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        self.assertEqual(process.wait(), 0)
        self.assertRegex(shown.decode(), "reading a.tsv: [0-9]+ of 19 MiB")
        self.assertLess(shown.rindex(b"reading a.tsv"), shown.index(b"parameters"), "and it goes when all is read")


if __name__ == "__main__":
    unittest.main()
