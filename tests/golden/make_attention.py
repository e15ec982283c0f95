"""Writes attention.txt: what PyTorch computes in float64 for cross-attention and for every kind of attention weights.

    /usr/bin/python3 make_attention.py      # Debian's python3-torch

The format is that of make_torch.py. Cross-attention is nn.MultiheadAttention itself; sparsemax is written by sorting, as
in algorithm 1 of Martins & Astudillo 2016.
"""

import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional as F

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
from make_torch import Writer, op, rounded  # noqa: E402

BATCH, QUERIES, KEYS, HEADS, WIDTH = 2, 3, 5, 2, 8
LENGTHS = torch.tensor([5, 3])
KEY_MASK = torch.arange(KEYS) < LENGTHS[:, None]


def cross(write):
    """Queries, keys and values of three widths, with a key padding mask and an additive bias."""
    layer = nn.MultiheadAttention(WIDTH, HEADS, kdim=6, vdim=4, batch_first=True)
    parameters = {name: parameter for name, parameter in layer.named_parameters()}

    def function(query, key, value, bias, **weights):
        for name in parameters:
            owner = layer.out_proj if name.startswith("out_proj") else layer
            plain = name.split(".")[-1]
            del owner._parameters[plain]
            setattr(owner, plain, weights[name.replace(".", "_")])
        mask = torch.zeros(KEY_MASK.shape).masked_fill(~KEY_MASK, -torch.inf)
        masks = (bias + mask[:, None, None, :]).flatten(0, 1)
        return layer(query, key, value, attn_mask=masks, need_weights=False)[0]

    op(write, "cross", function, constants=dict(key_mask=KEY_MASK),
       query=rounded(BATCH, QUERIES, WIDTH), key=rounded(BATCH, KEYS, 6), value=rounded(BATCH, KEYS, 4),
       bias=rounded(BATCH, HEADS, QUERIES, KEYS),
       **{name.replace(".", "_"): rounded(*parameter.shape, scale=0.3) for name, parameter in parameters.items()})


def sparsemax(x):
    z = x.sort(-1, descending=True).values
    k = torch.arange(1, x.shape[-1] + 1)
    support = (1 + k * z > z.cumsum(-1)).sum(-1, keepdim=True)
    tau = (z.cumsum(-1).gather(-1, support - 1) - 1) / support
    return (x - tau).clamp(min=0)


ACTIVATIONS = {
    "softmax": lambda x: x.softmax(-1),
    "relu": F.relu,
    "squared_relu": lambda x: F.relu(x) ** 2,
    "sigmoid": torch.sigmoid,
    "sparsemax": sparsemax,
}


def weighted(score, activation, scale, mean=False, log_scale=False):
    """q (B, N, W), k (B, M, W), v (B, M, W); the second sample has three keys."""

    def function(q, k, v, w=None):
        def heads(x):
            return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)

        if score == "additive":
            scores = (torch.tanh(heads(q)[:, :, :, None] + heads(k)[:, :, None]) * w[:, None, None]).sum(-1)
        elif score == "cosine":
            scores = F.cosine_similarity(heads(q)[:, :, :, None], heads(k)[:, :, None], dim=-1)
        else:
            scores = heads(q) @ heads(k).transpose(2, 3)
        counts = LENGTHS[:, None, None, None]
        scores = scores * scale * (torch.log(counts) if log_scale else 1)
        weights = ACTIVATIONS[activation](scores.masked_fill(~KEY_MASK[:, None, None], -torch.inf))
        return ((weights / counts if mean else weights) @ heads(v)).transpose(1, 2).flatten(2)

    return function


def kinds(write):
    def qkv():
        return dict(q=rounded(BATCH, QUERIES, WIDTH), k=rounded(BATCH, KEYS, WIDTH), v=rounded(BATCH, KEYS, WIDTH))

    for name in ACTIVATIONS:
        op(write, f"dot.{name}", weighted("dot", name, 0.5), constants=dict(key_mask=KEY_MASK), **qkv())
        op(write, f"mean.{name}", weighted("dot", name, 0.5, mean=True), constants=dict(key_mask=KEY_MASK), **qkv())
        op(write, f"additive.{name}", weighted("additive", name, 1.0), constants=dict(key_mask=KEY_MASK),
           **qkv(), w=rounded(HEADS, WIDTH // HEADS))
    op(write, "cosine.softmax", weighted("cosine", "softmax", 2.0), constants=dict(key_mask=KEY_MASK), **qkv())
    op(write, "cosine.relu", weighted("cosine", "relu", 2.0), constants=dict(key_mask=KEY_MASK), **qkv())
    op(write, "log_scale.softmax", weighted("dot", "softmax", 0.5, log_scale=True),
       constants=dict(key_mask=KEY_MASK), **qkv())
    op(write, "log_scale.sigmoid", weighted("dot", "sigmoid", 0.5, log_scale=True),
       constants=dict(key_mask=KEY_MASK), **qkv())


def main():
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(3)
    writer = Writer("attention.txt", HERE)
    cross(writer)
    kinds(writer)
    writer.file.close()


if __name__ == "__main__":
    main()
