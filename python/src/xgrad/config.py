"""Converts dicts and overrides to the command's arguments, and arrays to the data of a run."""

import os
import pathlib
from collections.abc import Mapping

import numpy


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


def _guess(x, y):
    """The settings of tokens and labels that fit the arrays."""
    guess = {"tokens": "numbers" if x.dtype.kind == "f" else "words"}
    if y.dtype.kind == "f":
        guess["labels"] = "numbers"
    elif y.ndim == 2:
        guess["labels"] = "tokens" if y.shape == x.shape[:2] else "multi_label"
    return guess


def _array(where, given):
    """The array in a dtype that .npy data files may have."""
    array = numpy.asarray(given)
    if array.dtype.kind == "O" and all(isinstance(one, str) for one in array.flat):
        array = array.astype(str)  # a column of pandas, say
    if array.dtype.kind not in "biufU":
        raise TypeError(f"{where}: expected an array of numbers, booleans or text, got {array.dtype}")
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        array = array.astype(numpy.float64)
    return numpy.asarray(array, array.dtype.newbyteorder("="), order="C")


def _pair(split, pair):
    """The arrays x and y of a split, with a row for each example."""
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise ValueError(f"data: {split}: expected a pair of arrays (x, y), got {type(pair).__name__}")
    x, y = (_array(f"data: {split}: {name}", array) for name, array in zip("xy", pair))
    if x.ndim == 0 or y.ndim == 0 or len(x) != len(y):
        raise ValueError(f"data: {split}: expected x and y with a row for each example, got shapes {x.shape} and {y.shape}")
    return x, y


def _folder(words, name):
    """Makes the run directory: run.dir, or the next free one."""
    chosen = [word for word in words if word.startswith("run.dir=")]
    if chosen:
        import tomllib  # here, since most programs do not need it
        folder = pathlib.Path(tomllib.loads(chosen[-1])["run"]["dir"])
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    stem = pathlib.Path("runs") / pathlib.Path(name).stem
    stem.parent.mkdir(exist_ok=True)
    number = 1
    while True:
        folder = stem if number == 1 else stem.with_name(f"{stem.name}-{number}")
        try:
            folder.mkdir()
            return folder
        except FileExistsError:
            number += 1


def write_data(data, words, name):
    """Writes arrays into the run directory, and returns the directory with the overrides that make them its task."""
    splits = data if isinstance(data, Mapping) else {"train": data}
    if not {"train"} <= set(splits) <= {"train", "validation", "test"}:
        raise ValueError(f"data: expected train, and perhaps validation and test, got {', '.join(map(str, splits))}")
    arrays = {split: _pair(split, pair) for split, pair in splits.items()}
    settings = {"name": "files", "format": "npy", "input": "x", "target": "y", **_guess(*arrays["train"])}
    given = {word.partition("=")[0] for word in words}
    folder = _folder(words, name)
    for split, pair in arrays.items():
        place = folder / "data" / split
        place.mkdir(parents=True)
        for array, file in zip(pair, ("x.npy", "y.npy")):
            numpy.save(place / file, array)
        settings[split] = place
    made = {"run.dir": folder} | {f"task.{key}": value for key, value in settings.items() if f"task.{key}" not in given or key == "name"}
    return folder, overrides(made)


def remove_data(folder):
    """Removes the files of write_data() if the run did not begin."""
    if not (folder / "config.toml").exists():
        import shutil  # here, since most programs do not need it
        shutil.rmtree(folder / "data", ignore_errors=True)
        try:
            folder.rmdir()
        except OSError:  # it holds files of others
            pass
