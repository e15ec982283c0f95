"""Writes decoder.txt: what PyTorch's nn.Transformer computes in float64, teacher-forced and greedy.

    /usr/bin/python3 make_decoder.py      # Debian's python3-torch

The format is that of make_torch.py. An output ends with the last class; padding is -100.
"""

import pathlib
import sys

import torch
from torch.nn import functional as F

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "torch")]
sys.dont_write_bytecode = True
from make_torch import Writer, rounded  # noqa: E402
from model import EncoderDecoder  # noqa: E402

WIDTH, HEADS, LAYERS, HIDDEN = 8, 2, 2, 12
VOCABULARY, LENGTH, CLASSES, OUTPUTS = 7, 5, 4, 6


def greedy(network, ids, mask):
    """(B, OUTPUTS): each class that is likeliest after those before, up to the last one; then -100."""
    known = torch.zeros(len(ids), 0, dtype=torch.long)
    ended = torch.zeros(len(ids), dtype=torch.bool)
    for _ in range(OUTPUTS):
        asked = torch.cat([known, torch.zeros(len(ids), 1, dtype=torch.long)], 1)
        best = network(ids, mask, asked)[:, -1].argmax(-1)
        known = torch.cat([known, torch.where(ended, torch.tensor(-100), best)[:, None]], 1)
        ended |= best == CLASSES - 1
    return known


def model(write, name):
    network = EncoderDecoder(norm=name, width=WIDTH, heads=HEADS, layers=LAYERS, feedforward=HIDDEN, classes=CLASSES,
                             vocabulary=VOCABULARY, length=LENGTH, outputs=OUTPUTS)
    for key, parameter in network.named_parameters():
        centre = 1.0 if "norm" in key and key.endswith("weight") else 0.0
        parameter.data = (rounded(*parameter.shape, scale=1.5) + centre).detach()
        write(f"{name}.parameter.{key}", parameter)
    ids = torch.randint(0, VOCABULARY, (6, LENGTH))
    mask = torch.arange(LENGTH) < torch.tensor([5, 3, 1, 5, 4, 2])[:, None]
    ids[~mask] = 0
    targets = torch.randint(0, CLASSES, (6, OUTPUTS))
    targets[torch.arange(OUTPUTS) >= torch.tensor([6, 2, 4, 1, 5, 3])[:, None]] = -100
    logits = network(ids, mask, targets)
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
    loss.backward()
    with torch.no_grad():
        outputs = greedy(network, ids, mask)
    for key, tensor in dict(x=ids, mask=mask, targets=targets, logits=logits, loss=loss, greedy=outputs).items():
        write(f"{name}.{key}", tensor)
    for key, parameter in network.named_parameters():
        write(f"{name}.gradient.{key}", parameter.grad)


def main():
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(65)
    writer = Writer("decoder.txt", HERE)
    model(writer, "pre")
    model(writer, "post")
    writer.file.close()


if __name__ == "__main__":
    main()
