"""The table of data/text/lowercase.cpp against Python's str.lower, over all code points."""

import pathlib
import re
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "data/text/lowercase.cpp"
# Capital letters of Unicode 16, which a later Python knows.
ADDED = {0x1C89, 0xA7CB, 0xA7CC, 0xA7DA, 0xA7DC, *range(0x10D50, 0x10D66)}


class Lowercase(unittest.TestCase):
    def test_the_table_is_that_of_python(self):
        table = {}
        rows = re.findall(r"\{(0x\w+), (0x\w+), ([12]), (-?\d+)\}", SOURCE.read_text())
        for first, last, step, to_small in rows:
            for c in range(int(first, 16), int(last, 16) + 1, int(step)):
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
