"""Configs of Python, dicts and overrides, in the words of the command; arrays as the data of a run."""

import os
import pathlib

import numpy


def literal(value):
    """A value in TOML."""
    if isinstance(value, (numpy.generic, numpy.ndarray)):
        value = value.tolist()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (str, os.PathLike)):
        escaped = "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in os.fspath(value))
        return f'"{escaped}"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {literal(each)}" for key, each in value.items()) + "}"
    raise TypeError(f"a config holds numbers, text, booleans, lists and dicts, not {type(value).__name__}")


def overrides(given):
    """{"optim.lr": 1e-3}, or {"optim": {"lr": 1e-3}}, as ["optim.lr=0.001"]."""
    words = []
    for key, value in (given or {}).items():
        if isinstance(value, dict) and "." not in key:
            words += [f"{key}.{name}={literal(each)}" for name, each in value.items()]
        else:
            words.append(f"{key}={literal(value)}")
    return words


def words(source, changes):
    """(file, name of the run, overrides) of a config: a path, or a dict, which is all overrides of no file."""
    if not isinstance(source, dict):
        path = os.fspath(source)
        return path, path, overrides(changes)
    task = source.get("task", {}).get("name", "") if isinstance(source.get("task"), dict) else source.get("task.name", "")
    return "", task or "run", overrides(source) + overrides(changes)


def _guess(x, y):
    """What the arrays say of tokens and labels."""
    guess = {"tokens": "numbers" if x.dtype.kind == "f" else "words"}
    if y.dtype.kind == "f":
        guess["labels"] = "numbers"
    elif y.ndim == 2:
        guess["labels"] = "tokens" if y.shape == x.shape[:2] else "multi_label"
    return guess


def _folder(words, name):
    """The directory of the run: run.dir, or the next that is free, which it makes."""
    chosen = [word.partition("=")[2].strip('"') for word in words if word.startswith("run.dir=")]
    if chosen:
        pathlib.Path(chosen[-1]).mkdir(parents=True, exist_ok=True)
        return pathlib.Path(chosen[-1])
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
    """Writes arrays into the directory of the run, and returns the overrides that make them its task."""
    splits = data if isinstance(data, dict) else {"train": data}
    if not {"train"} <= set(splits) <= {"train", "validation", "test"}:
        raise ValueError(f"data: expected train, and perhaps validation and test, got {', '.join(splits)}")
    arrays = {split: [numpy.asarray(array) for array in pair] for split, pair in splits.items()}
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
    return overrides(made)
