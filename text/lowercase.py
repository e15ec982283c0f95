#!/usr/bin/env python3
"""Writes the tables of lowercase.cpp from Python's Unicode data: each capital letter with its one small letter.

    text/lowercase.py && clang-format -i text/lowercase.cpp
"""
import pathlib
import re

SOURCE = pathlib.Path(__file__).with_suffix(".cpp")


def capitals():
    """The small letter of each capital letter. Only U+0130 becomes more than one character; its simple mapping is the first."""
    small = {c: ord(chr(c).lower()[0]) for c in range(0x110000) if not 0xD800 <= c < 0xE000}
    return {c: s for c, s in small.items() if s != c}


def runs(letters, step):
    """[first, count, distance to the small letter] of capital letters that are `step` apart."""
    rows = []
    for c, small in letters:
        if rows and c == rows[-1][0] + step * rows[-1][1] and small - c == rows[-1][2]:
            rows[-1][1] += 1
        else:
            rows.append([c, 1, small - c])
    return rows


if __name__ == "__main__":
    letters, text = capitals().items(), SOURCE.read_text()
    tables = {"kCapitals": [f"{{0x{first:X}, {count}, {to_small}}}" for first, count, to_small in runs(((c, s) for c, s in letters if s != c + 1), 1)],
              "kPairs": [f"{{0x{first:X}, {count}}}" for first, count, _ in runs(((c, s) for c, s in letters if s == c + 1), 2)]}
    for name, rows in tables.items():
        text = re.sub(rf"({name}\[\] = \{{).*?(\}};)", lambda found: found[1] + ", ".join(rows) + found[2], text, flags=re.DOTALL)
    SOURCE.write_text(text)
