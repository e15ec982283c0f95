"""Training from Python: the bits, files and messages of the command."""

import fcntl
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import xgrad

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
COMMAND = pathlib.Path(xgrad.__file__).parent / "bin/xgrad"
FIRST = CONFIGS / "first.toml"
SHORT = {"train.steps": 40, "schedule.name": "constant", "train.evaluate_every": 10, "log.every": 10, "expect.within_steps": 40, "expect.accuracy": 0.0}
WORDS = [f"{key}={value}" for key, value in SHORT.items()]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def command(*words, code=0):
    done = subprocess.run([COMMAND, *words], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout


def weights(run):
    return {path.name: path.read_bytes() for path in (pathlib.Path(run) / "checkpoints").glob("*.h5")}


def assert_same(run, other):
    assert weights(run) == weights(other) and len(weights(run)) > 1
    assert (pathlib.Path(run) / "metrics.jsonl").read_bytes() == (pathlib.Path(other) / "metrics.jsonl").read_bytes()


def test_the_bits_of_the_command():
    run = xgrad.train(FIRST, SHORT)
    command("train", str(FIRST), *WORDS, "--quiet")
    assert run.directory == pathlib.Path("runs/first") and run.finished and run.stopped is None
    assert_same(run, "runs/first-2")
    assert [claim["holds"] for claim in run.claims] == [True, True]


def test_metrics():
    run = xgrad.train(FIRST, SHORT)
    rows = [json.loads(line) for line in (run.directory / "metrics.jsonl").read_text().splitlines()]
    assert run.rows == rows and run.to_pandas().to_dict("records")[-1]["loss"] == rows[-1]["loss"]
    assert run.metrics["validation"]["step"].tolist() == [10, 20, 30, 40]
    assert run.metrics["train"]["lr"].dtype == float
    for split, columns in run.metrics.items():
        assert columns["loss"].tolist() == [row["loss"] for row in rows if row["split"] == split]
    assert xgrad.Run("runs/first").metrics["test"] == run.metrics["test"]
    assert b"<html" in run._repr_html_().encode() or run._repr_html_().startswith("<iframe")


def test_a_page_that_explains():
    run = xgrad.train(FIRST, SHORT)
    page = run.explain()
    assert page.startswith("<!DOCTYPE html>") and page.count("data-step=\"") > run.explain(every=100).count("data-step=\"") == 1
    assert page._repr_html_().startswith("<iframe srcdoc=") and "<script" not in page._repr_html_()


def test_a_dict_is_a_config():
    one = xgrad.train(FIRST, SHORT)
    config = {"task": {"name": "first"}, "model": {"width": 32, "heads": 1, "layers": 1, "dropout": 0.0, "attention_dropout": 0.0},
              "optim": {"lr": np.float64(3e-3)}}
    two = xgrad.train(config, SHORT)
    assert two.directory == pathlib.Path("runs/first-2")
    assert_same(one, two)


@pytest.mark.parametrize("first, second", [("python", "command"), ("command", "python")])
def test_a_run_of_one_is_resumed_by_the_other(first, second):
    whole = xgrad.train(FIRST, SHORT)
    begun, stop = "runs/first-2", {**SHORT, "train.steps": 30}
    if first == "python":
        xgrad.train(FIRST, stop)
        command("resume", begun, "train.steps=40", "--allow-change", "train.steps", "--quiet")
    else:
        command("train", str(FIRST), *WORDS, "train.steps=30", "--quiet")
        again = xgrad.resume(begun, {"train.steps": 40}, allow_change=["train.steps"])
        assert again.directory == pathlib.Path(begun) and again.finished
    ours, theirs = weights(whole), weights(begun)
    assert ours["step-0000000040.h5"] == theirs["step-0000000040.h5"]
    assert xgrad.Run(begun).metrics["test"]["loss"][-1] == whole.metrics["test"]["loss"][-1]


def test_on_step_sees_every_step():
    seen = []
    run = xgrad.train(FIRST, SHORT, on_step=lambda step: seen.append((step.step, step.loss, step.lr, step.grad_norm, step.tokens)))
    assert [step for step, *_ in seen] == list(range(1, 41)) and {tokens for *_, tokens in seen} == {64 * 16}
    train = run.metrics["train"]
    assert [seen[step - 1][2:4] for step in train["step"]] == list(zip(train["lr"], train["grad_norm"]))
    assert [seen[step - 1][1] for step in train["step"]] == pytest.approx(train["loss"], rel=1e-6)
    assert_same(run, xgrad.train(FIRST, SHORT))


@pytest.mark.parametrize("true", [bool, np.bool_])
def test_on_step_stops_the_run(true):
    run = xgrad.train(FIRST, SHORT, on_step=lambda step: true(step.step == 17))
    assert run.stopped == "on_step" and not run.finished and "step-0000000017.h5" in weights(run)
    with pytest.raises(ZeroDivisionError):
        run.resume(on_step=lambda step: 1 / (step.step - 23))
    assert "step-0000000023.h5" in weights(run)
    seen = []
    assert run.resume(on_step=lambda step: seen.append(step.step)).stopped is None and seen == list(range(24, 41))
    name = "step-0000000040.h5"
    assert weights(run)[name] == weights(xgrad.train(FIRST, SHORT))[name]


def message(error):
    return error.value.args[0]


def test_errors_have_the_messages_of_the_command():
    with pytest.raises(ValueError) as error:
        xgrad.train(FIRST, {"optim.lr": "high", "train.stesp": 1})
    assert isinstance(error.value, xgrad.ConfigError)
    assert command("train", str(FIRST), 'optim.lr="high"', "train.stesp=1", code=2) == f"xgrad: {message(error)}\n"
    with pytest.raises(ValueError, match="absent.toml") as error:
        xgrad.train("absent.toml")
    assert command("train", "absent.toml", code=2) == f"xgrad: {message(error)}\n"
    with pytest.raises(OSError) as error:
        xgrad.resume("absent")
    assert isinstance(error.value, xgrad.IoError)
    assert command("resume", "absent", code=6) == f"xgrad: {message(error)}\n"
    with pytest.raises(OSError, match="absent"):
        xgrad.Run("absent")
    with pytest.raises(FloatingPointError, match="runs/first/") as error:
        xgrad.train(FIRST, {"optim.lr": 1e30, "optim.name": "sgd", "train.clip": 0.0})
    assert isinstance(error.value, ArithmeticError)
    with pytest.raises(ValueError, match="--allow-change optim.lr"):
        xgrad.resume(xgrad.train(FIRST, {**SHORT, "run.dir": "a"}), {"optim.lr": 1.0})
    pathlib.Path("bad.csv").write_text("text,label\na,b,c\n")
    with pytest.raises(ValueError, match="bad.csv") as error:
        xgrad.train({"task": {"name": "files", "train": "bad.csv"}, "train": {"steps": 1}})
    assert isinstance(error.value, xgrad.DataError)
    with pytest.raises(TypeError, match="not set"):
        xgrad.train({"task": {"name": {1, 2}}})


def test_too_much_memory_is_a_memory_error():
    with pytest.raises(MemoryError) as error:
        xgrad.add(np.zeros((1 << 20, 1)), np.zeros((1, 1 << 23)))
    assert isinstance(error.value, xgrad.Error) or str(error.value)


def test_a_locked_run():
    xgrad.train(FIRST, {**SHORT, "run.dir": "a"})
    with open("a/run.lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError) as error:
            xgrad.resume("a")
    assert isinstance(error.value, xgrad.LockError)


def sample(kind):
    rng = np.random.default_rng(1)
    tokens, numbers = rng.integers(0, 9, (300, 6)), rng.normal(size=(300, 5, 2)).astype(np.float32)
    return {
        "a label": (tokens, tokens[:, 0] > 4), "a label of text": (tokens, np.where(tokens[:, 0] > 4, "high", "low")),
        "tokens": (tokens, tokens % 3), "several labels": (tokens, np.stack([tokens[:, 0] > 4, tokens[:, 1] > 2, tokens[:, 2] > 5], 1)),
        "a number": (numbers, numbers[:, 0, 0]), "numbers": (numbers[:, :, 0], numbers[:, :2, 1])}[kind]


@pytest.mark.parametrize("kind, labels", [("a label", "sequence"), ("a label of text", "sequence"), ("tokens", "tokens"),
                                          ("several labels", "multi_label"), ("a number", "numbers"), ("numbers", "numbers")])
def test_arrays(kind, labels):
    x, y = sample(kind)
    model = {"model": {"width": 16, "heads": 1, "layers": 1}, "train": {"steps": 20}}
    parts = {"train": (x[:200], y[:200]), "validation": (x[200:250], y[200:250]), "test": (x[250:], y[250:])}
    run = xgrad.train(model, data=parts)
    assert run.config["task"]["labels"] == labels
    again = json.loads(command("eval", str(run.directory), "--json").splitlines()[0])
    assert again["loss"] == run.metrics["test"]["loss"][-1]
    np.testing.assert_array_equal(np.load(run.directory / "data/test/x.npy"), x[250:])
    logits = xgrad.load(run).logits(x[250:])
    if kind == "a number":  # the mean squared error by hand; targets are scaled as the training rows
        z = (y[250:] - y[:200].mean(dtype=float)) / y[:200].std(dtype=float)
        assert np.mean((logits[:, 0] - z) ** 2) == pytest.approx(run.metrics["test"]["loss"][-1], rel=1e-5)
    whole = xgrad.train(model, data=(x, y))
    assert whole.directory == pathlib.Path("runs/run-2") and whole.finished
    longer = whole.resume({"train.steps": 30}, allow_change=["train.steps"])
    assert longer.rows[-2]["step"] == 30


WRONG_ARRAYS = [
    ({"test": (np.ones(2), np.ones(2))}, ValueError, "data: expected train"),
    ({"train": (np.ones(2), np.ones(2)), 3: (np.ones(2), np.ones(2))}, ValueError, "data: expected train"),
    (np.ones((2, 3)), ValueError, r"data: train: expected a pair of arrays \(x, y\), got ndarray"),
    ((np.ones(2),) * 3, ValueError, "data: train: expected a pair"),
    ((1, 2), ValueError, r"with a row for each example, got shapes \(\) and \(\)"),
    ((np.ones((3, 2)), np.ones(2)), ValueError, r"got shapes \(3, 2\) and \(2,\)"),
    ((np.ones((3, 2), complex), np.ones(3)), TypeError, "data: train: x: expected an array of numbers, booleans or text, got complex128"),
    ((np.ones((3, 2), int), np.array([1, "a", None], object)), TypeError, "data: train: y: .* got object"),
    ((np.zeros((30, 2), int), np.zeros((30, 2, 2), int)), xgrad.DataError, 'column "y": has 4 numbers'),
    ((np.zeros((0, 2), int), np.zeros(0, int)), xgrad.DataError, "x.npy"),
    ((np.full((30, 2), np.nan), np.zeros(30, int)), xgrad.DataError, "x.npy"),
]


@pytest.mark.parametrize("data, kind, message", WRONG_ARRAYS)
def test_wrong_arrays(data, kind, message):
    with pytest.raises(kind, match=message):
        xgrad.train({"train": {"steps": 1}}, data=data)
    assert list(pathlib.Path().glob("runs/*")) == []


def test_a_run_of_arrays_that_does_not_begin_leaves_nothing():
    data = np.zeros((30, 2), int), np.zeros(30, int)
    pathlib.Path("mine").mkdir()
    pathlib.Path("mine/notes").write_text("")
    with pytest.raises(ValueError, match="optim.lrr"):
        xgrad.train({"train": {"steps": 1}, "run": {"dir": "mine"}, "optim": {"lrr": 1}}, data=data)
    assert [path.name for path in pathlib.Path("mine").iterdir()] == ["notes"]


def test_layouts_and_types_of_arrays():
    """The same numbers give the same run, in whatever way memory holds them."""
    rng = np.random.default_rng(1)
    x, y = rng.integers(-8, 8, (200, 4, 2)).astype(np.float64), rng.integers(0, 3, 200)
    config = {"model": {"width": 8, "heads": 1, "layers": 1}, "train": {"steps": 3}}
    alike = [(x, y), (np.asfortranarray(x), y.astype(np.uint8)), (x.astype(">f8"), y.astype(">i4")), (x.astype(np.float16), y[::-1][::-1]),
             (x.astype(np.longdouble), y.astype(np.int64)), (x.tolist(), y.tolist()), (x.astype(np.float32), y)]
    runs = [xgrad.train(config, {"run.dir": f'a "{number}"'}, data=pair) for number, pair in enumerate(alike)]
    assert {run.metrics["test"]["loss"][-1] for run in runs} == {runs[0].metrics["test"]["loss"][-1]}
    text = np.array(["low", "mid", "high"], object)[y]
    assert xgrad.train(config, data=(x, text)).metrics["test"]["loss"][-1] > 0


def test_sweep():
    sweep = xgrad.sweep(FIRST, SHORT, over={"optim.lr": [1e-3, 3e-3], "train.seed": [1, 2]}, jobs=2)
    assert sweep.directory == pathlib.Path("runs/sweep-first")
    table = sweep.to_pandas()
    assert sorted(zip(table["optim.lr"], table["train.seed"])) == [(1e-3, 1), (1e-3, 2), (3e-3, 1), (3e-3, 2)]
    row = table[(table["optim.lr"] == 3e-3) & (table["train.seed"] == 1)].iloc[0]
    assert row["test_loss"] == pytest.approx(xgrad.train(FIRST, SHORT).metrics["test"]["loss"][-1], rel=1e-12)
    with pytest.raises(xgrad.ConfigError) as error:
        xgrad.sweep(FIRST, over={"optim.lrr": [1]}, out="b")
    assert command("sweep", str(FIRST), "--over", "optim.lrr=[1]", "--out", "b", code=2) == f"xgrad: {message(error)}\n"


def test_a_sweep_starts_no_process_for_itself(monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", None)
    assert len(xgrad.sweep(FIRST, SHORT, over={"train.seed": [1]}, out="d").results) == 1


def test_a_sweep_without_a_run_raises_the_error_of_the_first():
    source = {"task": {"name": "files", "train": "absent.csv", "test": "absent.csv"}, "train.steps": 2}
    with pytest.raises(xgrad.DataError):  # which the command has printed
        xgrad.sweep(source, over={"train.seed": [1, 2]}, out="c", quiet=False)
    with pytest.raises(xgrad.DataError) as error:
        xgrad.sweep(source, over={"train.seed": [1, 2]}, out="c")
    assert message(error) == f"{pathlib.Path('absent.csv').absolute()}: there is no such file"


def test_a_function_that_cannot_be_called():
    with pytest.raises(TypeError, match="on_step: expected a function, got int"):
        xgrad.train(FIRST, SHORT, on_step=3)
    assert not pathlib.Path("runs").exists()


def test_steps_outlive_their_calls():
    steps = []
    xgrad.train(FIRST, {**SHORT, "train.steps": 3}, on_step=steps.append)
    assert [step.step for step in steps] == [1, 2, 3] and len({step.loss for step in steps}) == 3


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, MemoryError])
def test_whatever_on_step_raises_comes_back(kind):
    def fail(step):
        raise kind("said")
    with pytest.raises(kind, match="said"):
        xgrad.train(FIRST, SHORT, on_step=fail)
    assert "step-0000000001.h5" in weights("runs/first")


def test_training_inside_on_step_is_refused():
    with pytest.raises(xgrad.Error, match="another run is being trained"):
        xgrad.train(FIRST, SHORT, on_step=lambda step: xgrad.train(FIRST, SHORT))
    assert xgrad.Run("runs/first").resume().finished


def test_any_mapping_is_a_config():
    from types import MappingProxyType
    config = MappingProxyType({"task": MappingProxyType({"name": "first"}), "train.steps": np.int64(2)})
    assert xgrad.train(config).directory == pathlib.Path("runs/first")


def test_sweep_of_a_dict():
    source = {"task": {"name": "reverse"}, "model": {"width": 8, "layers": 1}, "train.steps": 4, "train.seed": 7}
    sweep = xgrad.sweep(source, {"optim.lr": 0.02}, over={"train.seed": [1, 2]}, jobs=2)
    assert sweep.directory == pathlib.Path("runs/sweep-reverse")
    table = sweep.to_pandas().set_index("train.seed")
    for seed in (1, 2):
        alone = xgrad.train(source, {"optim.lr": 0.02, "train.seed": seed})
        assert table.loc[seed, "test_loss"] == pytest.approx(alone.metrics["test"]["loss"][-1], rel=1e-12)


def test_gradcheck():
    check = xgrad.gradcheck(FIRST, {"model.width": 8})
    assert check and check.ok and "passed" in repr(check)
    table = check.to_pandas()
    assert "embedding.token.weight" in set(table["name"]) and (table["failed"] == 0).all()
    with pytest.raises(ValueError, match="model.widht"):
        xgrad.gradcheck(FIRST, {"model.widht": 8})


def test_the_import_needs_numpy_only():
    code = "import sys, xgrad; print(sorted({m.split('.')[0] for m in sys.modules} & {'pandas', 'torch', 'nanobind', 'h5py', 'scipy'}))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
