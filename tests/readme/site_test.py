"""The pages of reference that docs/site/reference.py makes hold every command, key, task, exit code and error: site_test.py XGRAD."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
XGRAD = sys.argv.pop()
sys.path.insert(0, str(ROOT / "docs/site"))
import reference  # noqa: E402


def said(*words):
    return subprocess.run([XGRAD, *words], check=True, capture_output=True, text=True).stdout


def quickly(xgrad, *words):
    return said(*(word for word in words if word != "--baselines"))


def headings(page):
    return re.findall(r"(?m)^## (.*)$", page.replace("\\", ""))


def rows(page):
    """The first cells of the tables of a page."""
    return re.findall(r"(?m)^\| `?([^`|]+?)`? \| ", page.replace("\\", ""))


def missing(pages):
    """Names in the command, docs/commands.md or the Python module that the pages lack."""
    yield from set(re.findall(r"(?m)^  ([a-z][a-z-]*)  ", said("--help"))) - set(headings(pages["commands"]))
    yield from set(re.findall(r"(?m)^(\w+) +\w", said("tasks"))) - set(headings(pages["tasks"]))
    tables = {part.split("\n")[0]: rows(part) for part in (pages["keys"] + pages["tasks"]).replace("\\", "").split("\n## ")}
    for part in said("config").strip().split("\n\n"):
        head, *lines = part.split("\n")
        for table in re.findall('"(\\w+)"', head) or [head.split(", ")[0]]:
            yield from (f"{table} {line.split()[0]}" for line in lines if line.split()[0] not in tables.get(table, []))
    for task in headings(pages["tasks"]):
        of = pages["tasks"].split(f"## {task}\n")[1].split("\n## ")[0]
        yield from (f"{task}: {fact}" for fact in ("theory", "source", "best possible") if f"- **{fact}**: " not in of)
    codes = (ROOT / "docs/commands.md").read_text().split("## Exit codes\n")[1]
    classes = re.findall(r"(?m)^class (\w+)\(", (ROOT / "python/src/xgrad/errors.py").read_text())
    yield from {*rows(codes), *classes} - {"code"} - set(rows(pages["errors"]))


class Reference(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            with unittest.mock.patch.object(reference, "said", quickly):
                reference.write(XGRAD, pathlib.Path(folder))
            cls.pages = {path.stem: path.read_text() for path in pathlib.Path(folder).iterdir()}

    def test_nothing_is_missing(self):
        self.assertEqual(list(missing(self.pages)), [])

    def test_a_key_has_type_default_and_range(self):
        self.assertIn("| `width` | integer | `64` | from 1 to 65,536 | Features per token. |", self.pages["keys"])
        self.assertIn("| `dropout` | number | `0.1` | from 0 to below 1 |", self.pages["keys"])
        self.assertIn('| `norm` | string | `"pre"` | `pre`, `post`, `sandwich`, `none` |', self.pages["keys"])

    def test_an_error_has_the_code_of_the_command(self):
        for name, code in (("ShapeError", 1), ("ConfigError", 2), ("UnsavedError", 4), ("OutOfMemory", 8)):
            self.assertRegex(self.pages["errors"], rf"\| `{name}` \| [^|]+ \| {code} \|")

    def test_finds_what_is_missing(self):
        for page, old, found in (("commands", "## lr-find\n", "lr-find"), ("keys", "| `label_smoothing` |", "[train] label_smoothing"),
                                 ("keys", "| `match` |", "[[optim.groups]] match"), ("tasks", "## parity\n", "parity"), ("errors", "\n| 7 |", "7"),
                                 ("errors", "| `LockError` |", "LockError")):
            self.assertEqual(self.pages[page].count(old), 1, old)
            self.assertIn(found, list(missing({**self.pages, page: self.pages[page].replace(old, "")})))


if __name__ == "__main__":
    unittest.main()
