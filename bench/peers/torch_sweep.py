"""Trains a run in PyTorch and prints its validation loss: torch_sweep.py WORKLOAD STEPS RATE SEED, in JSON."""

import json
import sys
import types

import torch
from torch_model import Model, loss

EXAMPLES, VALIDATION = 2000, 200


def main(workload, steps, rate, seed):
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    w = types.SimpleNamespace(**workload, attention="fused")
    train, held_out = (torch.randint(w.vocabulary, (count, w.tokens)) for count in (EXAMPLES, VALIDATION))
    model = Model(w)
    adam = torch.optim.Adam(model.parameters(), lr=rate, fused=True)
    for _ in range(steps):
        ids = train[torch.randint(EXAMPLES, (w.batch,))]
        adam.zero_grad()
        loss(model, ids, ids.flip(1)).backward()
        adam.step()
    model.eval()
    with torch.inference_mode():
        print(float(loss(model, held_out, held_out.flip(1))))


if __name__ == "__main__":
    main(*map(json.loads, sys.argv[1:]))
