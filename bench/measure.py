"""Measures sides in turn, A B C A B C ..., and computes the ratios of each round, their median and quartiles."""

import json
import math
import os
import statistics
import tempfile

from side import Failed

TURN = 0.2  # seconds of a turn, but at least one step
SLOW = 1  # if a step takes more seconds, there are fewer rounds
ROUNDS, SLOW_ROUNDS, MOST_ROUNDS = 9, 5, 21
SECONDS = 15  # all rounds together, if that allows more than ROUNDS


def agree(ours, theirs, command):
    """The largest relative difference between the results of both sides for the same weights and batch."""
    with tempfile.TemporaryDirectory() as folder:
        names, weights, result = (os.path.join(folder, x) for x in ("names", "weights", "result"))
        with open(names, "w") as file:
            json.dump(ours.ask("parameters"), file)
        theirs.ask("save", weights, names)
        ours.ask("load", weights)
        if command == "predict":
            ours.ask("logits", result)
            return theirs.ask("compare", result)
        return theirs.ask("check", result, ours.ask("gradients", result))


def quartiles(values):
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"low": low, "median": middle, "high": high, "rounds": len(values)}


def exponent(sizes, values):
    """The slope of the least-squares line through the points (log size, log value)."""
    return statistics.linear_regression([math.log(size) for size in sizes], [math.log(value) for value in values]).slope


class Timed:
    """A side with its measurements: the number of steps in a turn, and the seconds of a step in each round."""

    def __init__(self, side, command):
        self.side, self.command = side, command
        self.first = side.ask(command, 1)["seconds"][0]
        self.since_start = side.age()
        self.difference = None  # from xgrad
        self.times = []

    def warm_up(self):
        step = self.side.ask(self.command, 1)["seconds"][0]
        if step < SLOW:
            count = max(1, min(5, round(TURN / step)))
            step = statistics.mean(self.side.ask(self.command, count)["seconds"])  # includes the effect of other work on the cores
        self.count = max(1, min(200, round(TURN / step)))
        self.turn, self.rounds = step * self.count, SLOW_ROUNDS if step > SLOW else MOST_ROUNDS

    def take_turn(self, number):
        if number < self.rounds:
            self.times.append(statistics.median(self.side.ask(self.command, self.count)["seconds"]))

    def summary(self):
        step = statistics.median(self.times)
        peak, before = (bytes / 2**20 for bytes in self.side.ask("memory"))
        return {"name": self.side.name, "ms": 1e3 * step, "mib": peak, "mib_of_model": peak - before,
                "start_s": self.since_start, "first_step_s": self.first, "difference": self.difference}


def rounds_of(timed):
    """The number of rounds for which there is time."""
    turn = sum(t.turn for t in timed)
    return max(ROUNDS, min(MOST_ROUNDS, int(SECONDS / turn)))


def against(ours, theirs):
    """The summary of another side, with the ratio of its times to xgrad's."""
    ratios = [t / x for t, x in zip(theirs.times, ours.times)]
    return theirs.summary() | {"ratio": quartiles(ratios)}


def compare(command, start_ours, start_peers, tolerance, start_own=None):
    """Runs `command` on all sides. Returns {"xgrad": ..., "peers": [...], "failed": [...], "own": ...}; "own" is another form of xgrad,
    or None. The functions start_... start the sides."""
    opened, peers, failed = [], [], []

    def opened_side(start):
        side = start()
        opened.append(side)
        return Timed(side, command)

    try:
        ours = opened_side(start_ours)
        for name, start in start_peers.items():
            try:
                peer = opened_side(start)
                peer.difference = agree(ours.side, peer.side, command)
                if not peer.difference <= tolerance:
                    raise Failed(f"differs from xgrad by {peer.difference:.2g}")
                peers.append(peer)
            except Failed as error:
                failed.append({"name": name, "why": str(error)})
        own = [opened_side(start_own)] if start_own else []
        for timed in (ours, *own, *peers):
            timed.warm_up()
        for number in range(rounds_of([ours, *own, *peers])):
            for timed in (ours, *own, *peers):
                timed.take_turn(number)
        return {"xgrad": ours.summary(), "peers": [against(ours, peer) for peer in peers], "failed": failed,
                "own": against(ours, own[0]) if own else None}
    finally:
        for side in opened:
            side.close()
