"""Trained models."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy

from xgrad import _core

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class Model:
    """A trained model: the newest checkpoint of a run, or one that you name.

    Inputs are what `xgrad predict` takes, one line of text each, or arrays: integers (B, N), each a token, or floats, (B, N)
    or (B, N, F). One input is a string, or an array of one axis, or (N, F) for a model of vectors with F > 1.

    The decoder of an encoder_decoder reads `outputs`, for teacher forcing: lines or integers (B, M) as inputs are, one for
    each input, without the end. By default it reads its own greedy outputs, which predict() returns.
    """

    def __init__(self, path: str | os.PathLike, precision: str | None = None):
        """Loads a Run, a run directory or a checkpoint. `precision` is "float", "bf16" or "double"; None: that
        of the run. Raises IoError, CheckpointError, ConfigError."""
        self._model = _core.Model(os.fspath(path), precision or "")

    def __repr__(self):
        return f"xgrad.load({self._model.path!r})"

    @property
    def step(self) -> int:
        """The number of training steps."""
        return self._model.step

    @property
    def config(self) -> str:
        """The config with every key, as TOML."""
        return self._model.config

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
        found = [one.logits for one in self.predict(inputs)]
        return numpy.stack(found) if len({array.shape for array in found}) == 1 else found

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
        return _lines(inputs, axes=2 if self._model.features > 1 else 1)


def _line(row):
    row = numpy.asarray(row)
    if row.dtype.kind in "US" and row.ndim == 0:
        return str(row)
    return ", ".join(map(_line, row)) if row.ndim > 1 else " ".join(str(x) for x in row.tolist())


def _lines(values, axes=1):  # axes of one of them
    single = isinstance(values, str) or numpy.ndim(values) in range(1, axes + 1) and numpy.asarray(values).dtype.kind not in "US"
    return [_line(row) for row in ([values] if single else values)]


def load(path: str | os.PathLike, precision: str | None = None) -> Model:
    """Loads the Model of a Run, a run directory or a checkpoint, to compute in `precision`: "float", "bf16" or "double"; None: that of
    the run."""
    return Model(path, precision)
