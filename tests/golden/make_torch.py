"""Writes torch_ops.txt, torch_models.txt and torch_losses.txt: what PyTorch computes in float64.

    /usr/bin/python3 make_torch.py      # Debian's python3-torch

A line is a name, a shape (2x3, or - for a scalar) and the elements. Inputs are rounded to four decimals.
"""

import pathlib
import sys

import torch
from torch.nn import functional as F

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "torch"))
sys.dont_write_bytecode = True
from model import Model, decays  # noqa: E402


def number(value):
    value = float(value)
    return str(int(value)) if value.is_integer() else repr(value)


class Writer:
    def __init__(self, name, directory):
        self.file = open(directory / name, "w", encoding="ascii")
        print(f"# torch {torch.__version__}", file=self.file)

    def __call__(self, name, tensor):
        shape = "x".join(map(str, tensor.shape)) or "-"
        print(name, shape, *(number(v) for v in tensor.detach().flatten()), file=self.file)


def rounded(*shape, scale=1.0):
    return ((torch.randn(shape) * scale * 1e4).round() / 1e4).requires_grad_()


def op(write, name, function, constants=None, **inputs):
    """An op's inputs, its value y, a random dy, and the gradient of sum(dy y) by each input."""
    y = function(**inputs)
    dy = rounded(*y.shape).detach()
    (y * dy).sum().backward()
    for key, tensor in {**inputs, **(constants or {}), "y": y, "dy": dy}.items():
        write(f"{name}.{key}", tensor)
    for key, tensor in inputs.items():
        write(f"{name}.d{key}", tensor.grad)


def attention(heads, mask):
    def function(q, k, v):
        def split(x):
            return x.reshape(*x.shape[:2], heads, -1).transpose(1, 2)

        scores = split(q) @ split(k).transpose(2, 3) / (q.shape[-1] // heads) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask[:, None, None, :] == 0, -torch.inf)
        return (scores.softmax(-1) @ split(v)).transpose(1, 2).flatten(2)

    return function


def above_zero(*shape):
    return ((torch.rand(shape) * 2e4).round() / 1e4 + 0.25).requires_grad_()


def more_ops(write):
    """With the points where a derivative is 0 by definition or infinite."""
    op(write, "div", torch.div, input=rounded(2, 3), other=above_zero(3))
    op(write, "pow", torch.pow, input=above_zero(2, 3), exponent=rounded(3))
    exponent = torch.tensor([0.0, 0.5, 2.0, 0.0, 0.0])
    zeros = torch.tensor([0.0, 0.0, 0.0, 3.0, -2.0]).requires_grad_()
    op(write, "pow_zeros", lambda input: input ** exponent, constants=dict(exponent=exponent), input=zeros)
    op(write, "exp", torch.exp, input=rounded(2, 3, scale=3.0))
    op(write, "log", torch.log, input=above_zero(2, 3))
    op(write, "sqrt", torch.sqrt, input=above_zero(2, 3))
    bounds = torch.tensor([-3.0, -1.0, 0.25, 1.5, 2.0]).requires_grad_()
    op(write, "clamp", lambda input: input.clamp(-1, 1.5), input=bounds)
    indices = torch.tensor([[2, 0], [2, 2]])
    op(write, "gather", lambda input: input[:, indices], constants=dict(indices=indices), input=rounded(2, 3, 2))
    condition = torch.tensor([[1, 0, 1], [0, 1, 1]])
    op(write, "where", lambda input, other: torch.where(condition.bool(), input, other),
       constants=dict(condition=condition), input=rounded(3), other=rounded(4, 1, 1))
    op(write, "symlog", lambda input: input.sign() * input.abs().log1p(), input=rounded(2, 3, scale=3.0))


def ops(write):
    op(write, "layer_norm", lambda x, weight, bias: F.layer_norm(x, (6,), weight, bias, 1e-5),
       x=rounded(2, 3, 6), weight=rounded(6), bias=rounded(6))
    op(write, "gelu", F.gelu, input=rounded(4, 5, scale=2.0))
    op(write, "gelu_tanh", lambda input: F.gelu(input, approximate="tanh"), input=rounded(4, 5, scale=2.0))
    op(write, "softmax", lambda x: x.softmax(-1), x=rounded(3, 7, scale=3.0))
    op(write, "log_softmax", lambda x: x.log_softmax(-1), x=rounded(3, 7, scale=3.0))
    op(write, "linear", F.linear, input=rounded(2, 3, 4), weight=rounded(5, 4), bias=rounded(5))

    targets = torch.tensor([[1, 0, -100], [4, 2, 1]])
    for name, smoothing, weighted in (("plain", 0, 0), ("smoothed", 0.1, 0), ("weighted", 0, 1), ("both", 0.1, 1)):
        weights = torch.tensor([0.5, 1.0, 2.0, 0.25, 1.5]) if weighted else None
        op(write, f"cross_entropy.{name}",
           lambda x: F.cross_entropy(x.flatten(0, 1), targets.flatten(), weights, label_smoothing=smoothing),
           constants=dict(targets=targets), x=rounded(2, 3, 5, scale=2.0))

    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 0, 1, 1, 1]])
    for name, key_mask in (("full", None), ("masked", mask)):
        op(write, f"attention.{name}", attention(2, key_mask), constants=dict(mask=mask),
           q=rounded(2, 3, 8), k=rounded(2, 5, 8), v=rounded(2, 5, 8))

    def batch_norm(x, weight, bias):
        return F.batch_norm(x.flatten(0, 1), None, None, weight, bias, training=True).view_as(x)

    with torch.random.fork_rng():  # what comes after draws the same numbers as before
        op(write, "batch_norm", batch_norm, x=rounded(2, 3, 6), weight=rounded(6), bias=rounded(6))
        more_ops(write)


def model(write, name, x, mask, targets, smoothing=0.0, **options):
    """Parameters, logits, loss, gradients, and the parameters after 100 steps of AdamW on this batch."""
    network = Model(**options)
    for key, parameter in network.named_parameters():
        centre = 1.0 if "norm" in key and key.endswith("weight") else 0.0
        parameter.data = (rounded(*parameter.shape, scale=0.3) + centre).detach()
        write(f"{name}.parameter.{key}", parameter)
    write(f"{name}.x", x)
    write(f"{name}.targets", targets)
    if mask is not None:
        write(f"{name}.mask", mask)

    def loss():
        logits = network(x, mask)
        return logits, F.cross_entropy(logits.flatten(0, -2), targets.flatten(), label_smoothing=smoothing)

    logits, value = loss()
    value.backward()
    write(f"{name}.logits", logits)
    write(f"{name}.loss", value)
    for key, parameter in network.named_parameters():
        write(f"{name}.gradient.{key}", parameter.grad)

    groups = [dict(params=[p for key, p in network.named_parameters() if decays(key) == wanted], weight_decay=rate)
              for wanted, rate in ((True, 0.05), (False, 0.0))]
    optimizer = torch.optim.AdamW(groups, lr=3e-3)
    for _ in range(100):
        optimizer.zero_grad()
        loss()[1].backward()
        optimizer.step()
    write(f"{name}.trained_loss", loss()[1])
    for key, parameter in network.named_parameters():
        write(f"{name}.trained.{key}", parameter)


def models(write):
    ids = torch.randint(0, 7, (3, 5))
    lengths = torch.tensor([5, 3, 1])
    mask = torch.arange(5) < lengths[:, None]
    ids[~mask] = 0
    targets = torch.randint(0, 4, (3, 5))
    targets[~mask] = -100
    common = dict(width=8, heads=2, layers=2, feedforward=12)
    tokens = dict(common, vocabulary=7, length=5)
    model(write, "pre", ids, mask, targets, classes=4, **tokens)
    model(write, "post", ids, mask, targets, smoothing=0.1, classes=4, norm="post", final_norm=False,
          activation="gelu_tanh", **tokens)
    model(write, "mean", ids, mask, torch.tensor([2, 0, 1]), classes=3, pool="mean", activation="relu", **tokens)
    model(write, "image", rounded(2, 4, 6, 3).detach(), None, torch.tensor([2, 0]), classes=3, pool="cls",
          patch=2, channels=3, length=6, **common)


def losses(write):
    torch.manual_seed(2)  # whatever the parts before draw
    functions = dict(mse=F.mse_loss, l1=F.l1_loss, huber=lambda x, y, **how: F.huber_loss(x, y, delta=0.7, **how),
                     binary=F.binary_cross_entropy_with_logits)
    for name, function in functions.items():
        for mask in (None, torch.tensor([[1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 0, 1]])):
            def mean(x, target):
                if mask is None:
                    return function(x, target)
                return (function(x, target, reduction="none") * mask).sum() / mask.sum()

            target = rounded(3, 4)
            if name == "binary":
                target = target.detach().sigmoid().requires_grad_()
            op(write, name if mask is None else f"{name}.masked", mean, x=rounded(3, 4, scale=2.0), target=target,
               constants={} if mask is None else dict(mask=mask))


def main():
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(1)
    for name, part in (("torch_ops.txt", ops), ("torch_models.txt", models), ("torch_losses.txt", losses)):
        writer = Writer(name, HERE)
        part(writer)
        writer.file.close()


if __name__ == "__main__":
    main()
