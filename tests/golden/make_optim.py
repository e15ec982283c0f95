"""Writes optim.txt: what PyTorch's optimizers, clipping and schedules do in float64.

    python3 make_optim.py > optim.txt

A line is a name and numbers. Parameters start at ((5 e + 2 p) mod 13 - 6) / 8 for element e of parameter p, and the
gradient at step s (0 is the first) is x + ((7 e + 3 s + p) mod 11 - 5) / 8, so both sides can state them exactly.
"""
import torch
from torch.optim import lr_scheduler

torch.set_default_dtype(torch.float64)

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


print("# torch", torch.__version__)
optimizer_case("adam", lambda g: torch.optim.Adam(g, lr=0.01, betas=(0.8, 0.95), eps=1e-7))
optimizer_case("adamw", lambda g: torch.optim.AdamW(g, lr=0.01, betas=(0.8, 0.95), eps=1e-7))
optimizer_case("sgd", lambda g: torch.optim.SGD(g, lr=0.01, momentum=0.85))
clip_case("clip", 0.75)
clip_case("no_clip", 100.0)
schedule_case("constant", lambda o, n: lr_scheduler.LambdaLR(o, lambda s: 1.0))
schedule_case("linear", lambda o, n: lr_scheduler.LinearLR(o, 1.0, end_factor=0.1, total_iters=n))
schedule_case("cosine", lambda o, n: lr_scheduler.CosineAnnealingLR(o, n, eta_min=0.1 * 0.002))
