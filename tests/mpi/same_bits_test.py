"""The checkpoint and the metrics of a run have the same bits on any number of processes and threads, and by the command without MPI; also when
it is resumed, after any step, on another number of them. The trainings of tests/golden/hashes.txt that are cut into shards have their hashes.

python3 same_bits_test.py [--all]: --all runs 359 cases instead of 42.
"""

import itertools
import json
import os
import pathlib
import re
import sys
import tempfile

from mpi_runs import XGRAD, board, digests, run

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "golden"))
import hashes  # noqa: E402

SHARDS = 8
STEPS = 12
BASE = f"""
[model]
width = 24
heads = 2
layers = 2
[schedule]
warmup = 3
[train]
steps = {STEPS}
batch = 12
shards = {SHARDS}
evaluate_every = 4
save_every = 1
keep = 100
[log]
every = 1
"""
# Each optimizer once; lengths that vary, dropout, averages, clipping, accumulation, a penalty, vectors, numbers, generated outputs, bfloat16.
# Epochs end in the middle of a step, with fewer examples than shards.
CONFIGS = {
    "adam": '[task]\nname="reverse"\nlength=6\nmin_length=2\nsymbols=7\nexamples=88\nvalidation=30\ntest=10\n'
            '[optim]\nname="adam"\nweight_decay=0.1\n',
    "adamw": '[task]\nname="distinct"\nlength=6\nmin_length=2\nexamples=90\nvalidation=20\ntest=20\n[optim]\nname="adamw"\n',
    "sgd": '[task]\nname="most_frequent"\nexamples=64\nvalidation=20\ntest=20\n[optim]\nname="sgd"\nmomentum=0.9\nlr=0.1\n',
    "lion": '[task]\nname="anomaly"\nexamples=64\nvalidation=20\ntest=20\n[optim]\nname="lion"\n',
    "rmsprop": '[task]\nname="mean_of_marked"\nexamples=70\nvalidation=20\ntest=20\n[optim]\nname="rmsprop"\n',
    "adagrad": '[task]\nname="shapes"\nexamples=40\nvalidation=10\ntest=10\n[optim]\nname="adagrad"\n',
    "bf16": '[task]\nname="copy"\nlength=6\nmin_length=2\nexamples=50\nvalidation=20\ntest=20\n[optim]\nname="adamw"\n',
}
OVERRIDES = {
    "adam": ["model.dropout=0.2", "model.attention_dropout=0.1", "train.bucket=2"],
    "adamw": ["model.kind=encoder_decoder", "train.ema=0.9", "train.label_smoothing=0.1", "log.tensorboard=true"],
    "sgd": ["train.clip=0.05", "train.accumulate=2"],
    "lion": ["model.dropout=0.1", "train.accumulate=3", "train.recompute=true"],
    # The rate grows until the run loses what it learned, so its best step is not the last.
    "rmsprop": ["train.ema=0.5", "train.clip=0.1", "optim.lr=0.3", "schedule.warmup=12"],
    "adagrad": ["train.head_diversity=0.1", "log.csv=true"],
    "bf16": ["train.precision=bf16", "model.dropout=0.1", "train.ema=0.9"],
}
RANKS = [1, 2, 3, 4, 8]


def check_hashes(folder, every_case):
    """Trains each on 1 and 3 ranks, with 1, 2 and 3 threads in turn or each; returns the number of cases."""
    expected = hashes.golden()
    cases = 0
    for number, name in enumerate(hashes.SHARDED):
        if not re.search(r"(?m)^arithmetic +fma-1$", run(0, "info")):  # the hashes of this processor are its own
            expected[name] = hashes.hash_of(name, XGRAD, threads=1)
        for ranks, threads in itertools.product((1, 3), (1, 2, 3)):
            if every_case or threads == 1 + (number + ranks // 3) % 3:
                words = hashes.words(name, folder / f"{name}-{ranks}-{threads}", threads)
                found = hashes.printed(run(ranks, *words))
                cases += 1
                assert found == expected[name], f"{name} on {ranks} ranks of {threads} threads: {found}, not {expected[name]}"
    return cases


def main(every_case):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        cases = 0
        for number, (name, text) in enumerate(CONFIGS.items()):
            config = folder / f"{name}.toml"
            config.write_text(text + BASE)
            given = [str(config), *OVERRIDES[name]]
            expected_run = folder / f"{name}-plain"
            run(0, "train", *given, f"run.dir={expected_run}", "--quiet")
            expected = digests(expected_run)
            assert expected[0] == f"step-{STEPS:010}.h5", expected

            def check(directory, what):
                nonlocal cases
                cases += 1
                found = digests(directory)
                assert found == expected, f"{name}, {what}:\n{found}\n{expected}"
                if "log.tensorboard=true" in OVERRIDES[name]:
                    assert board(directory) == board(expected_run) != [], f"{name}, {what}: events for TensorBoard"

            # The row of the test split that training wrote. The row that eval prints has it and the counts of each class.
            *_, of_training = map(json.loads, (expected_run / "metrics.jsonl").read_text().splitlines())
            assert of_training["step"] < STEPS or name != "rmsprop", f"{name}: {of_training}"
            evaluated = run(0, "eval", str(expected_run), "--json")
            assert of_training.items() <= json.loads(evaluated).items(), f"{name}:\n{of_training}\n{evaluated}"
            for ranks in RANKS if every_case else [RANKS[1 + number % 4]]:
                cases += 1
                assert run(ranks, "eval", str(expected_run), "--json") == evaluated, f"{name}, eval on {ranks} ranks"
            if name == "adamw":  # all ranks load each run of an ensemble
                ensemble = ["eval", str(expected_run), str(expected_run / "checkpoints/step-0000000001.h5"), "--json"]
                expected_of_both = run(0, *ensemble)
                assert expected_of_both != evaluated
                for ranks in RANKS if every_case else [3]:
                    cases += 1
                    assert run(ranks, *ensemble) == expected_of_both, f"{name}, eval of an ensemble on {ranks} ranks"

            layouts = list(itertools.product(RANKS, (1, 2)))
            for ranks, threads in layouts if every_case else [layouts[(3 * number + i) % 10] for i in (1, 6)]:
                directory = folder / f"{name}-{ranks}-{threads}"
                run(ranks, "train", *given, f"train.threads={threads}", f"run.dir={directory}", "--quiet")
                check(directory, f"{ranks} ranks of {threads} threads")

            steps = range(1, STEPS)
            for step in steps if every_case else [1 + (5 * number + i) % (STEPS - 1) for i in (0, 4)]:
                saved = expected_run / "checkpoints" / f"step-{step:010}.h5"
                for ranks in ([2, 3, 8] if every_case else [RANKS[1 + step % 4]]):
                    directory = folder / f"{name}-from-{step}-{ranks}"
                    run(ranks, "resume", str(saved), f"run.dir={directory}", "--quiet")
                    found = digests(directory)
                    cases += 1
                    assert found[:2] == expected[:2], f"{name}, from step {step} on {ranks} ranks:\n{found}\n{expected}"
        cases += check_hashes(folder, every_case)
        print(f"{cases} cases, each with the bits of the command without MPI")


if __name__ == "__main__":
    main(every_case="--all" in sys.argv)
