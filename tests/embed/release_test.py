"""A release: the source archive, the Debian packages for amd64 and arm64, the wheels, and their sums, in build/release-VERSION; each is tried in
bare Debians 12. `./run release` calls it; it takes hours and a network.

The packages for arm64 are cross-compiled from the source archive, in a Debian for amd64 with the libraries of arm64, and tried in one for arm64,
whose programs qemu runs.
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
from package_test import CONFIG, ROOT, System, call, packages, source

VERSION = re.search(r"project\(xgrad VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
NAME = f"xgrad-{VERSION}"
BUILD = ROOT / f"build/release-{VERSION}"
ARCHIVE = BUILD / f"{NAME}.tar.gz"
EMULATOR = pathlib.Path("/proc/sys/fs/binfmt_misc/qemu-aarch64")
# Packages that hold only headers, so those of amd64 serve arm64. libxtensor-dev of arm64 cannot be installed beside amd64's xtl-dev.
HEADERS = {"libcli11-dev", "libxtensor-dev", "libxtensor-blas-dev"}
UNUSED = {"libgtest-dev", "libbenchmark-dev", "mmdebstrap"}  # of tests


def sections(*names):
    """The packages in sections of packages.txt."""
    text = (ROOT / "packages.txt").read_text()
    return re.findall(r"(?m)^[^#\[\n]+$", "".join(re.search(rf"(?s)\[{name}\]\n(.*?)(\n\[|$)", text).group(1) + "\n" for name in names))


def cross(folder):
    """A Debian for amd64 that compiles for arm64."""
    wanted = set(sections("build", "arm", "package")) - UNUSED
    libraries = {name for name in wanted if re.match("lib|zlib", name)} - HEADERS
    return System(folder, packages=[*wanted - libraries, *(f"{name}:arm64" for name in libraries)], architectures=("amd64", "arm64"))


def build_for_arm64(system):
    """Makes the packages for arm64 of the source archive, and returns their paths by name."""
    shutil.unpack_archive(ARCHIVE, system.root / "tmp")
    tree = pathlib.Path("/tmp", NAME, "build/package")
    options = ["--toolchain", f"/tmp/{NAME}/cmake/arm64.cmake", "-DCMAKE_SYSROOT=/",
               *(f"-D{name}_DIR=/{package_test.LIBRARY}/cmake/{name}" for name in ("xtensor", "xtensor-blas"))]
    # dpkg-shlibdeps reads from its environment for which architecture it looks.
    package_test.compile_tree(tree, "", "all", options, system.run)
    package_test.pack(tree, run=lambda *words: system.run("env", "DEB_HOST_ARCH=arm64", *words))
    return packages(system.root / tree.relative_to("/"))


def build(system):
    """Makes the release in its folder."""
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True)
    call("git", "archive", f"--prefix={NAME}/", f"--output={ARCHIVE}", "HEAD", cwd=ROOT)
    made = [*build_for_arm64(system).values(), *package_test.build().values(), *wheel_test.build().glob("*.whl")]
    for path in made:
        shutil.copy(path, BUILD)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(BUILD.iterdir())]
    (BUILD / "SHA256SUMS").write_text("".join(lines))


class Release(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        build(cross(cls.folder / "cross"))

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
        self.assertEqual((len(self.files("amd64")), len(self.files("arm64")), len(list(BUILD.glob("*.whl")))), (4, 4, 2))

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

    def test_5_the_wheel(self):
        system = self.system("wheel", packages=["python3-venv"])
        wheel_test.install(system, next(BUILD.glob(f"*{wheel_test.RELEASES['bookworm']}*.whl")))
        ten = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL).group(1)
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
