"""Every committed number of golden/ is what its script makes of this machine's PyTorch, NumPy and scikit-learn: fixtures_test.py XGRAD.
clients.libraries does the same for naming.json, which needs Python packages."""

import importlib.util
import json
import math
import os
import pathlib
import re
import sys
import tempfile
import unittest

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
# A checkpoint that xgrad 1.0 wrote, the fixture of clients.libraries, and what tests of this program print.
NOT_MADE_HERE = {"checkpoint-1.0.h5", "examples.txt", "make_naming.py", "naming.json", "hashes.py", "hashes.txt"}


def tokens(path):
    """The words of a file but those of its versions, and where each is: the first word of its line, or the keys that lead to it."""
    if path.suffix == ".json":
        return [token for name, value in json.loads(path.read_text()).items() if name != "torch" for token in leaves(name, value)]
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return [(line.split()[0], word) for line in lines for word in line.split()]


def leaves(place, value):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    return [(place, value)] if items is None else [leaf for key, each in items for leaf in leaves(f"{place}.{key}", each)]


def close(made, committed, place):
    """Another processor and version adds in another order; 100 steps of training enlarge that."""
    try:
        made, committed = float(made), float(committed)
    except ValueError:
        return made == committed
    if re.match(r"S\d", place):  # some of the worked examples are very small
        return math.isclose(made, committed, rel_tol=1e-9)
    trained = "trained" in place or "weights" in place or "averages" in place or "train." in place or "validation." in place
    return math.isclose(made, committed, rel_tol=1e-12, abs_tol=1e-9 if trained else 1e-12)


def make(script, folder):
    spec = importlib.util.spec_from_file_location(script.stem, script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.HERE = folder
    module.main()


class Fixtures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.made = pathlib.Path(directory.name)
        for script in sorted(GOLDEN.glob("make_*.py")):
            if script.name not in NOT_MADE_HERE:
                make(script, cls.made)

    def test_every_file_has_a_script(self):
        made = {path.name for path in self.made.iterdir()}
        scripts = {path.name for path in GOLDEN.glob("make_*.py")}
        self.assertEqual({path.name for path in GOLDEN.iterdir() if path.is_file()}, made | scripts | NOT_MADE_HERE)

    def test_every_number_is_made_again(self):
        for path in sorted(self.made.iterdir()):
            with self.subTest(path.name):
                made, committed = tokens(path), tokens(GOLDEN / path.name)
                self.assertEqual([place for place, _ in made], [place for place, _ in committed])
                for (place, a), (_, b) in zip(made, committed):
                    self.assertTrue(close(a, b, place), f"{place}: {a}, committed: {b}")


if __name__ == "__main__":
    os.environ["XGRAD"] = str(pathlib.Path(sys.argv.pop()).resolve())
    unittest.main()
