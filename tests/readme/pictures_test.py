"""The pictures of the documentation show the same in every renderer, and each is on a page."""

import re
import unittest
import xml.etree.ElementTree as ET

from pages import ROOT

PICTURES = sorted((ROOT / "docs/pictures").iterdir())
PAGES = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs/figures").rglob("*.md")]


class Pictures(unittest.TestCase):
    def test_svg_is_plain(self):
        """librsvg and resvg know no CSS variables, and show several spaces as one."""
        for path in PICTURES:
            if path.suffix == ".svg":
                text = path.read_text()
                ET.fromstring(text)
                for word in ("var(", "white-space", "<script", "<foreignObject"):
                    self.assertNotIn(word, text, path.name)
                self.assertNotRegex(text, r">[^<\n]*\S {2,}\S[^<\n]*<", path.name)

    def test_each_has_a_place_and_words(self):
        shown = {}
        for page in PAGES:
            for words, target in re.findall(r"!\[([^\]]*)\]\(([^)]*)\)", page.read_text()):
                shown.setdefault((page.parent / target).resolve(), []).append(words)
        self.assertEqual(sorted(shown), PICTURES)
        for path, words in shown.items():
            self.assertTrue(all(words), path.name)


if __name__ == "__main__":
    unittest.main()
