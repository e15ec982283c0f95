"""The code on docs/python.md runs, and gives what its comments say."""

import pathlib
import re

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/python.md"


def test_the_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE.read_text())
    assert len(blocks) == 8
    names = {}
    for block in blocks:
        exec(block, names)
    shown = capsys.readouterr().out
    for comment in re.findall(r"(?m)^ *print\(.*\)  +# (.*)$", "".join(blocks)):
        if not comment.startswith("an array"):
            assert f"{comment}\n" in shown, shown
    assert (names["x"].grad > 0).all() and len(names["heads"]) == 4
