"""Progress bars: in a terminal, and nowhere else; notebook_test.py sees that of a notebook."""

import os
import pty
import subprocess
import sys

import pytest

import xgrad

LOOP = """
import xgrad
for step in (bar := xgrad.progress(range(20))):
    bar.show(loss=xgrad.Variable(1 / (1 + step)))
for _ in xgrad.progress(iter("abc")):
    pass
for _ in xgrad.progress(range(9)):
    break
"""
TRAIN = """
import xgrad
config = {"task": {"name": "reverse"}, "model": {"width": 8, "heads": 1, "layers": 1}, "train": {"steps": 3}}
seen = []
run = xgrad.train(config, on_step=lambda step: seen.append((step.step, step.total)))
run.resume({"train.steps": 5}, allow_change=["train.steps"])
xgrad.train(config, quiet=True)
assert seen == [(1, 3), (2, 3), (3, 3)]
"""


def in_a_terminal(code, folder):
    """What a program writes to a terminal as its standard error."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", code], cwd=folder, stderr=theirs)
    os.close(theirs)
    said = b""
    while True:
        try:
            said += os.read(ours, 1 << 16)
        except OSError:  # the terminal is closed
            break
    os.close(ours)
    assert process.wait() == 0, said
    return said.decode()


def last_pictures(said):
    """The last picture of each bar, without the time."""
    return [line.rpartition("\r")[2].removesuffix("\x1b[K") for line in said.replace("\r\n", "\n").split("\n")[:-1]]


def test_loops_in_a_terminal(tmp_path):
    one, unknown, broken = last_pictures(in_a_terminal(LOOP, tmp_path))
    assert one.startswith("#" * 30 + " 20/20, ") and one.endswith(", loss 0.05")
    assert unknown.startswith(" 3, ") and broken.startswith("###" + "-" * 27 + " 1/9, ")


def test_training_in_a_terminal(tmp_path):
    first, second = last_pictures(in_a_terminal(TRAIN, tmp_path))
    assert first.startswith("#" * 30 + " 3/3, ") and second.startswith("#" * 30 + " 5/5, ") and ", loss " in second


@pytest.mark.parametrize("code", [LOOP, TRAIN])
def test_nothing_elsewhere(code, tmp_path):
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_iterable_keeps_its_elements():
    assert list(xgrad.progress([3, 1, 2])) == [3, 1, 2] == list(xgrad.progress(iter([3, 1, 2]), total=3))
