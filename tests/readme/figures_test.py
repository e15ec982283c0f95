"""The figures of README.md and docs/ are those of the files that commands wrote: docs/figures, and the tables between marks in
docs/performance.md."""

import datetime
import json
import pathlib
import re
import sys
import tomllib
import unittest

from pages import ROOT, block, rows

sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests/fuzz")]
import fuzz  # noqa: E402
import machines  # noqa: E402
import package  # noqa: E402
import show  # noqa: E402
import workloads  # noqa: E402

README = (ROOT / "README.md").read_text()
# Figures in the sentences of docs/results.md that no file holds, and why.
NO_FILE = {
    "0.346": "learned positions", "0.956": "learned positions", "0.991": "fewer steps and layers", "0.912": "fewer steps or settings",
    "0.685": "PyTorch", "0.683": "PyTorch", "0.705": "PyTorch", "0.509": "counted by scikit-learn", "0.552": "words alone",
    "0.693": "an earlier training", "0.696": "a beam", "0.690": "a smaller model, and seed 2", "0.674": "another model",
    "0.700": "an ensemble of two runs", "0.005": "an ensemble of two runs",
    "0.26": "another mask", "0.911": "a larger model", "0.003": "a larger model",
    "0.363": "8 epochs", "0.354": "8 epochs", "0.355": "8 epochs", "0.349": "8 epochs",
    "0.7086": "follows from the parameters of the task", "0.05": "noise of a config",
    "0.51": "the start, and random weights", "0.50": "the start, and random weights", "0.977": "seed 3", "0.978": "seed 2", "0.983": "the last step",
    "0.6875": "the lowest loss", "0.598": "the lowest loss", "1.695": "the lowest loss", "0.830": "the lowest loss", "0.568": "the lowest loss",
    "0.988": "seed 3", "0.907": "counted in NumPy", "0.8": "a temperature",
    "0.3637": "Tay et al. 2021", "4.3": "Student's t for three values", "1.437": "its loss / ln 2", "1.534": "its rule's loss / ln 2",
}


def is_rounded(shown, value):
    """Whether `shown` is the value, with the digits that it has."""
    digits = len(shown.partition(".")[2])
    return abs(float(shown) - value) <= 0.51 * 10**-digits


def numbers(text):
    return re.findall(r"\d+\.\d+", text)


class Figures(unittest.TestCase):
    def test_the_pages_have_the_results_of_the_files(self):
        """docs/results.md has the rows that `xgrad check --table` wrote."""
        for head, file in (("config", "results"), ("trained three times", "trained-three-times")):
            written = {row[0]: row for row in rows(f"docs/figures/{file}.md", "config")}
            shown = {row[0].strip("`"): row[1:] for row in rows("docs/results.md", head)}
            self.assertEqual(sorted(shown), sorted(written))
            for name, cells in shown.items():
                wanted = written[name][1:] if head == "config" else [written[name][1], written[name][5]]
                self.assertEqual(cells, wanted, name)

    def test_results_in_bfloat16(self):
        """docs/mixed-precision.md names every config whose claims fail, and shows the figures of Fashion-MNIST."""
        page = " ".join((ROOT / "docs/mixed-precision.md").read_text().split())
        found = {row[0]: row for row in rows("docs/figures/results-bf16.md", "config")}
        usual = {row[0]: row for row in rows("docs/figures/results.md", "config")}
        self.assertEqual(sorted(found), sorted(usual))
        self.assertEqual([name for name, row in found.items() if row[-1] != "hold"], ["tomita_counts"])
        self.assertIn("`tomita_counts` claims", page)
        self.assertIn(f"seeds 1, 2 and 3 reach {float(numbers(found['tomita_counts'][1])[0]):.3f}", page)
        for results in (found, usual):
            self.assertIn(results["fashion_mnist"][1], page)

    def test_results(self):
        """README.md rounds them, and claims what the configs claim. A row of several configs has the range of each column."""
        measured = {row[0]: row for row in rows("docs/figures/results.md", "config")}
        column = {"accuracy": 1, "exact match": 2, "mean squared error": 5}
        seen = []
        for configs, _, metric, result, best, rule, parameters, steps in rows("README.md", "config"):
            names = re.findall(r"`(\w+)\.toml`", configs)
            seen += names
            found = [measured[name] for name in names]
            values = [float(row[column[metric]].split()[0]) for row in found]
            for shown, extreme in zip(numbers(result), (min(values), max(values)), strict=len(names) > 1):
                self.assertTrue(is_rounded(shown, extreme), f"{names}: {shown}")
            for shown, at in ((parameters, 10), (steps, 11)):
                counts = [int(row[at].replace(",", "")) for row in found]
                self.assertEqual(shown, " to ".join(f"{count:,}" for count in sorted({min(counts), max(counts)})), names)
            for shown, at in ((best, 6 if metric == "mean squared error" else 3), (rule, 4)):
                for figure in numbers(shown):
                    self.assertTrue(any(is_rounded(figure, float(x)) for x in numbers(found[0][at])), f"{names}: {figure}")
            for name, value in zip(names, values):
                settings = tomllib.loads((ROOT / "configs" / f"{name}.toml").read_text())
                self.assertGreaterEqual(value, settings["expect"].get(metric.replace(" ", "_"), 0), name)
        self.assertGreater(len(seen), 10)

    def test_the_answers(self):
        """docs/faq.md names the largest model and the longest training, and counts the configs that trained in a minute."""
        text = " ".join((ROOT / "docs/faq.md").read_text().split())
        found = {row[0]: (int(row[10].replace(",", "")), float(row[12])) for row in rows("docs/figures/results.md", "config")}
        largest, longest = (max(found, key=lambda name: found[name][at]) for at in (0, 1))
        self.assertIn(f"The largest model in `configs/`, `{largest}`, has {found[largest][0]:,} parameters", text)
        self.assertEqual(round(found[largest][1] / 60), 2)
        self.assertIn(f"The longest training, `{longest}`, took {round(found[longest][1] / 60)} minutes", text)
        short = sum(seconds < 60 for _, seconds in found.values())
        self.assertIn(f"Of the {len(found)} configs, {short} trained in less than a minute", text)

    def test_sentences_of_the_results(self):
        """A figure is that of a config which the paragraph or the list item names."""
        measured = {row[0]: row[1:10] for row in rows("docs/figures/results.md", "config")}
        text = re.sub(r"(?m)^\|.*$|```[^`]*```", "", (ROOT / "docs/results.md").read_text())
        found = 0
        for part in re.split(r"\n\n|\n- ", text):
            cells = [float(x) for name in re.findall(r"`(\w+)`", part) for cell in measured.get(name, ()) for x in numbers(cell)]
            for figure in numbers(part):
                found += 1
                self.assertTrue(figure in NO_FILE or any(is_rounded(figure, x) for x in cells), f"{figure} in: {part}")
        self.assertGreater(found, 15)

    def test_packages(self):
        measured = json.loads(package.FIGURES.read_text())
        self.assertEqual(block("docs/install.md", "bench/package.py"), package.table(measured))
        for what, (most, _) in package.LIMITS.items():
            self.assertLessEqual(measured[what], most, what)

    def test_fuzzing(self):
        figures = json.loads(fuzz.FIGURES.read_text())
        self.assertEqual(list(figures), list(fuzz.TARGETS))
        self.assertEqual(block("docs/reliability.md", "tests/fuzz/fuzz.py"), fuzz.page(figures))

    def test_performance(self):
        """Ratios span those of all machines that docs/performance.md has; times to accuracy are of one thread of the last machine."""
        known = machines.known()
        passes = [show.of(result, "onnxruntime")["ratio"]["median"] for results in known.values() for result in results["inference"]]
        *_, last = known.values()
        one_thread = next(result for result in last["accuracy"] if result["threads"] == 1)
        self.assertIn("`bench/compare.py --only training`", README)
        results = {row[2].strip("`").split()[-1]: row[1] for row in rows("docs/performance.md", "what is measured")}
        self.assertEqual(block("README.md", "bench/compare.py"), machines.by_class(known))
        self.assertEqual(results["inference"], f"{min(passes):.2f} to {max(passes):.2f} times as fast")
        self.assertEqual(re.findall(r"[\d.]+ s", results["accuracy"]), [f"{one_thread[side]['seconds']:.2f} s" for side in ("xgrad", "torch")])
        days = sorted(results["machine"]["date"] for results in known.values() if results["training"])
        first, last = (datetime.date.fromisoformat(day) for day in (days[0], days[-1]))
        self.assertIn(f"from {first.day} to {last.day} {last:%B %Y}", " ".join(README.split()))

    def test_missed_goals(self):
        """docs/kernels.md tells of each step that misses its goal on one thread what it takes and what it would need."""
        text = (ROOT / "docs/kernels.md").read_text()
        told = re.findall(r"(?m)^- `(\w+)`( in bfloat16)? would need ([\d.]+) ms instead of ([\d.]+) on the ([^.]*)\. ", text)
        missed = {}
        for name, results in machines.known().items():
            for kind, goal_of in (("training", workloads.step_goal), ("bf16", workloads.bf16_goal)):
                for result in results[kind]:
                    goal, best = goal_of(results["machine"], result), show.best(result)
                    if result["threads"] == 1 and goal and best["ratio"]["median"] < goal:
                        missed[result["workload"], kind == "bf16", name] = best["ms"] / goal, result["xgrad"]["ms"]
        self.assertEqual(sorted((w, bool(in_bf16), name) for w, in_bf16, *_, name in told), sorted(missed))
        for workload, in_bf16, needed, taken, name in told:
            for said, value in zip((needed, taken), missed[workload, bool(in_bf16), name]):
                self.assertTrue(is_rounded(said, value), f"{workload} on {name}: {said}, {value}")


if __name__ == "__main__":
    unittest.main()
