"""The tables of text/lowercase.cpp against Python's str.lower, over all code points."""

import pathlib
import re
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "text/lowercase.cpp"
# Capital letters of Unicode 16, which a later Python knows.
ADDED = {0x1C89, 0xA7CB, 0xA7CC, 0xA7DA, 0xA7DC, *range(0x10D50, 0x10D66)}


class Lowercase(unittest.TestCase):
    def test_the_tables_are_those_of_python(self):
        table, text = {}, SOURCE.read_text()
        capitals, pairs = (re.findall(pattern, text) for pattern in (r"\{(0x\w+), (\d+), (-?\d+)\}", r"\{(0x\w+), (\d+)\}"))
        for rows, step in ((capitals, 1), ([(*row, "1") for row in pairs], 2)):
            for first, count, to_small in rows:
                for i in range(int(count)):
                    c = int(first, 16) + step * i
                    table[c] = c + int(to_small)
            self.assertEqual([int(row[0], 16) for row in rows], sorted(int(row[0], 16) for row in rows))
        for c in range(0x110000):
            if c in ADDED or 0xD800 <= c < 0xE000:
                continue
            # U+0130 alone becomes two characters, of which the first is its simple mapping.
            small = chr(c).lower()
            self.assertTrue(len(small) == 1 or c == 0x130)
            self.assertEqual(table.get(c, c), ord(small[0]), hex(c))


if __name__ == "__main__":
    unittest.main()
