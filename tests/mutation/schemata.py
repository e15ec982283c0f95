"""Builds the test programs and xgrad with all mutants compiled in, each behind a switch (runtime.hpp). Mutants that do not
compile are left out. Objects of sources without mutants, and of the tests, are those of build/release."""

import bisect
import concurrent.futures
import hashlib
import re
import shlex
import subprocess

import generate
import points
from generate import BUILD, RELEASE, ROOT

HERE = ROOT / "tests/mutation"
SOURCES, OBJECTS, PROGRAMS = BUILD / "source", BUILD / "objects", BUILD / "bin"
TESTS = ["optim", "text", "data", "streams", "layers", "onnx_vectors", "train", "autograd"]
ROUNDS = 12  # of compiling and leaving out what did not compile


def rewritten(source, chosen):
    """The source with mutants (number, point) behind switches. Each stands on a line of its own that names it, for errors
    of the compiler."""
    nodes = {}
    for number, point in chosen:
        nodes.setdefault((point.begin, -point.end, not point.statement), []).append((number, point))
    order = sorted(nodes)

    def text(begin, end, i):
        """The text of [begin, end) with the nodes from order[i] on that lie within, and the first node behind it."""
        parts = []
        while i < len(order) and order[i][0] < end:
            first, last = order[i][0], -order[i][1]
            inner, after = text(first, last, i + 1)
            parts += [source[begin:first], node(nodes[order[i]], inner)]
            begin, i = last, after
        return "".join(parts) + source[begin:end], i

    def node(alternatives, inner):
        if alternatives[0][1].statement:
            number = alternatives[0][0]
            return f"\n/*M{number}*/{{ if (!xgrad_mutation::on({number})) {inner} }}"
        if any(point.condition for _, point in alternatives):
            inner = f"static_cast<bool>({inner})"
        for number, point in reversed(alternatives):
            inner = f"\n/*M{number}*/(xgrad_mutation::on({number}) ? ({point.text}) :\n{inner})"
        return inner

    return text(0, len(source), 0)[0]


def objects():
    """The object of each source, relative to build/release."""
    return {file: words[words.index("-o") + 1] for file, words in generate.commands().items()}


def compiler(words):
    """The words of a command without its output and its source, for a quick build that shows no warnings."""
    at = words.index("-o")
    words = words[:at] + words[at + 2:words.index("-c")]
    left_out = re.compile(r"-W|-fopenmp-simd|-O3|-mprefer-vector-width")
    return [word for word in words if not left_out.match(word)] + ["-O1", "-w"]


def precompile(words):
    """Precompiles what most sources include, which halves the time that they take."""
    header = BUILD / "common.hpp"
    includes = ["<xgrad/autograd/ops.hpp>", "<xgrad/autograd/parameters.hpp>", "<algorithm>", "<cmath>", "<map>", "<optional>",
                f'"{HERE / "runtime.hpp"}"']
    header.write_text("".join(f"#include {name}\n" for name in includes))
    subprocess.run([*compiler(words), "-x", "c++-header", header, "-o", f"{header}.gch"], cwd=RELEASE, check=True)


def blamed(stderr, emitted, file):
    """The mutants that errors of the compiler speak of."""
    lines = emitted.split("\n")
    marks = [(i, int(m[1])) for i, line in enumerate(lines, 1) if (m := re.match(r"/\*M(\d+)\*/", line))]
    guilty = set()
    for pattern in (r":(\d+):\d+: (?:fatal )?error:", r":(\d+):\d+:"):
        places = [int(n) for n in re.findall(re.escape(f"{SOURCES / file}") + pattern, stderr)]
        guilty |= {number for line, number in marks if line in places}
        if not guilty and places:  # what an alternative has made of the text behind it
            for place in places:
                i = bisect.bisect_right(marks, (place, 10**9))
                guilty |= {number for _, number in marks[max(0, i - 1):i + 1]}
        if guilty:
            break
    return guilty


def build_source(file, words, chosen):
    """Compiles a source with its mutants; returns the numbers of those that had to be left out, None if nothing helped."""
    with open(ROOT / file, encoding="latin-1", newline="") as stream:
        source = stream.read()
    target, output = SOURCES / file, OBJECTS / f"{file}.o"
    target.parent.mkdir(parents=True, exist_ok=True)
    output.parent.mkdir(parents=True, exist_ok=True)
    stamp = output.with_suffix(".dropped")  # names of mutants that did not compile
    names = set(stamp.read_text().split("\n")) if stamp.exists() else set()
    dropped = {number for number, point in chosen if point.name in names}
    for _ in range(ROUNDS):
        emitted = rewritten(source, [(n, p) for n, p in chosen if n not in dropped])
        if target.exists() and target.read_text("latin-1") == emitted and output.exists():
            return dropped
        output.unlink(missing_ok=True)
        target.write_text(emitted, "latin-1")
        done = subprocess.run([*compiler(words), "-include", BUILD / "common.hpp", "-c", target, "-o", output],
                              cwd=RELEASE, capture_output=True, text=True, errors="replace")
        if done.returncode == 0:
            stamp.write_text("\n".join(point.name for number, point in chosen if number in dropped))
            return dropped
        guilty = blamed(done.stderr, emitted, file)
        if not guilty:
            break
        dropped |= guilty
    print(f"{file}: gave up\n{done.stderr[:2000]}", flush=True)
    return None


# The product's libraries and the folders of their sources.
LIBRARIES = {"libxgrad.a": ("text", "data", "storage", "train"), "libxgrad_engine.a": ("autograd", "layers", "optim")}


def archive(folder, ours, *more):
    """Makes the libraries of the objects of build/release, where `ours` does not name another one of a source, and of more objects."""
    for library, folders in LIBRARIES.items():
        (folder / library).unlink(missing_ok=True)
        kept = [ours.get(file, RELEASE / output) for file, output in objects().items() if output.split("/")[0] in folders]
        subprocess.run(["ar", "qcT", folder / library, *kept, *more], check=True)


def link(target, folder, program):
    """Links what ninja calls `target` with the libraries in a folder."""
    commands = subprocess.run(["ninja", "-C", RELEASE, "-t", "commands", target], capture_output=True, text=True, check=True)
    words = shlex.split(commands.stdout.strip().split("\n")[-1].split(" && ")[1])
    words[words.index("-o") + 1] = str(program)
    words = [str(folder / word) if word in LIBRARIES else word for word in words]
    subprocess.run([*words, "/usr/lib/x86_64-linux-gnu/libgtest.a"], cwd=RELEASE, check=True)  # runtime.cpp needs it


def forget_objects_of_other_headers():
    """A header may change what all objects have in common, such as the layout of a class."""
    digest = hashlib.sha256()
    for folder in sorted(sum(LIBRARIES.values(), ())):
        for path in sorted((ROOT / folder).rglob("*.hpp")):
            digest.update(path.read_bytes())
    stamp = OBJECTS / "headers"
    if stamp.exists() and stamp.read_text() == digest.hexdigest():
        return
    for path in OBJECTS.rglob("*.o"):
        path.unlink()
    OBJECTS.mkdir(parents=True, exist_ok=True)
    stamp.write_text(digest.hexdigest())


def build(mutants, jobs):
    """Builds everything for these points, whose numbers are their places; returns the numbers that were left out."""
    by_file = {}
    for number, point in enumerate(mutants):
        by_file.setdefault(point.file, []).append((number, point))
    known, dropped, failed = generate.commands(), set(), set()
    forget_objects_of_other_headers()
    precompile(known["autograd/engine.cpp"])
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        waiting = {pool.submit(build_source, file, known[file], chosen): file for file, chosen in by_file.items()}
        for done, future in enumerate(concurrent.futures.as_completed(waiting), 1):
            if future.result() is None:
                failed.add(waiting[future])
                dropped |= {number for number, _ in by_file[waiting[future]]}
            else:
                dropped |= future.result()
            print(f"\rcompiled {done} of {len(waiting)} files, {len(dropped)} mutants left out", end="", flush=True)
    print()
    runtime = OBJECTS / "runtime.o"
    subprocess.run(["c++", "-std=c++20", "-O2", "-c", HERE / "runtime.cpp", "-o", runtime], check=True)
    ours = {file: OBJECTS / f"{file}.o" for file in by_file if file not in failed}
    archive(BUILD, ours, runtime)
    PROGRAMS.mkdir(exist_ok=True)
    relink(jobs)
    return dropped


def relink(jobs):
    """Links the programs again, after changes to tests alone."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        targets = {"xgrad_tool": "xgrad"} | {f"{name}_test": f"{name}_test" for name in TESTS}
        list(pool.map(lambda item: link(item[0], BUILD, PROGRAMS / item[1]), targets.items()))


__all__ = ["archive", "build", "link", "relink", "points"]
