"""Exceptions of xgrad. Each is also a standard Python exception. Its message is the one that the command prints."""


class Error(Exception):
    """The base class of every exception of xgrad."""


class ShapeError(Error, ValueError):
    """Shapes or arguments of an operation do not fit together."""


class GradientError(Error, RuntimeError):
    """A gradient cannot be computed: no derivative, no graph, or a value that it needs was changed."""


class ConfigError(Error, ValueError):
    """A config or an argument is wrong; the message lists every problem."""


class DataError(Error, ValueError):
    """Data is missing, damaged or out of range."""


class CheckpointError(Error, ValueError):
    """A checkpoint is damaged, was not written by xgrad, or does not fit the model."""


class NumericError(Error, FloatingPointError):
    """A loss, gradient or parameter is NaN or infinite, a gradient norm is a spike (train.spike), or no gradient reaches a parameter."""


class IoError(Error, OSError):
    """The system failed to read or write; the message names the path and the reason."""


class LockError(Error, BlockingIOError):
    """Another process is using the run directory."""


class OutOfMemory(Error, MemoryError):
    """An allocation failed; the message names its size and its purpose."""
