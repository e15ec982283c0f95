"""Who says the vowels? Trains xgrad on the data set Japanese Vowels, which sktime contains.

    pip install --no-deps sktime
    python3 japanese_vowels.py           # trains from arrays
    python3 japanese_vowels.py --write   # writes the files that japanese_vowels.toml reads

To read the two .ts files from another folder than sktime's, add the path of that folder as an argument.
"""

import importlib.util
import json
import pathlib
import sys
import tomllib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent


def folder_of_sktime():
    """Finds the files of sktime without importing it, since an import needs other packages."""
    found = importlib.util.find_spec("sktime")
    if found is None:
        sys.exit("sktime is not installed: pip install --no-deps sktime")
    return pathlib.Path(found.origin).parent / "datasets/data/JapaneseVowels"


def read(path):
    """Returns the utterances of a .ts file, each an array (frames, channels), and their speakers.

    A line is an utterance: the numbers of each channel, then the speaker, with colons between them.
    """
    utterances, speakers = [], []
    for line in path.read_text().splitlines():
        if line and line[0] not in "#@":
            *channels, speaker = line.split(":")
            utterances.append(np.array([channel.split(",") for channel in channels], float).T)
            speakers.append(f"speaker {speaker}")
    return utterances, np.array(speakers)


def write(path, utterances, speakers):
    with open(path, "w") as file:
        for frames, speaker in zip(utterances, speakers):
            file.write(json.dumps({"frames": frames.tolist(), "speaker": speaker}) + "\n")


def train(splits):
    import xgrad  # here, because --write does not need it

    config = tomllib.loads((HERE / "japanese_vowels.toml").read_text())
    config["task"] = {"max_length": config["task"]["max_length"]}  # the arrays replace the other keys
    run = xgrad.train(config, {"run.dir": "runs/japanese_vowels"}, data=splits)
    print(f"accuracy {run.metrics['test']['accuracy'][-1]:.3f} on the test utterances")
    return run


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--write"]
    folder = pathlib.Path(words[0]) if words else folder_of_sktime()
    splits = {name: read(folder / f"JapaneseVowels_{name.upper()}.ts") for name in ("train", "test")}
    if "--write" in sys.argv:
        for name, (utterances, speakers) in splits.items():
            write(f"{name}.jsonl", utterances, speakers)
    else:
        train(splits)
