"""The trainings whose hashes stand in hashes.txt: hashes.py XGRAD [NAME...] prints their lines, and exits with 1 when one is not there.

Each is a shipped config with overrides. Together they use every optimizer, each schedule but constant, dropout, averaged weights, all
positions but relative_index, all masks, a decoder, a graph, images, text, numbers as targets, float, double and shards.
bench/same_bits.py prints the other lines.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = pathlib.Path(__file__).with_name("hashes.txt")
SHORT = "train.evaluate_every=1000 train.batch=32 schedule.warmup=10"
RUNS = {
    "reverse": "reverse train.steps=200",
    "sort-adam-rotary-ema": f"sort train.steps=60 {SHORT} optim.name=adam schedule.name=linear model.positions=rotary model.dropout=0.1 train.ema=0.99",
    "copy-sgd-alibi": f"copy train.steps=60 {SHORT} optim.name=sgd optim.momentum=0.9 schedule.name=one_cycle model.positions=alibi",
    "majority-lion-relative": f"majority train.steps=60 {SHORT} optim.name=lion schedule.name=wsd model.positions=relative_bias train.swa_start=30",
    "first-adagrad-rms": f"first train.steps=60 {SHORT} optim.name=adagrad schedule.name=step schedule.every=20 model.normalization=rms",
    "rotate-rmsprop-sinusoidal": f"rotate train.steps=60 {SHORT} optim.name=rmsprop schedule.name=polynomial model.positions=sinusoidal model.activation=gelu_tanh",
    "even-pairs-batch-norm": f"even_pairs train.steps=60 {SHORT} schedule.name=noam model.normalization=batch model.norm=post",
    "parity-sparsemax": f"parity train.steps=40 {SHORT} model.attention_activation=sparsemax model.log_scale=true schedule.name=plateau",
    "translation-decoder": f"translation train.steps=40 {SHORT} model.dropout=0.1",
    "induction-causal": f"induction train.steps=40 {SHORT}",
    "neighbours-graph": f"neighbours train.steps=40 {SHORT}",
    "shapes-images": f"shapes train.steps=40 {SHORT} model.positions=learned_2d model.stochastic_depth=0.1",
    "ar2-frames": f"ar2 train.steps=60 {SHORT}",
    "next-value-regression": f"next_value train.steps=60 {SHORT}",
    "hmm": f"hmm train.steps=40 {SHORT}",
    "reverse-double": f"reverse train.steps=40 {SHORT} train.precision=double model.dropout=0.1",
    "reviews-text": "../tests/golden/data/reviews",
    "sort-shards": f"sort train.steps=30 {SHORT} train.shards=3 model.dropout=0.1 train.ema=0.99 train.clip=0.1",
    "translation-shards": f"translation train.steps=20 {SHORT} train.shards=4 optim.name=adam train.accumulate=2",
    "shapes-shards": f"shapes train.steps=20 {SHORT} train.shards=5 optim.name=lion model.dropout=0.1",
}
SHARDED = [name for name in RUNS if name.endswith("-shards")]  # those that several processes can train


def words(name, run, threads):
    """Of the command that trains it in the directory `run`."""
    config, *overrides = RUNS[name].split()
    return ["train", str(ROOT / "configs" / f"{config}.toml"), *overrides, f"run.dir={run}", f"train.threads={threads}", "--quiet"]


def printed(text):
    """The hash in what `xgrad train` printed."""
    return re.search(r"(?m)^hash +(\w{64})$", text).group(1)


def hash_of(name, xgrad, threads):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([xgrad, *words(name, f"{folder}/run", threads)], capture_output=True, text=True, timeout=3600)
        if done.returncode != 0:
            sys.exit(f"{name}: {done.stderr}")
        return printed(done.stdout)


def golden():
    return dict(line.split() for line in GOLDEN.read_text().splitlines() if line and line[0] != "#")


def main(xgrad, names):
    expected, differ = golden(), 0
    for name in names or RUNS:
        found = hash_of(name, xgrad, len(os.sched_getaffinity(0)))
        same = found == expected.get(name)
        differ += not same
        print(f"{name:26} {found}{'' if same else '  NOT in hashes.txt'}", flush=True)
    sys.exit(differ > 0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
