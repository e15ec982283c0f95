"""Measures the error of a trained model in in-context linear regression (Garg et al. 2022), for each number of pairs in the prompt.

    xgrad train configs/linear_regression.toml
    python3 examples/in_context.py runs/linear_regression
"""

import sys

import numpy as np
import xgrad


def draw(dimension, pairs, noise, prompts=1000, seed=1):
    """Returns vectors x (B, N, D) and values y (B, N), distributed as in the task."""
    random = np.random.default_rng(seed)
    w, x = random.normal(size=(prompts, dimension)), random.normal(size=(prompts, pairs, dimension))
    return x, np.einsum("bnd,bd->bn", x, w) + noise * random.normal(size=(prompts, pairs))


def guess_of_model(model, x, y):
    tokens = np.zeros((len(x), 2 * x.shape[1], x.shape[2] + 1), np.float32)  # x_1, y_1, x_2, y_2, ...
    tokens[:, ::2, :-1] = x
    tokens[:, 1::2, -1] = y
    return model.logits(tokens[:, :-1])[:, ::2, 0]


def guess_of_ridge(x, y, penalty):
    """Predicts each y from the pairs before it. If the penalty is 0, this is least squares of minimal norm."""
    guesses = np.zeros_like(y)
    for i in range(1, y.shape[1]):
        known, seen = x[:, :i], y[:, :i, None]
        turned = np.swapaxes(known, 1, 2)
        gram = turned @ known + penalty * np.eye(x.shape[2])
        w = np.linalg.solve(gram, turned @ seen) if penalty else np.linalg.pinv(known) @ seen
        guesses[:, i] = np.einsum("bd,bd->b", x[:, i], w[..., 0])
    return guesses


def curve(model):
    """Returns rows (pairs, model, least squares, ridge regression with the best penalty); the last three are mean squared errors."""
    task = model.config["task"]
    x, y = draw(task["dimension"], task["pairs"], task["noise"])
    guesses = guess_of_model(model, x, y), guess_of_ridge(x, y, 0), guess_of_ridge(x, y, task["noise"] ** 2)
    return list(zip(range(y.shape[1]), *(((guess - y) ** 2).mean(0) for guess in guesses)))


if __name__ == "__main__":
    print(f"{'pairs':>5} {'model':>9} {'least squares':>15} {'ridge':>9}")
    for pairs, *errors in curve(xgrad.load(sys.argv[1])):
        print("{:5d} {:9.4f} {:15.4f} {:9.4f}".format(pairs, *errors))
