"""`xgrad train` compared with a training loop of PyTorch, for every key that changes what is computed:
training_test.py XGRAD. Each case has the weights of PyTorch after 100 steps in double, and its losses, learning rates
and gradient norms on the way."""

import json
import shutil

import harness
import numpy as np
import order
from cases import BASE, CASES, WEIGHTS, config_of, data_of, distance, keys, rows_of, settings_of, weights_of
from harness import TorchTest, main
from loop import Loop, model_of

# These keys must not change the weights.
NO_NUMBERS = {"train.threads": 2, "train.recompute": True, "train.keep": 5, "train.max_seconds": 1e6,
              "train.dead_gradients_every": 1, "train.keep_best": False, "train.best_metric": "accuracy"}


def variants(case):
    """A name and the case without one of its keys, for each; the keys of groups, too."""
    for key in case:
        if not key.startswith("task."):
            yield key, {k: x for k, x in case.items() if k != key}
    for i, group in enumerate(case.get("optim.groups", [])):
        for key in group.keys() - {"match"}:
            less = [dict(g) for g in case["optim.groups"]]
            del less[i][key]
            yield f"groups.{i}.{key}", case | {"optim.groups": less}


class Training(TorchTest):
    def prepare(self, case):
        """Writes data and random initial weights. Returns the data and the model in PyTorch."""
        data = data_of(case)
        data.write(self.folder)
        model = model_of(case, data)
        np.savez(self.folder / WEIGHTS, **{name: x.numpy() for name, x in model.state_dict().items()})
        return data, model

    def train(self, case, run="run", exit_code=0):
        (self.folder / f"{run}.toml").write_text(config_of(case))
        return self.xgrad("train", f"{run}.toml", f"run.dir={run}", "--quiet", exit_code=exit_code)

    def check_rows(self, split, expected, tolerance):
        rows = rows_of(self.folder / "run", split)
        self.assertEqual(list(rows), list(expected))
        for step, figures in expected.items():
            for name, value in figures.items():
                self.assertAlmostEqual(rows[step][name], value, delta=tolerance * abs(value), msg=f"{split} {step} {name}")

    def check(self, name, **more):
        case = CASES[name] | more
        data, model = self.prepare(case)
        self.train(case)
        loop = Loop(settings_of(case, harness.XGRAD), model, data)
        loop.run()
        tolerance = 1e-9 if "train.precision" not in case else 1e-4
        self.check_rows("train", loop.rows, tolerance)
        self.check_rows("validation", loop.validations, tolerance)
        weights, means = weights_of(self.folder / "run")
        self.check_weights(weights, loop.weights(), tolerance)
        self.check_weights(means, loop.averages(), tolerance)
        if more:
            return
        self.check_that_every_key_counts(case, weights | {f"ema.{name}": x for name, x in means.items()})

    def check_weights(self, found, expected, tolerance):
        self.assertEqual(found.keys(), expected.keys())
        for name, x in expected.items():
            self.assertLess(distance(found[name], x), tolerance, name)

    def check_that_every_key_counts(self, case, tensors):
        """Without any one of its keys, a run ends with other weights or averages, or is refused."""
        for name, less in variants(case):
            if self.train(less, name, exit_code=None).returncode == 0:
                weights, means = weights_of(self.folder / name)
                others = weights | {f"ema.{name}": x for name, x in means.items()}
                same = others.keys() == tensors.keys() and all(distance(others[n], x) < 1e-7 for n, x in tensors.items())
                self.assertFalse(same, name)

    def test_shards_add_up_to_the_whole_batch(self):
        """A loop that knows no shards gives the same numbers, except for rounding."""
        for name in ("accumulate", "head_diversity", "mse", "class_weights", "stochastic_depth", "curriculum"):
            self.check(name, **{"train.shards": 3})
            shutil.rmtree(self.folder / "run")

    def test_the_keys_that_change_no_numbers(self):
        self.prepare({})
        self.train({})
        self.train(NO_NUMBERS, "other")
        weights, others = (weights_of(self.folder / run)[0] for run in ("run", "other"))
        for name, x in weights.items():
            self.assertTrue(np.array_equal(others[name], x), name)

    def test_every_key_has_a_case(self):
        cases = [BASE, NO_NUMBERS, {"train.shards": 3}, *CASES.values()]
        groups = {f"optim.groups.{key}" for case in cases for group in case.get("optim.groups", []) for key in group}
        named = {key for case in cases for key in case} | groups
        for key, (default, values, _) in keys(harness.XGRAD).items():
            self.assertIn(key, named)
            # Each word has a case, too. Three losses are those of "auto"; autocast_test.py compares bf16, and tests/cli/best_test.py
            # the metrics that choose a step.
            if default.startswith('"') and key != "train.best_metric":
                words = {case[key] for case in cases if key in case} | {json.loads(default)}
                self.assertLessEqual(set(values.split(", ")) - {"cross_entropy", "binary_cross_entropy", "mse", "bf16"}, words, key)

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
