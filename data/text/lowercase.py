#!/usr/bin/env python3
"""Writes the table of lowercase.cpp from Python's Unicode data: each capital letter with its one small letter.

    data/text/lowercase.py && clang-format -i data/text/lowercase.cpp
"""
import pathlib
import re

SOURCE = pathlib.Path(__file__).with_suffix(".cpp")


def capitals():
    """The small letter of each capital letter. Only U+0130 becomes more than one character; its simple mapping is the first."""
    small = {c: ord(chr(c).lower()[0]) for c in range(0x110000) if not 0xD800 <= c < 0xE000}
    return {c: s for c, s in small.items() if s != c}


def ranges():
    rows = []  # first, last, step, to_small
    for c, small in capitals().items():
        if rows:
            first, last, step, to_small = rows[-1]
            if small - c == to_small and (c - last == step or (first == last and c - last == 2)):
                rows[-1] = (first, c, c - last, to_small)
                continue
        rows.append((c, c, 1, small - c))
    return rows


if __name__ == "__main__":
    table = "".join(f"{{0x{first:X}, 0x{last:X}, {step}, {to_small}}}, " for first, last, step, to_small in ranges())
    text = re.sub(r"(kCapitals\[\] = \{).*?(\};)", lambda found: found[1] + table[:-2] + found[2], SOURCE.read_text(), flags=re.DOTALL)
    SOURCE.write_text(text)
