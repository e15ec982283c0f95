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
    """A trained model: the model of a run or of a checkpoint, or an ensemble of several.

    An ensemble averages the probabilities of its runs, or the numbers that they predict. A decoder averages the probabilities
    before it chooses each class. The softmax of an ensemble's logits (the sigmoid for yes-or-no labels) gives the
    averaged probabilities. An ensemble has no weights, step, config, activations and attention of its own: these raise Error.

    Inputs are lines of text, as `xgrad predict` takes them, or an array: integers (B, N), where each integer is a token, or
    floats (B, N) or (B, N, F). A single input is a string, an array of one axis, or an array (N, F) if the model reads vectors
    with F > 1. Inputs of several lengths are a list of arrays.

    The decoder of an encoder_decoder reads `outputs` (teacher forcing): lines of text or integers (B, M), one row for each
    input, without the end class. By default it reads its own greedy outputs, which predict() returns.
    """

    def __init__(self, path: Path | Iterable[Path], precision: str | None = None, *, last: bool = False):
        """Loads a Run, a run directory or a checkpoint; a list of them makes an ensemble. `precision` is "float", "bf16" or
        "double"; None: the precision of the run. Of a run, it loads the best checkpoint, or the last one if `last`. Raises
        IoError and CheckpointError. Raises ConfigError, for example if the runs of an ensemble have different tasks."""
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
        """The model's config with every key, as a dict of sections."""
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
        """The outputs of the model: one array (B, K) or (B, N, K) if all outputs have the same shape, else a list of B arrays.

        `replace` maps names of activations, as in capture(), to arrays that replace them. A decoder's own outputs are decoded
        before the replacement. With `replace` or `outputs`, the result is one padded array for any lengths. Raises Error for an
        unknown name, ShapeError for another shape.
        """
        if replace is not None or outputs is not None:
            return self._model.replace(self._lines(inputs), replace or {}, [] if outputs is None else _lines(outputs))
        return _stacked([one.logits for one in self.predict(inputs)])

    def probabilities(self, inputs: ArrayLike) -> numpy.ndarray | list[numpy.ndarray]:
        """The probability of each of `labels`, in the shape of logits(). Probabilities of classes sum to 1. For yes-or-no
        labels, each number is the probability of yes."""
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
        """Loss and metrics on inputs x with targets y, both as in train(data=(x, y)). Returns {name: value}, with standard
        errors as name_se. Labels may be names of classes."""
        lines, targets = self._lines(x), self._targets(y)
        if len(lines) != len(targets):
            raise ShapeError(f"evaluate: expected a target for each of the {len(lines)} inputs, got {len(targets)}")
        return self._model.evaluate(lines, targets)

    def _targets(self, y):
        rows = [numpy.asarray(row).reshape(-1) for row in y]
        names = self._model.target == "yes or no" and any(row.dtype.kind == "U" for row in rows)  # instead of a 0 or 1 for each
        if self._model.target != "classes" and not names:
            return [row.astype(float).tolist() for row in rows]
        rows = [[str(one) for one in (row.astype(int) if row.dtype.kind == "b" else row).tolist()] for row in rows]
        numbers = {label: number for number, label in enumerate(self.labels)}
        unknown = {one for row in rows for one in row} - set(numbers)
        if unknown:
            raise ValueError(f"evaluate: {sorted(unknown)[0]!r} is not among the labels: {', '.join(self.labels[:20])}")
        return [[float(label in row) for label in numbers] if names else [float(numbers[one]) for one in row] for row in rows]

    def silence(self, heads: Iterable[tuple[int, int]], examples: int = 1000) -> dict[str, dict[str, float]]:
        """The metrics on the first examples of the test split: of the `whole` model, and `without` the outputs of some heads. A
        head is a pair of numbers from 0: its attention module, in the order of attention(), and the head in the module."""
        return self._model.silence([tuple(head) for head in heads], examples)

    def patch(self, inputs: ArrayLike, source: ArrayLike, names: str = "*residual_after") -> dict:
        """Activation patching: runs the model on `inputs`, but replaces an activation by the same activation for another input,
        `source`. Measures how far the answer moves to the answer to `source`. Does so for one activation and one position at a
        time. `names` is a pattern of names in capture().

        Returns a dict. `restored` (names, positions) is 0 for no effect and 1 for the whole difference. `names` lists the
        activations. `measure` says which number was compared. `from` and `to` are pairs, for the input and for the source: the
        answer, and the value of the measure. Raises DataError if the two inputs differ in length or have the same answer.
        """
        (one,), (other,) = self._lines(inputs), self._lines(source)
        return self._model.patch(one, other, names)

    def attention(self, inputs: ArrayLike, outputs: ArrayLike | None = None) -> dict[str, numpy.ndarray]:
        """{path of an attention module: its maps (B, H, N, M)} for B inputs, H heads, N queries and M keys. Beyond the end of a
        shorter input, keys have the weight 0, and the rows of queries have no meaning."""
        return self._model.attention(self._lines(inputs), [] if outputs is None else _lines(outputs))

    def capture(self, inputs: ArrayLike, outputs: ArrayLike | None = None) -> dict[str, numpy.ndarray]:
        """{name: array} of all activations, in order of computation; docs/looking-inside.md lists the names
        and shapes. Arrays hold doubles; shorter inputs are padded."""
        return self._model.capture(self._lines(inputs), [] if outputs is None else _lines(outputs))

    def study_heads(self, examples: int = 1000) -> list[dict]:
        """A list with a dict for each head: entropy, distance and asymmetry of its maps, and the metrics of the model with
        and without it, on the first examples of the test split. A decoder reads the targets (teacher forcing).
        pandas.DataFrame() makes a table of the list."""
        return self._model.study_heads(examples)

    def state_dict(self) -> dict[str, numpy.ndarray]:
        """{name: a copy, read-only} of all weights: the averaged weights if the run keeps an average."""
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
    """A line for each input, or for the single one. An input has one axis, or two if it consists of vectors."""
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
    """Loads the Model of a Run, a run directory or a checkpoint, to compute in `precision`: "float", "bf16" or "double"; None:
    the precision of the run. Of a run, it loads the best checkpoint, or the last one if `last`. A list of them makes an
    ensemble, which averages their probabilities. For an .npz file, as save() writes it, returns its dict."""
    if isinstance(path, (str, os.PathLike)) and os.fspath(path).endswith(".npz"):
        return load_state(path)
    return Model(path, precision, last=last)
