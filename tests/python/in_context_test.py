"""The example of linear regression in context: its guesses are those of NumPy's least squares, and it reads a model at the right places."""

import importlib.util
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import xgrad

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples/in_context.py"
TASK = {"name": "linear_regression", "dimension": 3, "pairs": 6, "noise": 0.5, "examples": 200, "validation": 20, "test": 20}


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("in_context", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class LeastSquares:
    """Reads prompts as a model does, and answers by least squares."""

    config = {"task": TASK}

    def logits(self, tokens):
        assert tokens.shape[1:] == (2 * TASK["pairs"] - 1, TASK["dimension"] + 1)
        guesses = np.zeros((*tokens.shape[:2], 1))
        for prompt, guess in zip(tokens.astype(float), guesses):
            x, y = prompt[::2, :-1], prompt[1::2, -1]
            assert not prompt[::2, -1].any() and not prompt[1::2, :-1].any()
            for i in range(1, len(x)):
                guess[2 * i] = np.linalg.lstsq(x[:i], y[:i], rcond=None)[0] @ x[i]
        return guesses


def test_a_model_of_least_squares_has_its_errors(example):
    rows = np.array(example.curve(LeastSquares()))
    assert rows[:, 0].tolist() == list(range(TASK["pairs"]))
    np.testing.assert_allclose(rows[:, 1], rows[:, 2], rtol=1e-2)  # the tokens are floats


def test_ridge_regression_solves_its_equations(example):
    x, y = example.draw(3, 6, 0.5, prompts=5)
    guesses = example.guess_of_ridge(x, y, 0.25)
    for prompt, (xs, ys) in enumerate(zip(x, y)):
        for i in range(6):  # the penalty as three more equations
            known, seen = np.vstack([xs[:i], 0.5 * np.eye(3)]), np.append(ys[:i], np.zeros(3))
            np.testing.assert_allclose(guesses[prompt, i], np.linalg.lstsq(known, seen, rcond=None)[0] @ xs[i], atol=1e-9)


def test_prints_the_curve_of_a_run(tmp_path):
    model = {"width": 8, "heads": 2, "layers": 1, "mask": "causal"}
    run = xgrad.train({"task": TASK, "model": model, "train": {"steps": 3}}, {"run.dir": tmp_path / "run"})
    done = subprocess.run([sys.executable, EXAMPLE, run], capture_output=True, text=True, check=True)
    head, *lines = done.stdout.splitlines()
    assert head.split() == ["pairs", "model", "least", "squares", "ridge"]
    _, model, least, ridge = np.array([[float(word) for word in line.split()] for line in lines]).T
    assert least[0] == ridge[0] and (ridge[1:] < least[1:]).all() and (model > ridge).all()
