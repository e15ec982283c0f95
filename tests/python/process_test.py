"""The module in its process: signals, threads, forks, and the end of the interpreter."""

import fcntl
import os
import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest

import xgrad
from train_test import FIRST, SHORT, assert_same, weights


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def python(code):
    """What a Python of its own prints; it must neither fail nor complain."""
    done = subprocess.run([sys.executable, "-c", code, FIRST], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


STOPPED = """
import os, pathlib, signal, sys, threading, time, xgrad
def interrupt():
    while not any(pathlib.Path("runs/first").glob("checkpoints/step-*.h5")):
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
    step, end = python(STOPPED).splitlines()
    assert end == "as before"
    step = int(step)
    again = xgrad.Run("runs/first").resume({"train.steps": step + 10}, allow_change=["train.steps"])
    whole = xgrad.train(FIRST, {"train.steps": step + 10, "train.evaluate_every": 10, "schedule.name": "constant"})
    name = f"step-{step + 10:010}.h5"
    assert weights(again)[name] == weights(whole)[name] and again.finished


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


INTERRUPTED_SWEEP = """
import os, pathlib, signal, sys, threading, time, xgrad
def interrupt():
    while len({path.parent for path in pathlib.Path("runs").glob("*/*/checkpoints/step-*.h5")}) < 2:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    xgrad.sweep(sys.argv[1], {"train.steps": 1000000, "train.evaluate_every": 10, "schedule.name": "constant", "expect.within_steps": 10},
                over={"train.seed": [1, 2, 3]}, jobs=2)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_saves_the_runs_of_a_sweep():
    assert python(INTERRUPTED_SWEEP) == "interrupted\n"
    runs = [path.parent for path in pathlib.Path("runs/sweep-first").glob("*/config.toml")]
    assert len(runs) == 2  # the third has not begun
    for run in runs:
        assert weights(run) and not xgrad.Run(run).finished
        with open(run / "run.lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # no process works on it


FORKED = """
import multiprocessing, sys, xgrad
def train(number):
    return xgrad.train(sys.argv[1], {"train.steps": 5, "run.dir": f"run{number}", "expect.within_steps": 5}).finished
assert train(0)
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(train, [1, 2]))
"""


def test_a_forked_process_trains():
    assert python(FORKED) == "[True, True]\n"
    assert weights("run0") == weights("run1") == weights("run2")


DAEMON = """
import sys, threading, time, xgrad
begun = threading.Event()
run = lambda: xgrad.train(sys.argv[1], {"train.steps": 1000000, "expect.within_steps": 5}, on_step=lambda step: begun.set())
threading.Thread(target=run, daemon=True).start()
begun.wait()
"""


def test_the_interpreter_ends_while_a_thread_trains():
    """The run saves and stops first."""
    assert python(DAEMON) == ""
    assert weights("runs/first")


COMPUTING = """
import atexit, threading, numpy, xgrad
a = numpy.ones((400, 400))
atexit.register(lambda: print(xgrad.matmul(a, a).value[0, 0]))
begun = threading.Event()
def work():
    while True:
        xgrad.Variable(a, requires_grad=True) @ a
        begun.set()
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
begun.wait()
"""


def test_the_interpreter_ends_while_threads_compute():
    for before in ("", "import atexit, sys; atexit.register(lambda: sys.modules['xgrad'].exp(1.0))\n"):
        assert python(before + COMPUTING) == "400.0\n"
