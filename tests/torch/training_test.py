"""`xgrad train` compared with a training loop of PyTorch, for every key that changes what is computed:
training_test.py XGRAD. Each case has the weights of PyTorch after 100 steps in double, and its losses, learning rates
and gradient norms on the way."""

import collections
import json
import random
import re

import h5py
import numpy as np
import order
import torch
from harness import TorchTest, main
from loop import IGNORE, Loop
from model import Model

BASE = {"train.steps": 100, "train.batch": 8, "train.precision": "double", "optim.lr": 0.003}
MODEL = {"model.width": 8, "model.heads": 2, "model.layers": 1, "model.feedforward": 12, "model.dropout": 0.0,
         "model.attention_dropout": 0.0, "model.init_from": "weights.npz"}
TASK = {"task.name": "files", "task.train": "train.jsonl", "task.validation": "validation.jsonl",
        "task.test": "validation.jsonl", "task.input": "x", "task.target": "y", "task.labels": "tokens", "task.unknown": 0,
        "train.threads": 1, "log.every": 1}

# Each case changes these keys; `task.labels` chooses the kind of target. Every key of [optim], [schedule] and [train] is
# here or in NO_NUMBERS.
CASES = {
    "adamw": {},
    "adamw_settings": {"optim.beta1": 0.8, "optim.beta2": 0.99, "optim.eps": 1e-4, "optim.weight_decay": 0.3},
    "adam": {"optim.name": "adam", "optim.beta1": 0.8, "optim.beta2": 0.99, "optim.weight_decay": 0.1},
    "adagrad": {"optim.name": "adagrad", "optim.lr": 0.03, "optim.eps": 1e-3, "optim.weight_decay": 0.1},
    "rmsprop": {"optim.name": "rmsprop", "optim.alpha": 0.9, "optim.eps": 1e-3, "optim.weight_decay": 0.1},
    "sgd": {"optim.name": "sgd", "optim.lr": 0.05, "optim.momentum": 0.7, "optim.weight_decay": 0.1},
    "nesterov": {"optim.name": "sgd", "optim.lr": 0.05, "optim.nesterov": True, "optim.weight_decay": 0.1},
    "lion": {"optim.name": "lion", "optim.beta1": 0.8, "optim.beta2": 0.95, "optim.weight_decay": 0.1},
    "groups": {"optim.groups": [{"match": "embedding.*", "lr": 0.1, "weight_decay": 0.5},
                                {"match": "*.norm?.*", "freeze": True}, {"match": "e*", "lr": 3.0}]},
    "groups_of_sgd": {"optim.name": "sgd", "optim.groups": [{"match": "head.*", "lr": 0.3, "weight_decay": 0.2}]},
    "groups_of_adagrad": {"optim.name": "adagrad", "optim.groups": [{"match": "head.*", "lr": 0.3}]},
    "groups_of_rmsprop": {"optim.name": "rmsprop", "optim.groups": [{"match": "head.*", "lr": 0.3}]},
    "groups_of_lion": {"optim.name": "lion", "optim.groups": [{"match": "head.*", "lr": 0.3, "weight_decay": 0.2}]},
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
    "plateau": {"schedule.name": "plateau", "schedule.patience": 1, "schedule.gamma": 0.3, "schedule.final": 0.1,
                "train.evaluate_every": 4},
    "epochs": {"train.steps": 0, "train.epochs": 15},
    "epochs_accumulate": {"train.steps": 0, "train.epochs": 31, "train.accumulate": 3},
    "bucket": {"train.bucket": 3},
    "seed": {"train.seed": 5, "train.batch": 5},
    "accumulate": {"train.accumulate": 3},
    "clip": {"train.clip": 0.3, "optim.name": "sgd"},
    "no_clip": {"train.clip": 0.0, "optim.name": "sgd", "optim.lr": 0.01},
    "label_smoothing": {"train.label_smoothing": 0.2, "train.accumulate": 2},
    "binary_cross_entropy": {"task.labels": "multi_label"},
    "mse": {"task.labels": "numbers", "train.accumulate": 2},
    "mae": {"task.labels": "numbers", "train.loss": "mae"},
    "huber": {"task.labels": "numbers", "train.loss": "huber", "train.huber_delta": 0.4},
    "head_diversity": {"train.head_diversity": 3.0, "model.layers": 2, "train.accumulate": 2},
    "ema": {"train.ema": 0.9, "optim.groups": [{"match": "embedding.*", "freeze": True}]},
    "patience": {"train.patience": 3, "train.evaluate_every": 2, "optim.lr": 0.03},
    "skip": {"train.on_spike": "skip", "train.spike": 0.6, "train.seed": 3, "train.ema": 0.9},
    "rollback": {"train.on_spike": "rollback", "train.spike": 1.4, "train.save_every": 7},
    "float": {"train.precision": "float"},
}

# These keys must not change the weights.
NO_NUMBERS = {"train.threads": 2, "train.recompute": True, "train.keep": 5, "train.max_seconds": 1e6,
              "train.dead_gradients_every": 1}

LETTERS = "abcd"


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

    def target(self, y):
        if self.labels == "tokens":
            return torch.tensor([LETTERS.index(letter) for letter in y])
        if self.labels == "multi_label":
            return torch.tensor([float(letter in y) for letter in LETTERS]).double()
        mean, deviation = self.mean_and_deviation
        return torch.tensor(np.float32((np.array(y) - mean) / deviation)).double()

    def batch(self, examples):
        """ids, mask and targets, padded at the end"""
        pad = torch.nn.utils.rnn.pad_sequence
        ids = pad([torch.tensor([self.ids.get(word, 0) for word in self.words[e]]) for e in examples], True)
        mask = pad([torch.ones(len(self.words[e]), dtype=torch.bool) for e in examples], True)
        return ids, mask, pad([self.target(self.targets[e]) for e in examples], True, IGNORE)


class Data:
    def __init__(self, labels):
        generator = random.Random(7)
        self.train = Split(50, labels, generator)
        self.validation = Split(12, labels, generator, self.train.ids)
        if labels == "numbers":  # scaled by the training rows
            self.train.mean_and_deviation = self.validation.mean_and_deviation = self.train.scale()


def toml(value):
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(x)}" for key, x in value.items()) + "}"
    return json.dumps(value)


def variants(case):
    """A name and the case without one of its keys, for each; the keys of groups, too."""
    for key in case:
        if key != "task.labels":
            yield key, {k: x for k, x in case.items() if k != key}
    for i, group in enumerate(case.get("optim.groups", [])):
        for key in group.keys() - {"match"}:
            less = [dict(g) for g in case["optim.groups"]]
            del less[i][key]
            yield f"groups.{i}.{key}", case | {"optim.groups": less}


def distance(x, y):
    return float((x - y).abs().max() / y.abs().max())


class Training(TorchTest):
    def keys(self):
        """key -> its columns in `xgrad config`: default, values and help. optim.groups.lr is a key of a group."""
        found = {}
        for section in ("optim", "schedule", "train"):
            for line in self.xgrad("config", section).stdout.splitlines():
                if line.startswith("["):
                    prefix = re.match(r"\[+([\w.]+)", line)[1]
                elif line and prefix != "task":  # which has the key task.train
                    key, *columns = re.split(" {2,}", line.strip())
                    found[f"{prefix}.{key}"] = columns
        return found

    def settings(self, case):
        defaults = {key: json.loads(default) for key, (default, *_) in self.keys().items() if default != "-"}
        s = defaults | {"optim.groups": []} | BASE | case
        if s["train.loss"] == "auto":
            s["train.loss"] = {"multi_label": "binary_cross_entropy", "numbers": "mse"}.get(s.get("task.labels"))
        return s

    def prepare(self, labels, layers):
        """Writes data and random initial weights. Returns the data and the model in PyTorch."""
        data = Data(labels)
        data.train.write(self.folder / "train.jsonl")
        data.validation.write(self.folder / "validation.jsonl")
        model = Model(width=8, heads=2, layers=layers, feedforward=12, classes=2 if labels == "numbers" else 4,
                      pool="none" if labels == "tokens" else "cls", vocabulary=len(data.train.ids) + 1, length=7).double()
        generator = np.random.default_rng(3)
        state = {name: generator.normal("norm" in name and name.endswith("weight"), 0.4, tuple(x.shape))
                 for name, x in model.state_dict().items()}
        np.savez(self.folder / "weights.npz", **state)
        model.load_state_dict({name: torch.tensor(x) for name, x in state.items()})
        return data, model

    def train(self, case, run="run", exit_code=0):
        config = TASK | MODEL | BASE | case
        (self.folder / f"{run}.toml").write_text("".join(f"{key} = {toml(x)}\n" for key, x in config.items()))
        return self.xgrad("train", f"{run}.toml", f"run.dir={run}", "--quiet", exit_code=exit_code)

    def weights(self, run="run"):
        """The last weights of a run, and their averages."""
        checkpoint = sorted((self.folder / run / "checkpoints").glob("*.h5"))[-1]
        with h5py.File(checkpoint) as file:
            weights = {f"{m}.{p}": torch.tensor(x[...]) for m in file.attrs["layer_names"].astype(str) for p, x in file[m].items()}
            means = {name: torch.tensor(x[...]) for name, x in file.get("optimizer/ema", {}).items()}
        return weights, means

    def check_rows(self, split, expected, tolerance):
        lines = map(json.loads, (self.folder / "run/metrics.jsonl").read_text().splitlines())
        rows = {row["step"]: row for row in lines if row["split"] == split}
        self.assertEqual(list(rows), list(expected))
        for step, figures in expected.items():
            for name, value in figures.items():
                self.assertAlmostEqual(rows[step][name], value, delta=tolerance * abs(value), msg=f"{split} {step} {name}")

    def check(self, name):
        case = CASES[name]
        data, model = self.prepare(case.get("task.labels", "tokens"), case.get("model.layers", 1))
        self.train(case)
        loop = Loop(self.settings(case), model, data)
        loop.run()
        tolerance = 1e-9 if "train.precision" not in case else 1e-4
        self.check_rows("train", loop.rows, tolerance)
        self.check_rows("validation", loop.validations, tolerance)
        weights, means = self.weights()
        self.check_weights(weights, model.state_dict(), tolerance)
        if loop.average:
            averages = loop.average.module.named_parameters()
            self.check_weights(means, {name: x for name, x in averages if x.requires_grad}, tolerance)
        self.check_that_every_key_counts(case, weights | {f"ema.{name}": x for name, x in means.items()})

    def check_weights(self, found, expected, tolerance):
        self.assertEqual(found.keys(), expected.keys())
        for name, x in expected.items():
            self.assertLess(distance(found[name], x), tolerance, name)

    def check_that_every_key_counts(self, case, tensors):
        """Without any one of its keys, a run ends with other weights or averages, or is refused."""
        for name, less in variants(case):
            if self.train(less, name, exit_code=None).returncode == 0:
                weights, means = self.weights(name)
                others = weights | {f"ema.{name}": x for name, x in means.items()}
                same = others.keys() == tensors.keys() and all(distance(others[n], x) < 1e-7 for n, x in tensors.items())
                self.assertFalse(same, name)

    def test_the_keys_that_change_no_numbers(self):
        self.prepare("tokens", 1)
        self.train({})
        self.train(NO_NUMBERS, "other")
        weights, _ = self.weights()
        others, _ = self.weights("other")
        for name, x in weights.items():
            self.assertTrue(torch.equal(others[name], x), name)

    def test_every_key_has_a_case(self):
        cases = [BASE, NO_NUMBERS, *CASES.values()]
        groups = {f"optim.groups.{key}" for case in cases for group in case.get("optim.groups", []) for key in group}
        named = {key for case in cases for key in case} | groups
        for key, (default, values, _) in self.keys().items():
            self.assertIn(key, named)
            if default.startswith('"'):  # each word has a case, too; three losses are those of "auto"
                words = {case[key] for case in cases if key in case} | {json.loads(default)}
                self.assertLessEqual(set(values.split(", ")) - {"cross_entropy", "binary_cross_entropy", "mse"}, words, key)

    def test_the_order(self):
        """Each epoch returns every example once, in an order of its own; buckets hold similar lengths."""
        lengths = [2 + 7 * i % 11 for i in range(203)]
        for bucket in (1, 5):
            epochs = [order.epoch(e, lengths, seed=s, batch=8, bucket=bucket) for s, e in [(1, 0), (1, 1), (2, 0)]]
            for i, batches in enumerate(epochs):
                self.assertEqual(sorted(sum(batches, [])), list(range(203)))
                self.assertEqual([len(batch) for batch in batches], 25 * [8] + [3])
                self.assertNotIn(batches, epochs[:i])
                spreads = [max(lengths[e] for e in batch) - min(lengths[e] for e in batch) for batch in batches]
                self.assertEqual(sum(spreads) / len(spreads) < 4, bucket > 1)
                longest = [max(lengths[e] for e in batch) for batch in batches[:5]]
                self.assertNotEqual(longest, sorted(longest))

    def test_philox(self):
        """The known answer of its authors."""
        self.assertEqual(order.philox(0, (0, 0, 0, 0)), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8))


for name in CASES:
    setattr(Training, f"test_{name}", lambda self, name=name: self.check(name))

if __name__ == "__main__":
    main()
