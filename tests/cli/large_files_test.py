"""Files of gigabytes: what is no file of its kind is refused before it is read, and text becomes token ids while it is read. Holes
make a large file of a few bytes; the peak of memory is what the system measured."""

import contextlib
import hashlib
import json
import os
import pty
import random
import re
import struct
import zipfile

from command import XGRAD, CommandTest, signal, subprocess, unittest

LARGE = 5 << 30
MOST = 4 << 30
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
SIGNATURE = b"\x89HDF\r\n\x1a\n"


def superblock(end):
    """The first bytes of an HDF5 file that says it has `end` bytes."""
    return SIGNATURE + bytes((0, 0, 0, 0, 0, 8, 8, 0, 4, 0, 16, 0, 0, 0, 0, 0)) + struct.pack("<4Q", 0, 2**64 - 1, end, 2**64 - 1)


def zip_end(members, size, offset):
    """The records at the end of an archive whose directory has this size and place, for archives above 4 GiB."""
    return (struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, members, members, size, offset) +
            struct.pack("<4sIQI", b"PK\6\7", 0, offset + size, 1) +
            struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, members, members, size, 2**32 - 1, 0))


ZIP_END = len(zip_end(0, 0, 0))


def npy(shape):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode()


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

    def large(self, name, start=b"", end=b"", size=LARGE):
        path = self.write(name, start)
        with open(path, "r+b") as file:
            file.truncate(size - len(end))
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

    def test_files_of_a_run(self):
        """Each with a large file in its place that has no line, and then one with lines and a hole behind."""
        self.xgrad("train", "small.toml", "train.steps=20", "run.dir=run")
        files = {"config.toml": f"has {LARGE} bytes, must have at most {MIB}", "config.sha256": f"has {LARGE} bytes, must have at most {MIB}",
                 "checkpoints/manifest.sha256": f"line 1 has more than {MIB} bytes", "metrics.jsonl": f"line 1 has more than {MIB} bytes",
                 "timing.jsonl": f"line 1 has more than {MIB} bytes", "log.txt": f"its last line has more than {MIB} bytes"}
        for name, message in files.items():
            path = self.folder / "run" / name
            kept = path.read_bytes() if path.exists() else None
            for start in (b"", kept or b""):
                self.large(f"run/{name}", start)
                said = message.replace("line 1", f"line {start.count(bytes([10])) + 1}")
                self.refuses(f"xgrad: run/{name}: {said}", "resume", "run", exit_code=6)
                if name in ("config.toml", "metrics.jsonl", "timing.jsonl", "log.txt"):
                    for command in ("report", "compare"):
                        self.refuses(f"xgrad: run/{name}: {said.replace('its last line', f'line {start.count(bytes([10])) + 1}')}", command, "run", exit_code=6)
            path.unlink() if kept is None else path.write_bytes(kept)
        self.xgrad("resume", "run")

    def test_a_checkpoint_with_a_whole_seal(self):
        """The seal is of a file of this size, but of other bytes: they are read in blocks, and none is kept."""
        self.xgrad("train", "small.toml", "train.steps=20", "run.dir=run")
        newest = self.checkpoints("run")[-1]
        image, seal = newest.read_bytes()[:-512], bytearray(newest.read_bytes()[-512:])
        seal[16:24] = struct.pack("<Q", LARGE - 512)
        seal[-32:] = hashlib.sha256(seal[:-32]).digest()
        self.large(f"run/checkpoints/{newest.name}", image, bytes(seal))
        self.refuses("damaged: the payload's SHA-256 is not the one in the seal", "eval", newest, exit_code=4)

    def test_weights(self):
        """The largest files that are read at all."""
        header = b'{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}'
        self.large("zero.safetensors", size=MOST)
        self.large("more.safetensors", struct.pack("<Q", len(header)) + header, size=MOST)
        self.large("long.safetensors", struct.pack("<Q", MOST - 8) + b"{", size=MOST)
        self.large("zero.npz", size=MOST)
        self.large("start.npz", b"PK\3\4", size=MOST)
        self.large("zero.h5", size=MOST)
        self.large("start.h5", SIGNATURE, size=MOST)
        self.large("beyond.h5", superblock(MOST + 1), size=MOST)
        self.large("end.npz", b"PK\3\4", zip_end(0, 0, 0), size=MOST)
        self.large("gap.npz", b"PK\3\4", zip_end(0, 0, MOST - ZIP_END), size=MOST)
        self.large("cut.npz", b"PK\3\4", zip_end(1, 46, MOST - 46 - ZIP_END), size=MOST)
        for file, form, message in (
            ("zero.safetensors", "safetensors", "is not a safetensors file: there is no header at byte 8"),
            ("more.safetensors", "safetensors", f"{MOST - 8 - len(header) - 16} unused bytes after the last tensor"),
            ("long.safetensors", "safetensors", "bytes; the limit is 100000000"),
            ("zero.npz", "npz", "is not a zip archive: it does not begin with PK"),
            ("start.npz", "npz", "start.npz: is not a zip archive"),
            ("end.npz", "npz", "end.npz: is not a zip archive"),
            ("gap.npz", "npz", "gap.npz does not fit the model:\n  missing parameter"),
            ("cut.npz", "npz", "cut.npz: is not a zip archive"),
            ("zero.h5", "hdf5", "is not an HDF5 file, or is damaged"),
            ("start.h5", "hdf5", "is not an HDF5 file, or is damaged"),
            ("beyond.h5", "hdf5", f"ends early: its superblock says that it has {MOST + 1} bytes, it has {MOST}"),
        ):
            self.refuses(message, "import", file, "--from", form, "--config",
                         "small.toml", "--out", "out.h5", exit_code=4)
            if form != "hdf5":
                self.refuses(file, "train", "small.toml", f"model.init_from={file}", exit_code=4)
        self.refuses("not written by xgrad", "train", "small.toml", "model.init_from=start.h5", exit_code=4)
        self.refuses("not written by xgrad", "predict", "start.h5", exit_code=4)

    def test_sound_weights_above_the_limit(self):
        """A file that is as large as it says, all zeros: nothing but its size is wrong."""
        header = json.dumps({"a": {"dtype": "F32", "shape": [1 << 30], "data_offsets": [0, MOST]}}).encode()
        self.large("a.safetensors", struct.pack("<Q", len(header)) + header, size=8 + len(header) + MOST)
        self.large("a.h5", superblock(LARGE))
        entry = struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, 0, 0, 33, 0, 2**32 - 1, 2**32 - 1, 5, 0, 0, 0, 0, 0, 0) + b"a.npy"
        start = 30 + 5 + 2**32 - 1
        self.large("a.npz", b"PK\3\4", entry + zip_end(1, len(entry), start), size=start + len(entry) + ZIP_END)
        for file, form in (("a.safetensors", "safetensors"), ("a.npz", "npz"), ("a.h5", "hdf5")):
            self.refuses(f"bytes, must have at most {MOST}", "import", file, "--from", form, "--config", "small.toml",
                         "--out", "out.h5", exit_code=4)

    def test_what_follows_an_hdf5_file_is_not_read(self):
        self.xgrad("train", "small.toml", "run.dir=run", "-q")
        checkpoint = max((self.folder / "run/checkpoints").glob("*.h5"))
        with open(checkpoint, "r+b") as file:
            file.truncate(LARGE)
        said, peak = self.peak("import", checkpoint, "--from", "hdf5", "--config", "small.toml", "--out", "out.h5")
        self.assertLess(peak, 200 * MIB)

    def test_the_end_of_an_archive_may_have_a_comment(self):
        self.xgrad("train", "small.toml", "run.dir=run", "-q")
        self.xgrad("export", "run", "--to", "npz", "--out", "w.npz", "--raw")
        with zipfile.ZipFile(self.folder / "w.npz", "a") as archive:
            archive.comment = b"PK\5\6" * 16000
        self.xgrad("import", "w.npz", "--from", "npz", "--config", "small.toml", "--out", "out.h5")

    def test_tables(self):
        for name, message in (("a.csv", "header, column 1: has more than 1048576 bytes, the limit of a field"),
                              ("a.tsv", "header, column 1: has more than 1048576 bytes, the limit of a field"),
                              ("a.jsonl", "row 1 (line 1): has more than 16777216 bytes, the limit of a line"),
                              ("a.h5", "is not an HDF5 file, or is damaged"),
                              ("a.npy", "is not a npy file")):
            self.refuses_table(name, message, b"")
        for message, start in (("is not an HDF5 file, or is damaged", SIGNATURE),
                               (f"ends early: its superblock says that it has {2 * LARGE} bytes, it has {LARGE}", superblock(2 * LARGE)),
                               ('dataset "text": does not exist', superblock(LARGE))):
            self.refuses_table("a.h5", message, start)
        self.refuses_table("a.npy", f"has {LARGE - 128} bytes of values; its shape needs 8 values of 4 bytes", npy("(8,)"))

    def refuses_table(self, name, message, start):
        self.large(name, start)
        self.write("a.toml", FILES.format(name))
        self.refuses(f"{name}: {message}", "train", "a.toml", "task.labels=masked", exit_code=3)

    def table(self, name, count):
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
            size = self.table("a.tsv", count)
            said, peak = self.peak("summary", "a.toml")
            self.assertEqual(said, "", "no progress line without a terminal")
            found.append((size, peak))
        (small, least), (large, most) = found
        self.assertLess(most - least, 0.95 * (large - small))  # four bytes for each token, whose text takes five

    def rest(self, terminal):
        """What a terminal is sent until its other end is closed."""
        shown = b""
        with contextlib.suppress(OSError):  # it is closed
            while part := os.read(terminal, 65536):
                shown += part
        os.close(terminal)
        return shown

    def test_a_terminal_sees_how_far_it_is(self):
        self.table("a.tsv", 40_000)
        shown = self.shown("train", "a.toml", "run.dir=run")
        self.assertRegex(shown, "reading a.tsv: [0-9]+ of 19 MiB")
        self.assertLess(shown.rindex("reading a.tsv"), shown.index("parameters"), "and it goes when all is read")
        counted = [int(done.replace(",", "")) for done in re.findall("naive Bayes of 1- to 2-grams: ([0-9,]+) of [0-9,]+ rows", shown)]
        self.assertGreater(len(counted), 1)
        self.assertEqual(counted, sorted(counted), "it is counted once")
        shown = self.shown("eval", "run")
        self.assertRegex(shown, "reading a.tsv: [0-9]+ of 19 MiB")
        self.assertRegex(shown, "evaluating: [0-9,]+ of [0-9,]+ examples")
        self.assertTrue(shown.endswith("\r\033[K"), "the line goes at the end")

    def shown(self, *words):
        """What a command that works writes to a terminal that is its standard error."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen([XGRAD, *words], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        shown = self.rest(ours)
        self.assertEqual(process.wait(), 0)
        return shown.decode()

    def test_a_signal_while_naive_bayes_counts(self):
        """What the model reaches is on disk by then. A resumed run measures both."""
        self.table("a.tsv", 40_000)
        finals = []
        for how, words in ((signal.SIGINT, ("train", "a.toml", "run.dir=run")), (signal.SIGTERM, ("resume", "run"))):
            ours, theirs = pty.openpty()
            process = subprocess.Popen([XGRAD, *words], cwd=self.folder, stdout=subprocess.PIPE, stderr=theirs)
            os.close(theirs)
            shown = b""
            while b"naive Bayes" not in shown:
                shown += os.read(ours, 65536)
            process.send_signal(how)
            self.assertEqual(process.communicate()[0], b"")
            self.assertEqual(process.returncode, 128 + how)
            self.assertRegex(self.rest(ours).decode(), "stopped and saved at step 2; `xgrad resume run` continues")
            self.assertEqual(self.rows("run")[-1]["split"], "test")
            finals.append(self.final("run"))
        self.assertRegex(self.xgrad("resume", "run").stdout, "\nrule +naive Bayes of 1- to 2-grams: accuracy 0")
        self.assertEqual(finals, 2 * [self.final("run")])

    def test_naive_bayes_takes_bounded_memory(self):
        self.table("a.tsv", 60_000)
        _, alone = self.peak("summary", "a.toml")
        _, peak = self.peak("train", "a.toml", "run.dir=run")
        self.assertLess(peak - alone, 310 * MIB)
        self.assertRegex(self.report("run"), "naive Bayes of 1- to 2-grams, counted in [0-9]+ of [0-9]+ rows")

    def test_separators_alone(self):
        """A field takes 32 bytes, its separator one."""
        commas = b"," * (20 * MIB)
        for start, message in ((b"", "header (line 1): has more than 65536 columns"),
                               (b"text,label\n", "row 1 (line 2): has more than the 2 fields of the header")):
            self.write("a.csv", start + commas + b"\n")
            self.write("a.toml", FILES.format("a.csv"))
            self.refuses(f"a.csv: {message}", "summary", "a.toml", exit_code=3)


if __name__ == "__main__":
    unittest.main()
