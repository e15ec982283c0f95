"""Converts dicts to the command's arguments (overrides), and arrays to data files of a run."""

import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import tomllib
from collections.abc import Mapping

import numpy

from xgrad.errors import ConfigError, IoError, LockError

HOLDS_A_RUN = (" already holds a run; continue it with xgrad.resume(), replace it with xgrad.train(..., overwrite=True), or choose "
               "another run.dir")


def literal(value):
    """The value as TOML."""
    if isinstance(value, (numpy.generic, numpy.ndarray)):
        value = value.tolist()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return repr(float(value))
    if isinstance(value, (str, os.PathLike)):
        escaped = "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in os.fspath(value))
        return f'"{escaped}"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {literal(each)}" for key, each in value.items()) + "}"
    raise TypeError(f"a config holds numbers, text, booleans, lists and dicts, not {type(value).__name__}")


def overrides(given):
    """{"optim.lr": 1e-3}, or {"optim": {"lr": 1e-3}}, as ["optim.lr=0.001"]."""
    words = []
    for key, value in (given or {}).items():
        if isinstance(value, Mapping) and "." not in key:
            words += [f"{key}.{name}={literal(each)}" for name, each in value.items()]
        else:
            words.append(f"{key}={literal(value)}")
    return words


def words(source, changes):
    """(file, name of the run, overrides) of a config, which is a path or a dict. A dict becomes overrides without a file."""
    if not isinstance(source, Mapping):
        path = os.fspath(source)
        return path, path, overrides(changes)
    task = source["task"].get("name", "") if isinstance(source.get("task"), Mapping) else source.get("task.name", "")
    return "", task or "run", overrides(source) + overrides(changes)


def _array(where, given):
    """The array, converted to a dtype that .npy data files may have."""
    array = numpy.asarray(given)
    if array.dtype.kind == "O" and all(isinstance(one, str) for one in array.flat):
        array = array.astype(str)  # for example a pandas column
    if array.dtype.kind not in "biufU":
        raise TypeError(f"{where}: expected an array of numbers, booleans or text, got {array.dtype}")
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        array = array.astype(numpy.float64)
    return numpy.asarray(array, array.dtype.newbyteorder("="), order="C")


def _rows(where, given):
    """An array with a row for each example, or a list of arrays if the rows differ in length."""
    lists = isinstance(given, (list, tuple)) or isinstance(given, numpy.ndarray) and given.dtype.kind == "O"
    if not lists or len({numpy.shape(row) for row in given}) < 2:
        return _array(where, given if not lists else list(given))
    rows = [_array(f"{where}[{number}]", row) for number, row in enumerate(given)]
    kind = next((row.dtype for row in rows if row.size), rows[0].dtype)  # of the empty rows, too: a row may have no labels
    rows = [row if row.size or row.ndim != 1 else row.astype(kind) for row in rows]
    if len({(row.ndim, row.shape[1:], row.dtype.kind in "biu", row.dtype.kind == "U") for row in rows}) > 1:
        raise ValueError(f"{where}: expected rows that differ only in length, got shapes {rows[0].shape}, {rows[1].shape}, ...")
    return rows


def _pair(split, pair):
    """The rows x and y of a split."""
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise ValueError(f"data: {split}: expected a pair of arrays (x, y), got {type(pair).__name__}")
    x, y = (_rows(f"data: {split}: {name}", array) for name, array in zip("xy", pair))
    shapes = [array.shape if isinstance(array, numpy.ndarray) else (len(array), "...") for array in (x, y)]
    if () in shapes or shapes[0][0] != shapes[1][0]:
        raise ValueError(f"data: {split}: expected x and y with a row for each example, got shapes {shapes[0]} and {shapes[1]}")
    if isinstance(y, numpy.ndarray) and y.dtype.kind == "f" and y.ndim > 2:
        raise ValueError(f"data: {split}: y: expected numbers to predict of shape (B) or (B, K), got {y.shape}")
    column = shapes[1][1:] == (1,) and shapes[0][:2] != shapes[1]
    return x, y[:, 0] if column else y


def _guess(x, y):
    """The values of task.tokens and task.labels that fit the rows."""
    kinds = [rows.dtype.kind if isinstance(rows, numpy.ndarray) else rows[0].dtype.kind for rows in (x, y)]
    guess = {"tokens": "numbers" if kinds[0] == "f" else "words"}
    if kinds[1] == "f":
        guess["labels"] = "numbers"
    elif not isinstance(y, numpy.ndarray) or y.ndim == 2:
        arrays = isinstance(x, numpy.ndarray) and isinstance(y, numpy.ndarray)
        tokens = y.shape == x.shape[:2] if arrays else all(len(one) == len(row) for row, one in zip(x, y))
        guess["labels"] = "tokens" if tokens else "multi_label"
    return guess


def run_folder(file, words, name):
    """The directory of a run, and whether run.dir names it. If run.dir does not, another run may already use that directory."""
    chosen = [word for word in words if word.startswith("run.dir=")]
    folder = tomllib.loads(chosen[-1])["run"]["dir"] if chosen else ""
    if not chosen and file:
        try:
            folder = tomllib.loads(pathlib.Path(file).read_text(encoding="utf-8")).get("run", {}).get("dir", "")
        except (OSError, ValueError, AttributeError, TypeError):  # the run reports these errors
            pass
    return (pathlib.Path(folder), True) if folder else (pathlib.Path("runs") / pathlib.Path(name).stem, False)


def _make_folder(file, words, name):
    """Makes and returns the directory of the run: run.dir, or the next free name below runs."""
    stem, chosen = run_folder(file, words, name)
    if chosen:
        if (stem / "config.toml").exists():
            raise IoError(f"{stem}{HOLDS_A_RUN}")
        stem.mkdir(parents=True, exist_ok=True)
        return stem
    stem.parent.mkdir(exist_ok=True)
    number = 1
    while True:
        folder = stem if number == 1 else stem.with_name(f"{stem.name}-{number}")
        try:
            folder.mkdir()
            return folder
        except FileExistsError:
            number += 1


def _save(path, array):
    """Writes an array; if the file exists, it must hold the same array."""
    if path.exists() and not numpy.array_equal(numpy.load(path), array):
        raise ValueError(f"{path}: holds other data; choose another directory")
    numpy.save(path, array)


def _save_lines(path, x, y):
    """Like _save(), for rows of several lengths, as JSON Lines."""
    def plain(row):
        return (row.astype(int) if row.dtype.kind == "b" else row).tolist()
    text = "".join(json.dumps({"x": plain(row), "y": plain(one)}) + "\n" for row, one in zip(x, map(numpy.asarray, y)))
    if path.exists() and path.read_text(encoding="utf-8") != text:
        raise ValueError(f"{path}: holds other data; choose another directory")
    path.write_text(text, encoding="utf-8")


def write_data(data, file, words, name, folder=None):
    """Writes rows into the run's directory, or into `folder`. Returns the directory, and the overrides that make the rows the
    run's task."""
    splits = data if isinstance(data, Mapping) else {"train": data}
    if not {"train"} <= set(splits) <= {"train", "validation", "test"}:
        raise ValueError(f"data: expected train, and perhaps validation and test, got {', '.join(map(str, splits))}")
    given = {word.partition("=")[0] for word in words}
    taken = [f"task.{key}" for key in ("name", "format", "input", "target", "train", "validation", "test") if f"task.{key}" in given]
    if taken:
        raise ConfigError(f"{taken[0]}: cannot be set beside data=, which is the task; leave it out")
    pairs = {split: _pair(split, pair) for split, pair in splits.items()}
    lines = any(isinstance(rows, list) for pair in pairs.values() for rows in pair)
    settings = {"name": "files", "format": "jsonl" if lines else "npy", "input": "x", "target": "y", **_guess(*pairs["train"])}
    place = _make_folder(file, words, name) if folder is None else folder
    for split, (x, y) in pairs.items():
        at = settings[split] = place / "data" / (f"{split}.jsonl" if lines else split)
        (at.parent if lines else at).mkdir(parents=True, exist_ok=True)
        if lines:
            _save_lines(at, x, y)
        else:
            _save(at / "x.npy", x)
            _save(at / "y.npy", y)
    made = {} if folder else {"run.dir": place}
    made |= {f"task.{key}": value for key, value in settings.items() if f"task.{key}" not in given}
    return place, overrides(made)


def remove_data(folder):
    """Removes the files of write_data() if the run has not begun."""
    if not (folder / "config.toml").exists():
        shutil.rmtree(folder / "data", ignore_errors=True)
        try:
            folder.rmdir()
        except OSError:  # it holds other files
            pass


@contextlib.contextmanager
def replaced(folder):
    """Moves the run in a folder aside. At the end, removes it if a new run has begun in the folder, else moves it back."""
    aside = folder.with_name(f".{folder.name}.{os.getpid()}")
    if not (folder / "config.toml").is_file():
        yield
        return
    with open(folder / "run.lock", "a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LockError(f"{folder}: another process is training this run") from None
        folder.rename(aside)
        try:
            yield
        finally:
            if (folder / "config.toml").is_file():
                shutil.rmtree(aside)
            else:
                aside.rename(folder)
