"""The program of docs/serving.md answers as `xgrad predict` does: serving_test.py XGRAD PROGRAM."""

import subprocess
import sys
import tempfile
import unittest

PROGRAM, XGRAD = sys.argv.pop(), sys.argv.pop()
CONFIG = '[task]\nname = "reverse"\nlength = 6\nmin_length = 2\nsymbols = 9\nexamples = 500\nvalidation = 50\ntest = 50\n' \
         '[model]\nwidth = 16\nheads = 2\nlayers = 1\n[train]\nsteps = 30\n'
LINES = "1 2 3\n4 5 6 7\n8 0 8 0 8 0\n"


def call(*words, **options):
    return subprocess.run(words, text=True, stdout=subprocess.PIPE, check=True, **options).stdout


class Serving(unittest.TestCase):
    def test_answers_as_the_command(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/small.toml", "w") as file:
                file.write(CONFIG)
            call(XGRAD, "train", "small.toml", "run.dir=run", "-q", cwd=folder)
            rows = [line.split("\t") for line in
                    call(XGRAD, "predict", "run", "--format", "tsv", cwd=folder, input=LINES).splitlines()]
            expected = [f"{label} {float(p):.3f}" for labels, ps in rows for label, p in zip(labels.split(), ps.split())]
            self.assertEqual(len(expected), 13)
            found = call(PROGRAM, "run", cwd=folder, input=LINES).splitlines()
            for given, wanted in zip(found, expected, strict=True):  # text of six digits may round to the next of three
                self.assertEqual(given.split()[0], wanted.split()[0])
                self.assertAlmostEqual(float(given.split()[1]), float(wanted.split()[1]), delta=1.1e-3)

    def test_holds_no_trainer(self):
        names = call("nm", "--demangle", PROGRAM)
        self.assertTrue("xgrad::Predictor::" in names)
        for part in ("xgrad::Trainer<", "xgrad::Loader", "xgrad::RunDirectory", "xgrad::report_html", "onnx::"):
            self.assertFalse(part in names, part)

    def test_is_short(self):
        with open(f"{PROGRAM.rsplit('/', 1)[0]}/serving.cpp") as file:
            self.assertLessEqual(sum(bool(line.strip()) for line in file), 15)


if __name__ == "__main__":
    unittest.main()
