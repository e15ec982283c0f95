"""Every sentence of README.md, docs/install.md and docs/commands.md that can be checked is checked by a test: CLAIMS names it.

A sentence that stands in no row, a row whose sentence is gone and a test that is gone fail. figures_test.py checks the tables.
"""

import pathlib
import re
import unittest

from pages import rows

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()

# The beginning of a sentence, and the tests that hold it: a file, and what stands there. CI is the whole of .ci/run.
CLAIMS = {
    "README.md": {
        "xgrad is a C++20 library": ["cmake/XgradFlags.cmake cxx_std_20"],
        "One TOML file": ["tests/train/config/shipped_test.cpp TEST("],
        "It is for people": [],
        "Version 0.1.0 is": ["CMakeLists.txt VERSION 0.1.0", "CHANGELOG.md ## Unreleased", "LICENSE BSD 3-Clause License"],
        "It runs on x86-64 CPUs": [".ci/run packages of Debian", "tests/fresh.py trixie"],
        "On ARM64, it is": [".ci/arm qemu-aarch64", "tests/embed/release_test.py test_3_packages"],
        "The [FAQ]": [],
        "The same config and seed": ["tests/cli/resume_test.py killed_again_and_again",
                                     "tests/cli/train_test.py test_equal_runs_leave_equal_files",
                                     "tests/cli/hashes_test.py test_the_hash_is_of_step_names_shapes_types_and_bytes"],
        "On every processor with fused": ["configs/reverse.toml e3db52778a7de356c7fbb442353b7853220160c2ce29687aac903c7eeee3814b",
                                          ".ci/run ./run check configs/{copy,first,majority,reverse"],
        "Row i of the map": ["tests/browser/make_pictures.py make_reverse"],
        "Clone this repository": ["tests/fresh.py clone"],
        "Two commands do the rest": ["tests/fresh.py COMMANDS"],
        "`./run` installs Debian packages": ["tests/house/launcher_test.py packages.txt", "tests/house/launcher_test.py sudo"],
        "`./run test` also installs Python": ["tests/house/launcher_test.py tests/requirements.txt"],
        "In a clean clone": ["tests/fresh.py seconds", "run progress"],
        "The second command runs": ["tests/fresh.py seconds", "tests/readme/count_test.py total"],
        "[install.md]": ["tests/house/launcher_test.py test_leaves_another_system_alone"],
        "`pip install ./python` compiles": ["python/pyproject.toml build-backend", "tests/embed/wheel_test.py def build"],
        "`./run package` makes": ["tests/embed/package_test.py xgrad-engine-dev"],
        "A CMake project": ["tests/embed/install_test.py test_find_package", "tests/embed/install_test.py test_fetch_content"],
        "A `Variable` records": ["tests/autograd/op_table_test.cpp TEST"],
        "Values and gradients are": ["autograd/tensor.hpp xt::xarray", "tests/python/docs_test.py README.md"],
        "Both programs below fit": ["tests/readme/CMakeLists.txt readme.ten_lines", "tests/python/docs_test.py README.md"],
        "[examples/]": ["tests/examples/examples_test.py test_the_page_shows_what"],
        "[pytorch.md]": ["tests/python/docs_test.py pytorch.md"],
        "The table shows xgrad's": ["tests/readme/figures_test.py test_performance"],
        "The heads of the last": ["bench/machines.py CLASSES"],
        "Each number is the lowest": ["tests/bench/compare_test.py test_the_lowest_ratio_of_each_class",
                                      "tests/readme/figures_test.py fromisoformat"],
        "The AVX2 column": ["docs/performance.md | Intel held to AVX2 |"],
        "[performance.md]": ["tests/readme/figures_test.py test_performance"],
        "`./run check configs/*.toml` trains": ["tests/cli/check_test.py check", ".ci/run ./run check"],
        "The table shows results": ["tests/readme/figures_test.py test_results"],
        "An empty cell": ["tests/readme/figures_test.py test_results"],
        "[results.md]": ["tests/readme/figures_test.py test_the_pages_have_the_results_of_the_files"],
        "We found none of the following": [],
        "- commands that check": ["tests/cli/use_test.py gradcheck", "tests/cli/proofs_test.py verify-resume"],
        "- the promise of the same bits": ["tests/cli/hashes_test.py test_the_hash_is_of_step_names_shapes_types_and_bytes"],
        "- tasks that compute": ["tests/data/tasks/signals/vector_tasks_test.cpp TheCeilingIsThat"],
        "- configs that claim": ["tests/cli/check_test.py check"],
        "xgrad runs only on Linux": [],
        "It has no second derivatives": [],
        "Its lead in speed": ["tests/readme/figures_test.py test_performance"],
        "[bfloat16]": ["tests/cli/precision_test.py test_it_keeps_less_memory"],
    },
    "docs/install.md": {
        "xgrad needs GCC 12": ["CMakeLists.txt cmake_minimum_required(VERSION 3.25)"],
        "On Debian, `./run` installs the packages that the command needs": ["tests/house/launcher_test.py packages.txt"],
        "It builds in `build/release`": ["run build/release"],
        "On a terminal, this command": ["run progress"],
        "On a bare Debian": ["tests/fresh.py seconds"],
        "The tests, `./run test`": ["tests/fresh.py seconds"],
        "[tests/README.md]": ["tests/house/docs_test.py test_every_folder_of_tests_is_told_of"],
        "Ubuntu 24.04 and later": [],
        "On Ubuntu, `./run` installs nothing": ["tests/house/launcher_test.py test_leaves_another_system_alone"],
        "`XGRAD_PACKAGES=present": ["tests/house/launcher_test.py XGRAD_PACKAGES"],
        "A run writes a directory": ["tests/cli/train_test.py test_a_run_directory"],
        "It contains the config": ["tests/cli/train_test.py test_a_run_directory", "tests/torch/checkpoint_test.py h5py",
                                   "tests/train/checkpoint/checkpoint_test.cpp h5dump"],
        "`./run report runs/reverse` adds": ["tests/cli/report_test.py http"],
        "Ctrl-C saves and stops": ["tests/cli/resume_test.py test_signals_save_and_say_so"],
        "A release contains": ["tests/embed/release_test.py test_1_sums"],
        "The packages are for": ["tests/embed/package_test.py bookworm"],
        "Check what you have": ["tests/embed/release_test.py test_3_packages"],
        "Then install the command": ["tests/embed/release_test.py test_3_packages"],
        "On ARM64, write": ["tests/embed/release_test.py page.replace(\"amd64\", architecture)"],
        "A program that uses [the whole library]": ["tests/embed/package_test.py test_5_a_program_of_somebody_else"],
        "The source archive": ["tests/embed/release_test.py test_6_the_source"],
        "[python.md](python.md#install) says": ["tests/embed/wheel_test.py RELEASES"],
        "[python.md](python.md#install) shows": ["python/pyproject.toml build-backend", "tests/embed/wheel_test.py def build"],
        "The engine, `xgrad::engine`": ["tests/embed/install_test.py test_the_engine_alone", "tests/readme/CMakeLists.txt readme.engine"],
        "A tensor is": ["autograd/tensor.hpp xt::xarray", "tests/embed/package_test.py test_4_the_engine_needs_little"],
        "This program learns XOR": ["tests/readme/CMakeLists.txt readme.engine"],
        "CMake finds": ["tests/embed/install_test.py test_the_engine_alone"],
        "The name for pkg-config": ["tests/embed/install_test.py test_pkg_config"],
        "Without an installation": ["tests/embed/install_test.py test_fetch_content"],
        "`add_subdirectory` works": ["tests/embed/install_test.py test_add_subdirectory"],
        "To build only": ["tests/embed/install_test.py test_the_engine_builds_alone"],
        "`./run package` makes": ["tests/embed/package_test.py xgrad-engine-dev"],
        "`xgrad::xgrad` adds": ["tests/embed/install_test.py test_find_package"],
        "With CMake, `find_package": ["tests/embed/install_test.py test_find_package", "tests/embed/install_test.py test_pkg_config"],
        "The Debian package is": ["tests/embed/package_test.py xgrad-dev"],
        "A program that links": ["tests/examples/examples_test.py test_own_attention",
                                 "tests/embed/install_test.py test_the_command_with_parts_of_a_program"],
        "This program trains": ["tests/readme/CMakeLists.txt readme.program"],
        "The Debian packages for amd64 run": ["tests/embed/package_test.py test_3_processors_without_avx",
                                             "tests/embed/package_test.py test_2_the_loader_takes"],
        "`./run package` builds the packages": ["tests/embed/package_test.py FIGURES", "tests/readme/figures_test.py test_packages"],
    },
    "docs/commands.md": {
        "In the source tree": ["tests/house/launcher_test.py test_passes_words_on_from_any_directory"],
        "If xgrad is installed": ["tests/embed/package_test.py --version"],
        "`xgrad COMMAND --help` lists": ["tests/cli/manual_test.py test_man_names_everything", "tests/cli/use_test.py test_catalogue"],
        "The table has the order of `xgrad --help`": ["tests/cli/manual_test.py test_commands_stand_under_five_headings"],
        "`check --jobs N` trains": ["tests/cli/check_test.py test_several_at_once_say_what_they_say_one_by_one"],
        "It prints the results in the order": ["tests/cli/check_test.py test_several_at_once_say_what_they_say_one_by_one"],
        "The configs slow each other down, so `check`": ["tests/cli/check_test.py test_several_at_once_judge_no_seconds"],
        "Here and in a sweep, `train.threads`": ["tests/cli/check_test.py test_several_at_once_say_what_they_say_one_by_one",
                                                 "tests/cli/sweep_test.py test_an_override_sets_the_threads_of_each_run"],
        "`--table FILE` writes the results": ["tests/cli/check_test.py test_a_table_as_json_lines"],
        "If FILE ends in": ["tests/cli/check_test.py test_a_table_as_json_lines"],
        "The best step of a run is": ["tests/cli/best_test.py test_the_test_row_is_that_of_the_model"],
        "The model of the run has": ["tests/cli/best_test.py test_the_test_row_is_that_of_the_model"],
        "`train` and `resume` score": ["tests/cli/best_test.py test_the_test_row_is_that_of_the_model", "tests/cli/best_test.py test_claims_are_about_the_model"],
        "The commands `eval`, `predict`": ["tests/cli/best_test.py test_every_command_takes_the_model"],
        "With `train.keep_best=false`": ["tests/cli/best_test.py test_every_command_takes_the_model"],
        "If the best step is not the last": ["tests/cli/best_test.py test_the_test_row_is_that_of_the_model"],
        "`train.best_metric` names": ["tests/cli/best_test.py test_another_metric_says_which_is_best"],
        "If several steps are equally good": ["tests/cli/best_test.py test_another_metric_says_which_is_best"],
        "With `train.patience=N`": ["tests/cli/best_test.py test_patience_waits_for_the_metric"],
        "A run keeps its newest": ["tests/train/checkpoint/integrity_test.cpp Prune", "tests/cli/best_test.py test_the_test_row_is_that_of_the_model"],
        "If the best checkpoint is missing": ["tests/cli/best_test.py test_a_best_checkpoint_that_is_gone"],
        "In this case, `resume RUN": ["tests/cli/best_test.py test_a_best_checkpoint_that_is_gone", "tests/cli/best_test.py test_a_finished_run_that_makes_another_choice"],
        "With `--last`, all of them": ["tests/cli/best_test.py test_every_command_takes_the_model"],
        "The last row of `metrics.jsonl` names": ["tests/cli/best_test.py test_the_test_row_is_that_of_the_model"],
        "If a run averages its weights": ["tests/cli/best_test.py test_the_test_row_is_that_of_the_model"],
        "`train` says when the last validation is worse": ["tests/cli/best_test.py test_the_test_row_is_that_of_the_model"],
        "`resume`, `inspect` and `diff` always": ["tests/cli/best_test.py test_a_run_resumes_from_the_last"],
        "The hash of a run": ["tests/cli/best_test.py test_a_run_resumes_from_the_last"],
        "Several models of one task": [],
        "`eval`, `predict` and `generate` take": ["tests/cli/ensemble_test.py test_classes", "tests/cli/ensemble_test.py test_texts"],
        "The probabilities of an ensemble": ["tests/cli/ensemble_test.py test_classes", "tests/cli/ensemble_test.py test_labels_that_are_yes_or_no"],
        "Its loss is the cross-entropy": ["tests/cli/ensemble_test.py test_classes"],
        "If the targets are numbers, the output": ["tests/cli/ensemble_test.py test_numbers"],
        "If the models generate sequences": ["tests/train/model/ensemble_test.cpp MembersDecodeTogether", "tests/python/ensemble_test.py test_members_decode_together"],
        "`--logits` prints": ["tests/cli/ensemble_test.py test_classes"],
        "If you name the same run twice": ["tests/cli/ensemble_test.py test_the_same_run_twice_gives_its_answers"],
        "The runs may differ": ["tests/python/ensemble_test.py one with a second layer"],
        "They must have the same vocabulary": ["tests/cli/ensemble_test.py test_runs_that_differ", "tests/cli/ensemble_test.py test_vocabularies_that_differ"],
        "Otherwise the command names the run": ["tests/cli/ensemble_test.py test_runs_that_differ", "tests/cli/ensemble_test.py test_vocabularies_that_differ"],
        "All runs must scale numeric inputs": ["tests/cli/ensemble_test.py test_inputs_that_are_scaled_by_other_numbers", "train/model/ensemble.cpp mean and deviation of the targets"],
        "Runs in float and bf16": ["tests/train/model/ensemble_test.cpp RunsMustHaveOneScalarType"],
        "A run in double can": ["tests/train/model/ensemble_test.cpp RunsMustHaveOneScalarType"],
        "`eval` uses the data": ["tests/cli/ensemble_test.py test_the_split_is_that_of_the_first_run"],
        "An override applies": ["tests/cli/ensemble_test.py test_the_split_is_that_of_the_first_run"],
        "With `--json`, `eval` lists": ["tests/cli/ensemble_test.py test_classes"],
        "The seed `train.seed` does not": ["tests/data/synthetic/synthetic_test.cpp SplitsAreDisjointForAnySeeds", "tests/data/tables/row_task_test.cpp OneFileIsSplitByItsInputs"],
        "So no run has trained": ["tests/data/synthetic/synthetic_test.cpp SplitsAreDisjointForAnySeeds", "tests/data/tables/row_task_test.cpp OneFileIsSplitByItsInputs"],
        "Commands that need the weights": ["tests/train/model/ensemble_test.cpp HasNoActivations", "tests/python/ensemble_test.py test_what_an_ensemble_has_not"],
        "CONFIG is a TOML file": ["tests/cli/use_test.py test_eval"],
        "RUN is a run directory": ["tests/cli/use_test.py test_things_that_are_no_runs"],
        "`report`, `compare` and `gradcheck` need": ["tests/train/run/directory_test.cpp OpensOnlyRuns"],
        "`RUN...` is one RUN": ["tests/cli/report_test.py report", "tests/cli/ensemble_test.py test_classes"],
        "KEY=VALUE overrides": ["tests/cli/resume_test.py test_another_config_is_refused_by_name"],
        "`config --schema` makes a JSON Schema": ["tests/cli/schema_test.py Draft7Validator"],
        "The config must begin": ["tests/cli/schema_test.py Draft7Validator"],
        "With this schema, an editor": ["tests/cli/schema_test.py test_what_xgrad_refuses_is_not_valid"],
        "The editor needs a TOML plug-in": [],
        "A run can change some settings": ["tests/torch/cases.py curriculum_start", "tests/torch/cases.py dropout_start",
                                        "tests/torch/cases.py swa_start"],
        "`xgrad config train` explains": ["tests/cli/use_test.py test_catalogue"],
        "`train` makes the directory": ["tests/cli/train_test.py test_the_next_run_gets_a_directory_of_its_own"],
        "With `log.tensorboard=true`": ["tests/clients/tensorboard_test.py EventAccumulator"],
        "`--overfit-batch` trains": ["tests/cli/aids_test.py test_a_batch_is_memorised",
                                     "tests/cli/aids_test.py test_a_model_that_cannot_learn_it"],
        "Exit code 1 means": ["tests/cli/aids_test.py test_a_model_that_cannot_learn_it"],
        "[looking-inside.md]": ["tests/cli/study_test.py test_tells_of_every_head"],
        "`gradcheck` compares": ["tests/cli/use_test.py test_gradcheck"],
        "In each tensor it checks up": ["tests/torch/certificate_test.py min(32"],
        "It also checks a directional": ["tests/train/inspect/gradcheck_test.cpp ProbesEveryTensorAtEntriesAndAlongADirection"],
        "The differences are computed": ["tests/train/inspect/gradcheck_test.cpp LargeModelsInDouble"],
        
        "`inspect` and the report show": ["tests/cli/certificate_test.py test_a_run_keeps_its_certificate"],
        "For a config, `--certificate FILE`": ["tests/cli/certificate_test.py certificate"],
        "If you name a run instead": ["tests/cli/certificate_test.py test_a_run_keeps_its_certificate"],
        "`verify RUN` checks that all": ["tests/cli/certificate_test.py test_damage_in_a_run"],
        "If the run has a certificate": ["tests/cli/certificate_test.py test_certificates_that_do_not_hold"],
        "It also recomputes a few": ["tests/cli/certificate_test.py test_certificates_that_do_not_hold"],
        "With `--ranks N`, the killed": ["tests/mpi/verify_resume_test.py test_the_bits_are_those_of_one_process"],
        "`verify-resume` kills": ["tests/cli/proofs_test.py test_verify_resume_kills_and_resumes",
                                  "tests/cli/proofs_test.py test_verify_resume_finds_a_difference"],
        "[reliability.md]": ["tests/house/docs_test.py test_every_named_file_exists"],
        "[export.md]": ["tests/torch/export_test.py docs/export.md"],
        "A causal model": ["tests/cli/language_model_test.py test_writes"],
        "[data-reference.md]": ["tests/cli/files_test.py data-reference.md"],
        "[serving.md]": ["tests/readme/serving_test.py serving", "tests/cli/export_test.py test_safetensors"],
        "Metrics depend on": ["tests/cli/vectors_test.py rmse", "tests/train/metrics/metrics_test.cpp perplexity"],
        "Every metric over": ["tests/cli/vectors_test.py _se"],
        "Exact match is": ["tests/train/metrics/metrics_test.cpp xact"],
        "For up to 20 classes": ["tests/cli/vectors_test.py confusion", "train/run/rank_jobs.cpp kMostClasses = 20"],
        "The section `[expect]`": ["tests/readme/claims_test.py test_every_claim_is_named"],
        "`train` shows which claims": ["tests/cli/train_test.py test_expectations_are_the_last_lines"],
        "For `within_steps`": ["tests/train/run/expect_test.cpp TheFirstValidationThatReachesTheClaims"],
        "A config with `within_steps` needs": ["tests/train/config/errors_test.cpp expect.within_steps: needs a claim"],
        "A resumed run also": ["tests/cli/train_test.py test_the_first_validation_that_reaches_a_claim"],
        "A run that continues an older": ["tests/cli/train_test.py test_a_branch_counts_its_own_validations"],
        "`seconds` includes": ["tests/cli/check_test.py test_seconds_are_judged_here_alone"],
        "`below_ceiling`, `at_token_ceiling`": ["tests/train/run/expect_test.cpp below_ceiling"],
        "`tasks TASK` says what": ["tests/cli/use_test.py (?m)^theory: "],
        "The theory starts": ["tests/data/tasks/table_test.cpp SayWhatTheoryKnows"],
        "Then comes the best": ["tests/cli/use_test.py best possible: accuracy 1"],
        "`--baselines` measures": ["tests/cli/use_test.py from each token alone"],
        "If the targets are numbers, the command": ["cli/catalogue.cpp mean squared error on the test split"],
        "It is 1 if the input": ["tests/data/synthetic/synthetic_test.cpp DeterminedMeansOneAnswerForEachInput"],
        "If the answer is partly random": ["tests/data/synthetic/synthetic_test.cpp DeterminedMeansOneAnswerForEachInput"],
        "For real data, the command": ["tests/data/synthetic/synthetic_test.cpp DeterminedMeansOneAnswerForEachInput",
                                 "tests/data/tasks/table_test.cpp unknown, because "],
        "`xgrad verify` with several": ["tests/cli/use_test.py test_verify_tells_files_that_cannot_be_read_from_bad_ones"],
    },
}

# The tests of each exit code in docs/commands.md.
EXIT_CODES = {
    "0": ["tests/cli/check_test.py test_seeds"],
    "1": ["tests/cli/check_test.py exit_code=1", "tests/cli/proofs_test.py test_diff"],
    "2": ["tests/cli/use_test.py exit_code=2"],
    "3": ["tests/cli/use_test.py exit_code=3"],
    "4": ["tests/cli/use_test.py exit_code=4"],
    "5": ["tests/cli/proofs_test.py exit_code=5"],
    "6": ["tests/cli/use_test.py exit_code=6"],
    "7": ["tests/cli/resume_test.py exit_code=7"],
    "8": ["tests/cli/train_test.py exit_code=8"],
    "128 + n": ["tests/cli/resume_test.py 128 + how", "tests/cli/averaging_test.py exit_code=142"],
    "141": ["tests/cli/use_test.py 128 + signal.SIGPIPE"],
}


def sentences(page):
    """Those outside of code, tables and headings."""
    text = re.sub(r"(?ms)^```.*?^```$", "\n", (ROOT / page).read_text())
    text = re.sub(r"(?m)^(\||#|!\[|<).*$", "", text)
    for paragraph in re.split(r"\n\s*\n|\n(?=- )", text):
        words = " ".join(paragraph.split())
        yield from (part for part in re.split(r"(?<=[.!?])\s+(?=[A-Z`\[])", words) if part)


class Claims(unittest.TestCase):
    def test_every_sentence_has_its_test(self):
        for page, claims in CLAIMS.items():
            found = list(sentences(page))
            self.assertGreater(len(found), 15)
            for sentence in found:
                rows = [start for start in claims if sentence.startswith(start)]
                self.assertEqual(len(rows), 1, f"{page}: no row, or several, for: {sentence}")
            for start in claims:
                self.assertEqual(sum(sentence.startswith(start) for sentence in found), 1, f"{page} no longer says: {start}")

    def test_the_tests_are_there(self):
        for claims in (*CLAIMS.values(), EXIT_CODES):
            for start, tests in claims.items():
                for test in tests:
                    path, _, name = test.partition(" ")
                    self.assertTrue((ROOT / path).exists(), f"{start}: {path}")
                    self.assertIn(name, (ROOT / path).read_text(), start)

    def test_every_claim_is_named(self):
        expect = re.search(r"struct ExpectConfig {(.*?)};", (ROOT / "train/config/config.hpp").read_text(), re.DOTALL).group(1)
        self.assertEqual(set(re.findall(r"> (\w+);", expect)), set(self.first_words("claim")))

    def test_every_exit_code_is_tested(self):
        self.assertEqual(self.first_words("code"), list(EXIT_CODES))

    def first_words(self, head):
        return [row[0].strip("`") for row in rows("docs/commands.md", head)]

    def test_every_page_is_linked(self):
        for page in (ROOT / "docs").glob("*.md"):
            self.assertIn(f"(docs/{page.name})", README)

    def test_folders(self):
        """docs/design.md lists the folders of the sources, and each one exists."""
        named = [name for folder, *_ in rows("docs/design.md", "folder") for name in re.findall(r"`(\w+)/`", folder)]
        self.assertGreater(len(named), 8)
        for name in named:
            self.assertTrue((ROOT / name).is_dir(), name)


if __name__ == "__main__":
    unittest.main()
