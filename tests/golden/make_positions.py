"""Writes positions.txt: what PyTorch computes in float64 for each way of telling tokens apart by their place.

    /usr/bin/python3 make_positions.py      # Debian's python3-torch

The format is that of make_torch.py.
"""

import pathlib
import sys

import torch
from torch.nn import functional as F

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
from make_torch import Writer, op, rounded  # noqa: E402

HEADS = 2


def rotate(x, heads):
    """x (B, N, heads * d): pairs of features as complex numbers, times e^(i n 10000^(-2i/d))."""
    pairs = torch.view_as_complex(x.unflatten(-1, (heads, -1, 2)))
    frequencies = 10000.0 ** (-torch.arange(pairs.shape[-1]) / pairs.shape[-1])
    angles = torch.outer(torch.arange(x.shape[1]), frequencies)
    turns = torch.polar(torch.ones_like(angles), angles)[:, None]
    return torch.view_as_real(pairs * turns).flatten(-3)


def self_attention(x, in_weight, out_weight, turn=lambda x: x, bias=0.0):
    def heads(x):
        return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)

    q, k, v = F.linear(x, in_weight).chunk(3, -1)
    q, k, v = heads(turn(q)), heads(turn(k)), heads(v)
    scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5 + bias
    return F.linear((scores.softmax(-1) @ v).transpose(1, 2).flatten(2), out_weight)


def in_attention(write):
    def weights():
        return dict(x=rounded(2, 5, 8), in_weight=rounded(24, 8), out_weight=rounded(8, 8))

    op(write, "rotary", lambda x: torch.cat([rotate(x[..., :8], 2), x[..., 8:]], -1), x=rounded(2, 5, 10))
    op(write, "attention.rotary",
       lambda x, in_weight, out_weight: self_attention(x, in_weight, out_weight, turn=lambda z: rotate(z, HEADS)),
       **weights())

    distance = torch.arange(5)[None] - torch.arange(5)[:, None]
    slopes = torch.tensor([2.0**-4, 2.0**-8])[:, None, None]
    op(write, "attention.alibi",
       lambda x, in_weight, out_weight: self_attention(x, in_weight, out_weight, bias=-slopes * distance.abs()),
       **weights())
    op(write, "attention.relative_bias",
       lambda x, in_weight, out_weight, table: self_attention(
           x, in_weight, out_weight, bias=F.embedding(distance.clamp(-3, 3) + 3, table).permute(2, 0, 1)),
       table=rounded(7, HEADS), **weights())


def added(write):
    op(write, "learned_2d",
       lambda x, rows, columns: x + torch.cat([torch.zeros(1, 4), (rows[:, None] + columns[None]).reshape(6, 4)]),
       x=rounded(2, 7, 4), rows=rounded(2, 4), columns=rounded(3, 4))

    lengths = torch.tensor([5, 3, 1])
    places = torch.arange(5)
    mask = places < lengths[:, None]
    features = torch.stack([places / lengths[:, None], torch.cos(places * torch.pi).expand(3, 5)], -1) * mask[..., None]
    op(write, "relative_index", lambda x, weight: x + features @ weight.T, constants=dict(mask=mask),
       x=rounded(3, 5, 4), weight=rounded(4, 2))


def main():
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(2)
    writer = Writer("positions.txt", HERE)
    added(writer)
    in_attention(writer)
    writer.file.close()


if __name__ == "__main__":
    main()
