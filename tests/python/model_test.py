"""Trained models from Python: beside PyTorch's modules with the same weights, and the command."""

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
from model import Model  # noqa: E402

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
                "self_attn.scores": q @ k.mT / 4, "self_attn.head_outputs": None, "residual_middle": middle,
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
    first = subprocess.run([COMMAND, "attention", model._model.path, "--examples", "1", "--maps", "1", "--out", "maps.h5"],
                           cwd=(folder := pathlib.Path(model._model.path).parent), capture_output=True, text=True)
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
    assert model.step == 30 and "[model]" in model.config


def test_checkpoints_by_path(run, model):
    old = xgrad.load(run.directory / "checkpoints/step-0000000015.h5")
    assert old.step == 15 and (old.logits(IDS) != model.logits(IDS)).any()


def test_lengths_may_differ(run):
    short = xgrad.train(FIRST, {"train.steps": 2, "task.min_length": 4, "expect.accuracy": 0.0, "expect.within_steps": 2,
                                "task.name": "reverse", "run.dir": run.directory.parent / "short"})
    model = xgrad.load(short)
    found = model.logits(["1 2 3 4 5", "1 2 3 4"])
    assert [array.shape[0] for array in found] == [5, 4]
    maps = next(iter(model.attention(["1 2 3 4 5", "1 2 3 4"]).values()))
    assert maps.shape[2:] == (5, 5) and (maps[1, :, :, 4] == 0).all()
    np.testing.assert_allclose(maps[1, :, :4].sum(-1), 1, 1e-6)


def test_vectors(run):
    x = np.random.default_rng(1).normal(size=(100, 4, 3)).astype(np.float32)
    made = xgrad.train({"model": {"width": 8, "heads": 1, "layers": 1}, "train": {"steps": 3}, "run": {"dir": run.directory.parent / "v"}},
                       data=(x, x[:, 0, 0]))
    model = xgrad.load(made)
    assert model.logits(x[:5]).shape == (5, 1)
    np.testing.assert_array_equal(model.logits(x[2:3]), model.logits(x[:5])[2:3])


def test_wrong_inputs(model):
    with pytest.raises(ValueError, match="token 3 is \"eleven\"") as error:
        model.predict(["1 2", "1 2 eleven"])
    assert isinstance(error.value, xgrad.DataError)
    with pytest.raises(OSError, match="absent"):
        xgrad.load("absent")
