"""No test can hide that it failed, or that it did nothing: a project with such tests, given to CTest as ours are."""

import pathlib
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = ROOT / ".ci/skipped.py"
CMAKE = f"""
cmake_minimum_required(VERSION 3.25)
project(planted LANGUAGES CXX)
enable_testing()
list(APPEND CMAKE_MODULE_PATH {ROOT}/cmake)
include(XgradTests)
find_package(GTest REQUIRED)
add_executable(planted_test planted.cpp)
target_link_libraries(planted_test GTest::gtest_main)
xgrad_gtest(planted)
add_executable(broken_test broken.cpp)
xgrad_gtest(broken)
add_executable(missing_test EXCLUDE_FROM_ALL planted.cpp)
xgrad_gtest(missing)
file(GLOB scripts *.py)
foreach(script IN LISTS scripts)
  cmake_path(GET script STEM name)
  xgrad_python_test(python.${{name}} ${{script}} a word ENVIRONMENT A=1 B=2)
endforeach()
"""
CPP = r"""
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <cstdio>
#include <cstdlib>
TEST(Planted, Passes) {}
TEST(Planted, Fails) { FAIL(); }
TEST(Planted, PrintsAndFails) { std::puts("[  SKIPPED ] Planted.PrintsAndFails (0 ms)\nSkipped: it is missing"); FAIL(); }
TEST(Planted, PrintsAndCrashes) { std::puts("[  SKIPPED ] 1 test\n[  PASSED  ] 1 test."); std::fflush(stdout); std::abort(); }
TEST(Planted, SkipsItself) { GTEST_SKIP() << "it is missing"; }
TEST(Planted, ExitsWithoutFailure) { std::exit(0); }
TEST(Planted, FailsAndExits) { EXPECT_TRUE(false); std::exit(0); }
TEST(Planted, FailsAndExitsAtOnce) { EXPECT_TRUE(false); std::_Exit(0); }
TEST(Planted, ExpectsAFailureInside) { EXPECT_NONFATAL_FAILURE(ADD_FAILURE(), ""); }
TEST(Planted, DISABLED_Fails) { FAIL(); }
template <class T>
class Typed : public testing::Test {};
TYPED_TEST_SUITE(Typed, testing::Types<float>);
TYPED_TEST(Typed, Passes) {}
TYPED_TEST(Typed, Fails) { FAIL(); }
class Valued : public testing::TestWithParam<const char*> {};
TEST_P(Valued, Fails) { FAIL(); }
INSTANTIATE_TEST_SUITE_P(All, Valued, testing::Values("a;b", "[c"));
"""
UNITTEST = "import unittest\nclass T(unittest.TestCase):\n{}\nunittest.main(argv=['t'])\n"
SCRIPTS = {
    "passes": "import os, sys\nassert sys.argv[1:] == ['a', 'word'] and os.environ['A'] + os.environ['B'] == '12'",
    "prints_and_fails": "print('Skipped: it is missing\\n[  SKIPPED ] 1 test')\nraise SystemExit(1)",
    "cannot_run": "raise SystemExit(77)",
    "skips_a_part": UNITTEST.format("    def test_a(self): self.skipTest('it is missing')\n    def test_b(self): pass"),
    "skips_a_part_and_fails": UNITTEST.format("    def test_a(self): self.skipTest('no')\n    def test_b(self): self.fail()"),
    "runs_nothing": UNITTEST.format("    pass"),
}
PASS = {"planted.Planted.Passes", "planted.Planted.ExpectsAFailureInside", "planted.Typed/0.Passes", "python.passes"}
CANNOT_RUN = {"python.cannot_run"}
FAIL = {"planted.Planted.Fails", "planted.Planted.PrintsAndFails", "planted.Planted.PrintsAndCrashes", "planted.Planted.SkipsItself",
        "planted.Planted.ExitsWithoutFailure", "planted.Planted.FailsAndExits", "planted.Planted.FailsAndExitsAtOnce",
        "planted.Planted.DISABLED_Fails", "planted.Typed/0.Fails", "planted.All/Valued.Fails/0", "planted.All/Valued.Fails/1",
        "python.prints_and_fails", "python.skips_a_part", "python.skips_a_part_and_fails", "python.runs_nothing", "broken.list"}


class Honest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        files = {"CMakeLists.txt": CMAKE, "planted.cpp": CPP, "broken.cpp": "int main() { return 1; }\n"}
        for name, text in (files | {f"{name}.py": text for name, text in SCRIPTS.items()}).items():
            (cls.folder / name).write_text(text)
        for words in (["cmake", "-S", ".", "-B", "build", "-G", "Ninja"], ["cmake", "--build", "build"]):
            done = subprocess.run(words, cwd=cls.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            assert done.returncode == 0, done.stdout
        cls.all = cls.ctest()

    @classmethod
    def ctest(cls, *words):
        """(exit code, {test: its status}, what .ci/skipped.py says)."""
        results = cls.folder / "results.xml"
        done = subprocess.run(["ctest", "--test-dir", "build", "--output-junit", results, *words], cwd=cls.folder, capture_output=True)
        cases = {case.get("name"): case.get("status") for case in xml.etree.ElementTree.parse(results).iter("testcase")}
        judged = subprocess.run(["/usr/bin/python3", "-B", SKIPPED, results], capture_output=True, text=True)
        assert (judged.returncode != 0) == bool(judged.stderr), judged.stderr
        return done.returncode, cases, judged.stderr

    def named(self, status):
        return {name for name, its in self.all[1].items() if its == status}

    def test_what_passes(self):
        self.assertEqual(self.named("run"), PASS)
        self.assertEqual(self.ctest("-R", "[.]passes$|[.]Passes$")[::2], (0, ""))

    def test_failures_are_failures(self):
        self.assertEqual(self.named("fail") - {"missing.list"}, FAIL)
        self.assertNotEqual(self.all[0], 0)

    def test_what_is_not_built_is_no_success(self):
        code, cases, refused = self.ctest("-R", "missing[.]")
        self.assertEqual(list(cases), ["missing.list"])
        self.assertNotEqual(code, 0)

    def test_ci_refuses_what_cannot_run(self):
        self.assertEqual({name for name, its in self.all[1].items() if its not in ("run", "fail")} - {"missing.list"}, CANNOT_RUN)
        code, _, refused = self.ctest("-R", "cannot_run")
        self.assertEqual(code, 0)
        self.assertTrue(refused.startswith("python.cannot_run: "), refused)


if __name__ == "__main__":
    unittest.main()
