"""A release: the source archive, the Debian packages and the wheels for amd64 and arm64, and their sums, in build/release-VERSION; each is tried in
bare Debians 12. `./run release` calls it; it takes hours and a network.

The files for arm64 are built from the source archive in a Debian for arm64, whose programs qemu runs. Only the compiler is amd64's cross-compiler of the
same version, because an emulated compiler is ten times slower.
"""

import hashlib
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

import package_test
import wheel_test
from package_test import CONFIG, ROOT, System, call, source, unpack

VERSION = re.search(r"project\(xgrad VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
NAME = f"xgrad-{VERSION}"
BUILD = ROOT / f"build/release-{VERSION}"
ARCHIVE = BUILD / f"{NAME}.tar.gz"
EMULATOR = pathlib.Path("/proc/sys/fs/binfmt_misc/qemu-aarch64")
UNUSED = {"g++", "libgtest-dev", "libbenchmark-dev", "mmdebstrap", "qemu-user"}  # the compiler is another one, and no tests are built


def sections(*names):
    """The packages in sections of packages.txt."""
    text = (ROOT / "packages.txt").read_text()
    return re.findall(r"(?m)^[^#\[\n]+$", "".join(re.search(rf"(?s)\[{name}\]\n(.*?)(\n\[|$)", text).group(1) + "\n" for name in names))


def cross_compiler(system):
    """Puts amd64's cross-compiler into /cross of a Debian for arm64. Returns what names it to CMake."""
    unpack(system.root / "cross", "bookworm", "extract", ["g++-aarch64-linux-gnu"], ["amd64"])
    (system.root / "lib64").mkdir()
    (system.root / "lib64/ld-linux-x86-64.so.2").symlink_to("/cross/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
    (system.root / "usr/aarch64-linux-gnu").symlink_to("/cross/usr/aarch64-linux-gnu")
    for name in ("gcc", "g++"):
        script = system.root / "cross" / name
        script.write_text("#!/bin/sh\nexport LD_LIBRARY_PATH=/cross/lib/x86_64-linux-gnu:/cross/usr/lib/x86_64-linux-gnu\n"
                          f'exec /cross/usr/bin/aarch64-linux-gnu-{name} "$@"\n')
        script.chmod(0o755)
    return "CC=/cross/gcc", "CXX=/cross/g++"


def build_for_arm64(folder):
    """Makes the packages and wheels for arm64 of the source archive, and returns their paths."""
    system = System(folder, packages={*sections("build", "package", "wheel")} - UNUSED, architectures=["arm64"])
    compiler = cross_compiler(system)
    shutil.unpack_archive(ARCHIVE, system.root / "tmp")
    tree = system.root / "tmp" / NAME / "build"
    wheel_test.stable_python(tree / "wheel/python", "aarch64")
    wheel_test.download(system.root / "tmp/wheels", "3.11", "-r", ROOT / "tests/wheel.txt", machine="aarch64")
    system.run("python3", "-m", "venv", f"{NAME}/build/venv-wheel")
    system.run(f"{NAME}/build/venv-wheel/bin/pip", "install", "--no-index", "--find-links=wheels", "-r", f"{NAME}/tests/wheel.txt")
    both = "import sys; sys.path.insert(0, sys.argv[1]); import package_test, wheel_test; package_test.build(); wheel_test.build()"
    system.run("env", *compiler, "python3", "-B", "-c", both, f"/tmp/{NAME}/tests/embed")
    return [*(tree / "package").glob("*.deb"), *(tree / "wheel/repaired").glob("*.whl")]


def build(folder):
    """Makes the release in its folder. `folder` is for a Debian for arm64."""
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True)
    call("git", "archive", f"--prefix={NAME}/", f"--output={ARCHIVE}", "HEAD", cwd=ROOT)
    for path in (*build_for_arm64(folder), *package_test.build().values(), *wheel_test.build().glob("*.whl")):
        shutil.copy(path, BUILD)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(BUILD.iterdir())]
    (BUILD / "SHA256SUMS").write_text("".join(lines))


class Release(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        build(cls.folder / "build")

    def system(self, name, **options):
        """A bare Debian with the release in /tmp."""
        system = System(self.folder / name, **options)
        shutil.copytree(BUILD, system.root / "tmp", dirs_exist_ok=True)
        (system.root / "tmp/ten.cpp").write_text(source("README.md"))
        (system.root / "tmp/small.toml").write_text(CONFIG.format(20))
        return system

    def files(self, architecture):
        return [f"./{path.name}" for path in sorted(BUILD.glob(f"*_{architecture}.deb"))]

    def test_1_sums(self):
        call("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=BUILD)
        names = [line.split()[1] for line in (BUILD / "SHA256SUMS").read_text().splitlines()]
        self.assertEqual(sorted([*names, "SHA256SUMS"]), sorted(path.name for path in BUILD.iterdir()))
        self.assertEqual((len(self.files("amd64")), len(self.files("arm64")), len(list(BUILD.glob("*.whl")))), (4, 4, 4))

    def test_2_depends(self):
        """A package needs the same packages on both architectures, of the versions that each has."""
        for name in ("xgrad-engine", "xgrad-engine-dev", "xgrad", "xgrad-dev"):
            fields = [call("dpkg-deb", "--field", BUILD / f"{name}_{VERSION}_{architecture}.deb", "Architecture", "Depends")
                      for architecture in ("amd64", "arm64")]
            needs = [{word.split()[0] for word in re.split(r"[,|] ", field.split("Depends: ")[1])} for field in fields]
            self.assertEqual(*needs)
            self.assertEqual([re.search(r"Architecture: (\S+)", field).group(1) for field in fields], ["amd64", "arm64"])

    def test_2_files(self):
        """A package has the same files on both architectures, but for libraries of newer processors."""
        for name in ("xgrad-engine", "xgrad-engine-dev", "xgrad", "xgrad-dev"):
            listed = [call("dpkg-deb", "--contents", BUILD / f"{name}_{VERSION}_{architecture}.deb") for architecture in ("amd64", "arm64")]
            amd64, arm64 = ({path for path in re.findall(r"\./\S+", text.replace("aarch64", "x86_64")) if "hwcaps" not in path} for text in listed)
            self.assertEqual(amd64, arm64)

    def test_3_packages(self):
        """Installed as docs/install.md says. The ten lines of C++ fit the line, and a training has the same hash on both architectures."""
        page = re.search(r"```sh\n(sha256sum.*?)```", (ROOT / "docs/install.md").read_text(), re.DOTALL).group(1)
        hashes = []
        for architecture in ("amd64", "arm64"):
            system = self.system(architecture, architectures=[architecture])
            sums, *commands = page.replace("amd64", architecture).splitlines()
            system.run("sh", "-c", sums)
            for command in commands[:2]:
                system.install(*re.findall(r"\./xgrad\S+", command), "g++", "pkgconf")
            system.run("sh", "-c", "g++ -std=c++20 ten.cpp -o ten $(pkg-config --cflags --libs xgrad-engine)")
            self.assertEqual(system.run("./ten"), "y = 1.000 + 2.000 x\n")
            said = system.run("xgrad", "train", "small.toml", "run.dir=run")
            hashes.append(re.search(r"(?m)^hash +(\w+)$", said).group(1))
        self.assertEqual(*hashes)

    def test_5_wheels(self):
        """Installed in a bare Debian 12, the ten lines of Python fit the line."""
        ten = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL).group(1)
        for architecture, machine in (("amd64", "x86_64"), ("arm64", "aarch64")):
            with self.subTest(architecture):
                system = self.system(f"wheel-{architecture}", packages=["python3-venv"], architectures=[architecture])
                wheel_test.install(system, next(BUILD.glob(f"*{wheel_test.RELEASES['bookworm']}*{machine}.whl")))
                (system.root / "tmp/ten.py").write_text(ten)
                self.assertEqual(system.run("venv/bin/python", "ten.py"), "y = 1.000 + 2.000 x\n")

    def test_6_the_source(self):
        """The first command of the README installs, builds and trains."""
        system = self.system("source")
        system.run("tar", "-xf", ARCHIVE.name)
        said = system.run(f"{NAME}/run", "train", f"{NAME}/configs/reverse.toml")
        self.assertIn(re.search(r"\b[0-9a-f]{64}\b", (ROOT / "README.md").read_text()).group(), said)


if __name__ == "__main__":
    if not EMULATOR.exists():
        sys.exit(f"release_test.py: {EMULATOR} is missing, so programs of arm64 do not run here; CONTRIBUTING.md tells how to make it")
    if call("git", "status", "--porcelain", "--untracked-files=no", cwd=ROOT):
        sys.exit("release_test.py: the tree differs from its last commit, of which a release is made: commit first")
    os.environ["SOURCE_DATE_EPOCH"] = call("git", "log", "-1", "--format=%ct", cwd=ROOT).strip()
    unittest.main()
