"""The code on docs/tutorial.md runs, and prints what its comments say."""

import pathlib
import re

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/tutorial.md"
# A call of print, and its comment on the same line or on the lines after it.
PRINT = re.compile(r"(?m)^print\(.*\)(?: +# (.*)|((?:\n#.*)+))$")


def test_the_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = "".join(re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE.read_text()))
    said = [line or re.sub(r"\n# ?", "\n", lines)[1:] for line, lines in PRINT.findall(code)]
    assert len(said) == len(re.findall(r"(?m)^print\(", code)) > 20
    exec(code, {})
    assert capsys.readouterr().out.splitlines() == "\n".join(said).splitlines()
