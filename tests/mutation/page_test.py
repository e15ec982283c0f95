"""The mutants that equivalent.txt excuses still stand in the sources, and the sums of docs/proof.md agree."""

import pathlib
import re
import tempfile
import unittest

import table

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAME = re.compile(r"([^|]+)\|(.*?)\|(\S+ -> \S+|[-! a-z]+)\|(\d+)(?:#\d+)?")  # file, line, operator, column
COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//.*|/\*.*?\*/')


def stale(names):
    """Those whose line, or whose operator in that line, is not in their file."""
    for name in names:
        file, line, operator, column = NAME.fullmatch(name).groups()
        path = ROOT / file
        texts = [text.strip() for text in path.read_text().splitlines()] if path.exists() else []
        lines = {COMMENT.sub(lambda m: m[0] if m[0][0] == '"' else "", text).strip(): text for text in texts}
        first = operator.split()[0] if "->" in operator or operator[0] in "!-" else ""
        if line not in lines or not lines[line][int(column):].startswith(first):
            yield name


def number(cell):
    return int(cell.replace(",", ""))


def wrong_sums(page):
    """Rows of the table by folder whose cells do not add up, and columns that do not add up to the last row."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines()
            if line.startswith(("| `", "| all |")) and line.rstrip().endswith("% |")]
    for name, _, *cells, percent in rows:
        mutants, same, equivalent, killed, alive = map(number, cells)
        if mutants != same + equivalent + killed + alive or percent != f"{100 * killed / max(1, killed + alive):.1f} %":
            yield name
    for column in range(2, 7):
        *parts, total = (number(row[column]) for row in rows)
        if sum(parts) != total:
            yield column


class Page(unittest.TestCase):
    def test_every_excused_mutant_is_in_the_sources(self):
        self.assertEqual(list(stale(table.equivalent())), [])
        gone = ["optim/optimizers.cpp|no line;|* -> /|3", "optim/optimizers.cpp|checked_ = true;|* -> /|4", "optim/gone.cpp|lr_ = lr;||| -> &&|0"]
        self.assertEqual(list(stale(["optim/optimizers.cpp|checked_ = true;|assignment deleted|0", *gone])), gone)

    def test_every_reason_is_given(self):
        self.assertEqual([name for name, reason in table.equivalent().items() if len(reason) < 15], [])

    def test_the_table_adds_up(self):
        page = (ROOT / "docs/proof.md").read_text()
        self.assertIn("| all |", page)
        self.assertEqual(list(wrong_sums(page)), [])
        survivors = [number(cells[1]) for cells in re.findall(r"(?m)^\| `([\w/]+\.cpp)` \| (\d+) \| .+ \|$", page)]
        total, = re.findall(r"(?m)^\| all \|.* (\d+) \| [\d.]+ % \|$", page)
        self.assertEqual(sum(survivors), int(total))
        planted = "| `optim` | a | 9 | 1 | 1 | 6 | 0 | 100.0 % |\n| all | | 9 | 1 | 1 | 6 | 0 | 100.0 % |"
        self.assertEqual(list(wrong_sums(planted)), ["`optim`", "all"])


if __name__ == "__main__":
    unittest.main()
