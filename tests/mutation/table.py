"""The table of a mutation run, and which of its survivors are accounted for."""

import collections
import pathlib

EQUIVALENT = pathlib.Path(__file__).with_name("equivalent.txt")
FOLDERS = [("autograd", "engine, random numbers, loops"), ("autograd/ops", "ops"), ("autograd/kernels", "products, attention"),
           ("autograd/gradcheck", "gradient checks"), ("layers", "layers and models"), ("optim", "optimizers, schedules, clipping"),
           ("data", "batches, loaders"), ("data/synthetic", "what generators share"), ("data/tasks", "generators"),
           ("train/loop", "the training loop"), ("train/metrics", "metrics"), ("train/model", "objective"),
           ("train/checkpoint", "what a checkpoint holds"), ("train/run", "`[expect]`"), ("train/logs", "rows of metrics, history"),
           ("train/diagnose", "where a step fails")]


def equivalent():
    """The reason of each mutant in equivalent.txt, by its name. A reason is indented and follows its mutants."""
    reasons, names = {}, []
    for line in EQUIVALENT.read_text().splitlines():
        if not line.startswith(" ") and names and names[-1] in reasons:
            names = []
        if line.startswith(" "):
            for name in names:
                reasons[name] = f"{reasons[name]} {line.strip()}" if name in reasons else line.strip()
        elif line and not line.startswith("#"):
            names.append(line)
    return reasons


def folder(file):
    """The row of a file: the longest folder of FOLDERS that it is in."""
    return max((f for f, _ in FOLDERS if file.startswith(f + "/")), key=len)


def rows(mutants, results):
    """Counts of states by folder and by part: {"optim": Counter, "optimizers": Counter, "all": Counter}."""
    reasons, counts = equivalent(), collections.defaultdict(collections.Counter)
    for mutant in mutants:
        state = results[mutant["name"]]["state"] if mutant["name"] in results else "not run"
        if state in ("survived", "unreached") and mutant["name"] in reasons:
            state = "equivalent"
        for key in (folder(mutant["file"]), mutant["part"], "all"):
            if key:
                counts[key][state] += 1
    return counts


def percent(count):
    alive = count["survived"] + count["unreached"]
    return f"{100 * count['killed'] / max(1, count['killed'] + alive):.1f} %"


def line(name, what, count):
    alive = count["survived"] + count["unreached"]
    return f"| {name} | {what} | {sum(count.values()):,} | {count['same']} | {count['equivalent']} | {count['killed']:,} | {alive} | {percent(count)} |"


def print_table(mutants, results):
    counts = rows(mutants, results)
    print("| folder | holds | mutants | same code | equivalent | killed | survive | killed of those that differ |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for name, what in FOLDERS:
        print(line(f"`{name}`", what, counts[name]))
    print(line("all", "", counts["all"]))
    print("\n| part | mutants | killed | survive |\n|---|---:|---:|---:|")
    for name in ("backward passes", "loss", "optimizers", "metrics"):
        count = counts[name]
        print(f"| {name} | {sum(count.values()):,} | {count['killed']:,} | {count['survived'] + count['unreached']} |")
    print()
    reasons = equivalent()
    for mutant in mutants:
        if mutant["name"] not in results:
            continue
        state = results[mutant["name"]]["state"]
        if state in ("survived", "unreached") and mutant["name"] not in reasons:
            print(f"{state}: {mutant['name']}{'   [' + mutant['part'] + ']' if mutant['part'] else ''}")
    if not_run := counts["all"]["not run"]:
        print(f"{not_run} mutants have not run")

