"""Tables of the documentation."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]


def rows(page, head):
    """The rows of all tables of a page whose heads begin so, as lists of cells."""
    tables = re.findall(rf"(?m)^\| {head} \|.*\n\|[-| ]*\n((?:\|.*\n)+)", (ROOT / page).read_text())
    return [[cell.strip() for cell in line.strip("|\n").split("|")] for line in "".join(tables).splitlines()]


def block(page, name):
    """What a command wrote between its marks."""
    return re.search(rf"(?s)<!-- {re.escape(name)} -->\n(.*?)<!-- end -->", (ROOT / page).read_text())[1]
