"""Every sentence of README.md that can be checked is checked by a test: CLAIMS names it.

A sentence that stands in no row, a row whose sentence is gone and a test that is gone fail. The tables of results are held to docs/results.md and to
the configs here.
"""

import pathlib
import re
import runpy
import tomllib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()

# The beginning of a sentence, and the tests that hold it: a file, and what stands there. CI is the whole of .ci/run.
CLAIMS = {
    "xgrad trains transformer encoders": ["tests/train/configs_test.cpp TEST("],
    "Every derivative is written by hand": ["tests/autograd/op_table_test.cpp TEST", "tests/cli/resume_test.py killed_again_and_again",
                                            "tests/cli/train_test.py test_equal_runs_leave_equal_files"],
    "It runs on x86-64 CPUs": [".ci/run packages of Debian", "tests/fresh.py trixie"],
    "On two cores of": ["tests/fresh.py seconds"],
    "[tests/README.md]": ["tests/house/docs_test.py test_every_folder_of_tests_is_told_of"],
    "A run leaves a directory": ["tests/cli/train_test.py test_a_run_directory", "tests/cli/report_test.py http", "tests/torch/checkpoint_test.py h5py",
                                 "tests/train/checkpoint_test.cpp h5dump"],
    "Ctrl-C saves and stops": ["tests/cli/resume_test.py test_signals_save_and_say_so"],
    "`./run` installs the Debian packages": ["tests/house/launcher_test.py packages.txt"],
    "Ubuntu 24.04 and later": ["tests/house/launcher_test.py test_leaves_another_system_alone", "tests/house/launcher_test.py XGRAD_PACKAGES"],
    "You need GCC 12": ["CMakeLists.txt cmake_minimum_required(VERSION 3.25)"],
    "With `log.tensorboard=true`": ["tests/clients/tensorboard_test.py EventAccumulator"],
    "[docs/looking-inside.md]": ["tests/cli/aids_test.py man", "tests/cli/aids_test.py completion"],
    "What is measured follows": ["tests/cli/vectors_test.py rmse", "tests/train/metrics_test.cpp perplexity"],
    "`eval` adds each class's precision": ["tests/cli/vectors_test.py confusion"],
    "Configs may claim": ["tests/readme/claims_test.py test_every_claim_is_named", "tests/train/expect_test.cpp below_ceiling"],
    "CMake finds what": ["tests/embed/install_test.py test_find_package", "tests/embed/install_test.py test_add_subdirectory",
                         "tests/embed/install_test.py test_pkg_config", "tests/embed/package_test.py xgrad-dev"],
    "The Debian packages run on every": ["tests/embed/package_test.py test_3_processors_without_avx", "tests/embed/package_test.py test_2_the_loader_takes"],
    "`./run package` builds them": ["tests/embed/package_test.py FIGURES", "tests/readme/claims_test.py test_figures"],
    "What each config claims": ["tests/cli/check_test.py check", ".ci/run ./run check"],
    "[docs/results.md]": ["tests/readme/claims_test.py test_results"],
    "`bench/compare.py` times": ["tests/torch/bench_test.py difference"],
    "xgrad has no GPUs": [],
    "What we have found in none": ["tests/cli/proofs_test.py verify-resume", "tests/cli/use_test.py gradcheck", "tests/cli/check_test.py check",
                                   "tests/cli/train_test.py test_equal_runs_leave_equal_files", "tests/data/vector_tasks_test.cpp TheCeilingIsThat"],
    "`autograd` depends on nothing": ["tests/house/layering_test.py test_only_the_allowed_directions_compile"],
    "Nothing else compiles": ["tests/house/layering_test.py test_only_the_allowed_directions_compile"],
    "[docs/design.md]": ["tests/house/docs_test.py test_every_named_file_exists"],
    "`xgrad verify` of several files": ["tests/cli/use_test.py test_verify_tells_files_that_cannot_be_read_from_bad_ones"],
    "0 ok": ["tests/cli/check_test.py exit_code=1", "tests/cli/use_test.py exit_code=2", "tests/cli/use_test.py exit_code=3",
             "tests/cli/use_test.py exit_code=4", "tests/cli/proofs_test.py exit_code=5", "tests/cli/use_test.py exit_code=6",
             "tests/cli/resume_test.py exit_code=7", "tests/cli/train_test.py RLIMIT_AS", "tests/cli/resume_test.py 128 + how"],
    "BSD 3-Clause": ["LICENSE BSD 3-Clause License"],
}


def sentences():
    """Those outside of code, tables and headings."""
    text = re.sub(r"(?ms)^```.*?^```$", "\n", README)
    text = re.sub(r"(?m)^(\||#|!\[|<).*$", "", text)
    for paragraph in re.split(r"\n\s*\n", text):
        words = " ".join(paragraph.split())
        yield from (part for part in re.split(r"(?<=[.!?])\s+(?=[A-Z`\[])", words) if part)


class Claims(unittest.TestCase):
    def test_every_sentence_has_its_test(self):
        found = list(sentences())
        self.assertGreater(len(found), 15)
        for sentence in found:
            rows = [start for start in CLAIMS if sentence.startswith(start)]
            self.assertEqual(len(rows), 1, f"no row, or several, for: {sentence}")
        for start in CLAIMS:
            self.assertEqual(sum(sentence.startswith(start) for sentence in found), 1, f"README.md no longer says: {start}")

    def test_the_tests_are_there(self):
        for start, tests in CLAIMS.items():
            for test in tests:
                path, _, name = test.partition(" ")
                self.assertTrue((ROOT / path).exists(), f"{start}: {path}")
                self.assertIn(name, (ROOT / path).read_text(), start)

    def rows(self, page, head):
        tables = re.findall(rf"(?m)^\| {head} \|.*\n\|[-| ]*\n((?:\|.*\n)+)", (ROOT / page).read_text())
        return [[cell.strip() for cell in line.strip("|\n").split("|")] for line in "".join(tables).splitlines()]

    def test_results(self):
        measured = {row[0]: row for row in self.rows("docs/results.md", "config")}
        shown = self.rows("README.md", "config")
        self.assertGreater(len(shown), 8)
        for config, _, parameters, steps, result in shown:
            name = config.strip("`").removesuffix(".toml")
            settings = tomllib.loads((ROOT / "configs" / f"{name}.toml").read_text())
            claimed = settings["expect"].get("accuracy")
            figure = float(re.match(r"(?:R² )?([\d.]+)", result).group(1))
            if claimed is not None:
                self.assertGreaterEqual(figure, claimed, name)
            row = measured[name]
            self.assertEqual((parameters, steps), (row[10], row[11]), name)
            if "steps" in settings["train"]:
                self.assertEqual(int(steps.replace(",", "")), settings["train"]["steps"], name)
            if row[1]:
                digits = len(str(figure).split(".")[1])
                self.assertAlmostEqual(figure, float(row[1].split()[0]), delta=0.51 * 10 ** -min(digits, 4), msg=name)

    def test_figures(self):
        limits = runpy.run_path(str(ROOT / "tests/embed/package_test.py"))["FIGURES"]
        shown = {row[0]: row[1:] for row in self.rows("README.md", "of the packages")}
        self.assertEqual(list(shown), list(limits))
        for what, (most, unit) in limits.items():
            self.assertEqual(shown[what][1], f"{most} {unit}")
            value, shown_unit = shown[what][0].split()
            self.assertEqual(shown_unit, unit, what)
            self.assertLess(float(value), most, what)

    def test_every_claim_is_named(self):
        expect = re.search(r"struct ExpectConfig {(.*?)};", (ROOT / "train/config.hpp").read_text(), re.DOTALL).group(1)
        claim, = (sentence for sentence in sentences() if sentence.startswith("Configs may claim"))
        self.assertEqual(set(re.findall(r"> (\w+);", expect)), set(re.findall(r"`(\w+)`", claim)))

    def test_every_page_is_linked(self):
        for page in (ROOT / "docs").glob("*.md"):
            self.assertIn(f"(docs/{page.name})", README)

    def test_folders(self):
        for folder, _ in self.rows("README.md", "folder"):
            for name in re.findall(r"`(\w+)/`", folder):
                self.assertTrue((ROOT / name).is_dir(), name)


if __name__ == "__main__":
    unittest.main()
