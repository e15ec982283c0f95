"""Methods of Variable that let it be used like a NumPy array or a PyTorch tensor. All of them call ops."""

from __future__ import annotations

import numpy

from xgrad import _core
from xgrad.errors import GradientError


def max(x, axis: int | None = None, keepdims: bool = False) -> _core.Variable:
    """The largest element, or the largest elements along an axis. The axis is removed; with `keepdims` it stays with the size
    1. If several elements are largest, the first one gets the gradient."""
    x = x if isinstance(x, _core.Variable) else _core.Variable(x)
    if axis is None:
        axes = (1,) * x.ndim if keepdims else ()
        return _core.take(x.reshape(-1), 0, x.reshape(-1).argmax(0)).reshape(axes)
    best = numpy.expand_dims(x.argmax(axis), axis)
    places = numpy.take_along_axis(_places(x), best, axis)
    return _core.take(x.reshape(-1), 0, places if keepdims else places.squeeze(axis))


def _places(x):
    return numpy.arange(x.size).reshape(x.shape)


def _parts(x, keys):
    """x, indexed by integers and slices."""
    if ... in keys:
        at = keys.index(...)
        rest = x.ndim + 1 - sum(key is not None for key in keys)
        keys = keys[:at] + (slice(None),) * rest + keys[at + 1:]
    axis = 0
    for key in keys:
        if isinstance(key, slice):
            begin, end, _ = key.indices(x.shape[axis])
            x = x if end - begin == x.shape[axis] else _core.slice(x, axis, begin, end)
            axis += 1
        elif key is not None:
            x = _core.select(x, axis, int(key) % x.shape[axis])
    return x


def _basic(key):
    plain = key is None or key is ... or isinstance(key, (int, numpy.integer)) and not isinstance(key, bool)
    return plain or isinstance(key, slice) and key.step in (None, 1)


def _reduction(function):
    """A method that numpy.sum(x) can call, too. NumPy passes the arguments dtype and out, which must be None."""
    def method(self, axis: int | None = None, keepdims: bool = False, *, dtype: None = None, out: None = None) -> _core.Variable:
        if dtype is not None or out is not None:
            raise TypeError(f"{function.__name__}: a Variable takes no dtype and no out")
        return function(self, axis, keepdims)
    method.__doc__ = function.__doc__
    return method


def _compare(ufunc):
    return lambda self, other: NotImplemented if other is None else ufunc(self.value, numpy.asarray(other))


class Variable:
    """The methods that this file gives to xgrad.Variable."""

    def __getitem__(self, index):
        keys = index if isinstance(index, tuple) else (index,)
        if all(map(_basic, keys)):
            shape = numpy.broadcast_to(False, self.shape)[keys].shape  # raises NumPy's error for a wrong index
            if 0 not in shape:
                return _parts(self, keys).reshape(shape)
        return _core.take(self.reshape(-1), 0, _places(self)[index])

    def __len__(self):
        if not self.shape:
            raise TypeError("a Variable without axes has no len()")
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __bool__(self):
        return bool(self.value)

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __format__(self, spec):
        return object.__format__(self, spec) if self.shape else format(self.item(), spec)

    __eq__, __ne__ = _compare(numpy.equal), _compare(numpy.not_equal)
    __lt__, __le__ = _compare(numpy.less), _compare(numpy.less_equal)
    __gt__, __ge__ = _compare(numpy.greater), _compare(numpy.greater_equal)
    __hash__ = object.__hash__

    def __reduce__(self):
        if not self.is_leaf:
            raise GradientError("only a leaf can be copied or pickled, not the result of an op; call detach() first")
        return _core.Variable, (self.value.copy(), self.requires_grad)

    @property
    def ndim(self):
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self):
        """The number of elements."""
        return self.value.size

    @property
    def T(self):
        """This Variable with its axes in the opposite order."""
        return _core.transpose(self, range(self.ndim)[::-1])

    def numpy(self):
        """The same as `value`."""
        return self.value

    def tolist(self):
        """The elements as nested lists of numbers."""
        return self.value.tolist()

    def reshape(self, *shape):
        """The same elements in another shape, as in x.reshape(2, -1) or x.reshape((2, -1)). The size -1 is computed from the
        others."""
        return _core.reshape(self, shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)

    def permute(self, *axes):
        """Reorders the axes: axis i of the result is axis axes[i] of this Variable."""
        return _core.transpose(self, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes)

    def transpose(self, *axes):
        """x.transpose(1, 2) swaps two axes, as in PyTorch; x.transpose((0, 2, 1)) is x.permute(0, 2, 1)."""
        if len(axes) != 2:
            return self.permute(*axes) if axes else self.T
        order = list(range(self.ndim))
        a, b = axes
        order[a], order[b] = order[b], order[a]
        return _core.transpose(self, order)

    view = reshape
    sum, mean, max = _reduction(_core.sum), _reduction(_core.mean), _reduction(max)


for _name, _value in vars(Variable).items():
    if _name not in ("__module__", "__doc__", "__dict__", "__weakref__"):
        setattr(_core.Variable, _name, _value)
