"""The committed numbers of PyTorch are what make_torch.py makes of this machine's PyTorch."""

import importlib.util
import pathlib
import sys
import tempfile
import unittest

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"


def load(path):
    """name -> (shape, numbers)"""
    rows = (line.split() for line in path.read_text().splitlines() if not line.startswith("#"))
    return {name: (shape, [float(number) for number in numbers]) for name, shape, *numbers in rows}


class Fixtures(unittest.TestCase):
    def test_are_what_the_script_writes(self):
        spec = importlib.util.spec_from_file_location("make_torch", GOLDEN / "make_torch.py")
        make = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(make)
        with tempfile.TemporaryDirectory() as directory:
            make.HERE = pathlib.Path(directory)
            make.main()
            for file in ("torch_ops.txt", "torch_models.txt"):
                made, committed = load(make.HERE / file), load(GOLDEN / file)
                self.assertEqual(list(made), list(committed))
                for name, (shape, numbers) in committed.items():
                    self.assertEqual(made[name][0], shape, name)
                    # Another processor adds in another order; 100 steps of training enlarge that.
                    worst = max(abs(a - b) for a, b in zip(made[name][1], numbers, strict=True))
                    self.assertLess(worst, 1e-9 if "trained" in name else 1e-12, name)


if __name__ == "__main__":
    try:
        import torch  # noqa: F401
    except ImportError:
        print("Skipped: PyTorch is not installed (apt-get install python3-torch)")
        sys.exit(0)
    unittest.main()
