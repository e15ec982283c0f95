#!/usr/bin/env python3
"""Trains configs/reverse.toml in PyTorch, with the same task, model, optimizer, schedule and evaluations as `xgrad train`.

    bench/reverse_torch.py configs/reverse.toml SEED EVALUATE_EVERY THREADS
"""
import math
import pathlib
import sys
import tomllib
import types

import torch
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
from torch_model import Model, loss  # noqa: E402

EXAMPLES, VALIDATION, SYMBOLS = 50000, 1000, 10  # xgrad's defaults, which the config does not set


def examples(count, length):
    ids = torch.randint(SYMBOLS, (count, length))
    return ids, ids.flip(1)


def decays(name):
    """Whether weight decay applies to a parameter: only to matrices that multiply features."""
    return name.endswith("weight") and not any(part in name for part in ("norm", "embedding"))


def optimizer(model, lr):
    groups = [{"params": [p for name, p in model.named_parameters() if decays(name) == wanted], "weight_decay": decay}
              for wanted, decay in ((True, 0.01), (False, 0.0))]
    return torch.optim.AdamW(groups, lr=lr, fused=True)


def batches(data, size):
    """Yields batches without end, in a new order each epoch."""
    while True:
        order = torch.randperm(len(data[0]))
        for chosen in order.split(size):
            yield data[0][chosen], data[1][chosen]


@torch.inference_mode()
def evaluated(model, data):
    model.eval()
    logits = model(data[0])
    value = F.cross_entropy(logits.flatten(0, 1), data[1].flatten()).item()
    accuracy = (logits.argmax(-1) == data[1]).float().mean().item()
    model.train()
    return value, accuracy, math.sqrt(accuracy * (1 - accuracy) / data[1].numel())


def main(path, seed, every, threads):
    torch.set_num_threads(int(threads))
    torch.manual_seed(int(seed))
    config = tomllib.loads(pathlib.Path(path).read_text())
    length, steps, warmup = config["task"]["length"], config["train"]["steps"], config["schedule"]["warmup"]
    sizes = config["model"]
    model = Model(types.SimpleNamespace(width=sizes["width"], heads=sizes["heads"], layers=sizes["layers"], tokens=length,
                                        vocabulary=SYMBOLS, dropout=sizes["dropout"], attention="fused"))
    train, validation = examples(EXAMPLES, length), examples(VALIDATION, length)
    adamw = optimizer(model, config["optim"]["lr"])

    def factor(step):
        if step < warmup:
            return (step + 1) / (warmup + 1)
        return (1 + math.cos(math.pi * (step - warmup) / (steps - warmup))) / 2

    schedule = torch.optim.lr_scheduler.LambdaLR(adamw, factor)
    source = batches(train, config["train"]["batch"])
    for step in range(1, steps + 1):
        adamw.zero_grad()
        value = loss(model, *next(source))
        value.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adamw.step()
        schedule.step()
        if step % int(every) == 0:
            held_out, accuracy, error = evaluated(model, validation)
            print(f"{step:10}  {value.item():.4f}  {held_out:.4f}  {accuracy:.4f} ± {error:.4f}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
