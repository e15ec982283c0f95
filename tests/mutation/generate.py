"""The mutants of the sources: where they may stand, which are chosen, and the points of every file, kept in build/mutation."""

import concurrent.futures
import dataclasses
import fnmatch
import hashlib
import json
import os
import pathlib
import random
import re
import shlex

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASE = ROOT / "build/release"
BUILD = ROOT / "build/mutation"

SCOPE = ["autograd/*.cpp", "autograd/ops/*.cpp", "autograd/kernels/*.cpp", "autograd/gradcheck/*.cpp", "layers/*.cpp",
         "layers/*/*.cpp", "optim/*.cpp", "data/batch.cpp", "data/loader.cpp", "data/prefetch_loader.cpp",
         "data/synthetic/*.cpp", "data/tasks/counting/*.cpp", "data/tasks/grammar/*.cpp", "data/tasks/graphs/*.cpp",
         "data/tasks/sequences/*.cpp", "data/tasks/signals/*.cpp", "data/tasks/images/shapes.cpp",
         "data/tasks/images/fashion_mnist.cpp", "train/diagnose/*.cpp", "train/loop/*.cpp", "train/metrics/*.cpp",
         "train/logs/history.cpp", "train/logs/metrics_row.cpp",
         "train/run/expect.cpp", "train/model/objective.cpp",
         "train/checkpoint/checkpoint.cpp", "train/checkpoint/layout.cpp"]
# Where no mutant may survive: patterns of files, and of functions within them.
PARTS = {
    "backward passes": [("autograd/*", r"backward|gradient|Grads|accumulate")],
    "loss": [("autograd/ops/losses.cpp", ""), ("train/model/*", "")],
    "optimizers": [("optim/*", "")],
    "metrics": [("train/metrics/*", "")],
}


def part(mutant):
    """The part of PARTS that a mutant is in, or None."""
    for name, places in PARTS.items():
        if any(fnmatch.fnmatch(mutant.file, files) and re.search(functions, mutant.function) for files, functions in places):
            return name
    return None


def commands():
    """The words that compile each source, by its path in the tree, without precompiled headers: those need the same flags."""
    with open(RELEASE / "compile_commands.json", encoding="utf-8") as stream:
        return {os.path.relpath(entry["file"], ROOT): shlex.split(re.sub(r" -include \S+", "", entry["command"]))
                for entry in json.load(stream)}


def sources():
    found = sorted(str(path.relative_to(ROOT)) for pattern in SCOPE for path in ROOT.glob(pattern))
    known = commands()
    return [file for file in found if file in known]


def clang_arguments(words):
    """What libclang needs of GCC's words. It has rules of its own for templates of templates, which xtensor breaks."""
    kept = [word for word in words if re.match(r"-[IDf]|-std|-march", word) and word != "-fopenmp-simd"]
    return [*kept, "-ferror-limit=0", "-fno-relaxed-template-template-args", "-Wno-everything"]


def points_of(file, words):
    """The points of a source, from build/mutation/points where neither it nor the finder changed."""
    import points
    digest = hashlib.sha256()
    for path in (ROOT / file, pathlib.Path(points.__file__)):
        digest.update(path.read_bytes())
    kept = BUILD / "points" / f"{file.replace('/', '-')}-{digest.hexdigest()[:16]}.json"
    if not kept.exists():
        _, found = points.find(file, str(ROOT / file), clang_arguments(words))
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps([dataclasses.asdict(point) for point in found]))
    return [points.Point(**fields) for fields in json.loads(kept.read_text())]


def all_points(files=None):
    known = commands()
    with concurrent.futures.ProcessPoolExecutor() as pool:
        files = files or sources()
        found = pool.map(points_of, files, [known[file] for file in files])
        return [point for points in found for point in points]
