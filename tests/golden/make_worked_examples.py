"""Writes worked_examples.txt: the numbers of the worked examples, from their formulas.

    /usr/bin/python3 make_worked_examples.py

A line is a name, a shape (2x3, or - for a scalar) and the elements, with as many digits as the example states.
"""

import contextlib
import math
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
HEAD = """# The numbers of the worked examples that tests carry in their names, by row, as other programs and papers give them.
# Format: name, shape ("-" for a scalar), values."""


def write(name, values, form=""):
    """`form` is that of format(); empty: all digits."""
    values = np.asarray(values)
    shape = "x".join(map(str, values.shape)) or "-"
    numbers = (format(float(x), form) if form else repr(float(x)).removesuffix(".0") for x in values.flatten())
    print(name, shape, *numbers)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def sizes():
    """Returns the number of parameters of a block, which is S1.10."""
    width, hidden = 384, 1536
    attention = 4 * width * width + width  # queries, keys, values and outputs; a bias of the outputs
    write("S0.12.parameters", attention)
    write("S0.12.scale", math.sqrt(128), ".7f")
    return attention + 2 * (2 * width) + (width + 1) * hidden + (hidden + 1) * width


def layer_norm():
    x = np.arange(1.0, 5.0)
    sigma = math.sqrt(x.var() + 1e-5)
    y = (x - x.mean()) / sigma
    dy = np.array([1.0, 0.0, 0.0, 0.0])
    write("S1.4.y", y[None])
    write("S1.4.dx", ((dy - dy.mean() - y * (dy * y).mean()) / sigma)[None])
    ten = np.array([0, 0, 0, 10, 0, 0, 0, 0])
    write("S1.6.largest", ((ten - ten.mean()) / ten.std()).max(), ".7f")


def cdf(x):
    return (1 + math.erf(x / math.sqrt(2))) / 2


def gelu():
    def slope(x):
        return cdf(x) + x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)

    def difference(x):
        return x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2 - x * cdf(x)

    write("S1.8.y", [x * cdf(x) for x in (1, -1, 0.5, 3)], ".10f")
    print("S1.8.dx 3", *(format(slope(x), ".10f") for x in (1, -1)), slope(0))
    low, high = -1.0, -0.5
    while high - low > 1e-12:  # where the slope changes its sign
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    print("S1.8.minimum 2", format(low, ".4f"), format(low * cdf(low), ".9f"))
    farthest = max(np.arange(0, 6, 1e-4), key=lambda x: abs(difference(x)))
    print("S1.8.difference 2", format(farthest, ".3f"), f"{abs(difference(farthest)) * 1e4:.4f}e-4")


def dictionary():
    keys = np.array([[131.5, 29.6, 8.9], [151.2, 42.3, 12.8], [154.3, 47.5, 14.2]])
    values = np.array([[12.0, 31.0], [45.0, 51.0], [52.0, 78.0]])
    queries = np.array([[1, 0, 0], [0, -1, 0], [0.1, 0, 1], [0.05, 0, 0.5], [1, 0, 1]])
    scores = queries @ keys.T
    sharp, soft = softmax(scores), softmax(scores / math.sqrt(3))
    write("S2.4.scores", scores[None, None], ".6g")
    write("S2.5.probabilities", sharp[None, None])
    write("S2.6.probabilities", soft[None, None])
    write("S2.7.unscaled", (sharp @ values)[None])
    write("S2.7.scaled", (soft @ values)[None])
    write("S2.9.entropy", -(sharp * np.log(sharp)).sum(-1)[2:4], ".3f")


def two_tokens():
    tokens = np.array([[1, 1], [1, 0]])
    write("S3.2.q", tokens @ np.array([[1, 0], [1, 1]]).T)
    write("S3.3.product", tokens @ np.array([[1, 1], [0, 1]]))
    q, k = np.array([[1.0, 2.0], [1.0, 1.0]]), np.eye(2)  # the values are the keys
    scores = q @ k.T / math.sqrt(2)
    b = softmax(scores)
    slope = b[0, 0] * (1 - b[0, 0])  # of b[0, 0] by its score; by the other one minus that
    write("S3.4.scores", scores[None, None])
    write("S3.5.b", b[None], ".10g")
    write("S3.5.dq", np.array([slope, -slope]) @ k / math.sqrt(2), ".10f")
    write("S3.5.dalpha", slope, ".10f")
    heads = softmax(q.T[:, :, None] * k.T[:, None, :])  # of one feature each: heads, queries, keys
    write("S3.7.probabilities", heads[None], ".6f")
    write("S3.7.y", np.einsum("hij,jh->ih", heads, k)[None], ".6f")


def cross_entropy():
    losses = -np.log(softmax(np.array([1.0, 2.0, 3.0])))
    write("S4.8.cross_entropy", [losses[2], 0.9 * losses[2] + 0.1 * losses.mean()], ".10f")


def main():
    with open(HERE / "worked_examples.txt", "w", encoding="ascii") as file, contextlib.redirect_stdout(file):
        print(HEAD)
        block = sizes()
        layer_norm()
        gelu()
        write("S1.10.parameters", block)
        dictionary()
        two_tokens()
        cross_entropy()


if __name__ == "__main__":
    main()
