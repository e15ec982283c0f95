"""Trained models."""

from __future__ import annotations

import os
import tomllib
from typing import TYPE_CHECKING, Any

import numpy

from xgrad import _core
from xgrad.errors import ConfigError, Error, ShapeError
from xgrad.layers import load_state

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike
    Path = str | os.PathLike


class Model:
    """A trained model: that of a run, or of a checkpoint that you name; or an ensemble of several.

    The probabilities of an ensemble are the arithmetic mean of those of its runs, and its numbers the mean of their numbers. A
    decoder chooses each class by the mean of their probabilities. Its logits are those of the mean. It has no weights, step, config,
    activations and attention of its own: these raise Error.

    Inputs are what `xgrad predict` takes, one line of text each, or arrays: integers (B, N), each a token, or floats, (B, N)
    or (B, N, F). One input is a string, or an array of one axis, or (N, F) for a model of vectors with F > 1. Inputs of
    several lengths are a list of arrays.

    The decoder of an encoder_decoder reads `outputs`, for teacher forcing: lines or integers (B, M) as inputs are, one for
    each input, without the end. By default it reads its own greedy outputs, which predict() returns.
    """

    def __init__(self, path: Path | Iterable[Path], precision: str | None = None, *, last: bool = False):
        """Loads a Run, a run directory or a checkpoint, or an ensemble of a list of them. `precision` is "float", "bf16" or
        "double"; None: that of the run. Of a run, it takes the best checkpoint, or the last if `last`. Raises IoError,
        CheckpointError, and ConfigError, also if the runs are not of the same task."""
        paths = [os.fspath(one) for one in ([path] if isinstance(path, (str, os.PathLike)) else path)]
        if not paths:
            raise ConfigError("load: expected a run or a list of runs, got an empty list")
        self._model = _core.Model(paths, precision or "", last)

    def __repr__(self):
        files = self._model.files
        return f"xgrad.load({files if len(files) > 1 else files[0]!r})"

    @property
    def step(self) -> int:
        """The number of training steps."""
        return self._model.step

    @property
    def config(self) -> dict:
        """Its config with every key, as a dict of sections."""
        return tomllib.loads(self._model.config)

    @property
    def labels(self) -> list[str]:
        """The names of the classes, in the order of the last axis of logits() and probabilities(); numbers if they have no names."""
        return self._model.labels

    def predict(self, inputs: ArrayLike) -> list[_core.Prediction]:
        """A list with a Prediction for each input. Raises DataError for an invalid input."""
        return self._model.predict(self._lines(inputs))

    def logits(self, inputs: ArrayLike, replace: dict[str, ArrayLike] | None = None,
               outputs: ArrayLike | None = None) -> numpy.ndarray | list[numpy.ndarray]:
        """The outputs of the model as one array if all have one shape, (B, K) or (B, N, K), else as a list of B arrays.

        `replace` replaces activations, by their names in capture(), with arrays; outputs are decoded before the replacement. With
        `replace` or `outputs`, the result is one array for any lengths. Raises Error for an unknown name, ShapeError for
        another shape.
        """
        if replace is not None or outputs is not None:
            return self._model.replace(self._lines(inputs), replace or {}, [] if outputs is None else _lines(outputs))
        return _stacked([one.logits for one in self.predict(inputs)])

    def probabilities(self, inputs: ArrayLike) -> numpy.ndarray | list[numpy.ndarray]:
        """The probability of each of `labels`, in the shape of logits(): they sum to 1, or, for yes-or-no labels, each is that of yes."""
        if self._model.target == "numbers":
            raise Error("probabilities: this model predicts numbers, not classes")
        found = self.logits(inputs)
        return _stacked([self._probabilities(one) for one in found])

    def _probabilities(self, logits):
        x = logits.astype(numpy.float64)
        if self._model.target != "classes":
            return 0.5 + 0.5 * numpy.tanh(x / 2)
        x = numpy.exp(x - x.max(-1, keepdims=True))
        return x / x.sum(-1, keepdims=True)

    def evaluate(self, x: ArrayLike, y: ArrayLike) -> dict[str, float]:
        """Loss and metrics on inputs x with targets y, which are as in train(data=(x, y)): {name: value}, with standard errors as
        name_se. Labels may be names of classes."""
        lines, targets = self._lines(x), self._targets(y)
        if len(lines) != len(targets):
            raise ShapeError(f"evaluate: expected a target for each of the {len(lines)} inputs, got {len(targets)}")
        return self._model.evaluate(lines, targets)

    def _targets(self, y):
        rows = [numpy.asarray(row).reshape(-1) for row in y]
        if self._model.target != "classes":
            return [row.astype(float).tolist() for row in rows]
        rows = [row.astype(int) if row.dtype.kind == "b" else row for row in rows]
        numbers = {label: number for number, label in enumerate(self.labels)}
        unknown = {str(one) for row in rows for one in row.tolist()} - set(numbers)
        if unknown:
            raise ValueError(f"evaluate: {sorted(unknown)[0]!r} is not among the labels: {', '.join(self.labels[:20])}")
        return [[float(numbers[str(one)]) for one in row.tolist()] for row in rows]

    def silence(self, heads: Iterable[tuple[int, int]], examples: int = 1000) -> dict[str, dict[str, float]]:
        """The metrics on the first examples of the test split: of the `whole` model, and `without` the outputs of some heads. A head
        is a pair: the number of its attention module, in the order of attention(), and its number in the module."""
        return self._model.silence([tuple(head) for head in heads], examples)

    def patch(self, inputs: ArrayLike, source: ArrayLike, names: str = "*residual_after") -> dict:
        """Activation patching: replaces an activation of the input by that of another input, `source`, and measures how much of the
        answer to `source` this restores. Does so for one activation and one position at a time. `names` is a pattern of names in
        capture().

        Returns a dict with `restored` (names, positions), 0: no effect, 1: the whole difference; `names`; `measure`; and pairs of
        the answer and the value of the measure: `from` for the input, `to` for the source. Raises DataError if the two inputs
        differ in length or have the same answer.
        """
        (one,), (other,) = self._lines(inputs), self._lines(source)
        return self._model.patch(one, other, names)

    def attention(self, inputs: ArrayLike, outputs: ArrayLike | None = None) -> dict[str, numpy.ndarray]:
        """{path of an attention module: its maps (B, H, N, M)} for B inputs, H heads, N queries and M keys; the rows of
        shorter inputs are padded with zeros."""
        return self._model.attention(self._lines(inputs), [] if outputs is None else _lines(outputs))

    def capture(self, inputs: ArrayLike, outputs: ArrayLike | None = None) -> dict[str, numpy.ndarray]:
        """{name: array} of all activations, in order of computation; docs/looking-inside.md lists the names
        and shapes. Arrays hold doubles; shorter inputs are padded."""
        return self._model.capture(self._lines(inputs), [] if outputs is None else _lines(outputs))

    def study_heads(self, examples: int = 1000) -> list[dict]:
        """A list with a dict for each head: entropy, distance and asymmetry of its maps, and the metrics of the model with
        and without it, on the first examples of the test split. A decoder reads the targets. pandas.DataFrame() makes a
        table of it."""
        return self._model.study_heads(examples)

    def state_dict(self) -> dict[str, numpy.ndarray]:
        """{name: array} of all weights, read-only; they share the model's memory."""
        return self._model.state_dict()

    def _lines(self, inputs):
        return _lines(inputs, self._model.features)


def _stacked(arrays):
    return numpy.stack(arrays) if len({array.shape for array in arrays}) == 1 else arrays


def _line(row):
    row = numpy.asarray(row)
    if row.dtype.kind in "US" and row.ndim == 0:
        return str(row)
    return ", ".join(map(_line, row)) if row.ndim > 1 else " ".join(str(x) for x in row.tolist())


def _lines(values, features=0):
    """A line for each of some inputs, or for one; an input has an axis, or two if it is made of vectors."""
    if isinstance(values, str):
        return [values]
    axes = 2 if features > 1 else 1
    first = next(iter(values), ()) if isinstance(values, (list, tuple)) else ()
    depth = 1 + numpy.ndim(first) if isinstance(values, (list, tuple)) else numpy.ndim(values)
    text = numpy.asarray(first if isinstance(values, (list, tuple)) else values).dtype.kind in "US"
    rows = [values] if not text and 1 <= depth <= axes else list(values)
    for row in rows:
        shape = numpy.shape(row)
        if not text and (len(shape) > axes or axes == 2 and shape[-1:] != (features,)):
            expected = f"vectors of {features} numbers, (N, {features})" if axes == 2 else "one axis"
            raise ShapeError(f"expected inputs of {expected}, got one of shape {shape}")
    return [_line(row) for row in rows]


def _shown(self):
    if self.numbers:
        said = ", ".join(f"{number:.6g}" for number in self.numbers)
    else:
        pairs = [(label, p) for label, p in zip(self.labels, self.probabilities) if not self.multi_label or p > 0.5]
        said = ", ".join(f"{label!r} {p:.3f}" for label, p in pairs) or "no label"
    return f"<xgrad.Prediction: {said}>"


_core.Prediction.__repr__ = _shown


def load(path: Path | Iterable[Path], precision: str | None = None, *, last: bool = False) -> Any:
    """Loads the Model of a Run, a run directory or a checkpoint, to compute in `precision`: "float" or "bf16"; None: that of
    the run. Of a run, it takes the best checkpoint, or the last if `last`. A list of them is an ensemble, whose probabilities
    are the mean of theirs. Of an .npz file, as save() writes, it returns the dict."""
    if isinstance(path, (str, os.PathLike)) and os.fspath(path).endswith(".npz"):
        return load_state(path)
    return Model(path, precision, last=last)
