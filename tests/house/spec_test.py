"""Every row of docs/spec.md has tests that carry its id, and the numbers that it states matter.

spec_test.py BUILD checks; spec_test.py --write BUILD writes the tests into the page.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "spec.md"
EXAMPLES = ROOT / "tests" / "golden" / "worked_examples.txt"
PROGRAMS = ["autograd", "layers", "optim", "storage", "data", "train"]
ROWS = [f"S{text}.{row}" for text, rows in enumerate([18, 13, 16, 9, 20]) for row in range(1, rows + 1)]
# "Hendrycks & Gimpel 2016", "Ba et al. 2016", "Huber 1964".
PAPER = re.compile(r"\b([A-Z][\w-]+(?: & [A-Z][\w-]+| et al\.)? (?:19|20)\d\d)\b")
LINE = re.compile(r"\| (S\d\.\d+) \| (.*) \| `([^`]*)` \| (.*) \|")


def rows_of(name):
    """The rows that a test's name carries: S2_3_S2_4_Scores carries S2.3 and S2.4."""
    return [f"S{text}.{row}" for text, row in re.findall(r"(?<![A-Za-z0-9])S(\d)_(\d+)(?=[_ ]|$)", name.replace("_S", " S"))]


def listed(program):
    """Suite.Name of every test of a GoogleTest program; parameters are left out."""
    suite = ""
    for line in subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout.splitlines():
        name = line.split("#")[0].strip()
        if not line.startswith(" "):
            suite = name
        elif suite.endswith("."):
            yield suite + name


def tests_by_row(build):
    """row -> [(program, test)]; program None for a method of a Python test."""
    found = {}
    for name in PROGRAMS:
        program = build / "tests" / f"{name}_test"
        for test in listed(program):
            for row in rows_of(test):
                found.setdefault(row, []).append((program, test))
    for path in sorted((ROOT / "tests").glob("*/*_test.py")):
        for test in re.findall(r"def (test_S\d_\w+)", path.read_text()):
            for row in rows_of(test):
                found.setdefault(row, []).append((None, f"{path.stem}.{test}"))
    return found


def cited():
    """The papers that headers of ops and layers cite."""
    headers = [ROOT / "autograd" / "ops.hpp", *(ROOT / "layers").rglob("*.hpp")]
    lines = re.compile(r"\s*\n\s*//[/!<]*\s*")  # a citation may be broken by the end of a line
    return {paper for path in headers for paper in PAPER.findall(lines.sub(" ", path.read_text()))}


def page_rows(text):
    return {row: (code, tests) for row, _, code, tests in LINE.findall(text)}


def tests_text(tests):
    return ", ".join(f"`{test}`" for _, test in tests)


def write(build):
    found = tests_by_row(build)
    fill = lambda line: f"| {line[1]} | {line[2]} | `{line[3]}` | {tests_text(found.get(line[1], []))} |"
    PAGE.write_text(LINE.sub(fill, PAGE.read_text()))


def examples():
    for line in EXAMPLES.read_text().splitlines():
        if line and not line.startswith("#"):
            yield line.split(" ")


def changed():
    """(name, file text) with each number of the worked examples changed by a hundredth in turn."""
    lines = list(examples())
    for i, words in enumerate(lines):
        for k in range(2, len(words)):
            number = float(words[k]) * 1.01 or 0.01
            edit = words[:k] + [repr(number)] + words[k + 1 :]
            yield words[0], "\n".join(" ".join(line) for line in [*lines[:i], edit, *lines[i + 1 :]]) + "\n"


class Spec(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tests = tests_by_row(BUILD)
        cls.page = page_rows(PAGE.read_text())

    def test_the_page_has_every_row_once(self):
        self.assertEqual([row for row, *_ in LINE.findall(PAGE.read_text())], ROWS)

    def test_every_row_has_a_test(self):
        self.assertEqual([row for row in ROWS if row not in self.tests], [])

    def test_the_page_names_the_tests_that_there_are(self):
        for row in ROWS:
            self.assertEqual(self.page[row][1], tests_text(self.tests.get(row, [])), f"{row}: run spec_test.py --write")

    def test_every_named_file_is_there(self):
        self.assertEqual([code for code, _ in self.page.values() if not (ROOT / code).exists()], [])

    def test_every_number_matters(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in changed():
                (pathlib.Path(folder) / EXAMPLES.name).write_text(text)
                self.assertTrue(self.fails(".".join(name.split(".")[:2]), folder), f"a changed {name} is not noticed")

    def fails(self, row, folder):
        """Whether a test of the row fails with the worked examples of this folder."""
        environment = {**os.environ, "XGRAD_GOLDEN": folder}
        for program in {program for program, _ in self.tests[row] if program}:
            names = ":".join(test for each, test in self.tests[row] if each == program)
            if subprocess.run([program, f"--gtest_filter={names}"], env=environment, capture_output=True).returncode:
                return True
        return False

    def test_S0_18_the_page_states_its_sources(self):
        """Those of the texts as the texts name them; then what the headers cite, all of it and nothing else."""
        texts, headers = PAGE.read_text().split("\n## Sources\n")[1].split("\n\nThe headers ")
        for source in ["github.com/ghmagazine/vit_book", "Attention is all you need, arXiv:1706.03762",
                       "An image is worth 16x16 words, arXiv:2010.11929", "Transformers in vision: a survey, arXiv:2101.01169"]:
            self.assertRegex(texts, rf"(?m)^- .*{re.escape(source)}$")
        listed = re.findall(r"(?m)^- (.*?), \w", headers)
        self.assertEqual(listed, sorted(cited() - set(PAPER.findall(texts))))


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv.pop()).resolve()
    if "--write" in sys.argv:
        sys.exit(write(BUILD))
    unittest.main()
