"""Every op of ops.hpp from Python: values and gradients beside PyTorch's, in both scalar types."""

import ast
import pathlib
import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import xgrad

HEADER = pathlib.Path(__file__).resolve().parents[2] / "autograd/ops.hpp"
RANDOM = np.random.default_rng(1)


def normal(*shape):
    return RANDOM.normal(size=shape)


def positive(*shape):
    return RANDOM.uniform(0.5, 2, shape)


MASK = np.array([[1, 1, 0, 1], [1, 0, 0, 0]], bool)  # (2, 4)
KEYS = torch.tensor(MASK)
IDS = np.array([[3, 0], [3, 1]])
CAUSAL = xgrad.AttentionOptions(heads=2, key_mask=MASK, causal=True)


def sparsemax(x):
    """Martins & Astudillo 2016, algorithm 1."""
    z, _ = torch.sort(x, -1, descending=True)
    sums, count = torch.cumsum(z, -1), torch.arange(1, x.shape[-1] + 1, dtype=x.dtype)
    k = (1 + count * z > sums).sum(-1, keepdim=True)
    return torch.clamp(x - (sums.gather(-1, k - 1) - 1) / k, min=0)


def batch_norm(x, weight, bias):
    rows = x[KEYS]
    y = (x - rows.mean(0)) / torch.sqrt(rows.var(0, unbiased=False) + 1e-5) * weight + bias
    return y * KEYS[..., None]


def rotary(x):
    """Two heads of width 4 of three; pairs (2i, 2i+1) turn by n 100^(-2i/4)."""
    parts = []
    for head in range(2):
        for i in range(2):
            a, b = x[..., 4 * head + 2 * i], x[..., 4 * head + 2 * i + 1]
            angle = torch.arange(x.shape[1], dtype=x.dtype) * 100.0 ** (-2 * i / 4)
            parts += [a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()]
    return torch.cat([torch.stack(parts, -1), x[..., 8:]], -1)


def heads(x):
    return x.reshape(x.shape[0], x.shape[1], 2, -1).transpose(1, 2)


def hidden():
    return ~(KEYS[:, None, None, :] & torch.ones(4, 4, dtype=torch.bool).tril())


def probabilities(q, k, bias):
    scores = heads(q) @ heads(k).transpose(-1, -2) / np.sqrt(q.shape[-1] / 2) + bias
    return torch.softmax(scores.masked_fill(hidden(), -torch.inf), -1)


def attention(q, k, v, bias):
    return (probabilities(q, k, bias) @ heads(v)).transpose(1, 2).reshape(v.shape)


def dropped(x):
    """The factors of dropout with p = 1/2, which depend on the place alone."""
    factors = xgrad.dropout(np.ones(x.shape), 0.5, xgrad.Rng(3) / "a").value
    assert set(np.unique(factors)) == {0, 2} and 0.2 < (factors == 0).mean() < 0.8
    return torch.tensor(factors, dtype=x.dtype)


STREAM = xgrad.Rng(3) / "a"

# name: (xgrad's call, PyTorch's, the inputs that get gradients)
OPS = {
    "add": (xgrad.add, torch.add, normal(2, 3), normal(3)),
    "sub": (xgrad.sub, torch.sub, normal(2, 1), normal(3)),
    "mul": (xgrad.mul, torch.mul, normal(2, 3), normal(3)),
    "div": (xgrad.div, torch.div, normal(2, 3), positive(3)),
    "pow": (xgrad.pow, torch.pow, positive(2, 3), normal(3)),
    "scale": (lambda x: xgrad.scale(x, -1.5), lambda x: -1.5 * x, normal(2, 3)),
    "where": (lambda x, y: xgrad.where(MASK, x, y), lambda x, y: torch.where(KEYS, x, y), normal(2, 4), normal(4)),
    "relu": (xgrad.relu, torch.relu, normal(2, 3)),
    "exp": (xgrad.exp, torch.exp, normal(2, 3)),
    "log": (xgrad.log, torch.log, positive(2, 3)),
    "sqrt": (xgrad.sqrt, torch.sqrt, positive(2, 3)),
    "clamp": (lambda x: xgrad.clamp(x, -0.5, 0.25), lambda x: torch.clamp(x, -0.5, 0.25), normal(3, 4)),
    "symlog": (xgrad.symlog, lambda x: torch.sign(x) * torch.log1p(torch.abs(x)), normal(2, 3)),
    "tanh": (xgrad.tanh, torch.tanh, normal(2, 3)),
    "sigmoid": (xgrad.sigmoid, torch.sigmoid, normal(2, 3)),
    "silu": (xgrad.silu, F.silu, normal(2, 3)),
    "gelu": (lambda x: xgrad.gelu(x) + xgrad.gelu(x, kind="tanh"), lambda x: F.gelu(x) + F.gelu(x, approximate="tanh"), normal(2, 3)),
    "reshape": (lambda x: xgrad.reshape(x, [3, 2]), lambda x: x.reshape(3, 2), normal(2, 3)),
    "transpose": (lambda x: xgrad.transpose(x, (2, 0, 1)), lambda x: x.permute(2, 0, 1), normal(2, 3, 4)),
    "slice": (lambda x: xgrad.slice(x, -1, 1, 3), lambda x: x[..., 1:3], normal(2, 4)),
    "select": (lambda x: xgrad.select(x, 1, 2), lambda x: x[:, 2], normal(2, 3, 4)),
    "concat": (lambda x, y: xgrad.concat([x, y], axis=-1), lambda x, y: torch.cat([x, y], -1), normal(2, 3), normal(2, 1)),
    "sum": (lambda x: xgrad.sum(x, axis=-2) + xgrad.sum(x), lambda x: x.sum(-2) + x.sum(), normal(2, 3)),
    "mean": (lambda x: xgrad.mean(x, axis=1) + xgrad.mean(x), lambda x: x.mean(1) + x.mean(), normal(2, 2)),
    "masked_mean": (lambda x: xgrad.masked_mean(x, MASK), lambda x: torch.stack([r[m].mean(0) for r, m in zip(x, KEYS)]), normal(2, 4, 3)),
    "masked_max": (lambda x: xgrad.masked_max(x, MASK) + xgrad.masked_max(x),
                   lambda x: torch.stack([r[m].amax(0) for r, m in zip(x, KEYS)]) + x.amax(1), normal(2, 4, 3)),
    "matmul": (lambda a, b: xgrad.matmul(a, b, transpose_b=True), lambda a, b: a @ b.transpose(-1, -2), normal(2, 3, 4), normal(5, 4)),
    "linear": (xgrad.linear, F.linear, normal(2, 3, 4), normal(5, 4), normal(5)),
    "linear_gelu": (lambda x, w: xgrad.linear_gelu(x, w, kind="tanh"), lambda x, w: F.gelu(F.linear(x, w), approximate="tanh"),
                    normal(2, 3, 4), normal(5, 4)),
    "softmax": (xgrad.softmax, lambda x: torch.softmax(x, -1), normal(2, 3)),
    "sparsemax": (xgrad.sparsemax, sparsemax, normal(3, 5)),
    "log_softmax": (xgrad.log_softmax, lambda x: torch.log_softmax(x, -1), normal(2, 3)),
    "layer_norm": (xgrad.layer_norm, lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b), normal(2, 3, 4), normal(4), normal(4)),
    "rms_norm": (xgrad.rms_norm, lambda x, w: x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5) * w, normal(2, 4), normal(4)),
    "batch_norm": (lambda x, w, b: xgrad.batch_norm(x, w, b, mask=MASK), batch_norm, normal(2, 4, 3), normal(3), normal(3)),
    "dropout": (lambda x: xgrad.dropout(x, 0.5, STREAM), lambda x: x * dropped(x), positive(4, 3, 5)),
    "dropout_add": (lambda x, r: xgrad.dropout_add(x, r, 0.5, rng=STREAM), lambda x, r: r + x * dropped(x), normal(4, 3, 5), normal(4, 3, 5)),
    "embedding": (lambda w: xgrad.embedding(w, IDS), lambda w: w[torch.tensor(IDS)], normal(4, 3)),
    "take": (lambda x: xgrad.take(x, -2, IDS), lambda x: x[:, torch.tensor(IDS)], normal(2, 4, 3)),
    "rotary_embedding": (lambda x: xgrad.rotary_embedding(x, 4, 2, base=100.0), rotary, normal(2, 3, 12)),
    "attention": (lambda q, k, v, bias: xgrad.attention(q, k, v, CAUSAL, bias=bias), attention,
                  normal(2, 4, 6), normal(2, 4, 6), normal(2, 4, 6), normal(2, 4, 4)),
    "self_attention": (lambda x: xgrad.self_attention(x, CAUSAL), lambda x: attention(*x.split(6, -1), bias=0), normal(2, 4, 18)),
    "additive_scores": (xgrad.additive_scores,
                        lambda q, k, w: torch.einsum("bnmhc,hc->bhnm", torch.tanh(q.reshape(2, 4, 1, 2, 3) + k.reshape(2, 1, 5, 2, 3)), w),
                        normal(2, 4, 6), normal(2, 5, 6), normal(2, 3)),
    "cross_entropy": (lambda x: xgrad.cross_entropy(x, [0, -1, 2], ignore_index=-1, label_smoothing=0.1, class_weights=[1, 2, 0.5]),
                      lambda x: F.cross_entropy(x, torch.tensor([0, -1, 2]), torch.tensor([1, 2, 0.5], dtype=x.dtype), ignore_index=-1,
                                                label_smoothing=0.1), normal(3, 3)),
    "mse_loss": (lambda x, y: xgrad.mse_loss(x, y, mask=MASK), lambda x, y: F.mse_loss(x[KEYS], y[KEYS]), normal(2, 4), normal(2, 4)),
    "l1_loss": (lambda x, y: xgrad.l1_loss(x, y, normalizer=3), lambda x, y: (x - y).abs().sum() / 3, normal(2, 4), normal(2, 4)),
    "huber_loss": (lambda x, y: xgrad.huber_loss(x, y, 0.7), lambda x, y: F.huber_loss(x, y, delta=0.7), normal(2, 4), normal(2, 4)),
    "binary_cross_entropy_with_logits": (xgrad.binary_cross_entropy_with_logits, F.binary_cross_entropy_with_logits,
                                         normal(2, 4), RANDOM.uniform(size=(2, 4))),
}

# name: (what xgrad gives, what it must be), without gradients
VALUES = {
    "argmax": lambda x: (xgrad.argmax(x, -1), x.argmax(-1)),
    "attention_mask": lambda x: (xgrad.attention_mask(CAUSAL, 2, 4, 4), ~hidden()[:, 0].numpy()),
    "attention_scores": lambda x: (xgrad.attention_scores(x, x, CAUSAL), (heads(torch.tensor(x)) @ heads(torch.tensor(x)).mT / np.sqrt(3)).numpy()),
    "attention_probabilities": lambda x: (xgrad.attention_probabilities(x, x, CAUSAL), probabilities(*[torch.tensor(x)] * 2, 0).numpy()),
}


def declared(header):
    """Every function of the header, and the object `where`."""
    return set(re.findall(r"(?m)^(?:inline constexpr auto (?=\w+ =)|(?:Variable|Tensor)<T> |Ids |Mask )(\w+)(?: =|\()", header))


def test_every_op_of_the_header_is_in_a_table():
    header = HEADER.read_text()
    assert declared(header) == set(OPS) | set(VALUES)
    assert declared(header + "\nIds planted(int x);\n") - declared(header) == {"planted"}


@pytest.mark.parametrize("dtype, tolerance", [("float32", 2e-5), ("float64", 1e-12)])
@pytest.mark.parametrize("name", OPS)
def test_values_and_gradients(name, dtype, tolerance):
    ours, theirs, *inputs = OPS[name]
    inputs = [x.astype(dtype) for x in inputs]
    variables = [xgrad.Variable(x, requires_grad=True) for x in inputs]
    tensors = [torch.tensor(x, requires_grad=True) for x in inputs]
    y, expected = ours(*variables), theirs(*tensors)
    assert y.shape == tuple(expected.shape) and y.dtype == dtype
    np.testing.assert_allclose(y.value, expected.detach(), tolerance, tolerance)
    dy = np.random.default_rng(2).normal(size=y.shape).astype(dtype)
    y.backward(dy)
    expected.backward(torch.tensor(dy))
    for variable, tensor in zip(variables, tensors):
        np.testing.assert_allclose(variable.grad, tensor.grad, 10 * tolerance, 10 * tolerance)


@pytest.mark.parametrize("dtype, tolerance", [("float32", 2e-5), ("float64", 1e-12)])
@pytest.mark.parametrize("name", VALUES)
def test_values(name, dtype, tolerance):
    found, expected = VALUES[name](normal(2, 4, 6).astype(dtype))
    np.testing.assert_allclose(found, expected, tolerance, tolerance)


@pytest.mark.parametrize("name", [*OPS, *VALUES])
def test_docstring_is_that_of_the_header(name):
    signature, _, text = getattr(xgrad, name).__doc__.partition("\n\n")
    assert signature.startswith(f"{name}(")
    line = text.splitlines()[0].replace("None", "null")
    assert f"/// {line}" in HEADER.read_text()


def test_the_stubs_name_every_op():
    stubs = ast.parse((pathlib.Path(xgrad.__file__).parent / "_core.pyi").read_text())
    assert {*OPS, *VALUES} <= {node.name for node in stubs.body if isinstance(node, ast.FunctionDef)}
