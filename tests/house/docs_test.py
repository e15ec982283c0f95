"""Every file that the documentation names is there, and the results of every config."""

import pathlib
import re
import sys
import tempfile
import unittest

import house

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = "autograd|layers|optim|storage|data|train|cli|python|configs|tests|docs|cmake|bench"
# `layers/models/encoder.cpp`, `optim/foo.{hpp,cpp}`, `tests/torch`; a placeholder is called foo.
NAMED = re.compile(rf"`((?:{FOLDERS})/[\w./{{}},-]*)`")


def missing(root):
    """(page, path) of every path that a page names in backticks and that does not exist."""
    pages = [*root.glob("*.md"), *root.glob("docs/*.md"), *root.glob("tests/*.md")]
    for page in sorted(pages):
        for path in NAMED.findall(page.read_text()):
            first = re.sub(r"\{([^,}]*)[^}]*\}", r"\1", path)
            if "foo" not in first and not (root / first).exists():
                yield page.name, path


LONGEST, REFERENCES = 300, {"data-reference.md"}


def too_long(root):
    """(page, lines) of every page that is longer than a reader takes in; a reference may be."""
    for page in sorted([root / "README.md", *root.glob("docs/*.md")]):
        lines = len(page.read_text().splitlines())
        if lines > LONGEST and page.name not in REFERENCES:
            yield page.name, lines


def not_told_of(root):
    """Folders and programs of tests/ without a row in its README.md, and rows without one."""
    there = {f"{path.name}/" for path in root.glob("tests/*/") if not path.name.startswith("_")} | {path.name for path in root.glob("tests/*.py")}
    return there ^ set(re.findall(r"(?m)^\| `([^`]*)` \|", (root / "tests/README.md").read_text()))


def without_results(root):
    """Names of the configs that have no row in the page of results, and of rows without a config."""
    configs = {path.stem for path in root.glob("configs/*.toml")}
    return configs ^ set(re.findall(r"^\| (\w+) \| ", (root / "docs" / "results.md").read_text(), re.MULTILINE)) - {"config"}


def not_called_hard(root):
    """Names of the configs that call themselves hard and that the page of results does not, or the other way round."""
    configs = {path.stem for path in root.glob("configs/*.toml") if path.read_text().startswith("# Hard: ")}
    named = re.search(r"tasks are hard[^:]*: ([^.]*)\.", (root / "docs" / "results.md").read_text())
    return configs ^ set(re.findall(r"`(\w+)`", named.group(1) if named else ""))


def not_listed(header, page):
    """Ops that ops.hpp declares and the page does not list, or the other way round."""
    declared = set(re.findall(r"(?m)^Variable<T> (\w+)\(", header))
    table = re.search(r"(?s)\| kind \| ops \|\n(.*?)\n\n", page).group(1)
    return declared ^ set(re.findall(r"`(\w+)`", table))


class Docs(unittest.TestCase):
    def test_every_op_is_listed(self):
        header, page = ((ROOT / name).read_text() for name in ("autograd/ops.hpp", "docs/ops.md"))
        self.assertEqual(not_listed(header, page), set())
        self.assertEqual(not_listed(header + "\nVariable<T> planted(", page.replace("`gelu`", "")), {"planted", "gelu"})

    def test_the_picture_of_the_house_is_true(self):
        self.assertEqual(house.BLOCK.findall(house.PAGE.read_text()), [house.drawing()], "run tests/house/house.py --write")

    def test_every_named_file_exists(self):
        self.assertEqual(list(missing(ROOT)), [])

    def test_finds_a_file_that_is_gone(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "README.md").write_text("`train/gone.cpp` and `layers/foo.{hpp,cpp}` and `train/`")
            (root / "train").mkdir()
            self.assertEqual(list(missing(root)), [("README.md", "train/gone.cpp")])

    def test_no_page_is_too_long(self):
        self.assertEqual(list(too_long(ROOT)), [])

    def test_finds_a_page_that_is_too_long(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "docs").mkdir()
            for name, lines in (("README.md", 301), ("docs/a.md", 300), ("docs/b.md", 400), ("docs/data-reference.md", 400)):
                (root / name).write_text("line\n" * lines)
            self.assertEqual(list(too_long(root)), [("README.md", 301), ("b.md", 400)])

    def test_every_folder_of_tests_is_told_of(self):
        self.assertEqual(not_told_of(ROOT), set())

    def test_finds_a_folder_that_is_not_told_of(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in (("tests/a/a.cpp", ""), ("tests/b/b.py", ""), ("tests/c.py", ""), ("tests/d.py", ""),
                               ("tests/README.md", "| folder | |\n|---|---|\n| `a/` | `b/` |\n| `c.py` | |\n| `gone/` | |\n")):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            self.assertEqual(not_told_of(root), {"b/", "d.py", "gone/"})

    def test_every_config_has_its_results(self):
        self.assertEqual(without_results(ROOT), set())

    def test_hard_configs_are_called_so(self):
        self.assertEqual(not_called_hard(ROOT), set())

    def test_finds_a_hard_config_that_is_not_called_so(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in (("docs/results.md", "Some tasks are hard: `a`,\n`b`. `c` is not."), ("configs/a.toml", "# Hard: one."),
                               ("configs/b.toml", "# Easy."), ("configs/c.toml", "# Easy."), ("configs/d.toml", "# Hard: one.")):
                (root / name).parent.mkdir(exist_ok=True)
                (root / name).write_text(text)
            self.assertEqual(not_called_hard(root), {"b", "d"})

    def test_finds_a_config_without_results_and_results_without_a_config(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in ("docs/results.md", "configs/a.toml", "configs/b.toml"):
                (root / name).parent.mkdir(exist_ok=True)
                (root / name).write_text("| config | loss |\n|---|---|\n| a | 1 |\n| c | 1 |\n")
            self.assertEqual(without_results(root), {"b", "c"})


if __name__ == "__main__":
    sys.exit(unittest.main())
