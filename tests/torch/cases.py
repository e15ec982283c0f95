"""The trainings that are compared with PyTorch's: settings, data, initial weights and results. Needs no PyTorch."""

import collections
import json
import random
import re
import subprocess

import h5py
import numpy as np
import order

BASE = {"train.steps": 100, "train.batch": 8, "train.precision": "double", "optim.lr": 0.003}
MODEL = {"model.width": 8, "model.heads": 2, "model.layers": 1, "model.feedforward": 12, "model.dropout": 0.0,
         "model.attention_dropout": 0.0, "model.init_from": "weights.npz"}
TASK = {"task.name": "files", "task.train": "train.jsonl", "task.validation": "validation.jsonl",
        "task.test": "validation.jsonl", "task.input": "x", "task.target": "y", "task.labels": "tokens", "task.unknown": 0}
RUN = {"train.threads": 1, "log.every": 1}

# Each case changes these keys; `task.labels` chooses the kind of target. Every key of [optim], [schedule] and [train] is
# here or in NO_NUMBERS.
CASES = {
    "adamw": {},
    "adamw_settings": {"optim.betas": [0.8, 0.99], "optim.eps": 1e-4, "optim.weight_decay": 0.3},
    "adam": {"optim.name": "adam", "optim.betas": [0.8, 0.99], "optim.weight_decay": 0.1},
    "adagrad": {"optim.name": "adagrad", "optim.lr": 0.03, "optim.eps": 1e-3, "optim.weight_decay": 0.1},
    "rmsprop": {"optim.name": "rmsprop", "optim.alpha": 0.9, "optim.eps": 1e-3, "optim.weight_decay": 0.1},
    "sgd": {"optim.name": "sgd", "optim.lr": 0.05, "optim.momentum": 0.7, "optim.weight_decay": 0.1},
    "nesterov": {"optim.name": "sgd", "optim.lr": 0.05, "optim.nesterov": True, "optim.weight_decay": 0.1},
    "lion": {"optim.name": "lion", "optim.betas": [0.8, 0.95], "optim.weight_decay": 0.1},
    "groups": {"optim.groups": [{"match": "embedding.*", "lr_scale": 0.1, "weight_decay": 0.5},
                                {"match": "*.norm?.*", "freeze": True}, {"match": "e*", "lr_scale": 3.0}]},
    "groups_of_sgd": {"optim.name": "sgd", "optim.groups": [{"match": "head.*", "lr_scale": 0.3, "weight_decay": 0.2}]},
    "groups_of_adagrad": {"optim.name": "adagrad", "optim.groups": [{"match": "head.*", "lr_scale": 0.3}]},
    "groups_of_rmsprop": {"optim.name": "rmsprop", "optim.groups": [{"match": "head.*", "lr_scale": 0.3}]},
    "groups_of_lion": {"optim.name": "lion", "optim.groups": [{"match": "head.*", "lr_scale": 0.3, "weight_decay": 0.2}]},
    "constant": {"schedule.name": "constant"},
    "constant_warmup": {"schedule.name": "constant", "schedule.warmup": 30},
    "linear": {"schedule.name": "linear", "schedule.final": 0.2},
    "linear_warmup": {"schedule.name": "linear", "schedule.warmup": 30},
    "cosine": {"schedule.warmup": 30, "schedule.final": 0.1},
    "polynomial": {"schedule.name": "polynomial", "schedule.warmup": 30, "schedule.power": 2.5},
    "step": {"schedule.name": "step", "schedule.warmup": 30, "schedule.every": 20, "schedule.gamma": 0.4},
    "noam": {"schedule.name": "noam", "schedule.warmup": 30},
    "wsd": {"schedule.name": "wsd", "schedule.warmup": 30, "schedule.final": 0.1, "schedule.decay": 0.4},
    "one_cycle": {"schedule.name": "one_cycle", "schedule.warmup": 30, "schedule.final": 0.01, "schedule.div": 10.0},
    "polynomial_final": {"schedule.name": "polynomial", "schedule.power": 2.5, "schedule.final": 0.3},
    "plateau": {"schedule.name": "plateau", "schedule.patience": 1, "schedule.gamma": 0.3, "schedule.final": 0.1,
                "train.evaluate_every": 4},
    "plateau_warmup": {"schedule.name": "plateau", "schedule.warmup": 60, "schedule.patience": 0, "schedule.gamma": 0.7,
                       "train.evaluate_every": 4, "optim.lr": 0.03},
    "epochs": {"train.steps": 0, "train.epochs": 15},
    "epochs_accumulate": {"train.steps": 0, "train.epochs": 31, "train.accumulate": 3},
    "bucket": {"train.bucket": 3},
    "seed": {"train.seed": 5, "train.batch": 5},
    "accumulate": {"train.accumulate": 3},
    "clip": {"train.clip": 0.3, "optim.name": "sgd"},
    "clip_value": {"train.clip_value": 0.01, "train.clip": 0.05, "optim.name": "sgd"},
    "no_clip": {"train.clip": 0.0, "optim.name": "sgd", "optim.lr": 0.01},
    "label_smoothing": {"train.label_smoothing": 0.2, "train.accumulate": 2},
    "class_weights": {"train.class_weights": [0.5, 2.0, 0.0, 1.25], "train.label_smoothing": 0.2, "train.accumulate": 2},
    "balanced": {"train.class_weights": "balanced", "train.batch": 5},
    "binary_cross_entropy": {"task.labels": "multi_label"},
    "mse": {"task.labels": "numbers", "train.accumulate": 2},
    "mae": {"task.labels": "numbers", "train.loss": "mae"},
    "huber": {"task.labels": "numbers", "train.loss": "huber", "train.huber_delta": 0.4},
    "head_diversity": {"train.head_diversity": 3.0, "model.layers": 2, "train.accumulate": 2},
    "ema": {"train.ema": 0.9, "optim.groups": [{"match": "embedding.*", "freeze": True}]},
    "swa": {"train.swa_start": 30, "train.swa_every": 7, "optim.groups": [{"match": "embedding.*", "freeze": True}]},
    "stochastic_depth": {"model.stochastic_depth": 0.6, "train.dropout_start": 0.9, "train.dropout_end": 0.2,
                         "model.layers": 2, "train.accumulate": 2},
    "stablemax": {"model.stablemax": True, "train.label_smoothing": 0.2, "train.accumulate": 2},
    "curriculum": {"train.curriculum_start": 3, "train.curriculum_steps": 60, "train.accumulate": 2},
    "curriculum_bucket": {"train.curriculum_start": 2, "train.curriculum_steps": 90, "train.bucket": 3},
    "patience": {"train.patience": 3, "train.evaluate_every": 2, "optim.lr": 0.03},
    "skip": {"train.on_spike": "skip", "train.spike": 0.6, "train.seed": 3, "train.ema": 0.9},
    "rollback": {"train.on_spike": "rollback", "train.spike": 1.4, "train.save_every": 7},
    "encoder_decoder": {"task.name": "distinct", "task.length": 7, "task.min_length": 3, "task.symbols": 6, "task.examples": 50,
                        "task.validation": 12, "model.kind": "encoder_decoder", "model.qkv_bias": True, "train.accumulate": 2},
    "float": {"train.precision": "float"},
}

# Those of which golden/training.json holds the results.
RECORDED = ["adamw", "adagrad", "rmsprop", "nesterov", "lion", "groups", "cosine", "polynomial_final", "wsd", "plateau_warmup",
            "bucket", "label_smoothing", "binary_cross_entropy", "huber", "head_diversity", "ema", "rollback", "encoder_decoder"]

LETTERS = "abcd"
WEIGHTS = "weights.npz"


class Split:
    """Rows of words with random targets. Ids are given by frequency, then in byte order; 0 is <unk>."""

    def __init__(self, rows, labels, generator, ids=None):
        self.labels = labels
        self.words = [[f"w{min(generator.randrange(12), generator.randrange(12))}" for _ in range(generator.randint(2, 7))]
                      for _ in range(rows)]
        draw = {"tokens": lambda words: [generator.choice(LETTERS) for _ in words],
                "multi_label": lambda _: [letter for letter in LETTERS if generator.random() < 0.4],
                "numbers": lambda _: [generator.gauss(3, 2), generator.gauss(-1, 5)]}
        self.targets = [draw[labels](words) for words in self.words]
        counts = collections.Counter(word for words in self.words for word in words)
        self.ids = ids or {word: i + 1 for i, word in enumerate(sorted(counts, key=lambda word: (-counts[word], word)))}

    def write(self, path):
        path.write_text("".join(json.dumps({"x": x, "y": y}) + "\n" for x, y in zip(self.words, self.targets)))

    def scale(self):
        return np.mean(self.targets, 0), np.std(self.targets, 0)


class Data:
    """The rows of the files that a case reads."""

    def __init__(self, labels):
        generator = random.Random(7)
        self.train = Split(50, labels, generator)
        self.validation = Split(12, labels, generator, self.train.ids)
        if labels == "numbers":  # scaled by the training rows
            self.train.mean_and_deviation = self.validation.mean_and_deviation = self.train.scale()

    def write(self, folder):
        self.train.write(folder / "train.jsonl")
        self.validation.write(folder / "validation.jsonl")


class Distinct:
    """A split of the task distinct, computed from its definition: each token once, in order of first appearance, and an end."""

    labels = "generated"

    def __init__(self, split, rows, case):
        symbols = case["task.symbols"]
        lengths = case["task.min_length"], case["task.length"]
        self.words = [order.tokens(1, split, row, lengths, symbols) for row in range(rows)]
        self.targets = [[*dict.fromkeys(words), symbols] for words in self.words]
        self.ids = {word: word for word in range(symbols)}


class DistinctData:
    def __init__(self, case):
        self.train = Distinct("train", case["task.examples"], case)
        self.validation = Distinct("validation", case["task.validation"], case)

    def write(self, folder):
        """Nothing: xgrad draws its own."""


def data_of(case):
    return DistinctData(case) if "task.name" in case else Data(case.get("task.labels", "tokens"))


def initial_weights(shapes):
    """Random weights for {name: shape}."""
    generator = np.random.default_rng(3)
    return {name: generator.normal("norm" in name and name.endswith("weight"), 0.4, tuple(shape)) for name, shape in shapes.items()}


def toml(value):
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(x)}" for key, x in value.items()) + "}"
    return json.dumps(value)


def config_of(case):
    settings = RUN | (TASK if "task.name" not in case else {}) | MODEL | BASE | case
    return "".join(f"{key} = {toml(value)}\n" for key, value in settings.items())


def keys(xgrad):
    """key -> its columns in `xgrad config`: default, values and help. optim.groups.lr is a key of a group."""
    found = {}
    for section in ("optim", "schedule", "train"):
        shown = subprocess.run([xgrad, "config", section], capture_output=True, text=True, check=True).stdout
        for line in shown.splitlines():
            if line.startswith("["):
                prefix = re.match(r"\[+([\w.]+)", line)[1]
            elif line and prefix != "task":  # which has the key task.train
                key, *columns = re.split(" {2,}", line.strip())
                found[f"{prefix}.{key}"] = columns
    return found


def settings_of(case, xgrad):
    defaults = {key: json.loads(default) for key, (default, *_) in keys(xgrad).items() if default != "-"}
    s = defaults | {"optim.groups": []} | BASE | case
    if s["train.loss"] == "auto":
        s["train.loss"] = {"multi_label": "binary_cross_entropy", "numbers": "mse"}.get(s.get("task.labels"))
    return s


def weights_of(run):
    """The last weights of a run, and their averages."""
    checkpoint = sorted((run / "checkpoints").glob("*.h5"))[-1]
    with h5py.File(checkpoint) as file:
        weights = {f"{m}.{p}": x[...] for m in file.attrs["layer_names"].astype(str) for p, x in file[m].items()}
        means = {name: x[...] for kind in ("ema", "swa") for name, x in file.get(f"optimizer/{kind}", {}).items()}
    return weights, means


def rows_of(run, split):
    lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    return {row["step"]: row for row in lines if row["split"] == split}


def distance(x, y):
    return float(np.abs(x - y).max() / np.abs(y).max())


def summary(x):
    """The norm of a tensor and three projections on fixed directions, which see every element: 1e-9 in one changes them as much."""
    x = np.asarray(x, dtype=float).flatten()
    waves = (np.cos((k + 0.5) * np.arange(1, x.size + 1)) for k in range(3))
    return [float(np.sqrt((x * x).sum())), *(float((x * wave).sum()) for wave in waves)]
