"""log.csv: metrics.csv has the rows of metrics.jsonl, as Python's csv module reads them, whatever happened to the run."""

import csv

from command import CommandTest, signal, unittest

CSV = "log.csv=true"


class CsvLog(CommandTest):
    def check(self, run, most=None):
        with open(self.folder / run / "metrics.csv", newline="") as file:
            head, *lines = list(csv.reader(file))
        rows = self.rows(run)
        self.assertEqual(len(lines), len(rows))
        self.assertEqual(head[:4], ["step", "split", "loss", "loss_se"])
        self.assertEqual(len(set(head)), len(head))
        for line, row in zip(lines, rows):
            self.assertEqual(len(line), len(head))
            found = dict(zip(head, line))
            self.assertEqual((int(found.pop("step")), found.pop("split")), (row.pop("step"), row.pop("split")))
            self.assertEqual({name: float(cell) for name, cell in found.items() if cell}, {k: x for k, x in row.items() if x is not None})
        return head

    def test_the_rows_of_a_run(self):
        self.xgrad("train", "small.toml", "run.dir=run", CSV)
        head = self.check("run")
        self.assertEqual(head[-2:], ["lr", "grad_norm"])
        self.xgrad("train", "small.toml", "run.dir=heads", CSV, "train.head_diversity=0.1")
        self.assertEqual(self.check("heads")[-3:], ["lr", "grad_norm", "head_diversity"])
        self.xgrad("train", "small.toml", "run.dir=none")
        self.assertFalse((self.folder / "none/metrics.csv").exists())

    def test_a_row_of_an_evaluation_comes_first(self):
        self.xgrad("train", "small.toml", "run.dir=run", CSV, "log.every=1000", "train.evaluate_every=10")
        self.assertEqual(self.check("run")[-2:], ["lr", "grad_norm"])
        words = ("log.every=20", "train.evaluate_every=10", "train.curriculum_start=3", "train.curriculum_steps=20", "train.head_diversity=0.1")
        self.xgrad("train", "small.toml", "run.dir=growing", CSV, *words)
        self.assertEqual(self.rows("growing")[0]["split"], "validation")
        self.assertEqual(self.check("growing")[-4:], ["lr", "grad_norm", "head_diversity", "max_length"])

    def test_the_first_row_lacks_numbers(self):
        """One example has no standard error, null in metrics.jsonl; it has its column in a file that is made anew, too."""
        self.xgrad("train", "small.toml", "run.dir=run", CSV, "train.batch=1", "train.steps=4", "log.every=1")
        head = self.check("run")
        self.assertIsNone(self.rows("run")[0]["accuracy_se"])
        self.xgrad("resume", "run", "train.steps=6", "--allow-change", "train.steps")
        self.assertEqual(self.check("run"), head)

    def test_killed_and_resumed(self):
        """The file is made anew from metrics.jsonl, even if a row was cut off or the option came later."""
        for run, words, more in (("early", [CSV], []), ("late", [], [CSV])):
            process = self.start("train", "small.toml", f"run.dir={run}", "train.steps=2000", "log.every=1", *words)
            path = self.folder / run / "metrics.jsonl"
            while not path.exists() or path.read_text().count("\n") < 200:
                self.assertIsNone(process.poll())
            process.send_signal(signal.SIGKILL)
            process.communicate()
            if words:
                table = self.folder / run / "metrics.csv"
                table.write_bytes(table.read_bytes()[:-5])
            self.xgrad("resume", run, *more)
            self.check(run)

    def test_a_rollback(self):
        words = ("train.on_spike=rollback", "train.spike=1.13", "train.steps=95", "train.save_every=20", "log.every=1")
        self.xgrad("train", "small.toml", "run.dir=run", CSV, *words)
        self.assertIn("goes back to", (self.folder / "run/log.txt").read_text())
        self.check("run")

    def test_a_file_of_somebody_else(self):
        (self.folder / "run").mkdir()
        self.write("run/metrics.csv", "mine\n")
        self.assertIn("metrics.csv", self.xgrad("train", "small.toml", "run.dir=run", CSV, exit_code=6).stderr)
        self.assertEqual((self.folder / "run/metrics.csv").read_text(), "mine\n")


if __name__ == "__main__":
    unittest.main()
