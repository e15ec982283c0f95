"""The code on the pages for Python runs, and gives what its comments say."""

import pathlib
import re
import subprocess

import numpy
import torch
import xgrad
from xgrad.runs import COMMAND

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


def follow(page, capsys, prints=True):
    """Runs the blocks of a page, and sees that they print what it says; returns what they define, and how many they are."""
    blocks = re.findall(r"(?ms)^```python\n(.*?)^```$", (DOCS / page).read_text())
    names = {}
    for block in blocks:
        exec(block, names)
    shown = capsys.readouterr().out
    for line, lines in re.findall(r"(?m)^ *print\(.*\)(?:  +# (.*)|((?:\n#.*)+))$", "".join(blocks)):
        comment = line or re.sub(r"\n# ?", "\n", lines)[1:]
        if prints and not comment.startswith("an array"):
            assert f"{comment}\n" in shown, shown
    return names, len(blocks)


def test_python(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names, blocks = follow("python.md", capsys)
    assert blocks == 9
    assert (names["x"].grad > 0).all() and len(names["heads"]) == 4


def test_tutorial(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert follow("tutorial.md", capsys)[1] == 18


def test_one_head(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    config = DOCS.parent / "configs/reverse.toml"
    xgrad.train(config, {"run.dir": "runs/reverse"})
    subprocess.run([COMMAND, "export", "runs/reverse", "--to", "npz", "--out", "reverse.npz"], check=True, capture_output=True)
    assert follow("one-head.md", capsys)[1] == 6
    without = xgrad.train(config, {"run.dir": "runs/without", "model.positions": "none"})
    said = subprocess.run([COMMAND, "eval", "runs/reverse", "--lengths", "4:16"], check=True, capture_output=True, text=True).stdout
    accuracy = {line.split()[0]: float(line.split()[5]) for line in said.splitlines()[2:]}
    page = " ".join((DOCS / "one-head.md").read_text().split())
    for words, found in (("accuracy is {},", without.metrics["test"]["accuracy"][-1]), ("reaches {},", accuracy["8"]),
                         ("4 digits {}.", accuracy["4"])):
        assert words.format(f"{found:.2f}") in page


def test_readme(capsys):
    assert follow("../README.md", capsys)[1] == 1


def statements(block):
    """Pairs of a statement of the page and the code of PyTorch in its comments."""
    for text in re.findall(r"(?m)^\S.*\n(?: +.*\n)*", block):
        pairs = re.findall(r"(?m)^(.*?) +# (.*)$", text)
        yield "\n".join(ours for ours, _ in pairs), "\n".join(theirs for _, theirs in pairs)


def causal_attention(q, k, v, is_causal):
    """The function of PyTorch 2, which Debian 12's does not have yet."""
    assert is_causal
    hidden = torch.ones(q.shape[-2], k.shape[-2]).triu(1) == 1
    return (q @ k.transpose(-1, -2) / q.shape[-1]**0.5).masked_fill(hidden, -torch.inf).softmax(-1) @ v


def test_pytorch(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", causal_attention, raising=False)
    assert follow("pytorch.md", capsys)[1] == 4
    blocks = re.findall(r"(?ms)^```python\n(.*?)^```$", (DOCS / "pytorch.md").read_text())
    ours, theirs = {}, {}
    compared = 0
    for number, block in enumerate(blocks[:3]):
        for own, other in statements(block):
            exec(own, ours)
            exec(other, theirs)
            name = re.match(r"\w+(?= = )", own)
            if name and (number < 2 or name[0] == "b" and "reshape" in own):
                found, wanted = (numpy.asarray(value.detach() if hasattr(value, "detach") else value)
                                 for value in (ours[name[0]], theirs[name[0]]))
                numpy.testing.assert_allclose(found, wanted, rtol=1e-5, err_msg=own)
                compared += 1
    assert compared >= 16


def test_same_bits(capsys):
    """Another arithmetic has another hash."""
    info = subprocess.run([COMMAND, "info"], capture_output=True, text=True, check=True).stdout
    assert follow("same-bits.md", capsys, prints=re.search(r"(?m)^arithmetic +fma-1$", info))[1] == 1
