"""JAX's side: one compiled function computes loss, gradients and Adam, and reuses its buffers."""

import functools
import os

if os.environ["OMP_NUM_THREADS"] == "1":
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import numpy  # noqa: E402
import worker  # noqa: E402
from jax import numpy as jnp  # noqa: E402

jax.config.update("jax_default_prng_impl", "unsafe_rbg")  # the fastest generator of JAX


def initial(w):
    """{name of a parameter, as in xgrad: its values}."""
    generator = numpy.random.default_rng(1)

    def matrix(rows, columns):
        return generator.normal(0, columns**-0.5, (rows, columns)).astype("float32")

    def linear(path, rows, columns):
        return {path + ".weight": matrix(rows, columns), path + ".bias": numpy.zeros(rows, "float32")}

    def norm(path):
        return {path + ".weight": numpy.ones(w.width, "float32"), path + ".bias": numpy.zeros(w.width, "float32")}

    p = {"embedding.token.weight": matrix(w.vocabulary, w.width), "embedding.position.weight": matrix(w.tokens, w.width)}
    for i in range(w.layers):
        at = f"encoder.layers.{i}."
        p |= {at + "self_attn.in_proj_weight": matrix(3 * w.width, w.width)}
        p |= linear(at + "self_attn.out_proj", w.width, w.width)
        p |= linear(at + "linear1", 4 * w.width, w.width) | linear(at + "linear2", w.width, 4 * w.width)
        p |= norm(at + "norm1") | norm(at + "norm2")
    return p | norm("encoder.norm") | linear("head", w.vocabulary, w.width)


def logits(w, p, ids, key):
    """The logits; without dropout if `key` is None."""
    def linear(path, x):
        return x @ p[path + ".weight"].T + p[path + ".bias"]

    def norm(path, x):
        x = x - x.mean(-1, keepdims=True)
        x = x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5)
        return x * p[path + ".weight"] + p[path + ".bias"]

    sites = iter(()) if key is None else iter(jax.random.split(key, 4 * w.layers))

    def drop(x):
        if key is None or w.dropout == 0:
            return x
        return jnp.where(jax.random.bernoulli(next(sites), 1 - w.dropout, x.shape), x / (1 - w.dropout), 0)

    def attend(at, x):
        batch, tokens, width = x.shape
        features = width // w.heads
        qkv = (x @ p[at + "in_proj_weight"].T).reshape(batch, tokens, 3, w.heads, features)
        q, k, v = qkv.transpose(2, 0, 3, 1, 4)
        y = drop(jax.nn.softmax(q @ k.swapaxes(-1, -2) * features**-0.5, axis=-1)) @ v
        return linear(at + "out_proj", y.swapaxes(1, 2).reshape(batch, tokens, width))

    x = p["embedding.token.weight"][ids] + p["embedding.position.weight"]
    for i in range(w.layers):
        at = f"encoder.layers.{i}."
        x = x + drop(attend(at + "self_attn.", norm(at + "norm1", x)))
        hidden = drop(jax.nn.gelu(linear(at + "linear1", norm(at + "norm2", x)), approximate=False))
        x = x + drop(linear(at + "linear2", hidden))
    return linear("head", norm("encoder.norm", x))


def loss(w, p, ids, targets, key=None):
    log_probabilities = jax.nn.log_softmax(logits(w, p, ids, key))
    return -jnp.take_along_axis(log_probabilities, targets[..., None], -1).mean()


def adam(p, state, gradients, step, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8):
    first = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, state[0], gradients)
    second = jax.tree.map(lambda v, g: beta2 * v + (1 - beta2) * g * g, state[1], gradients)
    one, two = 1 - beta1**step, 1 - beta2**step
    moved = jax.tree.map(lambda x, m, v: x - lr * (m / one) / (jnp.sqrt(v / two) + eps), p, first, second)
    return moved, (first, second)


class Jax(worker.Peer):
    def __init__(self, w):
        super().__init__()
        self.w = w
        self.parameters = jax.tree.map(jnp.asarray, initial(w))
        zeros = jax.tree.map(jnp.zeros_like, self.parameters)
        self.state = (zeros, jax.tree.map(jnp.copy, zeros))
        generator = numpy.random.default_rng(2)
        self.ids, self.targets = (jnp.asarray(generator.integers(w.vocabulary, size=(w.batch, w.tokens)), jnp.int32)
                                  for _ in range(2))
        self.steps = 0

        @functools.partial(jax.jit, donate_argnums=(0, 1))
        def one_step(p, state, step, ids, targets):
            key = jax.random.fold_in(jax.random.key(1), step)
            value, gradients = jax.value_and_grad(lambda p: loss(w, p, ids, targets, key))(p)
            return *adam(p, state, gradients, step + 1.0), value

        self.one_step = one_step

    def save(self, path, names_path):
        weights = {name: numpy.asarray(p) for name, p in self.parameters.items()}
        self.names = worker.write(path, names_path, weights, numpy.asarray(self.ids), numpy.asarray(self.targets))
        return {}

    def check(self, path, their_loss):
        both = jax.jit(jax.value_and_grad(lambda p: loss(self.w, p, self.ids, self.targets)))
        value, gradients = both(self.parameters)
        found = {name: numpy.asarray(g) for name, g in gradients.items()}
        return worker.worst(numpy, path, self.names, found, value, their_loss)

    def train(self):
        self.parameters, self.state, value = self.one_step(self.parameters, self.state, self.steps, self.ids, self.targets)
        self.steps += 1
        return float(value)

    def step(self, count):
        return self.timed(count, self.train)


if __name__ == "__main__":
    worker.serve(Jax(worker.options().parse_args()))
