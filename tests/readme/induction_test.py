"""The ten commands of docs/induction.md find its induction heads: they are run as they stand, and print what the page says of them."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
XGRAD = pathlib.Path(sys.argv.pop())
PAGE = ROOT / "docs/induction.md"
PIECE = 0.3  # what processors of other classes may change in a share that the page has as 0 or 1, or in an accuracy


def commands():
    return [block.strip() for block in re.findall(r"(?ms)^```\n(\./run .*?)^```$", PAGE.read_text())]


class Induction(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "configs").mkdir()
        shutil.copy(ROOT / "configs/induction.toml", cls.folder / "configs")
        (cls.folder / "run").write_text('#!/bin/sh\nexec xgrad "$@"\n')
        (cls.folder / "run").chmod(0o755)
        environment = {**os.environ, "PATH": f"{XGRAD.parent}:{os.environ['PATH']}"}
        cls.printed = []
        for command in commands():
            done = subprocess.run(["sh", "-e", "-c", command], cwd=cls.folder, env=environment, text=True, capture_output=True)
            if done.returncode != 0:
                raise AssertionError(f"{command}\n{done.stdout}{done.stderr}")
            cls.printed.append(done.stdout)

    def shares(self, number, activation):
        """What comes back at [class], then at each token, by replacing an activation."""
        line = re.search(rf"(?m)^{re.escape(activation)} +(.*)$", self.printed[number - 1])
        self.assertIsNotNone(line, self.printed[number - 1])
        return [float(share) for share in line[1].split()]

    def left_without_heads(self, number):
        """By layer, the accuracies without each of its heads."""
        layers = re.split(r"(?m)^encoder\.layers\.\d+\.self_attn$", self.printed[number - 1])[1:]
        return [[float(left) for left in re.findall(r"(?m)^ +\d+ +\S+ +\S+ +\S+ +\S+ \S+ +(\d\.\d+) ", layer)] for layer in layers]

    def test_there_are_ten(self):
        self.assertEqual(len(self.printed), 10)
        self.assertIn("encoder.layers.1.self_attn.head_outputs", self.printed[0])
        self.assertIn("<svg", (self.folder / "induction.svg").read_text())

    def test_both_runs_learn_the_task(self):
        for number in (2, 8):
            self.assertIn("expect  accuracy >= 0.99", self.printed[number - 1])

    def test_the_model_needs_both_heads_of_one_per_layer(self):
        self.assertEqual([len(heads) for heads in self.left_without_heads(3)], [1, 1])
        for heads in self.left_without_heads(3):
            self.assertLess(heads[0], 1 - PIECE)

    def test_the_class_token_looks_at_the_earlier_occurrence(self):
        row = re.findall(r"(?m)^\[class\](.*)$", self.printed[3])[1]
        self.assertEqual([row[at:at + 2] for at in range(2, len(row), 3)].index("@@"), 2)

    def test_the_answer_travels_to_the_left_and_then_to_the_class_token(self):
        for activation, place in (("0.residual_before", 3), ("0.residual_after", 2), ("1.residual_after", 0)):
            shares = self.shares(5, f"encoder.layers.{activation}")
            self.assertEqual([share > 1 - PIECE for share in shares], [at == place for at in range(9)], (activation, shares))

    def test_values_carry_the_answer(self):
        for layer, place in ((0, 3), (1, 2)):
            for part in ("queries", "keys", "scores"):
                self.assertLess(max(map(abs, self.shares(6, f"encoder.layers.{layer}.self_attn.{part}"))), PIECE)
            self.assertGreater(self.shares(6, f"encoder.layers.{layer}.self_attn.values")[place], 1 - PIECE)

    def test_keys_carry_the_question(self):
        self.assertGreater(self.shares(7, "encoder.layers.0.self_attn.values")[8], 1 - PIECE)
        self.assertGreater(self.shares(7, "encoder.layers.1.self_attn.keys")[2], 1 - PIECE)
        self.assertLess(max(map(abs, self.shares(7, "encoder.layers.1.self_attn.queries"))), PIECE)

    def test_four_heads_stand_in_for_each_other(self):
        layers = self.left_without_heads(9)
        self.assertEqual([len(heads) for heads in layers], [4, 4])
        self.assertGreater(min(layers[1]), 1 - PIECE)
        self.assertLess(float(re.search(r"(?m)^accuracy +\S+ +(\S+)", self.printed[9])[1]), 1 - PIECE)


if __name__ == "__main__":
    unittest.main()
