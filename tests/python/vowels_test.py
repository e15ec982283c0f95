"""The example of frames, on a data set of the same form that is made up: what two speakers say differs in one channel."""

import importlib.util
import pathlib
import shutil
import subprocess
import sys

import numpy as np

import xgrad
from xgrad.runs import COMMAND

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
RANDOM = np.random.default_rng(1)


def say(path, count):
    """Writes utterances of three channels and two to five frames."""
    lines = ["#What this is", "@problemName JapaneseVowels", "@data"]
    for i in range(count):
        frames = RANDOM.normal(size=(2 + i % 4, 3)) + [0, 3 * (i % 2), 0]
        lines.append(":".join(",".join(f"{x:.6f}" for x in channel) for channel in frames.T) + f":{1 + i % 2}")
    path.write_text("\n".join(lines) + "\n")


def test_the_page_quotes_the_config():
    quoted = (ROOT / "docs/japanese-vowels.md").read_text().split("```toml\n")[1].split("```")[0]
    assert (EXAMPLES / "japanese_vowels.toml").read_text().split("\n", 1)[1].startswith(quoted)


def test_japanese_vowels(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    say(tmp_path / "JapaneseVowels_TRAIN.ts", 120)
    say(tmp_path / "JapaneseVowels_TEST.ts", 40)
    spec = importlib.util.spec_from_file_location("japanese_vowels", EXAMPLES / "japanese_vowels.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)

    splits = {name: example.read(tmp_path / f"JapaneseVowels_{name.upper()}.ts") for name in ("train", "test")}
    utterances, speakers = splits["test"]
    assert len(utterances) == 40 and [len(frames) for frames in utterances[:4]] == [2, 3, 4, 5]
    assert utterances[0].shape == (2, 3) and list(speakers[:2]) == ["speaker 1", "speaker 2"]
    run = example.train(splits)
    assert run.metrics["test"]["accuracy"][-1] > 0.9 and "accuracy" in capsys.readouterr().out

    page = run.explain()
    assert '"input":"vectors"' in page and '"features":3' in page

    # The same by the command, from files.
    shutil.copy(EXAMPLES / "japanese_vowels.toml", tmp_path)
    subprocess.run([sys.executable, EXAMPLES / "japanese_vowels.py", "--write", tmp_path], check=True)
    subprocess.run([COMMAND, "train", "japanese_vowels.toml", "run.dir=runs/files", "--quiet"], check=True)
    assert xgrad.Run("runs/files").metrics["test"]["loss"] == run.metrics["test"]["loss"]
