"""./run, with stand-ins for every program that would change the system or take long."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = "bash cat chmod cmp comm cp dirname env flock grep mkdir rm sed sort tail tr true nproc".split()

# Each writes its name and words to $CALLS. dpkg-query knows the packages in $INSTALLED.
STANDINS = {
    "dpkg-query": 'for p in "${@:3}"; do [[ " $INSTALLED " != *" $p "* ]] || echo "installed $p"; done',
    "apt-get": 'echo apt-get "$@" >>"$CALLS"; [[ " $* " != *" ${APT_FAILS-none} "* ]] || { echo no network; exit 100; }',
    "sudo": 'echo sudo "$1" >>"$CALLS"; [[ ${SUDO-} == yes ]] || exit 1; [[ $1 != -n ]] || shift; exec "$@"',
    "id": 'echo "${USER_ID-0}"',
    "cmake": 'echo cmake "$@" >>"$CALLS"; mkdir -p "$BUILD"; : >"$BUILD/build.ninja"; '
             'echo "CMAKE_HOME_DIRECTORY:INTERNAL=$SOURCE" >"$BUILD/CMakeCache.txt"',
    "ninja": 'echo ninja "${@:3}" >>"$CALLS"; echo "[1/2] Building a.cpp"; [[ ! ${MORE-} ]] || echo "$MORE"; [[ ! ${BROKEN-} ]] || '
             '{ echo "FAILED: a.cpp"; echo "a.cpp:1: error: no"; exit 1; }; echo "[2/2] Linking"; '
             'cp_xgrad "$BUILD/xgrad"',
    "cp_xgrad": 'printf \'#!/bin/bash\\necho xgrad "$PWD" "$@"\\nexit 3\\n\' >"$1"; chmod +x "$1"',
    "python3": 'echo python3 "${@:1:3}" >>"$CALLS"; [[ "$*" != *browser* ]] || exit "${BROWSER_FAILS-0}"; mkdir -p "${!#}/bin"; pip="${!#}/bin/pip"; chmod +x "$(cp_pip "$pip")"; '
               'printf \'#!/bin/bash\\necho python "$@" >>"$CALLS"\\n\' >"${!#}/bin/python"; chmod +x "${!#}/bin/python"',
    "cp_pip": 'printf \'#!/bin/bash\\necho pip "$1" "${@: -2}" >>"$CALLS"; echo no network; exit ${PIP_FAILS-0}\\n\' >"$1"; echo "$1"',
    "mpirun": 'echo mpirun "$@" as root: "$OMPI_ALLOW_RUN_AS_ROOT"',
    "ctest": '[[ " $* " != *" --show-only "* ]] || { echo "  Test   #7: clients.onnx"; exit; }; echo ctest "$@"; exit 8',
}


class Launcher(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name).resolve() / "a tree"
        self.bin = self.root.parent / "bin"
        self.root.mkdir()
        self.bin.mkdir()
        (self.root / "tests").mkdir()
        for name in ("run", "packages.txt", "tests/requirements.txt", "tests/libraries.txt", "tests/site.txt", "tests/wheel.txt"):
            shutil.copy(ROOT / name, self.root / name)
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        for name, body in STANDINS.items():
            (self.bin / name).write_text("#!/bin/bash\n" + body + "\n")
            (self.bin / name).chmod(0o755)
        (self.root.parent / "os-release").write_text('ID=debian\nVERSION_ID="12"\n')
        self.calls = self.root.parent / "calls"
        self.calls.touch()

    def run_it(self, *words, cwd=None, stderr=subprocess.PIPE, **variables):
        build = self.root / "build" / "release"
        environment = {
            "PATH": str(self.bin), "CALLS": str(self.calls), "BUILD": str(build), "SOURCE": str(self.root),
            "XGRAD_OS_RELEASE": str(self.root.parent / "os-release"), "XGRAD_PYTHON": str(self.bin / "python3"),
            "INSTALLED": self.packages(), **variables}
        return subprocess.run([str(self.root / "run"), *words], cwd=cwd or self.root.parent, env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, text=True, timeout=60)

    def packages(self, without=()):
        lines = (ROOT / "packages.txt").read_text().split("\n")
        return " ".join(line for line in lines if line and line[0] not in "#[" and line not in without)

    def called(self):
        lines = self.calls.read_text().splitlines()
        self.calls.write_text("")
        return lines

    def assert_asks(self, result, *packages):
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        words = " ".join(packages)
        self.assertIn(f"apt-get install --no-install-recommends {words}\n", result.stderr)

    def test_passes_words_on_from_any_directory(self):
        result = self.run_it("train", "a b.toml", "optim.lr=3e-4", cwd=self.bin)
        self.assertEqual(result.stdout, f"xgrad {self.bin} train a b.toml optim.lr=3e-4\n")
        self.assertEqual(result.returncode, 3)
        self.assertEqual([line.split()[0] for line in self.called()], ["cmake", "ninja"])

    def test_does_nothing_twice(self):
        self.run_it("info")
        self.called()
        self.run_it("info")
        self.assertEqual(self.called(), ["ninja xgrad"])

    def test_shows_steps_and_the_time_left_on_a_terminal(self):
        ours, its = os.openpty()
        self.run_it("info", stderr=its, MORE="[10/20] Building b.cpp")
        os.close(its)
        with open(ours, "rb", buffering=0) as terminal:
            shown = terminal.read(4096).decode()
        self.assertIn("\rxgrad: building 1/2\x1b[K\rxgrad: building 10/20, about 1 min left\x1b[K\r", shown)

    def test_configures_a_moved_tree_afresh(self):
        self.run_it("info")
        self.called()
        moved = self.root.rename(self.root.parent / "moved")
        self.root = moved
        self.assertEqual(self.run_it("info").returncode, 3)
        self.assertIn("--fresh", self.called()[0])

    def test_starts_several_processes(self):
        result = self.run_it("mpi", "-n", "4", "--hostfile", "hosts", "train", "a b.toml", BUILD=str(self.root / "build" / "mpi"),
                             INSTALLED=self.packages(without=("openmpi-bin",)))
        self.assertIn("installing Debian packages: openmpi-bin\n", result.stderr)
        xgrad = self.root / "build" / "mpi" / "xgrad"
        self.assertEqual(result.stdout, f"mpirun --oversubscribe -n 4 --hostfile hosts --bind-to none {xgrad} train a b.toml as root: 1\n")
        self.assertIn("--preset mpi", [line for line in self.called() if line.startswith("cmake")][0])

    def test_the_command_alone_needs_no_mpi(self):
        result = self.run_it("info", INSTALLED=self.packages(without=("openmpi-bin", "libopenmpi-dev")))
        self.assertNotIn("installing", result.stderr)

    def test_installs_what_is_missing_only(self):
        result = self.run_it("info", INSTALLED=self.packages(without=("cmake", "g++")))
        self.assertIn("installing Debian packages: cmake g++\n", result.stderr)
        calls = self.called()
        self.assertRegex(calls[0], "^apt-get .*update$")
        self.assertRegex(calls[1], "^apt-get .*install --yes --no-install-recommends cmake g[+][+]$")
        self.assertEqual(result.stdout, f"xgrad {self.root.parent} info\n")

    def test_installs_the_data_of_a_config(self):
        config = self.root.parent / "some.toml"
        config.write_text('[model]\nname = "no"\n[task]  # what\n  name = "fashion_mnist"\n')
        installed = self.packages(without=("dataset-fashion-mnist",))
        result = self.run_it("train", "some.toml", INSTALLED=installed)
        self.assertIn("packages: dataset-fashion-mnist\n", result.stderr)
        config.write_text('[task]\nname = "reverse"\n[other]\nname = "fashion_mnist"\n')
        self.called()
        self.assertNotIn("installing", self.run_it("train", "some.toml", INSTALLED=installed).stderr)

    def test_installs_the_data_of_a_run(self):
        (self.root.parent / "runs").mkdir()
        (self.root.parent / "runs" / "config.toml").write_text('[task]\nname = "fashion_mnist"')
        installed = self.packages(without=("dataset-fashion-mnist",))
        result = self.run_it("resume", "runs", INSTALLED=installed)
        self.assertIn("packages: dataset-fashion-mnist\n", result.stderr)

    def test_uses_sudo_when_not_root(self):
        result = self.run_it("info", USER_ID="1000", SUDO="yes", INSTALLED=self.packages(without=("cmake",)))
        self.assertEqual(result.returncode, 3, result.stderr)
        # Without a terminal it must not wait for a password.
        self.assertEqual(self.called()[0], "sudo -n")

    def test_asks_when_sudo_refuses(self):
        result = self.run_it("info", USER_ID="1000", INSTALLED=self.packages(without=("cmake",)))
        self.assert_asks(result, "cmake")

    def test_asks_without_root_and_sudo(self):
        (self.bin / "sudo").unlink()
        result = self.run_it("info", USER_ID="1000", INSTALLED=self.packages(without=("cmake", "g++")))
        self.assert_asks(result, "cmake", "g++")
        self.assertEqual(self.called(), [])

    def test_asks_off_line(self):
        result = self.run_it("info", APT_FAILS="install", INSTALLED=self.packages(without=("cmake",)))
        self.assert_asks(result, "cmake")
        self.assertIn("no network", result.stderr)

    def test_lists_that_cannot_be_renewed_may_do(self):
        result = self.run_it("info", APT_FAILS="update", INSTALLED=self.packages(without=("cmake",)))
        self.assertEqual(result.returncode, 3, result.stderr)

    def test_leaves_another_system_alone(self):
        (self.root.parent / "os-release").write_text("ID=ubuntu\nVERSION_ID=24.04\n")
        self.assertEqual(self.run_it("info").returncode, 3)
        self.called()
        self.assert_asks(self.run_it("info", INSTALLED=self.packages(without=("cmake",))), "cmake")
        self.assertEqual(self.called(), [])

    def test_names_all_packages_without_dpkg(self):
        (self.bin / "dpkg-query").unlink()
        result = self.run_it("info")
        self.assertEqual(result.returncode, 2)
        self.assertIn("libxtensor-dev", result.stderr)
        self.assertEqual(self.run_it("info", XGRAD_PACKAGES="present").returncode, 3)

    def test_shows_why_a_build_failed(self):
        result = self.run_it("info", BROKEN="1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("a.cpp:1: error: no", result.stderr)
        self.assertNotIn("Building", result.stderr)
        self.assertEqual(result.stdout, "")

    def test_another_debian_is_known(self):
        (self.root.parent / "os-release").write_text('ID=debian\nVERSION_ID="13"\n')
        result = self.run_it("info", INSTALLED=self.packages(without=("cmake",)))
        self.assertIn("installing Debian packages: cmake\n", result.stderr)
        self.assertEqual(result.returncode, 3)

    def test_runs_the_tests(self):
        result = self.run_it("test", "-R", "softmax", INSTALLED=self.packages(without=("hdf5-tools", "python3-torch")))
        self.assertRegex(result.stdout, "^ctest --test-dir .*build/release .*-R softmax\n$")
        self.assertEqual(result.returncode, 8)
        self.assertIn("installing Debian packages: hdf5-tools python3-torch\n", result.stderr)
        self.assertNotIn("left out", result.stderr)

    def test_installs_python_packages_when_their_list_changes(self):
        installs = ["python3 -m venv --clear", f"pip install -r {self.root}/tests/requirements.txt",
                    "python3 -m venv --clear", f"pip install -r {self.root}/tests/libraries.txt"]
        for expected in (installs, []):
            self.assertEqual(self.run_it("test").returncode, 8)
            self.assertEqual([line for line in self.called() if line.startswith("p")], expected)
        with open(self.root / "tests/requirements.txt", "a") as file:
            file.write("another==1\n")
        self.assertIn(" another==1 \n", self.run_it("install", "test").stderr)
        self.assertEqual(len(self.called()), 2)

    def test_runs_the_rest_without_an_index_of_python(self):
        result = self.run_it("test", "-R", "softmax", PIP_FAILS="1")
        self.assertRegex(result.stdout, "^ctest .*-R softmax --label-exclude \\^package-index\\$\n$")
        self.assertEqual(result.returncode, 8)
        self.assertEqual(result.stderr.count("cannot be had"), 1)
        self.assertEqual(result.stderr.count("left out, as they need Python packages: clients.onnx\n"), 2)
        self.assertTrue(result.stderr.endswith("clients.onnx\n"), "said at the end, too")
        self.assertNotEqual(self.run_it("install", "test", PIP_FAILS="1").returncode, 0)

    def test_builds_the_site(self):
        result = self.run_it("docs", INSTALLED=self.packages(without=("doxygen", "wdutch", "chromium", "python3-torch")))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("installing Debian packages: doxygen wdutch\n", result.stderr)
        calls = self.called()
        self.assertEqual([line for line in calls if line.startswith("pip")],
                         [f"pip install -r {self.root}/tests/{name}" for name in ("requirements.txt", "site.txt")])
        self.assertIn("-DXGRAD_BUILD_PYTHON=ON", next(line for line in calls if line.startswith("cmake")))
        self.assertEqual(calls[-2:], ["ninja xgrad xgrad_python_stub", f"python -B {self.root}/docs/site/build.py {self.root}/build/release"])

    def test_checks_the_site(self):
        result = self.run_it("docs", "--check", INSTALLED=self.packages(without=("chromium",)))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("installing Debian packages: chromium\n", result.stderr)
        self.assertEqual(sorted(self.called()[-3:]), [f"python3 -B {self.root}/tests/browser/{name}_test.py" for name in ("explain", "report", "site")])
        self.assertNotEqual(self.run_it("docs", "--check", BROWSER_FAILS="1").returncode, 0)

    def test_docs_takes_one_option(self):
        result = self.run_it("docs", "--chek")
        self.assertEqual((result.returncode, self.called()), (2, []))
        self.assertIn("./run docs [--check]", result.stderr)

    def test_makes_packages_wheels_and_a_release(self):
        for word, missing in (("package", "file"), ("wheel", "file"), ("release", "qemu-user-static")):
            result = self.run_it(word, INSTALLED=self.packages(without=(missing,)))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(f"installing Debian packages: {missing}\n", result.stderr)
            self.assertEqual(self.called()[-1], f"python3 -B {self.root}/tests/embed/{word}_test.py")

    def test_helps(self):
        for words in ((), ("help",)):
            result = self.run_it(*words)
            self.assertEqual(result.returncode, 0)
            self.assertIn("./run train", result.stdout)
        self.assertEqual(self.called(), [])

    def test_uses_no_control_characters_off_a_terminal(self):
        self.assertTrue(self.run_it("info").stderr.replace("\n", "").isprintable())


if __name__ == "__main__":
    unittest.main()
