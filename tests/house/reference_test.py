"""Every public name of the installed headers is documented: doxygen finds nothing to warn of."""

import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def warnings(settings=""):
    """What doxygen says with docs/Doxyfile and more settings."""
    with tempfile.TemporaryDirectory() as folder:
        text = (ROOT / "docs" / "Doxyfile").read_text() + f"\nOUTPUT_DIRECTORY = {folder}\nWARN_AS_ERROR = NO\n{settings}\n"
        done = subprocess.run(["doxygen", "-"], cwd=ROOT, input=text, text=True, capture_output=True)
        assert done.returncode == 0, done.stderr
        assert len(list(pathlib.Path(folder, "html").glob("*.html"))) > 1
        return [line for line in done.stderr.splitlines() if line]


class Reference(unittest.TestCase):
    def test_every_public_name_is_documented(self):
        self.assertEqual(warnings(), [])

    def test_finds_what_is_not(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "a.hpp").write_text("/// All.\nnamespace xgrad {\nint f(int x);\n/// Does.\nint g();\n"
                                                     "namespace detail {\nint h();\n}\n}\n")
            found = warnings(f"INPUT = {folder}")
            self.assertEqual([line.split("Member ")[1].split(" (")[0] for line in found], ["f(int x)"])

    def test_looks_at_what_is_installed(self):
        """The folders that the two files leave out are the same."""
        install = (ROOT / "cmake" / "XgradInstall.cmake").read_text()
        left_out = [line.split('"')[1] for line in install.splitlines() if line.strip().startswith("PATTERN") and "EXCLUDE" in line]
        excluded = next(line for line in (ROOT / "docs" / "Doxyfile").read_text().splitlines() if line.startswith("EXCLUDE_PATTERNS"))
        self.assertEqual(sorted(left_out), sorted(word.strip("*/") for word in excluded.split("=")[1].split()))


if __name__ == "__main__":
    unittest.main()
