"""The lowest possible loss of in-context linear regression, against numpy.linalg on the examples of the test split."""

import base64
import json
import re

import numpy

from command import CommandTest, unittest

DIMENSION, PAIRS, TEST = 3, 6, 40
CONFIG = f"""
[task]
name = "linear_regression"
dimension = {DIMENSION}
pairs = {PAIRS}
examples = 200
validation = 20
test = {TEST}
[model]
width = 8
heads = 2
layers = 1
mask = "causal"
[train]
steps = 5
[expect]
above_floor = 1000.0
"""


class LinearRegression(CommandTest):
    def prompts(self, run):
        """Vectors (B, N, D) and values (B, N) of the test split, from the page of a run, which has the first 64 examples."""
        self.xgrad("explain", run, "--out", f"{run}.html")
        data = json.loads(re.search(r'id="data">(.*?)</script>', (self.folder / f"{run}.html").read_text(), re.DOTALL).group(1))
        self.assertEqual(len(data["examples"]), TEST)
        features = [numpy.frombuffer(base64.b64decode(one["features"]), numpy.float32) for one in data["examples"]]
        values = numpy.array([one["values"] for one in data["examples"]], float)  # null becomes NaN
        self.assertTrue(numpy.isnan(values[:, 1::2]).all())
        return numpy.reshape(features, (TEST, 2 * PAIRS - 1, DIMENSION + 1))[:, ::2, :DIMENSION].astype(float), values[:, ::2]

    def floor(self, *words):
        """Trains a small model and returns its run and the lowest possible loss that the claim names."""
        run = "-".join(("run", *words)).replace("=", "-")
        done = self.xgrad("train", "config.toml", f"run.dir={run}", *words)
        return run, float(re.search(r"above the lowest possible, (\d+\.\d+)", done.stdout).group(1))

    def test_least_squares_without_noise(self):
        """The part of x that is orthogonal to the vectors before it is unknown; lstsq finds the other part."""
        self.write("config.toml", CONFIG)
        run, floor = self.floor()
        x, y = self.prompts(run)
        squares = []
        for i in range(PAIRS):
            for known, seen, asked, answer in zip(x[:, :i], y[:, :i], x[:, i], y[:, i], strict=True):
                part = numpy.linalg.lstsq(known.T, asked, rcond=None)[0] @ known if i else numpy.zeros(DIMENSION)
                squares.append(((asked - part) ** 2).sum())
                if i >= DIMENSION:
                    self.assertAlmostEqual(numpy.linalg.lstsq(known, seen, rcond=None)[0] @ asked, answer, delta=1e-2)
        self.assertAlmostEqual(numpy.mean(squares), floor, delta=1e-4)

    def test_ridge_regression_with_noise(self):
        """The variance of y is that of a normal w given the pairs before."""
        self.write("config.toml", CONFIG)
        run, floor = self.floor("task.noise=0.5")
        x, _ = self.prompts(run)
        variances = []
        for i in range(PAIRS):
            for known, asked in zip(x[:, :i], x[:, i], strict=True):
                precision = numpy.eye(DIMENSION) + known.T @ known / 0.25
                variances.append(asked @ numpy.linalg.inv(precision) @ asked + 0.25)
        self.assertAlmostEqual(numpy.mean(variances), floor, delta=1e-4)


if __name__ == "__main__":
    unittest.main()
