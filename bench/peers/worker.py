"""What every peer does alike: its options, and the loop that answers the commands which bench/train_step.cpp answers.

    step N         N training steps: seconds of each, the last loss
    predict N      N forward passes
    save W NAMES   writes all weights as raw float32 in the order of NAMES (a file of JSON), then ids and targets as raw int32
    check G LOSS   the largest relative difference to that loss and those gradients, without dropout
    compare L      the largest relative difference to those logits
    memory         resident bytes: their peak, and what they were when the libraries were loaded
"""

import argparse
import json
import os
import resource
import sys
import time


def options():
    parser = argparse.ArgumentParser()
    for name in ("batch", "tokens", "width", "heads", "layers", "vocabulary", "threads"):
        parser.add_argument("--" + name, type=int)
    parser.add_argument("--dropout", type=float)
    return parser


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Peer:
    """The base of a peer, which adds the commands that it can do."""

    def __init__(self):
        self.before = peak_bytes()

    def timed(self, count, function):
        seconds = []
        for _ in range(int(count)):
            start = time.perf_counter()
            last = function()
            seconds.append(time.perf_counter() - start)
        return {"seconds": seconds, "last": last}

    def memory(self):
        return [peak_bytes(), self.before]


def write(path, names_path, weights, *batch):
    """Weights by name, then the batch, as NumPy arrays."""
    with open(names_path) as file:
        names = [name for name, _ in json.load(file)]
    if sorted(names) != sorted(weights):
        raise ValueError(f"parameters differ: {sorted(set(names) ^ set(weights))}")
    with open(path, "wb") as file:
        for name in names:
            file.write(weights[name].astype("float32").tobytes())
        for array in batch:
            file.write(array.astype("int32").tobytes())
    return names


def difference(ours, theirs):
    """Relative to the largest entry; where all are 0, absolute."""
    return float(abs(ours - theirs).max() / (abs(ours).max() or 1))


def worst(numpy, path, names, gradients, ours, theirs):
    """The largest difference of all gradients, and of the losses."""
    found, at = [abs(float(ours) - float(theirs)) / float(ours)], 0
    read = numpy.fromfile(path, "float32")
    for name in names:
        size = gradients[name].size
        found.append(difference(gradients[name].ravel(), read[at:at + size]))
        at += size
    if at != read.size:
        raise ValueError(f"{read.size} numbers of gradients, not {at}")
    return float(numpy.max(found))  # NaN where one is, unlike max()


def serve(peer):
    # What libraries print must not get between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        command, *words = line.split()
        print(json.dumps(getattr(peer, command)(*words)), file=answers, flush=True)
