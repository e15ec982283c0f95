"""Another project finds the installed xgrad, compiles against it and runs: install_test.py BUILD_DIRECTORY."""

import concurrent.futures
import os
import pathlib
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(sys.argv.pop())
MAX_LINES = 120_000  # of the umbrella header, preprocessed, blank ones aside; 97,000 are xtensor's
MAX_MEMORY = 350 * 1024  # KiB that the compiler takes for main.cpp; GCC 14 takes 310 MiB


def call(*words):
    run = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    assert run.returncode == 0, f"{words}\n{run.stdout}{run.stderr}"
    return run


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.directory = pathlib.Path(cls.temporary.name)
        first = cls.directory / "first"
        call("cmake", "--install", BUILD, "--prefix", first)
        cls.prefix = first.rename(cls.directory / "a moved prefix")  # nothing may know where it was

    def assert_learns(self, program):
        run = call(program)
        self.assertRegex(run.stdout, r"^\d+\.\d+ -> 0\.\d+\n$")
        self.assertEqual(run.stderr, "")

    def flags(self, *more, package="xgrad", prefix=None):
        run = call("env", f"PKG_CONFIG_PATH={next((prefix or self.prefix).rglob('pkgconfig'))}", "pkg-config", "--static", *more, package)
        return shlex.split(run.stdout)

    def test_find_package(self):
        build = self.directory / "build"
        call("cmake", "-S", HERE, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
             f"-DCMAKE_PREFIX_PATH={self.prefix}")
        call("cmake", "--build", build)
        self.assert_learns(build / "embed")

    def test_the_engine_alone(self):
        """Its two components of the installation, by CMake and by pkg-config, name no library but TBB's."""
        prefix = self.directory / "engine"
        for component in ("engine", "engine-development"):
            call("cmake", "--install", BUILD, "--prefix", prefix, "--component", component)
        self.assertEqual(sorted(path.name for path in (prefix / "include" / "xgrad").iterdir()),
                         ["autograd", "engine.hpp", "layers", "optim", "version.hpp"])
        build = self.directory / "engine-build"
        missing = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("HDF5", "OpenSSL", "ZLIB", "fmt", "nlohmann_json")]
        call("cmake", "-S", HERE, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PREFIX_PATH={prefix}",
             "-DEMBED_COMPONENTS=engine", *missing)
        call("cmake", "--build", build)
        self.assert_learns(build / "embed")
        flags = self.flags("--cflags", "--libs", package="xgrad-engine", prefix=prefix)
        self.assertEqual([flag for flag in flags if flag.startswith("-l")], ["-lxgrad_engine", "-ltbbmalloc", "-ltbb"])
        self.assertIn("-ffp-contract=off", flags)
        program = self.directory / "engine-by-pkg-config"
        call("g++", "-Wall", "-Wextra", "-Werror", HERE / "main.cpp", "-o", program, *flags)
        self.assert_learns(program)

    def test_the_engine_builds_alone(self):
        """With its tests, where nothing but xtensor, TBB and the tests' own libraries is found."""
        build = self.directory / "engine-only"
        missing = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON"
                   for name in ("HDF5", "OpenSSL", "ZLIB", "fmt", "nlohmann_json", "CLI11", "Protobuf", "MPI")]
        call("cmake", "-S", HERE.parents[1], "-B", build, "-G", "Ninja", "-DXGRAD_ENGINE_ONLY=ON", *missing)
        targets = re.findall(r"(?m)^(\w+): phony$", call("ninja", "-C", build, "-t", "targets", "all").stdout)
        self.assertLessEqual({"xgrad_engine", "autograd_test", "layers_test", "optim_test"}, set(targets))
        self.assertFalse({"xgrad", "xgrad_tool", "train_test"} & set(targets))

    def test_the_program_of_your_data(self):
        page = (HERE.parents[1] / "docs" / "your-data.md").read_text(encoding="utf-8")

        def block(language, holds):
            found, = (text for text in re.findall(rf"(?ms)^```{language}\n(.*?)^```$", page) if holds in text)
            return found

        folder = self.directory / "languages"
        folder.mkdir()
        (folder / "CMakeLists.txt").write_text(block("cmake", "find_package"))
        (folder / "languages.cpp").write_text(block("cpp", "Predictor"))
        (folder / "languages.toml").write_text(block("toml", '"languages.tsv"'))
        (folder / "languages.tsv").write_text("word\tlanguage\n" + "".join(
            f"{letter * n}{n}\t{language}\n" for letter, language in (("ß", "german"), ("w", "english")) for n in range(1, 40)))
        tool = self.prefix / "bin" / "xgrad"
        call("env", "-C", folder, tool, "train", "languages.toml", "train.steps=60", "train.batch=8", "-q")
        run = call("env", "-C", folder, f"CMAKE_PREFIX_PATH={self.prefix}", "sh", "-e", "-c", block("sh", "cmake -B"))
        self.assertRegex(run.stdout, r"\nStraßenbahn (german|english) [01]\.\d{3}\n$")

    def test_pkg_config(self):
        flags = self.flags("--cflags", "--libs")
        program = self.directory / "by-pkg-config"
        call("g++", "-Wall", "-Wextra", "-Werror", HERE / "main.cpp", "-o", program, *flags)
        self.assert_learns(program)

    def test_the_command_with_parts_of_a_program(self):
        """By CMake and by pkg-config, each with another example."""
        build, source = self.directory / "examples", HERE.parents[1] / "examples"
        call("cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        call("cmake", "--build", build, "--target", "own_optimizer")
        self.assertIn("signum", call(build / "own_optimizer", "config", "optim.name").stdout)
        program = self.directory / "own_task"
        call("g++", source / "own_task.cpp", "-o", program, *self.flags("--cflags", "--libs", package="xgrad-cli"))
        self.assertIn("more_ones", call(program, "tasks").stdout)

    def test_add_subdirectory(self):
        source = self.directory / "parent"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(parent LANGUAGES C CXX)\n"
            f'add_subdirectory("{HERE.parents[1]}" xgrad)\n'
            f'add_executable(embed "{HERE}/main.cpp")\ntarget_link_libraries(embed PRIVATE xgrad::xgrad)\n')
        call("cmake", "-S", source, "-B", source / "build", "-G", "Ninja")
        targets = call("ninja", "-C", source / "build", "-t", "targets", "all").stdout
        self.assertIn("embed: ", targets)
        self.assertNotIn("autograd_test", targets)

    def test_fetch_content(self):
        """The lines of README.md and docs/install.md, with this tree in place of the repository, as CMake's own setting allows."""
        root = HERE.parents[1]
        pages = [(root / page).read_text(encoding="utf-8") for page in ("README.md", "docs/install.md")]
        blocks = [re.search(r"(?ms)^```cmake\n(include\(FetchContent\).*?)^```$", page)[1] for page in pages]
        for number, block in enumerate(blocks):
            source = self.directory / f"fetch-{number}"
            source.mkdir()
            (source / "CMakeLists.txt").write_text(
                "cmake_minimum_required(VERSION 3.25)\nproject(fetching LANGUAGES C CXX)\n"
                f'add_executable(my_program "{HERE}/main.cpp")\n{block}')
            call("cmake", "-S", source, "-B", source / "build", "-G", "Ninja", f"-DFETCHCONTENT_SOURCE_DIR_XGRAD={root}")
            targets = call("ninja", "-C", source / "build", "-t", "targets", "all").stdout
            self.assertIn("my_program: ", targets)
            self.assertNotIn("autograd_test", targets)

    def test_headers_are_cheap(self):
        flags = self.flags("--cflags")
        whole = ("-include", "xgrad/xgrad.hpp", HERE / "main.cpp")
        lines = call("g++", *flags, "-E", "-P", *whole).stdout.count("\n")
        self.assertLess(lines, MAX_LINES)
        start = time.monotonic()
        call("g++", *flags, "-O1", "-c", *whole, "-o", "/dev/null")
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        print(f"main.cpp: {lines} lines preprocessed, {time.monotonic() - start:.1f} s, {memory / 1024:.0f} MiB")
        self.assertLess(memory, MAX_MEMORY)

    def test_holds_no_module_of_python(self):
        self.assertEqual(sorted(path.name for path in self.prefix.iterdir()), ["bin", "include", "lib", "share"])

    def test_kernels_stay_inside(self):
        for name in ("kernels", "detail", "tasks", "commands", "commands.hpp"):
            self.assertEqual(list((self.prefix / "include").rglob(name)), [])
        self.assertEqual(sorted(path.name for path in (self.prefix / "include").rglob("formats/*")),
                         ["tensors.hpp"])

    def test_headers_are_whole(self):
        include = self.prefix / "include"
        headers = list(include.rglob("*.hpp"))
        self.assertGreater(len(headers), 50)
        for header in headers:
            for other in re.findall(r"#include <(xgrad/.*)>", header.read_text()):
                self.assertTrue((include / other).exists(), f"{header} includes {other}")

    def test_each_header_compiles_alone(self):
        """Those without a source that includes them first. CI compiles all sources without precompiled headers."""
        include = self.prefix / "include"
        names = [path.relative_to(include) for path in sorted(include.rglob("*.hpp"))]
        alone = [name for name in names if not (HERE.parents[1] / name.relative_to("xgrad")).with_suffix(".cpp").exists()]
        self.assertIn("ops.hpp", [name.name for name in alone])

        def complaints(name):
            return subprocess.run(["g++", *self.flags("--cflags"), "-fsyntax-only", "-include", name, "-x", "c++", "/dev/null"],
                                  capture_output=True, text=True).stderr
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            self.assertEqual("".join(pool.map(complaints, alone)), "")

    def test_the_command_links_hdf5_statically_where_that_works(self):
        works = "XGRAD_HDF5_STATIC_LINKS:INTERNAL=1" in (BUILD / "CMakeCache.txt").read_text()
        self.assertEqual("libhdf5" in call("ldd", self.prefix / "bin" / "xgrad").stdout, not works)

    def test_tool_runs(self):
        run = call(self.prefix / "bin" / "xgrad", "--version")
        self.assertRegex(run.stdout, r"^\d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    unittest.main()
