#!/usr/bin/env python3
"""Compares products of linear layers by xgrad, OpenBLAS, BLIS and oneDNN, on one thread.

    apt-get install libblis4-serial libdnnl2    # in addition to what ./run installs
    ninja -C build/release bench/kernels
    build/bench-venv/bin/python bench/libraries.py --write docs/kernels.md

The libraries take turns in this process; xgrad and OpenBLAS take turns in bench/kernels. The table shows ratios to OpenBLAS.
"""
import ctypes
import os
import statistics
import time

for library in ("OPENBLAS", "BLIS", "OMP"):
    os.environ[f"{library}_NUM_THREADS"] = "1"

import machine  # noqa: E402
import numpy  # noqa: E402
import show  # noqa: E402
from kernel_ratios import rows  # noqa: E402

ROUNDS = 15
PRODUCTS = {"forward": (False, True), "dx": (False, False), "dw": (True, False)}  # whether A and B are transposed


def pointer(x):
    return x.ctypes.data_as(ctypes.c_void_p)


def cblas(file):
    """A function that computes the row-major C = op(A) op(B) by a library with the C interface of BLAS."""
    function = ctypes.CDLL(file).cblas_sgemm
    integer = ctypes.c_int
    function.argtypes = [integer] * 6 + [ctypes.c_float, ctypes.c_void_p, integer, ctypes.c_void_p, integer,
                                       ctypes.c_float, ctypes.c_void_p, integer]
    row_major, plain, transposed = 101, 111, 112

    def product(a, b, c, at, bt, m, n, k):
        function(row_major, transposed if at else plain, transposed if bt else plain, m, n, k, 1, pointer(a), a.shape[1], pointer(b), b.shape[1],
                 0, pointer(c), n)
    return product


def onednn(file):
    function = ctypes.CDLL(file).dnnl_sgemm
    size = ctypes.c_int64
    function.argtypes = [ctypes.c_char] * 2 + [size] * 3 + [ctypes.c_float, ctypes.c_void_p, size, ctypes.c_void_p, size, ctypes.c_float,
                                                            ctypes.c_void_p, size]

    def product(a, b, c, at, bt, m, n, k):
        function(b"T" if at else b"N", b"T" if bt else b"N", m, n, k, 1, pointer(a), a.shape[1], pointer(b), b.shape[1], 0, pointer(c), n)
    return product


LIBRARIES = {
    "OpenBLAS": lambda: cblas("libopenblas.so.0"),
    "BLIS": lambda: cblas("libblis.so.4"),
    "oneDNN": lambda: onednn("libdnnl.so.2"),
}


def seconds(libraries, kind, tokens, features, out):
    """{library: seconds of a product}: medians over rounds in which the libraries take turns."""
    at, bt = PRODUCTS[kind]
    m, n, k = {"forward": (tokens, out, features), "dx": (tokens, features, out), "dw": (out, features, tokens)}[kind]
    generator = numpy.random.default_rng(1)
    a = generator.uniform(size=(k, m) if at else (m, k)).astype("float32")
    b = generator.uniform(size=(n, k) if bt else (k, n)).astype("float32")
    exact = (a.T if at else a).astype(float) @ (b.T if bt else b)
    count = max(1, round(0.01 * 5e10 / (m * n * k)))
    found = {name: [] for name in libraries}
    for _ in range(ROUNDS):
        for name, product in libraries.items():
            c = numpy.full((m, n), numpy.nan, "float32")
            start = time.perf_counter()
            for _ in range(count):
                product(a, b, c, at, bt, m, n, k)
            found[name].append((time.perf_counter() - start) / count)
            assert abs(c / exact - 1).max() < 1e-4, name
    return {name: statistics.median(times) for name, times in found.items()}


def text(build):
    libraries = {name: load() for name, load in LIBRARIES.items()}
    ours = rows(build / "bench" / "kernels", "forward|dx|dw", seconds=0.1)
    shapes = [tuple(map(int, name.split("/")[1:])) for name in ours if name.startswith("forward/")]
    lines = []
    for shape in shapes:
        times = {kind: seconds(libraries, kind, *shape) for kind in PRODUCTS}
        own = [ours["/".join([kind, *map(str, shape)])]["limit"] for kind in PRODUCTS]
        rate = [2e-9 * numpy.prod(shape) / times[kind]["OpenBLAS"] for kind in PRODUCTS]
        lines.append(["{} × {} → {}".format(*shape), ", ".join(f"{x:.0f}" for x in rate), ", ".join(f"{x:.2f}" for x in own),
                      *(", ".join(f"{t['OpenBLAS'] / t[name]:.2f}" for t in times.values()) for name in libraries if name != "OpenBLAS")])
    m = machine.described()
    return (f"{machine.words(m)}; one thread; forward, dX and dW of each layer.\n\n"
            + show.table(["tokens × in → out", "GFLOP/s of OpenBLAS", *(f"{name} ÷ OpenBLAS" for name in ("xgrad", *list(libraries)[1:]))], lines))


if __name__ == "__main__":
    show.measured_page("bench/libraries.py", __doc__, text)
