"""Writes training.json: what PyTorch's training loop of tests/torch/loop.py makes of the cases that cases.RECORDED names.

    XGRAD=build/release/xgrad /usr/bin/python3 make_training.py      # Debian's python3-torch

xgrad only tells the defaults of its keys. cases.summary() says what is kept of each tensor.
"""

import json
import os
import pathlib
import sys

import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "torch"))
sys.dont_write_bytecode = True
from cases import CASES, RECORDED, data_of, settings_of, summary  # noqa: E402
from loop import Loop, model_of  # noqa: E402


def record(case):
    data = data_of(case)
    loop = Loop(settings_of(case, os.environ["XGRAD"]), model_of(case, data), data)
    loop.run()
    return {
        "train": {step: row for step, row in loop.rows.items() if step % 20 == 0},
        "validation": loop.validations,
        "shapes": {name: list(x.shape) for name, x in loop.weights().items()},
        "weights": {name: summary(x) for name, x in loop.weights().items()},
        "averages": {name: summary(x) for name, x in loop.averages().items()},
    }


def main():
    cases = {name: record(CASES[name]) for name in RECORDED}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(case)}" for name, case in cases.items())
    (HERE / "training.json").write_text(f'{{"torch": "{torch.__version__}",\n{lines}}}\n')


if __name__ == "__main__":
    main()
