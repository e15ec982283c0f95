"""Your own arrays: what train(data=), sweep(data=) and the methods of a model take, and what they refuse."""

import pathlib
import shutil

import numpy as np
import pytest
import torch

import xgrad

SMALL = {"model": {"width": 8, "heads": 1, "layers": 1}, "train": {"steps": 3}}
RANDOM = np.random.default_rng(1)
SERIES = RANDOM.normal(size=(120, 40, 6)).astype(np.float32)
TOKENS = RANDOM.integers(0, 9, (120, 6))
CLASSES = np.array(["ash", "elm", "fir", "oak"])[TOKENS[:, 0] % 4]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    """A model with classes that have names."""
    run = xgrad.train({"model": {"width": 16, "heads": 2, "layers": 1}, "train": {"steps": 60}, "optim": {"lr": 1e-2}},
                      {"run.dir": tmp_path_factory.mktemp("trees") / "run"}, data=(TOKENS, CLASSES))
    return xgrad.load(run)


def test_one_series_is_one_input():
    model = xgrad.load(xgrad.train(SMALL, data=(SERIES, SERIES[:, 0, 0])))
    assert len(model.predict(SERIES[0])) == 1 and len(model.predict(SERIES[:5])) == 5 == len(model.predict(list(SERIES[:5])))
    np.testing.assert_array_equal(model.logits(SERIES[0]), model.logits(SERIES[:1]))
    for wrong in (SERIES[0, :, :5], SERIES[:2, :, :5], SERIES[0, :, 0], SERIES[None]):
        with pytest.raises(xgrad.ShapeError, match=r"expected inputs of vectors of 6 numbers, \(N, 6\), got one of shape"):
            model.predict(wrong)
    tokens = xgrad.load(xgrad.train(SMALL, data=(TOKENS, CLASSES)))
    with pytest.raises(xgrad.ShapeError, match=r"expected inputs of one axis, got one of shape \(40, 6\)"):
        tokens.predict(SERIES)


@pytest.mark.parametrize("kind", ["vectors", "numbers", "tokens", "tags"])
def test_rows_of_several_lengths(kind):
    lengths = RANDOM.integers(2, 6, 120)
    whole = {"vectors": SERIES, "numbers": SERIES[:, :, 0], "tokens": TOKENS, "tags": TOKENS}[kind]
    x = [row[:n] for row, n in zip(whole, lengths)]
    y = [row % 3 for row in x] if kind == "tags" else lengths > 3
    run = xgrad.train(SMALL, data=(x, y))
    assert run.finished and run.config["task"]["labels"] == ("tokens" if kind == "tags" else "sequence")
    model = xgrad.load(run)
    both = [x[0], x[1][:1]]
    assert len(model.predict(both)) == 2
    for row, found in zip(both, model.logits(both)):  # padding changes nothing
        np.testing.assert_allclose(model.logits(row)[0], found, 1e-5, 1e-6)
    assert set(model.evaluate(x, y)) >= {"loss", "accuracy"}
    assert run.resume({"train.steps": 4}, allow_change=["train.steps"]).rows[-2]["step"] == 4


def test_rows_with_several_labels_or_none():
    kinds = [["ash", "elm"], [], ["fir"]]
    model = xgrad.load(xgrad.train(SMALL, data=(TOKENS, kinds * 40)))
    assert model.labels == ["ash", "elm", "fir"]
    assert model.evaluate(TOKENS[:3], kinds) == model.evaluate(TOKENS[:3], [[1, 1, 0], [0, 0, 0], [0, 0, 1]])
    with pytest.raises(ValueError, match="'yew' is not among the labels: ash, elm, fir"):
        model.evaluate(TOKENS[:1], [["yew"]])
    with pytest.raises(ValueError, match="differ only in length"):  # no row has a number
        xgrad.train(SMALL, data=([np.zeros((0,)), np.zeros((0, 2))], [1, 2]))


def test_equal_rows_in_a_list_are_an_array():
    one = xgrad.train(SMALL, {"run.dir": "one"}, data=(TOKENS, CLASSES))
    two = xgrad.train(SMALL, {"run.dir": "two"}, data=(list(TOKENS), list(CLASSES)))
    assert one.metrics["test"]["loss"] == two.metrics["test"]["loss"]


@pytest.mark.parametrize("y", [CLASSES, TOKENS[:, 0] > 4, SERIES[:, 0, 0]])
def test_a_column_of_targets(y):
    row, column = (xgrad.train(SMALL, {"run.dir": name}, data=(TOKENS, one)) for name, one in (("row", y), ("column", y[:, None])))
    assert row.metrics["test"]["loss"] == column.metrics["test"]["loss"] and row.config["task"]["labels"] == column.config["task"]["labels"]
    model = xgrad.load(row)
    assert model.evaluate(TOKENS, y) == model.evaluate(TOKENS, y[:, None])


def test_what_is_refused():
    for data, overrides, kind, message in (
            ((SERIES, SERIES[:, :2, :2]), {}, ValueError, r"data: train: y: expected numbers to predict of shape \(B\) or \(B, K\), got \(120, 2, 2\)"),
            ((TOKENS, CLASSES), {"task.name": "reverse"}, xgrad.ConfigError, "task.name: cannot be set beside data="),
            ((TOKENS, CLASSES), {"task.train": "a.csv"}, xgrad.ConfigError, "task.train: cannot be set beside data="),
            (([[1, 2], [1.5]] * 60, CLASSES), {}, ValueError, r"data: train: x: expected rows that differ only in length, got shapes \(2,\), \(1,\)"),
            (([SERIES[0], SERIES[1, :, :5]] * 60, CLASSES), {}, ValueError, r"got shapes \(40, 6\), \(40, 5\)"),
            (([[1, 2], [1]], CLASSES), {}, ValueError, r"got shapes \(2, '...'\) and \(120,\)"),
            ({"train": (TOKENS, CLASSES), "validation": (TOKENS, CLASSES), "test": (TOKENS, np.full(120, "yew"))}, {}, xgrad.DataError,
             'the label "yew" does not occur in the training rows; these have "ash", "elm", "fir", "oak"')):
        with pytest.raises(kind, match=message):
            xgrad.train(SMALL, overrides, data=data)
        assert list(pathlib.Path().glob("runs/*")) == []
    numbers = np.arange(120) % 9
    with pytest.raises(xgrad.DataError, match='the label "9" .* these have "0", "1", "2", "3", and 5 more'):
        xgrad.train(SMALL, data={"train": (TOKENS, numbers), "validation": (TOKENS, numbers), "test": (TOKENS, numbers + 1)})


def test_a_run_that_is_there():
    """As when a cell of a notebook runs again."""
    for data in (None, (TOKENS, CLASSES)):
        config = SMALL if data else SMALL | {"task": {"name": "reverse"}}
        place = {"run.dir": f"run {data is None}"}
        first = xgrad.train(config, place, data=data)
        before = first.directory.stat().st_ino
        with pytest.raises(xgrad.IoError, match=r"already holds a run; continue it with xgrad.resume\(\), replace it with .*overwrite=True"):
            xgrad.train(config, place, data=data)
        with pytest.raises(xgrad.ConfigError):
            xgrad.train(config, place | {"optim.lrr": 1}, data=data, overwrite=True)
        assert first.finished and first.directory.stat().st_ino == before
        again = xgrad.train(config, place | {"train.steps": 4}, data=data, overwrite=True)
        assert again.directory == first.directory and again.rows[-2]["step"] == 4
        assert xgrad.train(config, {"run.dir": "new"}, data=data, overwrite=True).finished
        shutil.rmtree("new")
    assert sorted(path.name for path in pathlib.Path().iterdir()) == ["run False", "run True"]  # nothing was put aside and stayed
    pathlib.Path("configs").mkdir()
    pathlib.Path("configs/a.toml").write_text('[task]\nname = "reverse"\n[run]\ndir = "own"\n[train]\nsteps = 2\n')
    first, second = (xgrad.train("configs/a.toml", overwrite=True) for _ in range(2))
    assert first.directory == second.directory == pathlib.Path("own")
    shutil.rmtree("own")
    shutil.rmtree("configs")
    for overwrite in (False, True):
        assert xgrad.train(SMALL, data=(TOKENS, CLASSES), overwrite=overwrite).directory == pathlib.Path("runs/run")
    assert [path.name for path in pathlib.Path("runs").iterdir()] == ["run"]


@pytest.mark.parametrize("several", [False, True])
def test_a_moved_run_goes_on(several):
    x = [row[:3 + n % 3] for n, row in enumerate(TOKENS)] if several else TOKENS
    config = SMALL | {"schedule": {"name": "constant"}}
    xgrad.train(config, {"run.dir": "here"}, data=(x, CLASSES))
    whole = xgrad.train(config, {"run.dir": "whole", "train.steps": 5}, data=(x, CLASSES))
    shutil.move("here", "there")
    moved = xgrad.resume("there", {"train.steps": 5}, allow_change=["train.steps"])
    assert moved.metrics["test"]["loss"][-1] == whole.metrics["test"]["loss"][-1]
    assert xgrad.load("there").silence([(0, 0)])["whole"]["loss"] == moved.metrics["test"]["loss"][-1]


def test_sweep_of_arrays():
    call = dict(over={"optim.lr": [1e-3, 3e-3]}, jobs=2, data=(TOKENS, CLASSES))
    sweep = xgrad.sweep(SMALL, **call)
    assert sweep.directory == pathlib.Path("runs/sweep-run")
    table = sweep.to_pandas().set_index("optim.lr")
    for lr in (1e-3, 3e-3):
        alone = xgrad.train(SMALL, {"optim.lr": lr}, data=(TOKENS, CLASSES))
        assert table.loc[lr, "test_loss"] == pytest.approx(alone.metrics["test"]["loss"][-1], rel=1e-12)
    assert xgrad.sweep(SMALL, **call).results == sweep.results
    shutil.move("runs/sweep-run", "there")  # the runs find their data there
    assert xgrad.sweep(SMALL, **call, out="there").results == sweep.results
    run = next(pathlib.Path("there").glob("*/config.toml")).parent
    assert xgrad.resume(run, {"train.steps": 7}, allow_change=["train.steps"]).rows[-2]["step"] == 7
    shutil.move("there", "runs/sweep-run")
    with pytest.raises(ValueError, match="x.npy: holds other data"):
        xgrad.sweep(SMALL, over={"optim.lr": [1e-3]}, data=(TOKENS + 1, CLASSES))


def test_labels_and_probabilities(trees):
    assert sorted(trees.labels) == ["ash", "elm", "fir", "oak"]
    p = trees.probabilities(TOKENS[:7])
    np.testing.assert_allclose(p, torch.softmax(torch.tensor(trees.logits(TOKENS[:7]), dtype=torch.float64), -1), 1e-12)
    for row, one in zip(p, trees.predict(TOKENS[:7])):
        assert one.labels == [trees.labels[row.argmax()]] and one.probabilities[0] == pytest.approx(row.max(), rel=1e-5)
        assert repr(one) == f"<xgrad.Prediction: {one.labels[0]!r} {one.probabilities[0]:.3f}>"


def test_predictions_print_themselves():
    yes_or_no = xgrad.load(xgrad.train(SMALL, data=(TOKENS, TOKENS[:, :3] > 4)))
    p = yes_or_no.probabilities(TOKENS[:1])
    assert p.shape == (1, 3) and yes_or_no.labels == ["0", "1", "2"]
    np.testing.assert_allclose(p, torch.sigmoid(torch.tensor(yes_or_no.logits(TOKENS[:1]), dtype=torch.float64)), 1e-12)
    said = ", ".join(f"{label!r} {one:.3f}" for label, one in zip("012", p[0]) if one > 0.5) or "no label"
    assert repr(yes_or_no.predict(TOKENS[0])[0]) == f"<xgrad.Prediction: {said}>"
    numbers = xgrad.load(xgrad.train(SMALL, data=(SERIES, SERIES[:, 0, 0])))
    one, = numbers.predict(SERIES[0])
    assert repr(one) == f"<xgrad.Prediction: {one.numbers[0]:.6g}>"
    with pytest.raises(xgrad.Error, match="predicts numbers"):
        numbers.probabilities(SERIES[0])


def test_evaluate_is_the_score_of_the_run():
    test = slice(100, 120)
    for x, y in ((TOKENS, CLASSES), (TOKENS, TOKENS % 3), (TOKENS, TOKENS[:, :3] > 4), (SERIES, SERIES[:, 0, :2])):
        run = xgrad.train(SMALL, data={"train": (x[:90], y[:90]), "validation": (x[90:100], y[90:100]), "test": (x[test], y[test])})
        found = xgrad.load(run).evaluate(x[test], y[test])
        for name, value in run.metrics["test"].items():
            if name in found:
                assert found[name] == pytest.approx(value[-1], rel=1e-6), name
        assert "loss" in found and "loss_se" in found


def test_evaluate_refuses(trees):
    with pytest.raises(xgrad.ShapeError, match="a target for each of the 2 inputs, got 1"):
        trees.evaluate(TOKENS[:2], CLASSES[:1])
    with pytest.raises(ValueError, match="'yew' is not among the labels: .*oak"):
        trees.evaluate(TOKENS[:1], ["yew"])


def test_silent_heads(trees):
    found = trees.silence([(0, 1)], examples=5)
    row = next(row for row in trees.study_heads(5) if row["head"] == 1)
    assert found["without"]["loss"] == pytest.approx(row["loss_without"], rel=1e-12)
    assert found["whole"]["loss"] == pytest.approx(row["loss"], rel=1e-12)
    with pytest.raises(xgrad.ConfigError, match="0.2: layer 0 has 2 heads"):
        trees.silence([(0, 2)])


def test_patching(trees):
    one, other = TOKENS[TOKENS[:, 0] % 4 == 0][0], TOKENS[TOKENS[:, 0] % 4 == 1][0]
    found = trees.patch(one, other)
    names = ["encoder.layers.0.residual_after"]
    assert found["names"] == names and found["restored"].shape[0] == 1
    (a, before), (b, after) = found["from"], found["to"]
    i, j = trees.labels.index(a), trees.labels.index(b)
    clean, seen = trees.capture(one), trees.capture(other)
    for position in range(found["restored"].shape[1]):  # by hand
        mixed = clean[names[0]].copy()
        mixed[:, position] = seen[names[0]][:, position]
        logits = trees.logits(one, replace={names[0]: mixed})[0]
        assert found["restored"][0, position] == pytest.approx((logits[j] - logits[i] - before) / (after - before), abs=1e-4)
    with pytest.raises(xgrad.ConfigError):
        trees.patch(one, other, "absent")


def test_going_on_with_new_labels(trees):
    run = xgrad.Run(pathlib.Path(trees._model.files[0]).parents[1])
    model = run.config["model"] | {"init_from": run.checkpoint, "init_strict": False}
    new = xgrad.train({"model": model, "train": {"steps": 1}, "optim": {"lr": 1e-30, "weight_decay": 0.0}}, data=(TOKENS, TOKENS[:, 1] > 3))
    assert new.finished and len(xgrad.load(new).labels) == 2
    old, weights = trees.state_dict(), xgrad.load(new).state_dict()
    same = [name for name in old if old[name].shape == weights[name].shape and (old[name] == weights[name]).all()]
    assert any(name.startswith("encoder.layers.0") for name in same) and "head.weight" not in same
    with pytest.raises(xgrad.IoError, match="empty/checkpoints"):
        pathlib.Path("empty").mkdir()
        pathlib.Path("empty/config.toml").write_text("")
        xgrad.Run("empty").checkpoint
