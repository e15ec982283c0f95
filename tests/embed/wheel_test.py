"""The wheels for Python: built, repaired, installed in a bare Debian 12 and 13, and used there. `./run wheel` calls it; it takes an hour and a network.

There is one for Python 3.11 and one in the stable ABI for 3.12 and newer. Both hold the command, and the library three times: for every x86-64 processor,
and for those of the levels v3 and v4. The loader takes the best that the processor can run. Wheels for ARM64 hold the library once; `./run release` calls
build() in a Debian for arm64. The first argument, if any, is a folder of wheels to try instead.
"""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

from package_test import ARCHITECTURES, LEVELS, ROOT, System, call, compile_levels, unpack

BUILD = ROOT / "build/wheel"
TOOLS = ROOT / "build/venv-wheel"
PLATFORM = f"manylinux_2_36_{platform.machine()}"  # glibc as of Debian 12
LOADERS = {"x86_64": "lib64/ld-linux-x86-64.so.2", "aarch64": "lib/ld-linux-aarch64.so.1"}
MOST = 30e6  # bytes of a wheel
RELEASES = {"bookworm": "cp311-cp311", "trixie": "cp312-abi3"}
# Trains in Python and by the command, and says which library was loaded.
TRIAL = """
import pathlib, subprocess, sys, numpy
before = set(sys.modules)
import xgrad
assert not {name for name in sys.modules if name.split(".")[0] in ("pandas", "nanobind")}
config = {"task": {"name": "reverse", "length": 8}, "model": {"width": 32, "heads": 1, "layers": 1}, "train": {"steps": 20}}
run = xgrad.train(config, {"run.dir": sys.argv[1] + "-python"})
words = [f"{key}={value}" for key, value in (("task.name", "reverse"), ("task.length", 8), ("model.width", 32), ("model.heads", 1),
                                               ("model.layers", 1), ("train.steps", 20))]
pathlib.Path("empty.toml").write_text("")
subprocess.run(["xgrad", "train", "empty.toml", *words, "run.dir=" + sys.argv[1] + "-command", "-q"], check=True, stdout=subprocess.DEVNULL)
name = "checkpoints/step-0000000020.h5"
assert (run.directory / name).read_bytes() == pathlib.Path(sys.argv[1] + "-command", name).read_bytes()
assert xgrad.load(run).logits(numpy.arange(8)).shape == (1, 8, 10)
x = xgrad.Variable(numpy.ones((2, 2)), requires_grad=True)
xgrad.sum(x @ x).backward()
assert (x.grad == 4).all()
print(next(line.split()[-1] for line in open("/proc/self/maps") if "libxgrad" in line))
"""


def stable_python(root=BUILD / "python", machine=platform.machine()):
    """Debian 13's Python, which makes the wheel in the stable ABI; Debian 12 has 3.11 only. It runs in Debian 12 by its own loader and C library."""
    usr, program, library = root / "usr", root / "usr/bin/python3", f"lib/{machine}-linux-gnu"
    if not program.exists():
        shutil.rmtree(root, ignore_errors=True)
        root.parent.mkdir(parents=True, exist_ok=True)
        unpack(root, "trixie", "extract", ["python3.13", "libpython3.13-dev"], [ARCHITECTURES[machine]])
        # The header that stands beside Python.h includes one from the folder of the system's headers.
        shutil.copy(usr / f"include/{machine}-linux-gnu/python3.13/pyconfig.h", usr / "include/python3.13")
        program.write_text(f'#!/bin/sh\nusr=$(dirname -- "$0")/..\nexec "$usr/{LOADERS[machine]}" --argv0 "$0" --library-path "$usr/{library}" '
                           f'"$usr/bin/python3.13" "$@"\n')
        program.chmod(0o755)
    return program


def build():
    """Makes the wheels, repaired, in build/wheel/repaired."""
    trees = compile_levels().values()
    for folder in ("raw", "bare", "repaired"):
        shutil.rmtree(BUILD / folder, ignore_errors=True)
    (BUILD / "repaired").mkdir(parents=True)
    packages = next(TOOLS.glob("lib/python3.*/site-packages"))  # in Python alone, so of any version
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    defines = ["-DBUILD_SHARED_LIBS=ON", "-DXGRAD_MARCH=", f"-DXGRAD_PYTHON_VARIANTS={';'.join(map(str, trees))}", *launcher]
    for python in ("/usr/bin/python3", stable_python()):
        settings = {"cmake.build-type": "MinSizeRel", "cmake.args": ["-GNinja", *defines], "build-dir": str(BUILD / "module"),
                    "wheel.platlib": "true"}
        code = f"import scikit_build_core.build as b; b.build_wheel({str(BUILD / 'raw')!r}, {settings!r})"
        call(python, "-c", code, cwd=ROOT / "python", env=os.environ | {"PYTHONPATH": str(packages)})
    environment = os.environ | {"PATH": f"{TOOLS / 'bin'}:{os.environ['PATH']}"}
    for wheel in (BUILD / "raw").glob("*.whl"):
        call(TOOLS / "bin/auditwheel", "repair", "--strip", "--plat", PLATFORM, "-w", BUILD / "bare", wheel, env=environment)
    for wheel in (BUILD / "bare").glob("*.whl"):
        call(TOOLS / "bin/python", "-B", ROOT / "tests/embed/licences.py", wheel, BUILD / "repaired" / wheel.name)
    return BUILD / "repaired"


def download(folder, python, *wanted, machine=platform.machine()):
    """Wheels of Python's index for a version of Python and a machine."""
    platforms = (f"--platform={tag}_{machine}" for tag in ("manylinux_2_28", "manylinux2014"))
    call(sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", f"--python-version={python}", *platforms, "--dest", folder, *wanted)


def install(system, wheel):
    """Installs a wheel, and NumPy, into /tmp/venv of a system, which needs no network."""
    version, machine = system.run("python3", "-c", "import os, sys; print('%d.%d' % sys.version_info[:2], os.uname().machine)").split()
    download(system.root / "tmp/wheels", version, "numpy", machine=machine)
    shutil.copy(wheel, system.root / "tmp/wheels")
    system.run("python3", "-m", "venv", "venv")
    system.run("venv/bin/pip", "install", "--no-index", "--find-links=wheels", "xgrad")


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.wheels = {"-".join(path.stem.split("-")[2:4]): path for path in FOLDER.glob("*.whl")}

    def test_1_sizes_and_tags(self):
        self.assertEqual(sorted(self.wheels), sorted(RELEASES.values()))
        for path in self.wheels.values():
            print(path.name, path.stat().st_size)
            self.assertIn(PLATFORM, path.name)
            self.assertLess(path.stat().st_size, MOST)

    def test_1_each_library_of_ours_once(self):
        """For each kind of processor, and none among those of others, where auditwheel puts what a file finds outside of the wheel."""
        for path in self.wheels.values():
            ours = [name for name in zipfile.ZipFile(path).namelist() if re.search(r"/libxgrad[^/]*$", name)]
            places = ["xgrad/lib", *(f"xgrad/lib/glibc-hwcaps/{level}" for level in LEVELS)]
            self.assertEqual(sorted(re.sub(r"\.so\..*", "", name) for name in ours),
                             sorted(f"{place}/{library}" for place in places for library in ("libxgrad", "libxgrad_engine")))

    def test_1_licences(self):
        """Of xgrad, and of every library in the wheel or compiled into it."""
        for path in self.wheels.values():
            names = zipfile.ZipFile(path).namelist()
            packages = [pathlib.PurePath(name).name for name in names if re.search(r"\.dist-info/licenses/.", name)]
            self.assertLessEqual({"libxtensor-dev", "nanobind"}, set(packages))
            self.assertIn("xgrad/LICENSE", names)
            files = {line.rpartition("/")[2] for name in set(packages) - {"nanobind"} for line in call("dpkg-query", "--listfiles", name).splitlines()}
            libraries = {re.sub(r"-[0-9a-f]{8}(?=\.)", "", name.rpartition("/")[2]) for name in names if name.startswith("xgrad.libs/lib")}
            self.assertGreater(len(libraries), 10)
            self.assertLessEqual(libraries, files)

    def test_2_bare_systems(self):
        for release, tag in RELEASES.items():
            with self.subTest(release), tempfile.TemporaryDirectory() as folder:
                system = System(pathlib.Path(folder) / "debian", release, ["python3-venv"])
                install(system, self.wheels[tag])
                (system.root / "tmp/trial.py").write_text(TRIAL)
                self.assertRegex(system.run("venv/bin/xgrad", "--version"), r"^\d+\.\d+\.\d+\n$")
                self.try_out(system, release)

    def try_out(self, system, release):
        """The loader takes the build for the processor, or for one that lacks what glibc is told to mask."""
        help_text = system.run("/lib64/ld-linux-x86-64.so.2", "--help")
        can = [level for level in LEVELS if re.search(rf"{level} \(supported", help_text)]
        for number, (masked, levels) in enumerate([("", LEVELS), ("-AVX512F", LEVELS[:1]), ("-AVX512F,-AVX2", ())]):
            loaded = system.run("env", "PATH=/tmp/venv/bin:/usr/bin:/bin", f"GLIBC_TUNABLES=glibc.cpu.hwcaps={masked}", "python", "trial.py",
                                f"run{number}").strip()
            print(release, masked, loaded)
            self.assertEqual(re.findall(r"glibc-hwcaps/([^/]*)/", loaded), [level for level in can if level in levels][-1:])


if __name__ == "__main__":
    FOLDER = pathlib.Path(sys.argv.pop()) if len(sys.argv) > 1 else build()
    unittest.main()
