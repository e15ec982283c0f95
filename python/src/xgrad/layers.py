"""Modules: the methods that the layers of C++ share with your own classes. Also functions that write and read files of
weights."""

from __future__ import annotations

import os
import pathlib
from typing import TYPE_CHECKING, Any

import numpy

from xgrad import _core
from xgrad.errors import CheckpointError, IoError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def _base(kind):
    """The C++ class that a module class is, or inherits from."""
    return next(one for one in kind.__mro__ if one.__module__ == _core.__name__)


def _remade(kind, given, values):
    """Makes a copy of a module for copy and pickle, without gradients. The caller sets its attributes afterwards."""
    module = kind.__new__(kind)
    _base(kind).__init__(module, **given)
    for name, value in values.items():
        _own(module)[name].value = value
    return module


def _own(module):
    """{name: Variable} of a C++ layer, the same Variables at each call; empty for a module that is no C++ layer."""
    if _base(type(module)) is _core.Module:
        return {}
    if "_own" not in module.__dict__:
        module.__dict__["_own"] = module._own_parameters()
    return module.__dict__["_own"]


def _named(name, value):
    """The parameters in an attribute, with their names."""
    if isinstance(value, _core.Variable):
        if value.requires_grad and value.is_leaf:
            yield name, value
    elif isinstance(value, _core.Module):
        for own, one in value.named_parameters():
            yield f"{name}.{own}", one
    elif isinstance(value, (list, tuple, dict)):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _named(f"{name}.{key}", one)


class Module:
    """The methods that this file gives to xgrad.Module."""

    def __getattr__(self, name):
        own = {} if name.startswith("__") else _own(self)
        if name not in own:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return own[name]

    def __setattr__(self, name, value):
        if name in _own(self):
            raise AttributeError(f"{name} is a parameter of {type(self).__name__}; assign an array to {name}.value")
        object.__setattr__(self, name, value)

    def __repr__(self):
        parameters = self.parameters()
        return f"<{type(self).__name__}: {len(parameters)} parameters, {sum(one.size for one in parameters):,} numbers>"

    def __reduce__(self):
        values = {name: one.value.copy() for name, one in _own(self).items()}
        return _remade, (type(self), self._given, values), {key: at for key, at in vars(self).items() if key != "_own"}

    def named_parameters(self) -> Iterator[tuple[str, _core.Variable]]:
        """(name, Variable) of every parameter, named by its path as in PyTorch. A shared parameter is listed once."""
        seen = set()
        for name, value in [*_own(self).items(), *((name, one) for key, at in vars(self).items() if key != "_own" for name, one in _named(key, at))]:
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def parameters(self) -> list[_core.Variable]:
        """Every parameter, for an optimizer."""
        return [one for _, one in self.named_parameters()]

    def zero_grad(self):
        """Clears the gradients."""
        for one in self.parameters():
            one.zero_grad()

    def state_dict(self) -> dict[str, numpy.ndarray]:
        """{name: a copy of its value} of every parameter."""
        return {name: one.value.copy() for name, one in self.named_parameters()}

    def load_state_dict(self, state: Mapping[str, Any]):
        """Sets the parameters to the values of arrays, or PyTorch tensors, with the same names. If names differ, raises
        CheckpointError; if shapes differ, ShapeError. After an error, nothing has changed."""
        own = dict(self.named_parameters())
        missing, unknown = [name for name in own if name not in state], [name for name in state if name not in own]
        if missing or unknown:
            raise CheckpointError("; ".join(f"{what}: {', '.join(names)}" for what, names in
                                            (("parameters that the state lacks", missing), ("not parameters of this module", unknown)) if names))
        values = {name: numpy.asarray(value) for name, value in state.items()}
        for name, value in values.items():
            if value.shape != own[name].shape:
                raise ShapeError(f"{name}: expected shape {own[name].shape}, got {value.shape}")
        for name, value in values.items():
            own[name].value = value.astype(own[name].dtype)


for _name, _value in vars(Module).items():
    if _name not in ("__module__", "__doc__", "__dict__", "__weakref__"):
        setattr(_core.Module, _name, _value)


class Dropout(_core.Module):
    """Multiplies each element by 0 with probability p, else by 1/(1-p), if the call passes a stream of random numbers, as in
    rng=xgrad.Rng(seed) / step. Without `rng`, it returns x. Each Dropout derives its own stream from `rng`."""

    def __init__(self, p: float = 0.5):
        super().__init__()
        self.p = p
        self._place = _core._next_place()

    def __call__(self, x, rng: _core.Rng | None = None):
        return x if rng is None else _core.dropout(x, self.p, rng / self._place)


def _flat(state, prefix=""):
    for key, value in state.items():
        if not isinstance(key, str) or "/" in key:
            raise ValueError(f"save: expected keys of text without /, got {key!r}")
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}/")
        else:
            array = numpy.asarray(value)
            if array.dtype.kind not in "biufU":
                raise TypeError(f"save: {prefix}{key}: expected an array, number or text, got {type(value).__name__}")
            yield prefix + key, array


def save(state: Mapping[str, Any], path: str | os.PathLike):
    """Writes a dict of arrays, numbers, text and further dicts, such as a state_dict(), to an .npz file. A crash leaves either
    the old file or the complete new one. load(), numpy.load() and model.init_from of a config read it."""
    path = pathlib.Path(path)
    if path.suffix != ".npz":
        raise ValueError(f"save: expected a path that ends in .npz, got {path}")
    arrays = dict(_flat(state))
    made = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(made, "wb") as file:
            numpy.savez(file, **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(made, path)
    except OSError as error:
        made.unlink(missing_ok=True)
        raise IoError(f"{path}: {error.strerror}") from None


def load_state(path: str | os.PathLike) -> dict:
    """The dict that save() wrote."""
    state = {}
    try:
        with numpy.load(path, allow_pickle=False) as file:
            for name in file.files:
                *folders, key = name.split("/")
                place = state
                for folder in folders:
                    place = place.setdefault(folder, {})
                array = file[name]
                place[key] = array.item() if array.ndim == 0 else array
    except OSError as error:
        raise IoError(f"{path}: {error.strerror or error}") from None
    except Exception as error:
        raise CheckpointError(f"{path}: {error}") from None
    return state
