"""Trained models from Python: beside PyTorch's modules with the same weights, and the command."""

import ctypes
import os
import pathlib
import subprocess
import sys

import h5py
import numpy as np
import pytest
import torch

import xgrad

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/torch"))
from model import EncoderDecoder, Model  # noqa: E402

FIRST = ROOT / "configs/first.toml"
COMMAND = pathlib.Path(xgrad.__file__).parent / "bin/xgrad"
IDS = np.random.default_rng(1).integers(0, 10, (3, 16))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return xgrad.train(FIRST, {"train.steps": 30, "train.evaluate_every": 15, "model.heads": 2, "expect.accuracy": 0.0,
                               "run.dir": tmp_path_factory.mktemp("model") / "run"})


@pytest.fixture(scope="module")
def model(run):
    return xgrad.load(run)


@pytest.fixture(scope="module")
def peer(model):
    peer = Model(width=32, heads=2, layers=1, feedforward=128, classes=10, pool="cls", vocabulary=10, length=16)
    peer.load_state_dict({name: torch.tensor(value) for name, value in model.state_dict().items()})
    return peer


def test_logits_are_those_of_pytorch(model, peer):
    logits = model.logits(IDS)
    assert logits.shape == (3, 10) and logits.dtype == np.float32
    np.testing.assert_allclose(logits, peer(torch.tensor(IDS)).detach(), 1e-4, 1e-5)
    np.testing.assert_array_equal(model.logits(IDS[1]), logits[1:2])
    np.testing.assert_array_equal(model.logits(" ".join(map(str, IDS[1]))), logits[1:2])


def test_attention_is_that_of_pytorch(model, peer):
    layer = peer.encoder.layers[0]
    x = layer.norm1(peer.embedding(torch.tensor(IDS)))
    _, maps = layer.self_attn(x, x, x, need_weights=True, average_attn_weights=False)
    (path, found), = model.attention(IDS).items()
    assert path == "encoder.layers.0.self_attn" and found.shape == (3, 2, 17, 17)
    np.testing.assert_allclose(found, maps.detach(), 1e-4, 1e-6)


def test_activations_are_those_of_pytorch(model, peer):
    layer = peer.encoder.layers[0]
    with torch.no_grad():
        x = peer.embedding(torch.tensor(IDS))
        z = layer.norm1(x)
        queries, keys, values = (z @ layer.self_attn.in_proj_weight.T).chunk(3, -1)
        middle = x + layer.self_attn(z, z, z)[0]
        hidden = layer.linear1(layer.norm2(middle))
        hidden = torch.nn.functional.gelu(hidden)
        after = middle + layer.linear2(hidden)
    q, k = (part.unflatten(-1, (2, 16)).transpose(1, 2) for part in (queries, keys))
    expected = {"residual_before": x, "self_attn.queries": queries, "self_attn.keys": keys, "self_attn.values": values,
                "self_attn.scores": q @ k.mT / 4, "self_attn.weights": (q @ k.mT / 4).softmax(-1),
                "self_attn.head_outputs": None, "residual_middle": middle,
                "mlp_hidden": hidden, "residual_after": after}
    found = model.capture(IDS)
    assert list(found) == [f"encoder.layers.0.{name}" for name in expected]
    for name, value in expected.items():
        if value is not None:
            np.testing.assert_allclose(found[f"encoder.layers.0.{name}"], value, 1e-3, 1e-5, err_msg=name)


def test_replaced_activations(model, peer):
    layer = peer.encoder.layers[0]
    found = model.capture(IDS)
    hidden = np.random.default_rng(2).normal(size=(3, 17, 128))
    with torch.no_grad():
        x = torch.tensor(found["encoder.layers.0.residual_middle"], dtype=torch.float32)
        x = x + layer.linear2(torch.tensor(hidden, dtype=torch.float32))
        expected = peer.head(peer.encoder.norm(x)[:, 0])
    logits = model.logits(IDS, replace={"encoder.layers.0.mlp_hidden": hidden})
    assert logits.dtype == np.float32
    np.testing.assert_allclose(logits, expected, 1e-4, 1e-5)
    np.testing.assert_allclose(model.logits(IDS, replace=found), model.logits(IDS), 1e-4, 1e-5)
    np.testing.assert_array_equal(model.logits(IDS, replace={"encoder.layers.0.mlp_hidden": hidden.astype(np.float32)}), logits)
    with pytest.raises(TypeError, match="expected an array of numbers"):
        model.logits(IDS, replace={"encoder.layers.0.mlp_hidden": hidden.astype(str)})
    with pytest.raises(xgrad.ShapeError, match="mlp_hidden"):
        model.logits(IDS, replace={"encoder.layers.0.mlp_hidden": hidden[:2]})
    with pytest.raises(xgrad.Error, match="no activation \"mlp\""):
        model.logits(IDS, replace={"mlp": hidden})


def test_silenced_heads(model, peer):
    rows = model.study_heads(1)
    assert [(row["layer"], row["head"]) for row in rows] == [("encoder.layers.0.self_attn", head) for head in range(2)]
    first = subprocess.run([COMMAND, "attention", model._model.files[0], "--examples", "1", "--maps", "1", "--out", "maps.h5"],
                           cwd=(folder := pathlib.Path(model._model.files[0]).parent), capture_output=True, text=True)
    assert first.returncode == 0, first.stderr
    with h5py.File(folder / "maps.h5") as file:
        ids = torch.tensor([[int(word) for word in file["inputs"][()].decode().split()]])
    target = ids[0, 0]
    for head in range(2):
        with torch.no_grad():
            weight = peer.encoder.layers[0].self_attn.out_proj.weight
            kept = weight.clone()
            weight[:, 16 * head:16 * head + 16] = 0
            loss = torch.nn.functional.cross_entropy(peer(ids), target[None])
            weight.copy_(kept)
        assert rows[head]["loss_without"] == pytest.approx(float(loss), rel=1e-4)
    assert rows[0]["loss"] == pytest.approx(float(torch.nn.functional.cross_entropy(peer(ids), target[None])), rel=1e-4)


def test_predictions_are_those_of_the_command(run, model, peer):
    text = "\n".join(" ".join(map(str, row)) for row in IDS)
    shown = subprocess.run([COMMAND, "predict", run.directory], input=text, capture_output=True, text=True).stdout
    found = model.predict(IDS)
    assert [one.labels for one in found] == [[line] for line in shown.split()]
    best = torch.softmax(peer(torch.tensor(IDS)), -1).max(-1)
    np.testing.assert_allclose([one.probabilities[0] for one in found], best.values.detach(), 1e-4)
    assert not found[0].multi_label and found[0].numbers == [] and found[0].logits.shape == (10,)


def test_weights_are_those_of_the_checkpoint(run, model):
    weights = model.state_dict()
    newest = run.directory / "checkpoints/step-0000000030.h5"
    with h5py.File(newest) as file:
        assert file["trainer/parameters"][()].decode().split() == list(weights)
        for name, value in weights.items():
            module, _, own = name.rpartition(".")
            np.testing.assert_array_equal(file[module][own], value)
    assert not next(iter(weights.values())).flags.writeable
    assert model.step == 30 and model.config["model"] == run.config["model"]


def test_checkpoints_by_path(run, model):
    old = xgrad.load(run.directory / "checkpoints/step-0000000015.h5")
    assert old.step == 15 and (old.logits(IDS) != model.logits(IDS)).any()


def test_the_model_is_the_best_or_the_last(tmp_path):
    """The rate grows until nothing is left of what was learned, so the best step is not the last."""
    rising = xgrad.train(FIRST, {"train.steps": 30, "train.evaluate_every": 5, "optim.lr": 3.0, "schedule.warmup": 30, "expect.accuracy": 0.0,
                                 "run.dir": tmp_path / "run"})
    losses = dict(zip(rising.metrics["validation"]["step"], rising.metrics["validation"]["loss"]))
    best = min(losses, key=losses.get)
    assert best < 30 and list(rising.metrics["test"]["step"]) == [best]
    assert xgrad.load(rising).step == best and xgrad.load(rising, last=True).step == 30
    assert rising.checkpoint == rising.directory / f"checkpoints/step-{int(best):010}.h5"
    shown = [rising.explain(last=last).count(f'data-step="{step}"') for last in (False, True) for step in (best, 30)]
    assert shown == [1, 0, 1, 1]
    (rising.directory / f"checkpoints/step-{int(best):010}.h5").unlink()
    with pytest.raises(xgrad.CheckpointError, match=r"is missing\n.*in Python last=True"):
        xgrad.load(rising)
    assert xgrad.load(rising, last=True).step == 30


def uses(path, call):
    """How often `call` opens or closes a file."""
    libc = ctypes.CDLL(None)
    events = libc.inotify_init1(os.O_NONBLOCK)
    assert libc.inotify_add_watch(events, os.fsencode(path), 0x20 | 0x10) >= 0  # of either alone, equal events count once
    call()
    size = len(os.read(events, 1 << 16))
    os.close(events)
    return size // 16


def test_all_answers_are_of_one_checkpoint(run):
    """A run in training may save another one in between, so Python looks for the newest once, as the command does."""
    newest = run.directory / "checkpoints/step-0000000030.h5"
    command = uses(newest, lambda: subprocess.run([COMMAND, "predict", run.directory], stdin=subprocess.DEVNULL, check=True))
    assert uses(newest, lambda: xgrad.load(run)) == command


def test_lengths_may_differ(run):
    short = xgrad.train(FIRST, {"train.steps": 2, "task.min_length": 4, "expect.accuracy": 0.0, "expect.within_steps": 2,
                                "task.name": "reverse", "run.dir": run.directory.parent / "short"})
    model = xgrad.load(short)
    found = model.logits(["1 2 3 4 5", "1 2 3 4"])
    assert [array.shape[0] for array in found] == [5, 4]
    maps = next(iter(model.attention(["1 2 3 4 5", "1 2 3 4"]).values()))
    assert maps.shape[2:] == (5, 5) and (maps[1, :, :, 4] == 0).all()
    np.testing.assert_allclose(maps[1, :, :4].sum(-1), 1, 1e-6)


class Writer:
    """A small encoder_decoder beside PyTorch's, with inputs of several lengths."""

    lines, outputs = ["1 2 3 4 5", "3 2 1", "5 5 0"], ["5 4 3 2 1", "1 2", "0"]
    modules = ["encoder.layers.0.self_attn", "decoder.layers.0.self_attn", "decoder.layers.0.multihead_attn"]
    end = 6

    def __init__(self, folder):
        self.model = xgrad.load(xgrad.train({
            "task": {"name": "reverse", "length": 5, "min_length": 3, "symbols": 6},
            "model": {"kind": "encoder_decoder", "width": 8, "heads": 2, "layers": 1, "qkv_bias": True},
            "optim": {"lr": 0.01}, "train": {"steps": 60}}, {"run.dir": folder / "writer"}))
        self.peer = EncoderDecoder(width=8, heads=2, layers=1, feedforward=32, classes=7, vocabulary=6, length=5, outputs=6)
        self.peer.load_state_dict({name: torch.tensor(value) for name, value in self.model.state_dict().items()})

    def torch(self, lines, outputs):
        """The logits and {module: maps} of one batch."""
        rows = [[int(word) for word in line.split()] for line in lines]
        ids = torch.tensor([row + [0] * (max(map(len, rows)) - len(row)) for row in rows])
        mask = torch.tensor([[n < len(row) for n in range(ids.shape[1])] for row in rows])
        targets = torch.tensor([row + [-100] * (max(map(len, outputs)) - len(row)) for row in outputs])
        maps = {}

        def looks(name, forward):
            def call(*inputs, **options):
                result = forward(*inputs, **options | {"need_weights": True, "average_attn_weights": False})
                maps[name] = result[1].detach()
                return result
            return call

        kept = {name: self.peer.get_submodule(name) for name in self.modules}
        for name, module in kept.items():
            module.forward = looks(name, type(module).forward.__get__(module))
        with torch.no_grad():
            logits = self.peer(ids, mask, targets)
        for module in kept.values():
            del module.forward
        return logits, maps

    def greedy(self, line):
        """Classes, each with the largest logit after those before it, to the end or to six."""
        classes = []
        while len(classes) < 6 and classes[-1:] != [self.end]:
            logits, _ = self.torch([line], [[*classes, 0]])
            classes.append(int(logits[0, -1].argmax()))
        return classes


@pytest.fixture(scope="module")
def writer(tmp_path_factory):
    return Writer(tmp_path_factory.mktemp("writer"))


def test_decoders_read_given_outputs_as_in_pytorch(writer):
    outputs = [[int(word) for word in line.split()] + [writer.end] for line in writer.outputs]
    logits, maps = writer.torch(writer.lines, outputs)
    found = writer.model.attention(writer.lines, outputs=writer.outputs)
    assert list(found) == writer.modules and found[writer.modules[2]].shape == (3, 2, 6, 5)
    assert set(writer.model.capture(writer.lines, outputs=writer.outputs)) > {f"{name}.scores" for name in writer.modules}
    mine = writer.model.logits(writer.lines, outputs=writer.outputs)
    for b, (line, output) in enumerate(zip(writer.lines, outputs)):
        n, m = len(line.split()), len(output)
        np.testing.assert_allclose(mine[b, :m], logits[b, :m], 1e-4, 1e-5)
        for name, rows, columns in zip(writer.modules, (n, m, m), (n, m, n)):
            np.testing.assert_allclose(found[name][b, :, :rows], maps[name][b, :, :rows], 1e-4, 1e-6)
            np.testing.assert_allclose(found[name][b, :, :rows, :columns].sum(-1), 1, 1e-6)


def test_decoders_read_what_they_decode(writer):
    outputs = [writer.greedy(line) for line in writer.lines]
    _, maps = writer.torch(writer.lines, outputs)
    found = writer.model.attention(writer.lines)
    for b, output in enumerate(outputs):
        name = writer.modules[2]
        np.testing.assert_allclose(found[name][b, :, :len(output)], maps[name][b, :, :len(output)], 1e-4, 1e-6)
    seen = writer.model.capture(writer.lines)
    assert seen["decoder.layers.0.multihead_attn.scores"].shape == (3, 2, max(map(len, outputs)), 5)
    whole = writer.model.logits(writer.lines, replace=seen)
    for b, own in enumerate(writer.model.predict(writer.lines)):
        assert [str(c) for c in outputs[b] if c != writer.end] == own.labels
        np.testing.assert_allclose(whole[b, :len(outputs[b])], own.logits, 1e-4, 1e-5)


def test_a_silent_head_of_cross_attention(writer):
    name = "decoder.layers.0.multihead_attn"
    heads = writer.model.capture(writer.lines, outputs=writer.outputs)[f"{name}.head_outputs"].copy()
    heads[..., 4:] = 0
    silent = writer.model.logits(writer.lines, replace={f"{name}.head_outputs": heads}, outputs=writer.outputs)
    weight = writer.peer.get_submodule(name).out_proj.weight
    with torch.no_grad():
        kept = weight.clone()
        weight[:, 4:] = 0
        outputs = [[int(word) for word in line.split()] + [writer.end] for line in writer.outputs]
        expected, _ = writer.torch(writer.lines, outputs)
        weight.copy_(kept)
    for b, output in enumerate(outputs):
        np.testing.assert_allclose(silent[b, :len(output)], expected[b, :len(output)], 1e-4, 1e-5)
    rows = writer.model.study_heads(20)
    assert [(row["layer"], row["head"]) for row in rows] == [(module, head) for module in writer.modules for head in range(2)]


def test_decoders_of_own_arrays(run):
    x = np.random.default_rng(1).integers(0, 4, (100, 5))
    made = xgrad.train({"model": {"kind": "encoder_decoder", "width": 8, "heads": 1, "layers": 1}, "train": {"steps": 3},
                        "run": {"dir": run.directory.parent / "own"}}, data=(x, x[:, ::-1].copy()))
    model = xgrad.load(made)
    maps = model.attention(x[:2], outputs=x[:2, :3])["decoder.layers.0.multihead_attn"]
    assert maps.shape == (2, 1, 4, 5)
    np.testing.assert_allclose(maps.sum(-1), 1, 1e-6)
    seen = model.capture(x[:2])
    assert seen["decoder.layers.0.self_attn.scores"].shape[2] > 0
    assert model.logits(x[:2], replace=seen).shape[2] == 5
    with pytest.raises(xgrad.DataError, match="one line for each of the 2 inputs, got 1"):
        model.attention(x[:2], outputs=x[:1])
    with pytest.raises(xgrad.DataError, match="outputs: token 2 is \"7\""):
        model.attention(x[:1], outputs=["1 7"])


def test_outputs_need_a_decoder(model):
    with pytest.raises(xgrad.ConfigError, match="reads its outputs"):
        model.attention(IDS, outputs=IDS)


def test_vectors(run):
    x = np.random.default_rng(1).normal(size=(100, 4, 3)).astype(np.float32)
    made = xgrad.train({"model": {"width": 8, "heads": 1, "layers": 1}, "train": {"steps": 3}, "run": {"dir": run.directory.parent / "v"}},
                       data=(x, x[:, 0, 0]))
    model = xgrad.load(made)
    assert model.logits(x[:5]).shape == (5, 1)
    np.testing.assert_array_equal(model.logits(x[2:3]), model.logits(x[:5])[2:3])
    np.testing.assert_array_equal(model.logits(x[2]), model.logits(x[2:3]))
    assert len(model.predict(x[2])) == 1
    with pytest.raises(xgrad.ShapeError, match=r"vectors of 3 numbers, \(N, 3\), got one of shape \(4, 2\)"):
        model.predict(x[2, :, :2])


def test_wrong_inputs(model):
    with pytest.raises(ValueError, match="token 3 is \"eleven\"") as error:
        model.predict(["1 2", "1 2 eleven"])
    assert isinstance(error.value, xgrad.DataError)
    with pytest.raises(OSError, match="absent"):
        xgrad.load("absent")
