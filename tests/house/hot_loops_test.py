"""The hot loops of kernels keep their vectors in registers, for every class of processors: hot_loops_test.py BUILD.

Only for GCC: clang 19 keeps sums of some tiles of products on the stack.

A sum that lives on the stack is written and read back in every iteration, which takes several times as long. The test looks for it in
object code, since no test judges a time: a loop without a branch within stores no vector at an address that it does not change.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import sources

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop())
COMMANDS = {pathlib.Path(entry["file"]): entry for entry in json.loads((BUILD / "compile_commands.json").read_text())}

SOURCES = ("ops/norms.cpp", "ops/softmax.cpp", "ops/losses.cpp", "ops/reduce.cpp", "kernels/attention_kernel.cpp", "random.cpp")
PACKED = ("avx.cpp", "avx2.cpp", "avx512.cpp", "avx512_bf16.cpp", "amx.cpp", "baseline.cpp")  # each has its class

INSTRUCTION = re.compile(r"^ +([0-9a-f]+):\t(\S+) *([^#<\n]*)")


class Function:
    """The instructions of a function: (address, name, operands)."""

    def __init__(self, name, text):
        self.name = name
        self.code = [(int(m[1], 16), m[2], re.split(r",(?![^(]*\))", m[3].strip())) for m in map(INSTRUCTION.match, text) if m]

    def loops(self):
        """The loops without a branch within: their instructions."""
        begin = 0
        for at, (address, word, operands) in enumerate(self.code):
            if word in ("call", "ret"):
                begin = at + 1
            if word.startswith("j"):
                if re.fullmatch("[0-9a-f]+", operands[0]) and self.code[begin][0] <= int(operands[0], 16) <= address:
                    yield [step for step in self.code[begin:at] if step[0] >= int(operands[0], 16)]
                begin = at + 1

    def fixed_stores(self):
        """Vectors that a loop writes to the same place in every iteration."""
        for loop in self.loops():
            changed = {operands[-1] for _, _, operands in loop}
            for address, word, operands in loop:
                pointers = re.findall(r"%\w+", operands[-1]) if "(" in operands[-1] else []
                if pointers and re.match("%[xyz]mm", operands[0]) and re.search(r"mov(?!s[sd])", word) and changed.isdisjoint(pointers):
                    yield f"{self.name} at {address:x}: {word} {', '.join(operands)}"


def functions(program):
    shown = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], capture_output=True, text=True, check=True).stdout
    for part in re.split(r"\n(?=[0-9a-f]+ <)", shown)[1:]:
        lines = part.splitlines()
        # long double has no vectors, and GCC 12 converts bfloat16 in halves of a vector, which it joins in memory. Exponentials
        # of double are calls, around which the caller keeps vectors in memory. Losses of pairs pass over few numbers once a step.
        if not re.search("Ie|Bf16|CrossEntropyOpId|8MeanLoss", lines[0]):
            yield Function(lines[0].split("<")[1].removesuffix(">:"), lines[1:])


def compiled(source, march, folder):
    """The object of a source for a class, by the command of the build."""
    entry = COMMANDS[source]
    words = re.sub(r" -march=\S+", "", sources.without_precompiled_headers(entry["command"])).split()
    target = pathlib.Path(folder, "object.o")
    words[words.index("-o") + 1] = str(target)
    subprocess.run([*words, f"-march={march}"], cwd=entry["directory"], check=True)
    return target


def fixed_stores(program):
    return [found for function in functions(program) for found in function.fixed_stores()]


def own_class():
    """That of this machine: what the build's kernels are compiled for."""
    told = subprocess.run([BUILD / "xgrad", "info"], capture_output=True, text=True, check=True).stdout
    return re.search(r"(?m)^processor +(\w+)$", told)[1]


def built(source):
    """The object of a source in the build."""
    entry = COMMANDS[ROOT / "autograd" / source]
    words = entry["command"].split()
    return pathlib.Path(entry["directory"], words[words.index("-o") + 1])


class HotLoops(unittest.TestCase):
    def test_keep_their_sums_in_registers(self):
        for source in (*SOURCES, "ops/products.cpp", *(f"kernels/packed_gemm/{name}" for name in PACKED)):
            with self.subTest(source=source):
                self.assertEqual(fixed_stores(built(source)), [])

    def test_on_other_processors_too(self):
        march = "x86-64-v4" if own_class() == "avx2" else "x86-64-v3"
        with tempfile.TemporaryDirectory() as folder:
            for source in SOURCES:
                with self.subTest(march=march, source=source):
                    self.assertEqual(fixed_stores(compiled(ROOT / "autograd" / source, march, folder)), [])

    def test_a_vector_wider_than_the_registers_is_noticed(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "wide.cpp")
            source.write_text("typedef float Wide __attribute__((vector_size(64)));\n"
                              "float sum(const float* x, long n) {\n"
                              "  Wide total = {};\n"
                              "  for (long i = 0; i < n; i += 16) {\n"
                              "    Wide next;\n"
                              "    __builtin_memcpy(&next, x + i, sizeof next);\n"
                              "    total += next;\n"
                              "  }\n"
                              "  return total[0] + total[8];\n}\n")
            target = pathlib.Path(folder, "wide.o")
            subprocess.run(["c++", "-O3", "-march=x86-64-v3", "-w", "-c", source, "-o", target], check=True)
            self.assertNotEqual(fixed_stores(target), [])


if __name__ == "__main__":
    unittest.main()
