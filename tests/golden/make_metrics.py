"""Writes metrics.txt: what scikit-learn says of predictions and targets.

    /usr/bin/python3 make_metrics.py      # Debian's python3-sklearn

A line is a name, a shape (2x3, or - for a scalar) and the elements.
"""

import contextlib
import pathlib

import numpy as np
import sklearn
from sklearn import metrics

HERE = pathlib.Path(__file__).resolve().parent


def write(name, value):
    value = np.asarray(value)
    shape = "x".join(map(str, value.shape)) or "-"
    print(name, shape, *(repr(float(v)) for v in value.flatten()))


def classes(random):
    """20 samples of 6 tokens, 4 classes; the last is never predicted, -100 counts nothing."""
    targets = random.integers(0, 4, (20, 6))
    logits = random.normal(size=(20, 6, 4)).round(4)
    logits[..., 3] -= 10
    logits[np.arange(20)[:, None], np.arange(6), targets] += 1.0
    logits = logits.round(4)
    targets[random.random((20, 6)) < 0.2] = -100
    write("classes.logits", logits)
    write("classes.targets", targets)
    counts = targets != -100
    truth, guess = targets[counts], logits.argmax(-1)[counts]
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    write("classes.loss", metrics.log_loss(truth, np.exp(log_p)[counts], labels=range(4)))
    write("classes.accuracy", metrics.accuracy_score(truth, guess))
    write("classes.confusion", metrics.confusion_matrix(truth, guess, labels=range(4)))
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(truth, guess, labels=range(4), zero_division=0)
    write("classes.precision", precision)
    write("classes.recall", recall)
    write("classes.f1", f1)
    write("classes.macro_f1", f1.mean())


def numbers(random):
    """30 targets of 2 components far from 0."""
    targets = (random.normal(size=(30, 2)) * [1, 5] + 1000).round(3)
    outputs = (targets + random.normal(size=(30, 2))).round(3)
    write("numbers.outputs", outputs)
    write("numbers.targets", targets)
    write("numbers.mse", metrics.mean_squared_error(targets, outputs))
    write("numbers.mae", metrics.mean_absolute_error(targets, outputs))
    write("numbers.r2", metrics.r2_score(targets, outputs, multioutput="variance_weighted"))


def binary(random):
    """25 samples of 3 answers."""
    logits = random.normal(size=(25, 3)).round(4) * 2
    answers = (random.random((25, 3)) < 1 / (1 + np.exp(-logits))).astype(int)
    write("binary.logits", logits)
    write("binary.answers", answers)
    write("binary.accuracy", metrics.accuracy_score(answers.flatten(), logits.flatten() > 0))
    write("binary.exact", metrics.accuracy_score(answers, logits > 0))
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(answers, logits > 0)
    for name, values in (("precision", precision), ("recall", recall), ("f1", f1)):
        write(f"binary.{name}", values)
    write("binary.macro_f1", metrics.f1_score(answers, logits > 0, average="macro"))
    write("binary.loss", metrics.log_loss(answers.flatten(), 1 / (1 + np.exp(-logits.flatten()))))


def main():
    random = np.random.default_rng(1)
    with open(HERE / "metrics.txt", "w", encoding="ascii") as file, contextlib.redirect_stdout(file):
        print(f"# scikit-learn {sklearn.__version__}")
        for part in (classes, numbers, binary):
            part(random)


if __name__ == "__main__":
    main()
