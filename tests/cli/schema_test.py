"""`xgrad config --schema`, judged by the package jsonschema: it takes what xgrad takes, and refuses what xgrad refuses."""

import copy
import json
import pathlib
import tomllib

import jsonschema

from command import CommandTest, unittest

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"

# Overrides of a good config that make it wrong: types, ranges, choices, unknown keys, keys that the chosen name does not read.
WRONG = """
task.name="reverze" task.name=3 task.length=0 task.length="8" task.length=8.5 task.lenght=8 task.window=3 task.train=-1
model.kind="encodr" model.kind=true model.width=0 model.width=64.5 model.width="64" model.heads=0 model.layers=-1
model.dropout=1.0 model.dropout=-0.1 model.dropout="none" model.norm="pree" model.normalization="group" model.final_norm=1
model.norm_eps=0 model.activation="swish" model.positions="rotary2" model.pool="first" model.window=-3 model.depth=3 model.preset="vit"
model.temperature=0 model.mask="bidirectional" model.score="l2" model.init_strict="yes"
optim.name="adamx" optim.lr=0 optim.lr=-1e-3 optim.lr="1e-3" optim.betas=[1.0,0.9] optim.betas=[0.9,-0.5] optim.betas=[0.9] optim.betas=0.9 optim.eps=0 optim.weight_decay=-1
optim.momentum=0.9 optim.nesterov=true optim.alpha=0.9 optim.rate=1
schedule.name="cosin" schedule.warmup=-1 schedule.warmup=1.5 schedule.final=1.5 schedule.power=2.0 schedule.every=10 schedule.decay=0.5
schedule.patience=3 schedule.wramup=3
train.steps=-1 train.batch=0 train.batch=2000000 train.clip=-1 train.loss="l1" train.label_smoothing=1.0
train.ema=1.0 train.on_spike="ignore" train.precision="half" train.threads=2000 train.keep=0 train.seed=-1 train.recompute=1
log.every=0 log.tensorboard="yes" run.dir=3 expect.accuracy=1.5 expect.r2=2.0 expect.loss=-1 expect.parameters=0 expect.speed=1
""".split()


class Schema(CommandTest):
    def setUp(self):
        super().setUp()
        schema = json.loads(self.xgrad("config", "--schema").stdout)
        jsonschema.Draft7Validator.check_schema(schema)
        self.validator = jsonschema.Draft7Validator(schema)

    def flaws(self, config):
        return [f"{'.'.join(map(str, error.absolute_path))}: {error.message}" for error in self.validator.iter_errors(config)]

    def test_every_shipped_config_is_valid(self):
        files = sorted(CONFIGS.glob("*.toml"))
        self.assertGreater(len(files), 30)
        for file in files:
            with self.subTest(file.name):
                self.assertEqual(self.flaws(tomllib.loads(file.read_text())), [])

    def test_the_config_that_a_run_keeps_is_valid(self):
        self.xgrad("train", "small.toml", "train.steps=2", "run.dir=run")
        self.assertEqual(self.flaws(tomllib.loads((self.folder / "run/config.toml").read_text())), [])

    def test_other_names_bring_their_own_keys(self):
        for text in ('optim.name = "sgd"\noptim.momentum = 0.8', 'schedule.name = "step"\nschedule.every = 5',
                     'optim.groups = [{match = "*", lr_scale = 0.1}]', "optim.lr = 1", "optim.betas = [0.9, 0.95]"):
            self.assertEqual(self.flaws(tomllib.loads('task.name = "reverse"\ntrain.steps = 1\n' + text)), [], text)

    def test_what_xgrad_refuses_is_not_valid(self):
        self.assertGreaterEqual(len(WRONG), 50)
        good = tomllib.loads((self.folder / "small.toml").read_text())
        self.assertEqual(self.flaws(good), [])
        for override in WRONG:
            name, value = override.split("=", 1)
            section, key = name.split(".")
            config = copy.deepcopy(good)
            config.setdefault(section, {})[key] = tomllib.loads(f"value = {value}")["value"]
            with self.subTest(override):
                self.assertNotEqual(self.flaws(config), [])
                self.xgrad("train", "small.toml", override, "--dry-run", exit_code=2)

    def test_groups_are_checked_too(self):
        for group in ({}, {"match": 3}, {"match": "*", "lr_scale": -1}, {"match": "*", "rate": 1}):
            self.assertNotEqual(self.flaws({"task": {"name": "reverse"}, "optim": {"groups": [group]}}), [], group)
        self.assertNotEqual(self.flaws({"train": {"steps": 1}}), [])


if __name__ == "__main__":
    unittest.main()
