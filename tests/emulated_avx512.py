"""Runs the packed products for AVX-512 and AVX512_BF16 on an emulated processor, where no processor here has them.

    pip install bochscpu-python
    python3 tests/emulated_avx512.py build/release

The object files of the build run in Bochs' model of Sapphire Rapids, with each operand at the end of its memory, so that a
read beyond it is a page fault. Products are compared with exact sums of the rounded numbers.
"""

import ctypes
import importlib.util
import math
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

PAGE = 4096
# Bochs starts as an older processor: the shim replaces the makers of all others by that of Sapphire Rapids. The wheel is made
# for glibc 2.38; the shim also has the two functions that Debian 12 lacks.
SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
unsigned long long __isoc23_strtoull(const char* s, char** e, int b) { return strtoull(s, e, b); }
int __isoc23_sscanf(const char* s, const char* f, ...) {
  va_list a; va_start(a, f); int n = vsscanf(s, f, a); va_end(a); return n;
}
static void* made(void* cpu) {
  void* (*make)(void*) = dlsym(dlopen(getenv("BOCHS"), RTLD_NOLOAD | RTLD_NOW), "_Z28create_sapphire_rapids_cpuidP8BX_CPU_C");
  return make(cpu);
}
"""
# Object file, a part of the function's mangled name, and the size of an operand's elements.
KERNELS = (
    ("avx512.cpp.o", "packed_gemmINS0_6Avx512EffE", 4),
    ("avx512.cpp.o", "packed_gemmINS0_6Avx512EfNS_4Bf16E", 2),
    ("avx512_bf16.cpp.o", "packed_gemmINS0_10Avx512Bf16E", 2),
)
STACK, END, SCRATCH, PRODUCT, OPERANDS, TABLES = 0x20000000, 0x20020000, 0x30000000, 0x31000000, (0x32000000, 0x33000000, 0x34000000), 0x10000000
SIZE = 1 << 21  # bytes for each operand


def again_with_shim():
    """Starts this program anew with the shim, which must be there before Bochs is loaded."""
    library = next(pathlib.Path(importlib.util.find_spec("bochscpu").origin).parent.glob("_bochscpu*.so"))
    symbols = subprocess.run(["nm", "-D", library], check=True, capture_output=True, text=True).stdout.split()
    makers = [name for name in symbols if name.startswith("_Z") and "create_" in name and name.endswith("_cpuidP8BX_CPU_C")]
    with tempfile.TemporaryDirectory() as folder:
        text = SHIM + "".join(f"void* {name}(void* cpu) {{ return made(cpu); }}\n" for name in makers if "sapphire" not in name)
        source, shim = pathlib.Path(folder, "shim.c"), pathlib.Path(folder, "shim.so")
        source.write_text(text)
        subprocess.run(["gcc", "-w", "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True)
        done = subprocess.run([sys.executable, *sys.argv], env=os.environ | {"LD_PRELOAD": str(shim), "BOCHS": str(library)})
    sys.exit(done.returncode)


class Machine:
    """Memory of 4 GB at its own addresses, and a processor in 64-bit mode with AVX-512."""

    def __init__(self):
        self.session, self.pages = bochscpu.Session(), {}
        self.map(TABLES, 2 * PAGE)
        self.write(TABLES, struct.pack("<Q", TABLES + PAGE | 7))
        self.write(TABLES + PAGE, b"".join(struct.pack("<Q", i << 30 | 0x87) for i in range(4)))

    def map(self, address, size):
        for page in range(address & -PAGE, address + size, PAGE):
            if page not in self.pages:
                self.pages[page] = bochscpu.memory.allocate_host_page()
                bochscpu.memory.page_insert(page, self.pages[page])

    def parts(self, address, size):
        while size > 0:
            offset = address % PAGE
            part = min(PAGE - offset, size)
            yield self.pages[address - offset] + offset, part
            address, size = address + part, size - part

    def write(self, address, data):
        for place, size in self.parts(address, len(data)):
            ctypes.memmove(place, data[:size], size)
            data = data[size:]

    def read(self, address, size):
        return b"".join(ctypes.string_at(place, part) for place, part in self.parts(address, size))

    def call(self, function, *arguments):
        state = bochscpu.State()
        bochscpu.cpu.set_long_mode(state)
        state.cr3, state.cr0, state.cr4, state.efer, state.xcr0 = TABLES, 0x80050033, 0x406F8, 0xD01, 0xE7
        state.cs, data = segment(0x33, 0xA0FB), segment(0x2B, 0xC0F3)
        state.ss = state.ds = state.es = state.fs = state.gs = data
        state.rflags, state.mxcsr, state.mxcsr_mask = 0x202, 0x1F80, 0xFFFF
        state.rsp, state.rip = STACK + 0x10000 - 8, function
        self.write(state.rsp, struct.pack("<Q", END))
        state.rdi, state.rsi = arguments
        self.session.cpu.state = state
        hook, seen = bochscpu.Hook(), []
        hook.exception = lambda session, cpu, vector, error: (seen.append((vector, session.cpu.rip)), session.stop())
        self.session.run([hook])
        # It returns to an instruction that a user's program may not run, which ends it.
        if seen[0][0] != 13 or seen[0][1] not in (END, END + 1):
            sys.exit(f"exception {seen[0][0]} at {seen[0][1]:#x}")


def segment(selector, attributes):
    made = bochscpu.Segment()
    made.present, made.base, made.limit, made.selector, made.attr = True, 0, 0xFFFFFFFF, selector, attributes
    return made


def load(machine, build, name, symbol, base):
    """Links the object file to an address and returns that of the product. The C++ library, which only its constructors need, is missing."""
    objects = list(pathlib.Path(build).rglob(name))
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "program")
        subprocess.run(["ld", "-static", "--build-id=none", "-z", "noseparate-code", f"-Ttext-segment={base:#x}", "-e", "0",
                        "--unresolved-symbols=ignore-all", "--defsym=__dso_handle=0", "-o", program, objects[0]], check=True)
        elf = program.read_bytes()
        names = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout.splitlines()
    at, count = struct.unpack_from("<Q", elf, 32)[0], struct.unpack_from("<H", elf, 56)[0]
    for header in range(at, at + 56 * count, 56):
        kind, _, offset, address, _, size, memory, _ = struct.unpack_from("<IIQQQQQQ", elf, header)
        if kind == 1:
            machine.map(address, memory)
            machine.write(address, elf[offset : offset + size])
    return next(int(line.split()[0], 16) for line in names if symbol in line)


def rounded(x, size):
    """x as a float, or with `size` 2 as the nearest bfloat16; for numbers that do not overflow."""
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    if size == 2:
        bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def packed(numbers, size):
    """Their bytes; a bfloat16 is the upper half of a float."""
    floats = struct.pack(f"<{len(numbers)}f", *numbers)
    return floats if size == 4 else b"".join(floats[i + 2 : i + 4] for i in range(0, len(floats), 4))


def check(machine, function, size, draw, m, n, k, at, bt, gap, alpha, beta):
    """C = alpha A B + beta C; every element against the exact sum, and the gaps of C untouched."""
    lda, ldb, ldc = (m if at else k) + gap, (k if bt else n) + gap, n + gap
    a = [rounded(draw(), size) for _ in range(((k if at else m) - 1) * lda + (m if at else k))]
    b = [rounded(draw(), size) for _ in range(((n if bt else k) - 1) * ldb + (k if bt else n))]
    c = [rounded(draw(), 4) for _ in range((m - 1) * ldc + n)]
    data = [packed(a, size), packed(b, size), packed(c, 4)]
    places = [place + SIZE - len(bytes) for place, bytes in zip(OPERANDS, data)]
    for place, bytes in zip(places, data):
        machine.write(place, bytes)
    machine.write(PRODUCT, struct.pack("<QQQf4xQQB7xQQB7xf4xQQ", m, n, k, alpha, places[0], lda, at, places[1], ldb, bt, beta, places[2], ldc))
    machine.call(function, PRODUCT, SCRATCH)
    found = struct.unpack(f"<{len(c)}f", machine.read(places[2], 4 * len(c)))
    for place, value in enumerate(found):
        i, j = divmod(place, ldc)
        if j >= n:
            want, bound = c[place], 0
        else:
            terms = [(a[p * lda + i] if at else a[i * lda + p]) * (b[j * ldb + p] if bt else b[p * ldb + j]) for p in range(k)]
            want = alpha * math.fsum(terms) + beta * c[place]
            bound = (2 + math.sqrt(k)) * 2**-23 * (abs(alpha) * math.fsum(map(abs, terms)) + abs(beta * c[place]))
        if not abs(value - want) <= bound:
            sys.exit(f"{m} x {n} x {k}, transposed {at} {bt}: ({i}, {j}) is {value}, not {want}")


def main():
    sizes = [(*shape, size % 3, *((1, 0) if size % 2 else (0.5, -2))) for size in (*range(1, 20), *range(31, 34), *range(47, 50), *range(63, 68))
             for shape in ((size, 19, 23), (13, size, 17), (7, 33, size))]  # fmt: skip
    draw = lambda rng=random.Random(1): rng.uniform(-1, 1)
    machine = Machine()
    for address, size in ((STACK, 0x10000), (END, PAGE), (SCRATCH, 896 << 10), (PRODUCT, PAGE), *((place, SIZE) for place in OPERANDS)):
        machine.map(address, size)
    machine.write(END, b"\xf4")
    for number, (name, symbol, element) in enumerate(KERNELS):
        function, done = load(machine, sys.argv[1], name, symbol, (number + 1) << 22), 0
        for m, n, k, gap, alpha, beta in [*sizes, (20, 130, 389, 1, 1.5, 1), (97, 65, 800, 1, 1, 0), (3, 390, 129, 1, 1, 1)]:
            for at, bt in ((0, 0), (0, 1), (1, 0), (1, 1)):
                check(machine, function, element, draw, m, n, k, at, bt, gap, alpha, beta)
                done += 1
        print(f"{name}, operands of {element} bytes: {done} products are right", flush=True)


if __name__ == "__main__":
    if "BOCHS" not in os.environ:
        again_with_shim()
    import bochscpu
    import bochscpu.cpu
    import bochscpu.memory

    main()
