"""The committed numbers of PyTorch are what the scripts make of this machine's PyTorch."""

import importlib.util
import pathlib
import tempfile
import unittest

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
FILES = {
    "make_attention": ["attention.txt"],
    "make_decoder": ["decoder.txt"],
    "make_positions": ["positions.txt"],
    "make_torch": ["torch_ops.txt", "torch_models.txt", "torch_losses.txt"],
}


def load(path):
    """name -> (shape, numbers)"""
    rows = (line.split() for line in path.read_text().splitlines() if not line.startswith("#"))
    return {name: (shape, [float(number) for number in numbers]) for name, shape, *numbers in rows}


class Fixtures(unittest.TestCase):
    def test_are_what_the_scripts_write(self):
        for script, files in FILES.items():
            with self.subTest(script):
                self.check(script, files)

    def check(self, script, files):
        spec = importlib.util.spec_from_file_location(script, GOLDEN / f"{script}.py")
        make = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(make)
        with tempfile.TemporaryDirectory() as directory:
            make.HERE = pathlib.Path(directory)
            make.main()
            for file in files:
                made, committed = load(make.HERE / file), load(GOLDEN / file)
                self.assertEqual(list(made), list(committed))
                for name, (shape, numbers) in committed.items():
                    self.assertEqual(made[name][0], shape, name)
                    # Another processor adds in another order; 100 steps of training enlarge that.
                    worst = max(abs(a - b) for a, b in zip(made[name][1], numbers, strict=True))
                    self.assertLess(worst, 1e-9 if "trained" in name else 1e-12, name)


if __name__ == "__main__":
    unittest.main()
