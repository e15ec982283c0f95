"""The common parts of all peers: the options, and the loop that answers commands, as bench/train_step.cpp does.

    step N         N training steps: the seconds of each, the last loss
    predict N      N forward passes
    save W NAMES   writes all weights as raw float32 in the order of NAMES (a file of JSON), then ids and targets as raw int32
    check G LOSS   the largest relative difference from this loss and the gradients in file G, without dropout
    compare L      the largest relative difference from the logits in file L
    memory         resident bytes: the peak, and after the libraries were loaded
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
    """The base class of all peers. Each peer adds its commands as methods."""

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
    """Writes the weights in the order of the names, then the batch, as raw numbers. Returns the names."""
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
    """The largest difference, relative to the largest entry; absolute if all entries are 0."""
    return float(abs(ours - theirs).max() / (abs(ours).max() or 1))


def worst(numpy, path, names, gradients, ours, theirs):
    """The largest relative difference among all gradients and the losses."""
    found, at = [abs(float(ours) - float(theirs)) / float(ours)], 0
    read = numpy.fromfile(path, "float32")
    for name in names:
        size = gradients[name].size
        found.append(difference(gradients[name].ravel(), read[at:at + size]))
        at += size
    if at != read.size:
        raise ValueError(f"{read.size} numbers of gradients, not {at}")
    return float(numpy.max(found))  # NaN if a difference is NaN, unlike max()


def serve(peer):
    # Output of libraries must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        command, *words = line.split()
        print(json.dumps(getattr(peer, command)(*words)), file=answers, flush=True)
