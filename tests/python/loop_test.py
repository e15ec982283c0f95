"""Training by hand: layers, optimizers, saved states, and the loop of examples/ beside PyTorch's."""

import copy
import importlib.util
import pathlib
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

import xgrad

ROOT = pathlib.Path(__file__).resolve().parents[2]
RANDOM = np.random.default_rng(1)


def example():
    spec = importlib.util.spec_from_file_location("training_loop", ROOT / "examples/training_loop.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Sorter(nn.Module):
    """The model of the example, in PyTorch."""

    def __init__(self):
        super().__init__()
        self.token, self.position = nn.Embedding(10, 32), nn.Embedding(8, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 128, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        layer.self_attn.register_parameter("in_proj_bias", None)
        self.encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(32), enable_nested_tensor=False)
        self.head = nn.Linear(32, 10)

    def forward(self, ids):
        return self.head(self.encoder(self.token(ids) + self.position(torch.arange(ids.shape[1]))))


def copy_of(model):
    peer = Sorter()
    peer.load_state_dict({name: torch.tensor(value) for name, value in model.state_dict().items()})
    return peer


def losses_of_pytorch(peer, steps):
    random = np.random.default_rng(1)
    optimizer = torch.optim.AdamW(peer.parameters(), lr=3e-3, weight_decay=0.0)
    losses = []
    for _ in range(steps):
        ids = random.integers(0, 10, (64, 8))
        loss = nn.functional.cross_entropy(peer(torch.tensor(ids)).flatten(0, 1), torch.tensor(np.sort(ids)).flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(peer.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_the_losses_of_the_example_are_those_of_pytorch():
    xgrad.manual_seed(1)
    model = example().Sorter()
    peer = copy_of(model)
    losses = example().train(model, 20)
    assert losses[-1] < losses[0] - 0.1
    np.testing.assert_allclose(losses, losses_of_pytorch(peer, 20), 0, 1e-5)


def test_the_example_is_a_program(tmp_path):
    done = subprocess.run([sys.executable, ROOT / "examples/training_loop.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert done.stdout.endswith("[[1 1 2 3 4 5 6 9]]\n") and float(re.match(r"loss (\S+)", done.stdout)[1]) < 0.3


OPTIMIZERS = {
    "Adagrad": (dict(eps=1e-10), torch.optim.Adagrad, {}),
    "Adam": (dict(weight_decay=0.1), torch.optim.Adam, dict(weight_decay=0.1)),
    "AdamW": (dict(betas=(0.8, 0.95), weight_decay=0.1), torch.optim.AdamW, dict(betas=(0.8, 0.95), weight_decay=0.1)),
    "RMSprop": ({}, torch.optim.RMSprop, {}),
    "SGD": (dict(momentum=0.9, nesterov=True, weight_decay=0.01), torch.optim.SGD, dict(momentum=0.9, nesterov=True, weight_decay=0.01)),
}


@pytest.mark.parametrize("dtype, tolerance", [("float32", 1e-5), ("float64", 1e-12)])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_are_those_of_pytorch(name, dtype, tolerance):
    ours, kind, theirs = OPTIMIZERS[name]
    start = [RANDOM.normal(size=shape).astype(dtype) for shape in ((3, 4), (4,))]
    x, z = [xgrad.Variable(a, requires_grad=True) for a in start], [torch.tensor(a, requires_grad=True) for a in start]
    mine, peer = getattr(xgrad.optim, name)(x, lr=0.1, **ours), kind(z, lr=0.1, **theirs)
    for step in range(5):
        a = RANDOM.normal(size=(2, 3)).astype(dtype)
        mine.lr = peer.param_groups[0]["lr"] = 0.1 / (step + 1)
        for optimizer, (w, b), input_ in ((mine, x, a), (peer, z, torch.tensor(a))):
            optimizer.zero_grad()
            ((input_ @ w + b) ** 2).sum().backward()
            optimizer.step()
        for one, other in zip(x, z):
            np.testing.assert_allclose(one.value, other.detach(), tolerance, tolerance)


def test_lion():
    """Chen et al. 2023, algorithm 2: the first step moves each number by lr against the sign of its gradient."""
    x = xgrad.Variable([1.0, -2.0, 0.0], requires_grad=True)
    (x * x).sum().backward()
    xgrad.optim.Lion([x], lr=0.25).step()
    assert x.tolist() == [0.75, -1.75, 0.0]


def test_the_table_has_every_optimizer_of_configs():
    shown = subprocess.run([pathlib.Path(xgrad.__file__).parent / "bin/xgrad", "config", "optim.name"], capture_output=True, text=True).stdout
    for name in ("adagrad", "adam", "adamw", "lion", "rmsprop", "sgd"):
        assert name in shown
    assert {name.lower() for name in vars(xgrad.optim) if name[0].isupper()} - {"optimizer"} == {"adagrad", "adam", "adamw", "lion", "rmsprop", "sgd"}


def test_clipping():
    x, z = xgrad.Variable([3.0, 4.0], requires_grad=True), torch.tensor([3.0, 4.0], dtype=torch.float64, requires_grad=True)
    (x * x).sum().backward()
    (z * z).sum().backward()
    assert xgrad.optim.SGD([x], lr=1.0).step(clip=2.0) == pytest.approx(10) == float(nn.utils.clip_grad_norm_([z], 2.0))
    torch.optim.SGD([z], lr=1.0).step()
    np.testing.assert_allclose(x.value, z.detach(), 1e-12)
    assert xgrad.optim.SGD([x], lr=1.0).step() is None


def test_wrong_parameters():
    x = xgrad.Variable([1.0], requires_grad=True)
    for given, kind, message in (([], xgrad.Error, "parameters: there are none"), ([x, x], xgrad.Error, "parameters: 1 is given twice"),
                                 ([3], TypeError, "parameters: expected Variables, .* got int"),
                                 ([("w", x * x)], xgrad.GradientError, "parameters: w is not a leaf"),
                                 ([x, xgrad.Variable(np.float32([1]), True)], TypeError, "float64, as the other arguments are, got float32")):
        with pytest.raises(kind, match=message):
            xgrad.optim.SGD(given, lr=1.0)
    with pytest.raises(xgrad.ConfigError, match=r"betas\[0\]: expected 0 <= betas\[0\] < 1, got 2"):
        xgrad.optim.AdamW([x], lr=1.0, betas=(2.0, 0.9))
    with pytest.raises(xgrad.NumericError, match="no gradient:\n  w"):
        xgrad.optim.AdamW([("w", x)], lr=1.0).step()


class Mixed(xgrad.Module):
    """A module with layers of C++ and leaves of its own, one of them at two places."""

    def __init__(self):
        super().__init__()
        self.layers = [xgrad.Linear(6, 6, bias=False), xgrad.EncoderBlock(6, heads=1, activation="silu", positions="rotary")]
        self.gain = self.same = xgrad.Variable(np.float32([2]), requires_grad=True)
        self.dropout = xgrad.Dropout(0.5)

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x * self.gain


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))])
def test_modules_are_copied_and_pickled(copied):
    x = np.float32(RANDOM.normal(size=(2, 4, 6)))
    for module in (Mixed(), xgrad.Linear(6, 3), xgrad.Encoder(6, layers=2, heads=2, scale=0.3)):
        for one in module.parameters():
            one.value = np.float32(RANDOM.normal(size=one.shape))
        twin = copied(module)
        assert type(twin) is type(module) and list(twin.state_dict()) == list(module.state_dict())
        np.testing.assert_array_equal(twin(x).value, module(x).value)
        if copied is not copy.copy:  # which shares attributes, as it does of every class
            before = module(x).value.copy()
            for one in twin.parameters():
                one.value = 0 * one.value
            np.testing.assert_array_equal(module(x).value, before)
            assert not twin(x).value.any()
    net = copied(Mixed())
    assert net.gain is net.same and len(net.parameters()) == len(Mixed().parameters())


LAYERS = {
    "Linear": (lambda: xgrad.Linear(6, 4, dtype="float64"), lambda: nn.Linear(6, 4)),
    "LayerNorm": (lambda: xgrad.LayerNorm(6, dtype="float64"), lambda: nn.LayerNorm(6)),
    "MultiHeadAttention": (lambda: xgrad.MultiHeadAttention(6, heads=2, qkv_bias=True, dtype="float64"), lambda: nn.MultiheadAttention(6, 2, batch_first=True)),
    "EncoderBlock": (lambda: xgrad.EncoderBlock(6, heads=2, feedforward=8, qkv_bias=True, norm="post", activation="relu", dtype="float64"),
                     lambda: nn.TransformerEncoderLayer(6, 2, 8, 0.0, batch_first=True)),
    "Encoder": (lambda: xgrad.Encoder(6, layers=2, heads=2, feedforward=8, qkv_bias=True, dtype="float64"),
                lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 8, 0.0, "gelu", batch_first=True, norm_first=True), 2, nn.LayerNorm(6))),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_those_of_pytorch(name):
    mine, peer = (make() for make in LAYERS[name])
    peer = peer.double().train()
    mine.load_state_dict(peer.state_dict())  # tensors of PyTorch, too
    assert list(mine.state_dict()) and set(mine.state_dict()) == set(peer.state_dict())
    a, mask = RANDOM.normal(size=(2, 5, 6)), np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], bool)
    x, z = xgrad.Variable(a, requires_grad=True), torch.tensor(a, requires_grad=True)
    hidden = ~torch.tensor(mask)
    if name in ("Linear", "LayerNorm"):
        y, expected = mine(x), peer(z)
    elif name == "MultiHeadAttention":
        y, expected = mine(x, key_mask=mask), peer(z, z, z, key_padding_mask=hidden)[0]
        np.testing.assert_allclose(mine(x, x, x, key_mask=mask).value, y.value, 1e-12)
    else:
        y, expected = mine(x, key_mask=mask), peer(z, src_key_padding_mask=hidden)
    kept = mask[..., None]
    np.testing.assert_allclose((y.value * kept), expected.detach() * torch.tensor(kept), 1e-10, 1e-12)
    (y * y * kept.astype(float)).sum().backward()
    (expected * expected * torch.tensor(kept)).sum().backward()
    np.testing.assert_allclose(x.grad, z.grad, 1e-8, 1e-10)
    gradients = dict(peer.named_parameters())
    for path, one in mine.named_parameters():
        np.testing.assert_allclose(one.grad, gradients[path].grad, 1e-8, 1e-10, err_msg=path)


def test_embedding():
    layer = xgrad.Embedding(10, 4)
    ids = RANDOM.integers(0, 10, (2, 3))
    np.testing.assert_array_equal(layer(ids).value, layer.weight.value[ids])


def test_initial_values():
    xgrad.manual_seed(3)
    a, b = xgrad.Linear(16, 8), xgrad.Linear(16, 8)
    assert (a.weight != b.weight).all() and np.abs(a.weight.value).max() <= 1 / 4 and a.weight.shape == (8, 16)
    xgrad.manual_seed(3)
    assert (xgrad.Linear(16, 8).weight == a.weight).all()
    xgrad.manual_seed(4)
    assert (xgrad.Linear(16, 8).weight != a.weight).any()
    assert xgrad.Linear(2, 3, bias=False).state_dict().keys() == {"weight"}


def test_dropout_needs_a_stream():
    layers, x = (xgrad.Dropout(0.5), xgrad.Dropout(0.5)), xgrad.Variable(np.ones((4, 100)))
    assert layers[0](x) is x
    one, other = (layer(x, xgrad.Rng(1) / 7).value for layer in layers)
    assert (one != other).any() and set(np.unique(one)) == {0, 2} and (one == layers[0](x, xgrad.Rng(1) / 7).value).all()
    block = xgrad.EncoderBlock(4, dropout=0.5)
    y = RANDOM.normal(size=(1, 3, 4)).astype(np.float32)
    assert (block(y) == block(y).value).all() and (block(y, rng=xgrad.Rng(1)) != block(y).value).any()


class Net(xgrad.Module):
    def __init__(self):
        super().__init__()
        self.blocks = [xgrad.Linear(2, 2), xgrad.Linear(2, 2)]
        self.named = {"a": xgrad.LayerNorm(2)}
        self.scale = xgrad.Variable(np.float32(2), requires_grad=True)
        self.fixed = xgrad.Variable(np.float32(3))
        self.again = self.blocks[0]

    def __call__(self, x):
        return self.named["a"](self.blocks[1](self.blocks[0](x))) * self.scale


def test_modules():
    net = Net()
    names = ["blocks.0.weight", "blocks.0.bias", "blocks.1.weight", "blocks.1.bias", "named.a.weight", "named.a.bias", "scale"]
    assert [name for name, _ in net.named_parameters()] == names == list(net.state_dict()) and len(net.parameters()) == 7
    assert repr(net) == "<Net: 7 parameters, 17 numbers>" and net.parameters()[0] is net.blocks[0].weight
    (net(np.ones((1, 2), np.float32)) * np.float32([1, 2])).sum().backward()
    assert net.scale.grad is not None
    net.zero_grad()
    assert net.scale.grad is None
    state, before = net.state_dict(), net.blocks[0].weight.value
    net.blocks[0].weight.value = np.ones((2, 2), np.float32)
    assert (before == 1).all() and (state["blocks.0.weight"] != 1).any()  # a parameter is written in place, a state is a copy
    np.testing.assert_allclose((net.blocks[0](np.ones((1, 2), np.float32)) - net.blocks[0].bias).value, 2, 1e-6)
    net.load_state_dict(state)
    assert (net.blocks[0].weight == state["blocks.0.weight"]).all()
    with pytest.raises(xgrad.CheckpointError, match="parameters that the state lacks: scale; not parameters of this module: other"):
        net.load_state_dict({"other": state.pop("scale"), **state})
    with pytest.raises(xgrad.ShapeError, match=r"scale: expected shape \(\), got \(1,\)"):
        net.load_state_dict({**state, "scale": [1.0]})
    with pytest.raises(AttributeError, match="weight is a parameter of Linear; assign an array to weight.value"):
        net.blocks[0].weight = 3
    with pytest.raises(AttributeError, match="Linear has no attribute 'weights'"):
        net.blocks[0].weights


def test_wrong_layers():
    for call, kind, message in ((lambda: xgrad.Encoder(6, heads=4), xgrad.ShapeError, "4"), (lambda: xgrad.Linear(2, 2, dtype="int8"), TypeError, "dtype"),
                                (lambda: xgrad.Encoder(6, activation="swish"), xgrad.ShapeError, "activation: expected one of gelu, gelu_tanh, relu, silu, got swish"),
                                (lambda: xgrad.Linear(2, 2)(np.ones((3, 2))), TypeError, "float32")):
        with pytest.raises(kind, match=message):
            call()

def test_a_module_without_a_call_of_the_constructor_above():
    class Forgot(xgrad.Module):
        def __init__(self):
            self.layer = xgrad.Linear(2, 2)
    assert [name for name, _ in Forgot().named_parameters()] == ["layer.weight", "layer.bias"]


def test_a_saved_state_goes_on_to_the_same_bits(tmp_path):
    def steps(model, optimizer, count):
        for _ in range(count):
            optimizer.zero_grad()
            (model(np.ones((1, 2), np.float32)) ** 2).sum().backward()
            optimizer.step()

    def made():
        model = Net()
        return model, xgrad.optim.AdamW(model.named_parameters(), lr=0.1)
    model, optimizer = made()
    steps(model, optimizer, 3)
    xgrad.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "name": "net"}, tmp_path / "state.npz")
    steps(model, optimizer, 4)
    again, other = made()
    state = xgrad.load(tmp_path / "state.npz")
    assert state["epoch"] == 3 and state["name"] == "net" and state["optimizer"]["steps"] == 3 and other.lr == 0.1
    again.load_state_dict(state["model"])
    other.load_state_dict(state["optimizer"])
    steps(again, other, 4)
    for one, peer in zip(model.parameters(), again.parameters()):
        assert (one == peer).all()
    with pytest.raises(xgrad.Error, match="exp_avg.scale is missing"):
        other.load_state_dict({name: value for name, value in state["optimizer"].items() if name != "exp_avg.scale"})
    assert [path.name for path in tmp_path.iterdir()] == ["state.npz"]


def test_states_that_cannot_be_saved_or_read(tmp_path):
    for state, path, kind, message in (({"a": 1}, "a.pt", ValueError, "ends in .npz"), ({"a": object()}, "a.npz", TypeError, "a: expected an array, number or text, got object"),
                                       ({"a/b": 1}, "a.npz", ValueError, "keys of text without /"), ({"a": 1}, "absent/a.npz", xgrad.IoError, "absent/a.npz: No such file")):
        with pytest.raises(kind, match=message):
            xgrad.save(state, tmp_path / path)
    (tmp_path / "b.npz").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(xgrad.CheckpointError, match="b.npz"):
        xgrad.load(tmp_path / "b.npz")
    with pytest.raises(xgrad.IoError, match="absent.npz: No such file"):
        xgrad.load(tmp_path / "absent.npz")
