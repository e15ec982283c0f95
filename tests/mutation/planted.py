#!/usr/bin/python3
"""Plants three faults that would give each machine its own bits, and sees that the hashes find them and `xgrad diff` names them.

    cmake --preset release && ninja -C build/release xgrad_tool && ./run install mutation
    tests/mutation/planted.py [--write]      # --write renews the table of docs/same-bits.md

Compiles one source with the fault, in a copy, and links xgrad with it. tests/cli/hashes_test.py must fail then. The first training whose
hash differs is trained again by both programs with log.digests, and compared. Exits with 1 when a fault is not found or not named.
"""

import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import schemata
from generate import BUILD, RELEASE, ROOT, commands

sys.path.insert(0, str(ROOT / "tests/golden"))
import hashes  # noqa: E402

PAGE = ROOT / "docs/same-bits.md"
MARKS = re.compile(r"(?s)(<!-- tests/mutation/planted.py -->\n).*?(<!-- end -->)")


@dataclasses.dataclass
class Fault:
    name: str
    file: str
    old: str = ""
    new: str = ""
    flags: tuple = ()


FAULTS = [
    Fault("a contraction: Adam's update with `-ffp-contract=fast`", "optim/optimizers.cpp", flags=("-ffp-contract=fast",)),
    Fault("the C library's logarithm in cross-entropy", "autograd/ops/losses.cpp",
          "detail::log(detail::exp_sum(", "std::log(detail::exp_sum("),
    Fault("a sum in another order, in RMS norm's backward pass", "autograd/ops/norms.cpp",
          "const T b = detail::sum_terms<T>(n, slope) / T(n);",
          "T b = 0; for (std::size_t i = 0; i < n; ++i) b += slope(i) / T(n);"),
]


def plant(fault, folder):
    """xgrad with the fault."""
    text = (ROOT / fault.file).read_text()
    if fault.old and text.count(fault.old) != 1:
        sys.exit(f"{fault.file} does not hold this once: {fault.old}")
    source, output = folder / pathlib.Path(fault.file).name, folder / "faulty.o"
    source.write_text(text.replace(fault.old, fault.new) if fault.old else text)
    words = commands()[fault.file]
    at = words.index("-o")
    subprocess.run([*words[:at], *fault.flags, "-o", output, "-c", source], cwd=RELEASE, check=True)
    schemata.archive(folder, {fault.file: output})
    schemata.link("xgrad_tool", folder, folder / "xgrad")
    return folder / "xgrad"


def hashes_that_differ(xgrad):
    """The trainings of which tests/cli/hashes_test.py says that they have another hash."""
    test = [sys.executable, "-B", ROOT / "tests/cli/hashes_test.py", "Hashes.test_every_training_has_its_hash"]
    done = subprocess.run(test, env={**os.environ, "XGRAD": str(xgrad)}, capture_output=True, text=True)
    found = re.findall(r"(?m)^FAIL: .*\[([\w-]+)\]", done.stderr)
    if (done.returncode != 0) != bool(found):
        sys.exit(done.stderr)
    return found


def first_difference(xgrad, name, folder):
    for program, run in ((RELEASE / "xgrad", "right"), (xgrad, "wrong")):
        subprocess.run([program, *hashes.words(name, folder / run, 1), "log.digests=true"], check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run([xgrad, "diff", folder / "right", folder / "wrong"], capture_output=True, text=True)
    found = re.search(r"(?m)^first at (.*)$", done.stdout)
    return found.group(1) if found and done.returncode == 1 else ""


def main():
    lines, missed = ["| planted | trainings with another hash | first difference that `xgrad diff` finds in the named training |", "|---|---|---|"], 0
    for fault in FAULTS:
        with tempfile.TemporaryDirectory(dir=BUILD) as folder:
            folder = pathlib.Path(folder)
            xgrad = plant(fault, folder)
            differ = hashes_that_differ(xgrad)
            first = first_difference(xgrad, differ[0], folder) if differ else ""
        missed += not first
        named = f"{', such as' if len(differ) > 1 else ':'} `{differ[0]}`" if differ else ""
        lines.append(f"| {fault.name} | {len(differ)} of {len(hashes.RUNS)}{named} | {first or 'NOT NAMED'} |")
        print(lines[-1], flush=True)
    if "--write" in sys.argv:
        PAGE.write_text(MARKS.sub(lambda m: m[1] + "\n".join(lines) + "\n" + m[2], PAGE.read_text()))
    sys.exit(missed > 0)


if __name__ == "__main__":
    BUILD.mkdir(parents=True, exist_ok=True)
    main()
