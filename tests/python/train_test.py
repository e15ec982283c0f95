"""Training from Python: the bits, files and messages of the command."""

import fcntl
import json
import os
import pathlib
import subprocess
import sys
import threading

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


STOPPED = """
import os, signal, sys, threading, time, xgrad
def interrupt():
    while not os.path.exists("runs/first/checkpoints/step-0000000010.h5"):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
run = xgrad.train(sys.argv[1], {"train.steps": 1000000, "train.evaluate_every": 10, "schedule.name": "constant"})
assert run.stopped == "SIGINT" and not run.finished, run
assert repr(run) == "xgrad.Run('runs/first', stopped='SIGINT')"
print(max(int(name[5:15]) for name in os.listdir("runs/first/checkpoints") if name.endswith(".h5")))
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("as before")
"""


def test_ctrl_c_saves_and_comes_back():
    done = subprocess.run([sys.executable, "-c", STOPPED, FIRST], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    step, end = done.stdout.splitlines()
    assert end == "as before"
    step = int(step)
    again = xgrad.Run("runs/first").resume({"train.steps": step + 10}, allow_change=["train.steps"])
    whole = xgrad.train(FIRST, {"train.steps": step + 10, "train.evaluate_every": 10, "schedule.name": "constant"})
    name = f"step-{step + 10:010}.h5"
    assert weights(again)[name] == weights(whole)[name] and again.finished


def test_on_step_sees_every_step():
    seen = []
    run = xgrad.train(FIRST, SHORT, on_step=lambda step: seen.append((step.step, step.loss, step.lr, step.grad_norm, step.tokens)))
    assert [step for step, *_ in seen] == list(range(1, 41)) and {tokens for *_, tokens in seen} == {64 * 16}
    train = run.metrics["train"]
    assert [seen[step - 1][2:4] for step in train["step"]] == list(zip(train["lr"], train["grad_norm"]))
    assert [seen[step - 1][1] for step in train["step"]] == pytest.approx(train["loss"], rel=1e-6)
    assert_same(run, xgrad.train(FIRST, SHORT))


def test_on_step_stops_the_run():
    run = xgrad.train(FIRST, SHORT, on_step=lambda step: step.step == 17)
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


def test_beside_threads_of_numpy_and_alone():
    quiet = xgrad.train(FIRST, SHORT)
    stop, errors = threading.Event(), []
    a = np.random.default_rng(1).normal(size=(300, 300))
    expected = a @ a

    def work():
        while not stop.is_set():
            if not np.array_equal(a @ a, expected):
                errors.append("a product changed")
            try:
                if len(os.listdir("runs")) == 2:
                    xgrad.train(FIRST, SHORT)
                    errors.append("two runs at a time")
            except xgrad.Error as error:
                if "another run is being trained" not in str(error):
                    errors.append(str(error))
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        busy = xgrad.train(FIRST, SHORT)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert_same(quiet, busy)
    assert [e for e in errors if e != "two runs at a time"] == []


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
    assert f'labels = "{labels}"' in run.config
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
    assert longer.rows[-1]["step"] == 30


def test_wrong_arrays():
    for data in ({"test": (np.ones(2), np.ones(2))}, {"train": (1, 2), "other": (1, 2)}):
        with pytest.raises(ValueError, match="data: expected train"):
            xgrad.train({"train": {"steps": 1}}, data=data)
    assert not pathlib.Path("runs").exists()


def test_sweep():
    sweep = xgrad.sweep(FIRST, SHORT, over={"optim.lr": [1e-3, 3e-3], "train.seed": [1, 2]}, jobs=2)
    assert sweep.directory == pathlib.Path("runs/sweep-first")
    table = sweep.to_pandas()
    assert sorted(zip(table["optim.lr"], table["train.seed"])) == [(1e-3, 1), (1e-3, 2), (3e-3, 1), (3e-3, 2)]
    row = table[(table["optim.lr"] == 3e-3) & (table["train.seed"] == 1)].iloc[0]
    assert row["test_loss"] == pytest.approx(xgrad.train(FIRST, SHORT).metrics["test"]["loss"][-1], rel=1e-12)
    with pytest.raises(xgrad.Error, match="optim.lrr"):
        xgrad.sweep(FIRST, over={"optim.lrr": [1]}, out="b")


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
