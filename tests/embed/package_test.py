"""The Debian packages: built, installed in a fresh Debian, and used there. `./run package` calls it; it takes minutes and a network.

The library is built for every x86-64 processor, and once more for those of the levels v3 and v4, which the loader prefers where it can. Sizes above
their limits fail the test; times are measured only. `bench/package.py` judges all figures, and puts them into docs/install.md.
"""

import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

import licences

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "package"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}  # Debian's name for each machine
LEVELS = ("x86-64-v3", "x86-64-v4") if platform.machine() == "x86_64" else ()
LIBRARY = "usr/lib/x86_64-linux-gnu"
# Limits that docs/install.md states for the packages: the measurement, its limit, and its unit.
FIGURES = {
    "download on a bare Debian: the package and its dependencies": (25, "MB"),
    "library and command, stripped": (6, "MB"),
    "`xgrad --version`": (20, "ms"),
    "start, one training step, save, evaluation and output": (0.3, "s"),
    "compile time of the program above": (4, "s"),
    "compiler memory for the program above": (400, "MB"),
}
# A small config that trains at once.
CONFIG = '[task]\nname = "reverse"\nlength = 8\n[model]\nwidth = 32\nheads = 1\nlayers = 1\n[train]\nsteps = {}\n'
# Runs words; prints the seconds of processor time that they took, and the KiB of the largest process.
COST = """import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss)"""


def call(*words, **options):
    run = subprocess.run([str(word) for word in words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    assert run.returncode == 0, f"{words}\n{run.stdout}"
    return run.stdout


def compile_tree(tree, march, target):
    """Builds a target in a folder."""
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    call("cmake", "-S", ROOT, "--preset", "package", "-B", tree, f"-DXGRAD_MARCH={march}", *launcher)
    call("cmake", "--build", tree, "--target", target)


def compile_levels():
    """The libraries for newer processors; returns their trees by level."""
    trees = {level: BUILD.with_name(f"package-{level}") for level in LEVELS}
    for level, tree in trees.items():
        compile_tree(tree, level, "libxgrad.so")  # the command would run here, where the processor may lack the level
    return trees


def build():
    """Makes the packages, and returns their paths by name."""
    compile_tree(BUILD, "", "all")
    for old in BUILD.glob("*.deb"):
        old.unlink()
    projects = [f"{BUILD};xgrad;ALL;/", *(f"{tree};xgrad;VARIANTS;/" for tree in compile_levels().values())]
    call("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", BUILD, "-D", f"CPACK_INSTALL_CMAKE_PROJECTS={';'.join(projects)}")
    return {path.name.split("_")[0]: path for path in BUILD.glob("*.deb")}


def source(page):
    """The last C++ program of a page."""
    return re.findall(r"```cpp\n(#include.*?)```", (ROOT / page).read_text(), re.DOTALL)[-1]


def unpack(folder, release, variant, packages, architectures=()):
    """Unpacks Debian packages, and what they need, into a new folder. The first architecture is that of the programs in there."""
    sites = call("apt-get", "indextargets", "--format", "deb $(SITE) $(RELEASE) $(COMPONENT)",
                 "Created-By: Packages", "Origin: Debian")
    if release != "bookworm":
        sites = f"deb {sites.split()[1]} {release} main\n"
    lists = (("architectures", architectures), ("include", packages))
    call("mmdebstrap", "--quiet", f"--variant={variant}", "--skip=cleanup/apt", *(f"--{name}={','.join(words)}" for name, words in lists if words),
         release, folder, "-", input=sites)


class System:
    """A Debian of its own folder, with nothing but what every Debian has and `packages`."""

    def __init__(self, folder, release="bookworm", packages=(), architectures=()):
        self.root = folder
        unpack(folder, release, "minbase", packages, architectures)
        shutil.copy("/etc/resolv.conf", folder / "etc" / "resolv.conf")

    def words(self, *words):
        """What runs these words in there."""
        ours = (f"--unset={name}" for name in os.environ if name.startswith("CMAKE_"))  # a compiler launcher, say
        return ("unshare", "--mount", "--pid", "--fork", f"--root={self.root}", "--wd=/tmp", "env", *ours, "LC_ALL=C", "HOME=/tmp",
                "DEBIAN_FRONTEND=noninteractive", "sh", "-c", 'mount -t proc proc /proc && exec "$@"', "sh", *words)

    def run(self, *words, **options):
        return call(*self.words(*words), **options)

    def install(self, *packages):
        """Returns the bytes of all packages that are new, those given included."""
        words = ("apt-get", "install", "--yes", "--no-install-recommends", *packages)
        sizes = re.findall(r"(?m)^'\S+' \S+ (\d+) ", self.run(*words, "--print-uris"))
        self.run(*words)
        return sum(map(int, sizes))


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.packages = build()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.system = System(pathlib.Path(folder.name) / "debian")
        cls.root = cls.system.root
        for path in cls.packages.values():
            shutil.copy(path, cls.root / "tmp")
        cls.download = cls.system.install(*cls.files("xgrad-engine", "xgrad"))
        (cls.root / "tmp/small.toml").write_text(CONFIG.format(20))

    @classmethod
    def files(cls, *names):
        """Packages of ours, for apt-get in the folder that holds them."""
        return [f"./{cls.packages[name].name}" for name in names]

    def libraries(self):
        return [next((self.root / LIBRARY).glob(f"{name}.so.*.*.*")) for name in ("libxgrad", "libxgrad_engine")]

    measured = {}

    @classmethod
    def tearDownClass(cls):
        for what, (most, unit) in FIGURES.items():
            if what in cls.measured:
                print(f"| {what} | {cls.measured[what]:.3g} {unit} | {most} {unit} |")
        (BUILD / "figures.json").write_text(json.dumps(cls.measured))

    def figure(self, what, value):
        self.measured[what] = value
        if FIGURES[what][1] == "MB":
            self.assertLess(value, FIGURES[what][0], what)

    def test_1_the_command(self):
        self.assertRegex(self.system.run("xgrad", "--version"), r"^\d+\.\d+\.\d+\n$")
        self.system.run("xgrad", "train", "small.toml", "run.dir=run", "-q")
        self.assertRegex(self.system.run("xgrad", "predict", "run", input="1 2 3 4 5 6 7 8\n"), r"^\d( \d){7}\n$")
        self.system.run("xgrad", "train", "/usr/share/xgrad/configs/reverse.toml", "--dry-run")
        for path in ("usr/share/man/man1/xgrad.1", "usr/share/bash-completion/completions/xgrad"):
            self.assertIn("lr-find", (self.root / path).read_text().replace("\\-", "-"))

    def test_1_licences(self):
        """Of xgrad, and of the libraries whose headers are compiled in."""
        for name, path in self.packages.items():
            text = call("sh", "-c", f"dpkg-deb --fsys-tarfile {path} | tar -xO ./usr/share/doc/{name}/copyright")
            for words in ("Redistribution and use", *(f"\n{package}:\n" for package in licences.HEADERS)):
                self.assertIn(words, text)

    def test_1_descriptions(self):
        described = {name: call("dpkg-deb", "--field", path, "Description") for name, path in self.packages.items()}
        self.assertEqual(len(set(described.values())), 4)
        self.assertRegex(described["xgrad-engine"], "^Reverse-mode autograd")

    def test_2_the_loader_takes_what_the_processor_can(self):
        help_text = self.system.run("/lib64/ld-linux-x86-64.so.2", "--help")
        can = [level for level in LEVELS if re.search(rf"{level} \(supported", help_text)]
        found = re.findall(r"libxgrad\S+ => (\S+)", self.system.run("ldd", "/usr/bin/xgrad"))
        print("processor:", can, found)
        self.assertEqual(re.findall(r"glibc-hwcaps/([^/]*)/", " ".join(found)), 2 * can[-1:])
        for level in LEVELS:
            for library in self.libraries():
                self.assertTrue((self.root / LIBRARY / "glibc-hwcaps" / level / library.name).exists())

    def test_3_processors_without_avx(self):
        """Whatever kernels a BLAS would take for them: nothing but xgrad's own multiplies. The last has AVX2, but not all of its level."""
        for processor in ("qemu64", "Opteron_G1", "Nehalem", "max,-bmi1,-bmi2"):
            with self.subTest(processor), tempfile.TemporaryDirectory() as folder:
                pathlib.Path(folder, "small.toml").write_text(CONFIG.format(2))
                environment = os.environ | {"LD_LIBRARY_PATH": str(self.root / LIBRARY), "OPENBLAS_CORETYPE": "Haswell"}
                qemu = ("qemu-x86_64", "-L", self.root, "-cpu", processor, self.root / "usr/bin/xgrad")
                self.assertRegex(call(*qemu, "info", env=environment), r"(?m)^processor +baseline$")
                call(*qemu, "train", "small.toml", "run.dir=run", "-q", cwd=folder, env=environment)
                refused = subprocess.run([*qemu, "info"], env=environment | {"XGRAD_CPU": "avx2"}, capture_output=True, text=True)
                self.assertEqual((refused.returncode, refused.stderr),
                                 (2, "xgrad: XGRAD_CPU is 'avx2', which this processor lacks; it must be one of baseline\n"))

    def test_4_only_our_names_are_shown(self):
        for library in self.libraries():
            self.assertRegex(call("objdump", "-p", library), r"SONAME +libxgrad(_engine)?\.so\.\d+\.\d+\n")
            names = [line.split()[-1] for line in call("nm", "--dynamic", "--defined-only", library).splitlines()]
            self.assertGreater(len(names), 1000)
            self.assertEqual([name for name in names if "5xgrad" not in name], [])

    def test_4_the_engine_needs_little(self):
        """Of the libraries that it is linked with, one is none of every C++ program's: TBB."""
        needed = re.findall(r"NEEDED +(\S+)", call("objdump", "-p", self.libraries()[1]))
        self.assertEqual({re.match(r"[^.]*", name).group() for name in needed} - {"libstdc++", "libm", "libgcc_s", "libc", "ld-linux-x86-64"},
                         {"libtbb", "libtbbmalloc"})
        depends = call("dpkg-deb", "--field", self.packages["xgrad-engine"], "Depends")
        self.assertEqual({name.split()[0] for name in depends.strip().split(", ")}, {"libc6", "libgcc-s1", "libstdc++6", "libtbb12", "libtbbmalloc2"})

    def test_5_a_program_of_somebody_else(self):
        self.system.install(*self.files("xgrad-engine-dev"), "g++", "cmake", "ninja-build", "pkgconf")
        tmp = self.root / "tmp"
        shutil.copytree(ROOT / "tests" / "embed", tmp / "embed")
        for components in ("engine", ""):
            self.system.run("cmake", "-S", "embed", "-B", "embed/build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", f"-DEMBED_COMPONENTS={components}")
            self.system.run("cmake", "--build", "embed/build")
            self.assertRegex(self.system.run("embed/build/embed"), r"^\d+\.\d+ -> 0\.\d+\n$")
            if components:
                self.system.install(*self.files("xgrad-dev"))
        (tmp / "serve.cpp").write_text(source("docs/serving.md"))
        (tmp / "quick.cpp").write_text(source("docs/install.md"))
        compiler = "g++ -std=c++20 {0}.cpp -o {0} $(pkg-config --cflags --libs xgrad)"
        self.system.run("sh", "-c", compiler.format("serve"))
        self.assertRegex(self.system.run("./serve", "run", input="1 2 3 4 5 6 7 8\n"), r"^(\d 0\.\d+\n){8}$")

        cost = call(sys.executable, "-c", COST, *self.system.words("sh", "-c", compiler.format("quick")))
        seconds, kibibytes = map(float, cost.split()[-2:])
        self.figure("compile time of the program above", seconds)
        self.figure("compiler memory for the program above", kibibytes * 1024 / 1e6)
        self.assertIn("step 300  loss 0.0", self.system.run("./quick"))
        self.system.run("xgrad", "verify", "reverse.h5")

    def test_6_figures(self):
        size = sum(path.stat().st_size for path in (*self.libraries(), self.root / "usr/bin/xgrad"))
        self.figure("download on a bare Debian: the package and its dependencies", self.download / 1e6)
        self.figure("library and command, stripped", size / 1e6)

        def seconds(*words):
            def once():
                start = time.monotonic()
                # Before everything else that wants the processor, so that a busy machine counts for nothing.
                call("chrt", "--fifo", "10", "chroot", self.root, "sh", "-c", f"cd /tmp && exec {' '.join(words)}")
                return time.monotonic() - start
            return statistics.median(once() for _ in range(9))
        shell = seconds("true")
        self.figure("`xgrad --version`", 1e3 * (seconds("xgrad", "--version") - shell))
        (self.root / "tmp/one.toml").write_text(CONFIG.format(1))
        self.figure("start, one training step, save, evaluation and output", seconds("xgrad", "train", "one.toml", "-q") - shell)


if __name__ == "__main__":
    os.environ.pop("XGRAD_CPU", None)
    unittest.main()
