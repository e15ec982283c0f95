"""Trains 64 runs at once in JAX, by one compiled loop over the steps, mapped over the runs: jax_sweep.py WORKLOAD STEPS RATES SEEDS, in JSON."""

import json
import os
import sys
import types

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ.setdefault("OMP_NUM_THREADS", str(os.cpu_count()))

import jax  # noqa: E402
from jax import numpy as jnp  # noqa: E402
from jax_side import adam, initial, loss  # noqa: E402

EXAMPLES, VALIDATION = 2000, 200


def trained(w, steps, first, rate, seed):
    """Trains a run and returns its validation loss."""
    key = jax.random.key(seed)
    data = jax.random.randint(jax.random.fold_in(key, 0), (EXAMPLES + VALIDATION, w.tokens), 0, w.vocabulary)
    train, held_out = data[:EXAMPLES], data[EXAMPLES:]
    start = {name: jax.random.normal(jax.random.fold_in(key, i + 1), x.shape) * x.std() + (x.mean() if name.endswith("weight") and x.ndim == 1 else 0)
             for i, (name, x) in enumerate(first.items())}
    zeros = jax.tree.map(jnp.zeros_like, start)

    def one_step(carry, step):
        p, state = carry
        own = jax.random.fold_in(key, 1000 + step)
        ids = train[jax.random.randint(own, (w.batch,), 0, EXAMPLES)]
        gradients = jax.grad(lambda p: loss(w, p, ids, ids[:, ::-1], own))(p)
        return adam(p, state, gradients, step + 1.0, lr=rate), None

    (p, _), _ = jax.lax.scan(one_step, (start, (zeros, zeros)), jnp.arange(steps))
    return loss(w, p, held_out, held_out[:, ::-1])


def main(workload, steps, rates, seeds):
    w = types.SimpleNamespace(**workload)
    grid = [(rate, seed) for rate in rates for seed in seeds]
    first = initial(w)
    all_runs = jax.jit(jax.vmap(lambda rate, seed: trained(w, steps, first, rate, seed)))
    losses = all_runs(jnp.array([rate for rate, _ in grid]), jnp.array([seed for _, seed in grid]))
    print(json.dumps([float(x) for x in losses]))


if __name__ == "__main__":
    main(*map(json.loads, sys.argv[1:]))
