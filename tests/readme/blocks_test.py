"""Every block of code in README.md, examples/README.md and docs/ is compiled or run: blocks_test.py XGRAD.

Shell blocks are run here as they stand, page by page, with configs that are small but have the names of the real ones. ELSEWHERE names the
tests that run the others; a block that is in neither fails.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
XGRAD = pathlib.Path(sys.argv.pop())

# Blocks that other tests run: the page, the language ("" for any), what the block holds, and the test.
ELSEWHERE = [
    ("README.md", "cpp", "#include", "tests/readme/CMakeLists.txt"),
    ("README.md", "python", "", "tests/python/docs_test.py"),
    ("README.md", "cmake", "FetchContent", "tests/embed/install_test.py"),
    ("docs/install.md", "cpp", "#include", "tests/readme/CMakeLists.txt"),
    ("docs/install.md", "cmake", "FetchContent", "tests/embed/install_test.py"),
    ("docs/install.md", "sh", "sha256sum", "tests/embed/release_test.py"),
    ("docs/pytorch.md", "python", "", "tests/python/docs_test.py"),
    ("docs/pytorch.md", "cpp", "#include", "tests/readme/CMakeLists.txt"),
    ("examples/README.md", "sh", "cmake -S", "tests/embed/install_test.py"),
    ("docs/extending.md", "cpp", "#include", "tests/readme/CMakeLists.txt"),
    ("docs/extending.md", "cmake", "xgrad::cli", "tests/embed/install_test.py"),
    ("docs/ops.md", "cpp", "#include", "tests/readme/CMakeLists.txt"),
    ("docs/same-bits.md", "cpp", "#include", "tests/readme/CMakeLists.txt"),
    ("docs/same-bits.md", "python", "", "tests/python/docs_test.py"),
    ("docs/serving.md", "cpp", "#include", "tests/readme/CMakeLists.txt"),
    ("docs/looking-inside.md", "sh", "first_unscaled", "tests/readme/lengths_test.py"),
    ("docs/many-machines.md", "", "./run mpi", "tests/house/launcher_test.py"),
    ("docs/many-machines.md", "", "mpirun", "tests/mpi/same_bits_test.py"),
    ("docs/clusters.md", "", "#SBATCH", "tests/mpi/job_script_test.py"),
    ("docs/clusters.md", "", "From: debian:13", "tests/mpi/job_script_test.py"),
    ("docs/serving.md", "sh", "pkg-config", "tests/embed/package_test.py"),
    ("docs/python.md", "python", "", "tests/python/docs_test.py"),
    ("docs/japanese-vowels.md", "", "", "tests/python/vowels_test.py"),
    ("docs/tutorial.md", "python", "", "tests/python/docs_test.py"),
    ("docs/one-head.md", "python", "", "tests/python/docs_test.py"),
    ("docs/tutorial.md", "cpp", "#include", "tests/readme/CMakeLists.txt"),
    ("docs/python.md", "sh", "pip install", "tests/embed/wheel_test.py"),
    ("docs/your-data.md", "", "", "tests/cli/files_test.py"),  # all of the page but these
    ("docs/data-reference.md", "", "", "tests/cli/files_test.py"),
    ("docs/your-data.md", "python", "onnxruntime", "tests/readme/onnxruntime_test.py"),
    ("docs/your-data.md", "", "cmake", "tests/embed/install_test.py"),
    ("docs/your-data.md", "cpp", "#include", "tests/embed/install_test.py"),
    ("docs/checkpoint-format.md", "python", "h5py", "tests/torch/checkpoint_test.py"),
    ("docs/export.md", "python", "_safetensors(path", "tests/torch/export_test.py"),
    ("docs/export.md", "python", "def generate", "tests/clients/onnx_test.py"),
    ("docs/export.md", "sh", "--naming", "tests/clients/naming_test.py"),
    ("docs/export.md", "python", "load_state_dict", "tests/torch/export_test.py"),
    ("docs/export.md", "python", '"reverse.onnx"', "tests/readme/onnxruntime_test.py"),
    ("docs/export.md", "", "numpy.check.py", "tests/clients/npz_test.py"),
    ("docs/export.md", "sh", "xgrad import", "tests/torch/import_test.py"),
]
# Commands of those who work on the tree itself: building it, its tests and its measurements.
OF_THE_TREE = re.compile(r"^(cmake --preset|(build/release/)?(tests|bench)/|./run install|(\w+=\S+ )*(python3|build/venv/bin/python) tests/)")
QUOTED = re.compile(r"// \S+\.([ch]pp|js)\n")  # held to the tree by tests/house/rules.py

SMALL = """
[task]
name = "{}"
length = 16
examples = 1000
validation = 200
test = 200
[model]
width = 8
heads = 1
layers = 1
[schedule]
warmup = 5
[train]
steps = 800
batch = 8
threads = 1
[expect]
accuracy = 0.01
"""
WRITES = SMALL.replace("length = 16\n", "").replace("[model]\n", '[model]\nkind = "encoder_decoder"\n')
CONTINUES = """
[task]
name = "files"
train = "verses.txt"
format = "lines"
tokens = "characters"
labels = "next"
[model]
width = 8
heads = 1
layers = 1
mask = "causal"
[train]
steps = 20
"""
CONFIGS = {"reverse": SMALL.format("reverse"), "sort": SMALL.format("sort"), "fashion_mnist": SMALL.format("copy"),
           "modular_addition": SMALL.format("copy"),
           "papers/modular_addition_softmax_collapse": SMALL.format("copy"), "papers/linear_regression_garg": SMALL.format("copy"),
           "papers/modular_addition_nanda": SMALL.format("copy").replace("length = 16\n", "length = 16\nsymbols = 113\n"),
           "papers/majority_lengths": SMALL.format("majority").replace("steps = 800", "steps = 20"),
           "translation": WRITES.format("translation"), "notes": CONTINUES}


class Block(NamedTuple):
    page: str
    language: str
    text: str


def blocks():
    for path in [ROOT / "README.md", ROOT / "examples/README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for match in re.finditer(r"(?ms)^```(\w*)\n(.*?)^```$", path.read_text()):
            yield Block(str(path.relative_to(ROOT)), *match.groups())


def elsewhere(block):
    return [test for page, language, holds, test in ELSEWHERE
            if page == block.page and language in ("", block.language) and holds in block.text]


def is_output(block):
    """A drawing, or what a command prints."""
    return block.language in ("", "mermaid") and "$ " not in block.text


class Blocks(unittest.TestCase):
    def test_every_block_is_run_by_something(self):
        found = list(blocks())
        self.assertGreater(len(found), 40)
        for block in found:
            with self.subTest(block.page, text=block.text[:80]):
                handled = (is_output(block) or block.language == "sh" or elsewhere(block)
                           or (block.language in ("cpp", "js") and QUOTED.match(block.text)))
                self.assertTrue(handled)

    def test_every_command_is_listed(self):
        """docs/commands.md has a row for each command of `xgrad --help`, and no other, in the same order."""
        told = subprocess.run([XGRAD, "--help"], text=True, capture_output=True, check=True).stdout
        listed = re.findall(r"(?m)^  ([a-z][\w-]*)  ", told)
        table = re.search(r"(?m)^\| command \|.*\n.*\n((?:\|.*\n)+)", (ROOT / "docs/commands.md").read_text()).group(1)
        self.assertEqual(re.findall(r"(?m)^\| `([\w-]+)", table), listed)

    def test_every_command_is_listed_with_its_arguments(self):
        """A row of docs/commands.md has the positional arguments of its command and the options that it requires."""
        for name, words in re.findall(r"(?m)^\| `([\w-]+)( [^`]*)?` \| ", (ROOT / "docs/commands.md").read_text().split("\n## ")[0]):
            told = subprocess.run([XGRAD, name, "--help"], text=True, capture_output=True, check=True).stdout
            shape = re.sub(r"[\w=]+", "X", re.search(r"\[OPTIONS\](.*)", told).group(1))
            self.assertEqual(re.sub(r"[\w=]+", "X", re.sub(r" --[\w-]+ \S+", "", words)), shape, name)
            self.assertEqual(re.findall(r" (--[\w-]+)", words), re.findall(r"(?m)^  (--[\w-]+) .*REQUIRED", told), name)

    def test_the_other_tests_are_there(self):
        for page, language, holds, test in ELSEWHERE:
            self.assertTrue(any(test in elsewhere(block) for block in blocks()), (page, language, holds))
            self.assertTrue((ROOT / test).exists(), test)

    def test_shell_blocks_run_as_they_stand(self):
        pages = {}
        for block in blocks():
            if block.language == "sh" and not elsewhere(block):
                pages.setdefault(block.page, []).append(block.text)
        for page, texts in pages.items():
            with self.subTest(page), tempfile.TemporaryDirectory() as folder:
                self.follow(pathlib.Path(folder), texts)

    def follow(self, folder, texts):
        (folder / "configs/papers").mkdir(parents=True)
        for name, text in CONFIGS.items():
            (folder / "configs" / f"{name}.toml").write_text(text)
        (folder / "configs" / "verses.txt").write_text("".join(f"Dear {n}, I wrote {n + 1} letters\n" for n in range(100)))
        (folder / "run").write_text('#!/bin/sh\n[ "$1" = test ] || [ "$1" = package ] || exec xgrad "$@"\n')
        (folder / "run").chmod(0o755)
        environment = {**os.environ, "PATH": f"{XGRAD.parent}:{os.environ['PATH']}"}

        def run(script):
            done = subprocess.run(["sh", "-e", "-c", script], cwd=folder, env=environment, text=True, capture_output=True)
            self.assertIn(done.returncode, (0, 1) if "diff" in script else (0,), f"{script}\n{done.stdout}{done.stderr}")
            return done

        made = set(re.findall(r"run\.dir=runs/([\w-]+)", "".join(texts)))
        for name in sorted(set(re.findall(r"\bruns/([\w-]+)", "".join(texts))) - made):  # the page takes them for granted
            config = name if name in CONFIGS else "reverse"
            run(f"xgrad train configs/{config}.toml train.steps=20 run.dir=runs/{name} -q")
        if "weights.npz" in "".join(texts):
            run("xgrad export runs/reverse --to npz --out weights.npz")
        for text in texts:
            for line in text.splitlines():
                if not OF_THE_TREE.match(line):
                    run(line)


if __name__ == "__main__":
    unittest.main()
