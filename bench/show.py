"""Writes results as Markdown tables into pages."""

import pathlib
import re

import classes
import machine
import workloads

EAGER = ("torch explicit", "torch fused")


def best(result):
    """The fastest peer that ran; None if none did."""
    return min(result["peers"], key=lambda peer: peer["ratio"]["median"], default=None)


def missing(result, wanted):
    """The wanted peers that did not run. One of them may be the fastest."""
    return [name for name in wanted if of(result, name) is None]


def of(result, name):
    return next((peer for peer in result["peers"] if peer["name"] == name), None)


def milliseconds(value):
    return f"{value:.3g} ms" if value < 999.5 else f"{value / 1000:.3g} s"


def ratio(quartiles):
    return f"{quartiles['median']:.2f} [{quartiles['low']:.2f}, {quartiles['high']:.2f}]"


def judged(value, goal, at_most=False, without=()):
    """The goal, and whether it is missed. If peers did not run (`without`), it is not judged."""
    if goal is None:
        return ""
    said = f"{'≤' if at_most else '≥'} {goal:.3g}"
    if without:
        return f"{said}, not judged: without {', '.join(without)}"
    reached = value <= goal if at_most else value >= goal
    return said if reached else f"{said}, **missed**"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines) + "\n"


def cell(result, name):
    """The time of a peer, and its ratio to xgrad's time."""
    if any(failed["name"] == name for failed in result["failed"]):
        return "failed"
    peer = of(result, name)
    return f"{milliseconds(peer['ms'])} ({peer['ratio']['median']:.2f})" if peer else ""


def names(results):
    """The names of all peers, in the order of their first result."""
    return list(dict.fromkeys(peer["name"] for result in results for peer in result["peers"] + result["failed"]))


def with_fewest_threads(results):
    return [result for result in results if result["threads"] == min(r["threads"] for r in results)]


def beside_best(result, peers, goal):
    """The ratio of the fastest peer's time to xgrad's, and the goal."""
    closest = best(result)
    return [ratio(closest["ratio"]) if closest else "",
            judged(closest and closest["ratio"]["median"], goal, without=missing(result, peers))]


def training(results, on):
    peers = names(results)
    rows = [[result["workload"], result["threads"], milliseconds(result["xgrad"]["ms"]), *(cell(result, name) for name in peers),
             *beside_best(result, peers, workloads.step_goal(on, result))] for result in results]
    return table(["step", "threads", "xgrad", *peers, "best peer ÷ xgrad [quartiles]", "goal"], rows)


def share_of_float(result):
    """The ratio of peak memory in bfloat16 to peak memory in float32, and the goal."""
    part = result["xgrad"]["mib"] / result["own"]["mib"]
    return [f"{part:.2f}", judged(part, workloads.BF16_MEMORY_GOALS.get(result["workload"]), at_most=True)]


def bf16(results, on):
    """Compares xgrad in bfloat16 with xgrad in float32, and with PyTorch in the faster of both types."""
    peers = names(results)
    rows = [[result["workload"], result["threads"], milliseconds(result["xgrad"]["ms"]), ratio(result["own"]["ratio"]),
             *(cell(result, name) for name in peers), *beside_best(result, peers, workloads.bf16_goal(on, result)),
             *share_of_float(result)] for result in results]
    return table(["step in bfloat16", "threads", "xgrad", "its float32 ÷ bfloat16", *peers, "best peer ÷ xgrad [quartiles]", "goal",
                  "peak memory ÷ float32's", "goal"], rows)


def share(result, mib):
    return result["xgrad"]["mib"] / (mib - workloads.CUDA_MIB)


def share_of_eager(result, peers):
    """The ratio of xgrad's peak memory to PyTorch's, in the eager form that needs less memory, and the goal."""
    eager = [peer["mib"] for peer in result["peers"] if peer["name"] in EAGER]
    if not eager:
        return ["", ""]
    part = share(result, min(eager))
    return [f"{part:.2f}", judged(part, workloads.memory_goal(result["workload"]), at_most=True,
                                  without=missing(result, [name for name in EAGER if name in peers]))]


def memory(results, on):
    """The ratios are to PyTorch compiled, and eager in the form that needs less memory, both without CUDA's libraries. The goal is for eager."""
    peers, rows = names(results), []
    for result in with_fewest_threads(results):
        cells = [f"{side['mib']:.0f} ({side['mib_of_model']:.0f})" if side else ""
                 for side in (result["xgrad"], *(of(result, name) for name in peers))]
        compiled = of(result, "torch.compile")
        rows.append([result["workload"], *cells, f"{share(result, compiled['mib']):.2f}" if compiled else "",
                     *share_of_eager(result, peers)])
    return table(["peak MiB (without libraries)", "xgrad", *peers, "xgrad ÷ (torch.compile - CUDA)", "xgrad ÷ (PyTorch eager - CUDA)", "goal"],
                 rows)


def start(results, on):
    peers, rows = names(results), []
    for result in with_fewest_threads(results):
        seconds, goal = result["xgrad"]["start_s"], workloads.START_GOALS.get(result["workload"])
        rows.append([result["workload"], f"{seconds:.2f}", *(f"{of(result, name)['start_s']:.1f}" if of(result, name) else "" for name in peers),
                     judged(seconds, goal, at_most=True) if goal else ""])
    return table(["seconds to the first step's end", "xgrad", *peers, "goal"], rows)


def beside_onnxruntime(result):
    """The ratio of onnxruntime's time to xgrad's, and the goal."""
    onnx = of(result, "onnxruntime")
    return [ratio(onnx["ratio"]) if onnx else "",
            judged(onnx and onnx["ratio"]["median"], workloads.PREDICT_GOALS[result["workload"]], without=missing(result, ["onnxruntime"]))]


def inference(results, on):
    peers = names(results)
    rows = [[result["workload"], result["batch"], result["threads"], milliseconds(result["xgrad"]["ms"]),
             *(cell(result, name) for name in peers), *beside_onnxruntime(result)] for result in results]
    return table(["forward pass", "batch", "threads", "xgrad", *peers, "onnxruntime ÷ xgrad [quartiles]", "goal"], rows)


def beside_torch(result):
    return [ratio(result["ratio"]), judged(result["ratio"]["median"], workloads.ACCURACY_GOAL)]


def accuracy(results, on):
    rows = [[r["threads"], f"{r['xgrad']['seconds']:.2f} s", f"{r['xgrad']['steps']:.0f}", f"{r['torch']['seconds']:.2f} s",
             f"{r['torch']['steps']:.0f}", *beside_torch(r)] for r in results]
    return table(["threads", "xgrad", "steps", "PyTorch", "steps", "PyTorch ÷ xgrad [quartiles]", "goal"], rows)


def compared(results):
    return results["training"] + results["bf16"] + results["inference"]


def failures(results):
    """A sentence for each peer that failed or computed other results."""
    return [f"{failed['name']} failed in {result['workload']}, threads: {result['threads']}: {failed['why']}"
            for result in compared(results) for failed in result["failed"]]


def notes(results):
    """Lines on the largest differences between sides, and on failures."""
    said = []
    for kinds, name in ((("training", "inference"), "float32"), (("bf16",), "bfloat16")):
        differences = [peer["difference"] for kind in kinds for result in results[kind] for peer in result["peers"]]
        if differences:
            said.append(f"The largest difference of losses, gradients and logits in {name} was {max(differences):.1g}.")
    return "".join(line + "\n" for line in said + failures(results))


def tables(results):
    text = f"{machine.words(results['machine'])}; {', '.join(results['versions'])}.\n\n"
    for kind, *makers in (("training", training, memory, start), ("bf16", bf16), ("inference", inference), ("accuracy", accuracy)):
        text += "".join(make(results[kind], results["machine"]) for make in makers if results[kind])
    return text + notes(results)


def line(kind, result):
    """A short line about one result."""
    if kind == "accuracy":
        return f"  PyTorch ÷ xgrad {ratio(result['ratio'])}"
    failed = "".join(f", {failed['name']} failed: {failed['why']}" for failed in result["failed"])
    return f"  xgrad {milliseconds(result['xgrad']['ms'])}" + "".join(
        f", {peer['name']} x {ratio(peer['ratio'])}" for peer in result["peers"]) + failed


def measured_page(name, description, text_of, **sizes):
    """Runs a script that measures programs of a build folder: prints text_of(build folder, sizes) and, with --write, renews it in a page.
    With --class, the text has another place in the page. Each size is an option with its default."""
    parser = classes.parser(description)
    parser.add_argument("--write", type=pathlib.Path, help="renews the tables of this page")
    for size, default in sizes.items():
        parser.add_argument(f"--{size}", type=int, default=default)
    a = classes.parsed(parser)
    text = text_of(a.build, **{size: getattr(a, size) for size in sizes})
    print(text)
    if a.write:
        renew(a.write, f"{name} --class {a.held}" if a.held else name, text)


def renew(page, name, text):
    """Writes the text between the marks `<!-- name -->` and `<!-- end -->` of a page."""
    pattern = re.compile(rf"(?s)(<!-- {re.escape(name)} -->\n).*?(<!-- end -->)")
    old = page.read_text()
    if not pattern.search(old):
        raise ValueError(f"{page} has no place for {name}")
    page.write_text(pattern.sub(lambda match: match[1] + text + match[2], old))
