"""Shows the results of bench/compare.py on several machines: side by side in docs/performance.md, and in full on a separate page."""

import json

import show
import workloads
from installed import ROOT

PAGE = ROOT / "docs" / "performance.md"
README = ROOT / "README.md"
FOLDER = ROOT / "docs" / "figures" / "performance"  # a file for each machine
WHOLE = ROOT / "docs" / "figures" / "performance.md"


CLASSES = {"avx2": "AVX2", "avx512": "AVX-512", "avx512_bf16": "AVX-512 with BF16", "amx": "AMX"}


def known():
    """{name of a machine: its results}."""
    found = (json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json")))
    return {results["name"]: results for results in found}


def step(result, on, peers):
    return {"xgrad": show.milliseconds(result["xgrad"]["ms"]),
            **named("best peer ÷ xgrad", show.beside_best(result, peers, workloads.step_goal(on, result)))}


def bf16(result, on, peers):
    return {"xgrad": show.milliseconds(result["xgrad"]["ms"]), "float32 ÷ bfloat16": show.ratio(result["own"]["ratio"]),
            **named("best peer ÷ xgrad", show.beside_best(result, peers, workloads.bf16_goal(on, result))),
            **named("memory ÷ float32's", show.share_of_float(result), " of memory")}


def memory(result, on, peers):
    return {"xgrad, MiB": f"{result['xgrad']['mib']:.0f}", **named("xgrad ÷ (PyTorch eager - CUDA)", show.share_of_eager(result, peers))}


def forward_pass(result, on, peers):
    return {"xgrad": show.milliseconds(result["xgrad"]["ms"]), **named("onnxruntime ÷ xgrad", show.beside_onnxruntime(result))}


def accuracy(result, on, peers):
    return {"xgrad": f"{result['xgrad']['seconds']:.2f} s", "PyTorch": f"{result['torch']['seconds']:.2f} s",
            **named("PyTorch ÷ xgrad", show.beside_torch(result))}


def named(what, cells, of=""):
    return dict(zip((what, f"goal{of}"), cells))


TABLES = (  # kind of results; heads of the columns that name a row, with their keys in a result; the other columns
    ("training", {"step": "workload", "threads": "threads"}, step),
    ("bf16", {"step in bfloat16": "workload", "threads": "threads"}, bf16),
    ("training", {"peak memory": "workload"}, memory),
    ("inference", {"forward pass": "workload", "batch": "batch", "threads": "threads"}, forward_pass),
    ("accuracy", {"threads": "threads"}, accuracy),
)


def beside(machines, kind, keys, columns):
    """A table with the columns of each machine that has results of this kind."""
    measured = {name: results for name, results in machines.items() if results[kind]}
    rows = {}  # {key: {machine: cells}}
    for name, results in measured.items():
        chosen = results[kind] if "threads" in keys else show.with_fewest_threads(results[kind])
        peers = show.names(chosen) if kind != "accuracy" else []
        for result in chosen:
            key = tuple(result[where] for where in keys.values())
            rows.setdefault(key, {})[name] = columns(result, results["machine"], peers)
    if not rows:
        return ""
    heads = list(next(iter(next(iter(rows.values())).values())))
    return show.table([*keys, *(f"{name}: {head}" for name in measured for head in heads)],
                      [[*key, *(cell for name in measured for cell in cells.get(name, dict.fromkeys(heads, "")).values())]
                       for key, cells in rows.items()])


def side_by_side(machines):
    rows = [[name, on["processor"], on["cores"], on["date"], f"{on['others']:.1f}", ", ".join(results["versions"])]
            for name, results in machines.items() for on in (results["machine"],)]
    head = ["machine", "processor", "cores", "date", "other running programs at the start", "peers"]
    return (show.table(head, rows) + "".join(beside(machines, *table) for table in TABLES)).removesuffix("\n")


def by_class(machines):
    """A table of the lowest measured ratio for each model and class of processors."""
    found = {}  # {class: {workload: ratios}}
    for results in machines.values():
        for result in results["training"]:
            kinds = found.setdefault(results["machine"]["instructions"], {})
            kinds.setdefault(result["workload"], []).append(show.best(result)["ratio"]["median"])
    classes = [name for name in CLASSES if name in found]
    head = ["model", "layers", "width", "tokens × batch", *(CLASSES[name] for name in classes)]
    rows = [[f"`{name}`", w.layers, w.width, f"{w.tokens:,} × {w.batch}",
             *(f"{min(found[kind][name]):.2f}" if name in found[kind] else "" for kind in classes)]
            for name, w in workloads.WORKLOADS.items()]
    return show.table(head, rows).removesuffix("\n")


def whole(machines):
    text = "".join(f"## {name}\n\n{show.tables(results)}\n" for name, results in machines.items())
    return f"# Results of bench/compare.py\n\n{text.rstrip()}\n"


def publish(name, results):
    """Writes the results into all pages. They replace earlier results of this machine."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name.lower().replace(' ', '-')}.json").write_text(json.dumps({"name": name} | results, indent=1) + "\n")
    machines = known()
    show.renew(PAGE, "bench/compare.py", side_by_side(machines))
    show.renew(README, "bench/compare.py", by_class(machines))
    WHOLE.write_text(whole(machines))
