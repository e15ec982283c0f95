"""Files of other programs, which Python lets the packaged command read: no process with threads forks."""

import pathlib
import re
import subprocess
import sys

import h5py
import numpy as np
import pytest

import xgrad

COMMAND = pathlib.Path(xgrad.__file__).parent / "bin/xgrad"
CONFIG = {"task": {"name": "files", "train": "tokens.h5", "input": "x", "target": "y"}, "model": {"width": 8, "heads": 1, "layers": 1},
          "train": {"steps": 10}}
TRAIN = f"import numpy, xgrad; numpy.ones((500, 500)) @ numpy.ones((500, 500)); xgrad.train({CONFIG!r}, {{'run.dir': 'traced'}})"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tokens = np.random.default_rng(1).integers(0, 9, (300, 6))
    with h5py.File("tokens.h5", "w") as file:
        file["x"], file["y"] = tokens, tokens[:, 0] > 4


def command(*words):
    return subprocess.run([COMMAND, *words], capture_output=True, text=True)


def words(config):
    return [f'{section}.{key}={f"{value}"}' for section, keys in config.items() for key, value in keys.items()]


def newest(run):
    return (pathlib.Path(run) / "checkpoints/step-0000000010.h5").read_bytes()


def test_hdf5_without_a_fork():
    done = subprocess.run(["strace", "-ff", "-o", "trace", "-e", "trace=fork,vfork,clone,clone3,execve,prctl", sys.executable, "-c", TRAIN],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    traces = [path.read_text() for path in pathlib.Path().glob("trace.*")]
    ours = [text for text in traces if "bin/xgrad" in text]
    assert len(ours) == 6  # for each dataset: one describes it, one reads it for the vocabulary, one for the examples
    forks = [[line for line in text.splitlines() if re.match(r"(fork|clone3?)\(", line) and "CLONE_VM" not in line] for text in traces]
    assert [lines for lines in forks if lines] == []
    assert all("SECCOMP_MODE_FILTER" in text for text in ours)  # they confine themselves
    pathlib.Path("empty.toml").write_text("")
    assert command("train", "empty.toml", *words(CONFIG), "run.dir=alone", "-q").returncode == 0
    assert newest("traced") == newest("alone")


def test_damaged_files_have_the_command_s_message():
    whole = pathlib.Path("tokens.h5").read_bytes()
    pathlib.Path("empty.toml").write_text("")
    for damage in (whole[:-100], whole.replace(b"TREE", b"EERT"), b"text"):
        pathlib.Path("tokens.h5").write_bytes(damage)
        with pytest.raises(xgrad.DataError) as error:
            xgrad.train(CONFIG)
        assert command("train", "empty.toml", *words(CONFIG)).stderr == f"xgrad: {error.value}\n"
    with pytest.raises(xgrad.DataError, match='dataset "z": does not exist'):
        pathlib.Path("tokens.h5").write_bytes(whole)
        xgrad.train(CONFIG, {"task.target": "z"})


@pytest.mark.parametrize("suffix", ["safetensors", "npz"])
def test_weights_to_begin_with(suffix):
    first = xgrad.train(CONFIG, {"run.dir": "first", "train.dead_gradients_every": 0})
    assert command("export", "first", "--to", suffix, "--out", f"w.{suffix}").returncode == 0
    begun = xgrad.train(CONFIG, {"model.init_from": f"w.{suffix}", "train.steps": 1, "optim.lr": 1e-30, "optim.weight_decay": 0.0,
                                  "run.dir": "b"})
    for name, value in xgrad.load(begun).state_dict().items():
        np.testing.assert_array_equal(value, xgrad.load(first).state_dict()[name])


def test_the_hidden_argument_is_not_for_users():
    done = command("--isolated-work", "hdf5")
    assert done.returncode == 1 and done.stderr == "xgrad: --isolated-work: is for xgrad itself\n"
