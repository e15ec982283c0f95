"""Every row of docs/spec.md has tests that carry its id, the numbers that it states matter, and tests/spec.py reports both.

spec_test.py BUILD
"""

import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import spec  # noqa: E402
from spec import LINE, PAGE, tests_text  # noqa: E402

EXAMPLES = ROOT / "tests" / "golden" / "worked_examples.txt"
ROWS = [f"S{text}.{row}" for text, rows in enumerate([18, 13, 16, 9, 20]) for row in range(1, rows + 1)]
# "Hendrycks & Gimpel 2016", "Ba et al. 2016", "Huber 1964".
PAPER = re.compile(r"\b([A-Z][\w-]+(?: & [A-Z][\w-]+| et al\.)? (?:19|20)\d\d)\b")


def cited():
    """The papers that headers of ops and layers cite."""
    headers = [ROOT / "autograd" / "ops.hpp", *(ROOT / "layers").rglob("*.hpp")]
    lines = re.compile(r"\s*\n\s*//[/!<]*\s*")  # a citation may be broken by the end of a line
    return {paper for path in headers for paper in PAPER.findall(lines.sub(" ", path.read_text()))}


def page_rows(text):
    return {row: (code, tests) for row, _, code, tests in LINE.findall(text)}


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
        cls.tests = spec.tests_by_row(BUILD)
        cls.page = page_rows(PAGE.read_text())

    def test_the_page_has_every_row_once(self):
        self.assertEqual([row for row, *_ in LINE.findall(PAGE.read_text())], ROWS)

    def test_every_row_has_a_test(self):
        self.assertEqual([row for row in ROWS if row not in self.tests], [])

    def test_the_page_names_the_tests_that_there_are(self):
        for row in ROWS:
            self.assertEqual(self.page[row][1], tests_text(self.tests.get(row, [])), f"{row}: run tests/spec.py BUILD --write")

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

    def test_the_report_tells_what_ctest_saw(self):
        """A run of a made-up project in which one test of S3.1 fails, that of S3.2 is missing, and another lies."""
        with tempfile.TemporaryDirectory() as folder:
            build = pathlib.Path(folder)
            (build / "tests").symlink_to(BUILD / "tests")
            commands = {f"{program.stem.removesuffix('_test')}.{test}": ["true"]
                        for tests in self.tests.values() for program, test in tests if program}
            commands["house.spec"] = ["true", "spec_test.py"]
            first = lambda row: next(f"{program.stem.removesuffix('_test')}.{test}" for program, test in self.tests[row])
            commands[first("S3.1")] = ["sh", "-c", "echo Test Passed.; exit 1"]
            commands[first("S3.3")] = ["echo", "Test Failed."]
            del commands[first("S3.2")]
            (build / "CTestTestfile.cmake").write_text("".join(
                f"add_test([==[{name}]==] {' '.join(f'[==[{word}]==]' for word in words)})\n" for name, words in commands.items()))
            subprocess.run(["ctest", "--test-dir", build], capture_output=True)
            text, said = self.report(build)
            for name, state in [(first("S3.1"), "failed"), (first("S3.2"), "not run"), (first("S3.3"), "passed")]:
                self.assertEqual(said[name.split(".", 1)[1]], state)
            self.assertEqual(sum(state == "passed" for state in said.values()), len(said) - 2)
            self.assertRegex(text, rf"(?m)^{len(ROWS)} rows: \d+ passed, \d+ failed, \d+ not run$")
            self.assertEqual(self.report(build)[0], text, "a second report of the same run")
            subprocess.run(["ctest", "--test-dir", build, "-R", f"^{re.escape(first('S3.3'))}$"], capture_output=True)
            for _ in range(2):
                said = self.report(build)[1]
                self.assertEqual({test for test, state in said.items() if state != "not run"}, {first("S3.3").split(".", 1)[1]})

    def report(self, build):
        """What spec.py prints when not all tests passed, and its state of each test."""
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            self.assertFalse(spec.report(build))
        return shown.getvalue(), {test: state.strip() for state, test in re.findall(r"(?m)^      (.{7})  (\S+)$", shown.getvalue())}

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
    unittest.main()
