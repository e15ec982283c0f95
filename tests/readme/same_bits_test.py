"""The program of docs/same-bits.md prints the hash that the page has: same_bits_test.py PROGRAM XGRAD."""

import re
import subprocess
import sys
import unittest

import pages

XGRAD, PROGRAM = sys.argv.pop(), sys.argv.pop()


class SameBits(unittest.TestCase):
    def test_the_program_prints_its_hash(self):
        expected, = re.findall(r"(?m)^ *std::printf\(.*  // (\w{64})$", (pages.ROOT / "docs/same-bits.md").read_text())
        printed = subprocess.run([PROGRAM], capture_output=True, text=True, check=True).stdout
        info = subprocess.run([XGRAD, "info"], capture_output=True, text=True, check=True).stdout
        if re.search(r"(?m)^arithmetic +fma-1$", info):
            self.assertEqual(printed, expected + "\n")
        self.assertRegex(printed, r"^\w{64}\n$")


if __name__ == "__main__":
    unittest.main()
