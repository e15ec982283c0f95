"""Writes optim.txt: what PyTorch's optimizers, clipping, schedules and means of weights do in float64, and Lion by NumPy.

    /usr/bin/python3 make_optim.py      # Debian's python3-torch

A line is a name and numbers. Parameters start at ((5 e + 2 p) mod 13 - 6) / 8 for element e of parameter p, and the
gradient at step s (0 is the first) is x + ((7 e + 3 s + p) mod 11 - 5) / 8, so both sides can state them exactly.
"""

import contextlib
import pathlib

import numpy
import torch
from torch.optim import lr_scheduler

HERE = pathlib.Path(__file__).resolve().parent

# name, shape, whether weight decay applies
PARAMETERS = [
    ("embedding.token.weight", (3, 2), False),
    ("embedding.position.weight", (4, 2), False),
    ("encoder.layers.0.norm1.weight", (2,), False),
    ("encoder.layers.0.attention.in_proj_weight", (6, 2), True),
    ("encoder.layers.0.attention.in_proj_bias", (6,), False),
    ("head.weight", (3, 2), True),
]


def start(p, shape):
    e = torch.arange(torch.Size(shape).numel())
    return (((5 * e + 2 * p) % 13 - 6) / 8).double().reshape(shape)


def gradient(x, p, s):
    e = torch.arange(x.numel())
    return x.detach() + (((7 * e + 3 * s + p) % 11 - 5) / 8).double().reshape(x.shape)


def line(name, values):
    print(name, *(repr(float(v)) for v in values))


def optimizer_case(name, make):
    tensors = [torch.nn.Parameter(start(p, shape)) for p, (_, shape, _) in enumerate(PARAMETERS)]
    groups = [[t for t, (_, _, d) in zip(tensors, PARAMETERS) if d == wanted] for wanted in (True, False)]
    optimizer = make([dict(params=groups[0], weight_decay=0.1), dict(params=groups[1], weight_decay=0.0)])
    for s in range(100):
        for p, t in enumerate(tensors):
            t.grad = gradient(t, p, s)
        optimizer.step()
        if s in (0, 99):
            for t, (parameter, _, _) in zip(tensors, PARAMETERS):
                line(f"{name}.{s + 1}.{parameter}", t.detach().flatten())
    for t, (parameter, _, _) in zip(tensors, PARAMETERS):
        for slot, value in optimizer.state[t].items():
            if slot != "step":
                line(f"{name}.100.{slot}.{parameter}", value.flatten())


def lion_case(lr=0.0093, beta1=0.85, beta2=0.97):
    """Chen et al. 2023, algorithm 2, line by line."""
    values = [start(p, shape).numpy() for p, (_, shape, _) in enumerate(PARAMETERS)]
    means = [numpy.zeros_like(v) for v in values]
    for s in range(100):
        for p, (_, _, decays) in enumerate(PARAMETERS):
            g = gradient(torch.from_numpy(values[p]), p, s).numpy()
            c = beta1 * means[p] + (1 - beta1) * g
            values[p] = values[p] - lr * (numpy.sign(c) + (0.1 if decays else 0.0) * values[p])
            means[p] = beta2 * means[p] + (1 - beta2) * g
        if s in (0, 99):
            for value, (parameter, _, _) in zip(values, PARAMETERS):
                line(f"lion.{s + 1}.{parameter}", value.flatten())
    for mean, (parameter, _, _) in zip(means, PARAMETERS):
        line(f"lion.100.exp_avg.{parameter}", mean.flatten())


def groups_case():
    """A tenth of the learning rate for embeddings, a decay for the norm, the head frozen; and the mean of the weights."""
    tensors = [torch.nn.Parameter(start(p, shape)) for p, (_, shape, _) in enumerate(PARAMETERS)]
    optimizer = torch.optim.AdamW([
        dict(params=tensors[:2], lr=0.001, weight_decay=0.0),
        dict(params=tensors[2:3], weight_decay=0.3),
        dict(params=tensors[3:4], weight_decay=0.1),
        dict(params=tensors[4:5], weight_decay=0.0),
    ], lr=0.01, betas=(0.8, 0.95), eps=1e-7)
    means = [t.detach().clone() for t in tensors]
    for s in range(40):
        for p, t in enumerate(tensors):
            t.grad = gradient(t, p, s)
        optimizer.step()
        means = [0.9 * m + 0.1 * t.detach() for m, t in zip(means, tensors)]
    for t, m, (parameter, _, _) in zip(tensors, means, PARAMETERS):
        line(f"groups.40.{parameter}", t.detach().flatten())
        line(f"groups.ema.{parameter}", m.flatten())


def clip_case(name, max_norm):
    tensors = [torch.nn.Parameter(start(p, shape)) for p, (_, shape, _) in enumerate(PARAMETERS)]
    for p, t in enumerate(tensors):
        t.grad = gradient(t, p, 0)
    line(f"{name}.norm", [torch.nn.utils.clip_grad_norm_(tensors, max_norm)])
    for t, (parameter, _, _) in zip(tensors, PARAMETERS):
        line(f"{name}.{parameter}", t.grad.flatten())


def schedule_case(name, decay, lr=0.002, steps=40, warmup=7):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=lr)
    warm = lr_scheduler.LinearLR(optimizer, start_factor=1 / (warmup + 1), total_iters=warmup)
    schedule = lr_scheduler.SequentialLR(optimizer, [warm, decay(optimizer, steps - warmup)], [warmup])
    rates = []
    for _ in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    line(name, rates)


def one_cycle_case(lr=0.002, steps=40, warmup=7):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=lr)
    schedule = lr_scheduler.OneCycleLR(optimizer, lr, total_steps=steps, pct_start=(warmup + 1) / steps,
                                       cycle_momentum=False, div_factor=20.0, final_div_factor=50.0)
    rates = []
    for s in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if s + 1 < steps:
            schedule.step()
    line("one_cycle", rates)


def plateau_case(lr=0.002):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=lr)
    schedule = lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.3, patience=3, min_lr=0.04 * lr)
    rates = []
    for e in range(40):
        # Falls every fourth time, and later no more but for what is within the threshold.
        schedule.step(5.0 / (1 + min(e, 16) // 4) + (0.0001 * (e % 3) if e % 2 else -0.00005 * (e % 5)))
        rates.append(optimizer.param_groups[0]["lr"])
    line("plateau", rates)


def cases():
    print("# torch", torch.__version__)
    optimizer_case("adam", lambda g: torch.optim.Adam(g, lr=0.01, betas=(0.8, 0.95), eps=1e-7))
    optimizer_case("adamw", lambda g: torch.optim.AdamW(g, lr=0.01, betas=(0.8, 0.95), eps=1e-7))
    optimizer_case("sgd", lambda g: torch.optim.SGD(g, lr=0.01, momentum=0.85))
    optimizer_case("nesterov", lambda g: torch.optim.SGD(g, lr=0.01, momentum=0.85, nesterov=True))
    optimizer_case("rmsprop", lambda g: torch.optim.RMSprop(g, lr=0.01, alpha=0.9, eps=1e-7))
    optimizer_case("adagrad", lambda g: torch.optim.Adagrad(g, lr=0.01, eps=1e-7))
    lion_case()
    groups_case()
    clip_case("clip", 0.75)
    clip_case("no_clip", 100.0)
    schedule_case("constant", lambda o, n: lr_scheduler.LambdaLR(o, lambda s: 1.0))
    schedule_case("linear", lambda o, n: lr_scheduler.LinearLR(o, 1.0, end_factor=0.1, total_iters=n))
    schedule_case("cosine", lambda o, n: lr_scheduler.CosineAnnealingLR(o, n, eta_min=0.1 * 0.002))
    schedule_case("polynomial", lambda o, n: lr_scheduler.PolynomialLR(o, n, power=2.5))
    schedule_case("step", lambda o, n: lr_scheduler.StepLR(o, 6, gamma=0.3))
    one_cycle_case()
    plateau_case()


def main():
    torch.set_default_dtype(torch.float64)
    with open(HERE / "optim.txt", "w", encoding="ascii") as file, contextlib.redirect_stdout(file):
        cases()


if __name__ == "__main__":
    main()
