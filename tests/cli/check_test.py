"""What `xgrad check` judges, shows and leaves."""

import json
import os
import shutil

from command import CommandTest, signal, unittest

BROKEN = '[optim]\nname = "sgd"\nlr = 1e38\n[schedule]\nname = "constant"\n'


class Check(CommandTest):
    def setUp(self):
        super().setUp()
        small = (self.folder / "small.toml").read_text()
        self.write("modest.toml", small + "\n[expect]\naccuracy = 0.01\n")
        self.write("proud.toml", small + "\n[expect]\naccuracy = 1.0\n")
        self.write("broken.toml", small.replace("[log]", "clip = 0\n\n[log]") + BROKEN)

    def test_the_summary_is_last(self):
        lines = self.xgrad("check", "modest.toml", "proud.toml", exit_code=1).stdout.splitlines()
        self.assertRegex(lines[-3], "^config .* claims$")
        self.assertRegex(lines[-2], "^modest .* hold$")
        self.assertRegex(lines[-1], "^proud .* FAILED$")

    def test_a_run_that_ends_early_does_not_end_the_others(self):
        done = self.xgrad("check", "broken.toml", "modest.toml", "--table", "results.md", exit_code=5)
        self.assertRegex(done.stderr, r"step \d+: the (loss|gradient norm) is")
        rows = (self.folder / "results.md").read_text().splitlines()
        self.assertRegex(rows[-2], r"^\| broken \|.*\| step \d+: the (loss|gradient norm) is \S+; nothing was updated \|$")
        self.assertRegex(rows[-1], r"^\| modest \|.*\| hold \|$")

    def test_all_configs_are_read_before_one_is_trained(self):
        self.write("bad.toml", "[task]\nname = 'reverse'\nlenght = 3\n")
        self.assertIn("lenght", self.xgrad("check", "modest.toml", "bad.toml", exit_code=2).stderr)
        self.write("b\x07d.toml", (self.folder / "modest.toml").read_text())
        self.assertIn("control characters", self.xgrad("check", "modest.toml", "b\x07d.toml", exit_code=2).stderr)
        self.assertFalse((self.folder / "runs").exists())

    def test_seeds(self):
        done = self.xgrad("check", "modest.toml", "--seeds", 3, "--table", "results.md")
        self.assertEqual([line for line in done.stdout.splitlines() if ", seed " in line],
                         [f"modest.toml, seed {seed}" for seed in (1, 2, 3)])  # fmt: skip
        tests = [row["accuracy"] for run in ("modest", "modest-2", "modest-3")
                 for row in self.rows(f"runs/{run}") if row["split"] == "test"]  # fmt: skip
        self.assertEqual(len(set(tests)), 3)
        row = (self.folder / "results.md").read_text().splitlines()[-1]
        self.assertIn(f"| modest | {sum(tests) / 3:.4f} ± ", row)

    def test_a_table_as_json_lines(self):
        for table in ("results.jsonl", "results.md", "results.jsonl"):  # the last time over the first
            self.xgrad("check", "modest.toml", "proud.toml", "--table", table, exit_code=1)
        rows = [json.loads(line) for line in (self.folder / "results.jsonl").read_text().splitlines()]
        shown = [line[2:-2].split(" | ") for line in (self.folder / "results.md").read_text().splitlines()]
        at = rows[0].index("seconds")
        self.assertEqual([row[:at] + row[at + 1:] for row in rows], [row[:at] + row[at + 1:] for row in (shown[0], *shown[2:])])

    def test_seconds_are_judged_here_alone(self):
        """No training takes a microsecond, and none takes a billion seconds."""
        for most, exit_code, end in (("1e-06", 1, "FAILED"), ("1000000000", 0, "ok")):
            self.write("quick.toml", (self.folder / "modest.toml").read_text() + f"seconds = {most}\n")
            lines = self.xgrad("check", "quick.toml", exit_code=exit_code).stdout.splitlines()
            verdicts = [line for line in lines if line.startswith("expect")]
            self.assertRegex(verdicts[-1], rf"^expect  trained within {most} seconds: \d+\.\d  {end}$")
            verdicts = [line for line in self.xgrad("train", "quick.toml").stdout.splitlines() if line.startswith("expect")]
            self.assertEqual(len(verdicts), 1)

    def test_several_at_once_say_what_they_say_one_by_one(self):
        self.write("a|b.toml", (self.folder / "modest.toml").read_text())
        configs, said = ("proud.toml", "broken.toml", "a|b.toml", "modest.toml"), []
        for jobs in (1, 3):
            done = self.xgrad("check", *configs, "--jobs", jobs, "--seeds", 2, "--table", f"{jobs}.md", "train.evaluate_every=30", exit_code=5)
            self.assertRegex(done.stderr, r"xgrad: step \d+: the (loss|gradient norm) is")
            shutil.rmtree(self.folder / "runs")
            shown, heads, table = done.stdout.partition("\nconfig ")
            self.assertTrue(heads)
            rows = [line.split(" | ") for line in (self.folder / f"{jobs}.md").read_text().splitlines()]
            self.assertEqual(rows[0][12], "seconds")
            said.append((shown, [row[:12] + row[13:] for row in rows], len(table.splitlines())))
        self.assertEqual(said[0], said[1])
        self.assertEqual([row[0] for row in said[1][1][2:]], ["| proud", "| broken", "| a\\|b", "| modest"])
        self.assertTrue(said[0][0].startswith("proud.toml, seed 1\n"))

    def test_several_at_once_judge_no_seconds(self):
        for name in ("quick.toml", "fast.toml"):
            self.write(name, (self.folder / "modest.toml").read_text() + "seconds = 1e-06\n")
        done = self.xgrad("check", "quick.toml", "fast.toml", "--jobs", 2)
        self.assertNotIn("trained within", done.stdout)
        self.assertRegex(done.stdout.splitlines()[-3], " seconds +claims$")
        self.assertRegex(done.stdout.splitlines()[-1], r"^fast .* \d+\.\d +hold$")

    def test_who_stops_several_stops_them_all(self):
        for name in ("long.toml", "longer.toml"):
            self.write(name, (self.folder / "small.toml").read_text().replace("steps = 60", "steps = 100000"))
        process = self.start("check", "long.toml", "longer.toml", "modest.toml", "--jobs", 2)
        self.wait_for_checkpoint(process, "runs/long")
        self.wait_for_checkpoint(process, "runs/longer")
        process.send_signal(signal.SIGTERM)
        process.communicate()
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertEqual(self.left_running(), [])
        self.assertFalse((self.folder / "runs/modest").exists())

    def test_a_table_that_cannot_be_written(self):
        done = self.xgrad("check", "modest.toml", "--table", "missing/results.md", exit_code=6)
        self.assertIn("missing: cannot open the directory: No such file or directory", done.stderr)
        self.assertFalse((self.folder / "runs").exists())

    def test_what_a_killed_one_left_goes(self):
        left = self.write(".results.md.123.0123456789abcdef.tmp", "whole")
        self.xgrad("check", "modest.toml", "--table", "results.md")
        self.assertFalse(left.exists())

    def test_a_table_replaces_nothing_but_a_table(self):
        small = (self.folder / "small.toml").read_text()
        for text in (small, "", "| config | what a week of training gave |\n"):
            self.write("small.toml", text)
            done = self.xgrad("check", "modest.toml", "--table", "small.toml", exit_code=6)
            self.assertEqual(done.stderr, "xgrad: small.toml: holds something other than a table of results, so it is not replaced\n")
            self.assertEqual((self.folder / "small.toml").read_text(), text)
        self.assertFalse((self.folder / "runs").exists())

    def test_the_table_before_stays_until_there_is_another(self):
        self.xgrad("check", "proud.toml", "--table", "results.md", exit_code=1)
        table = self.folder / "results.md"
        before = table.read_text()
        self.write("long.toml", (self.folder / "small.toml").read_text().replace("steps = 60", "steps = 100000"))
        process = self.start("check", "long.toml", "--table", "results.md")
        self.wait_for_checkpoint(process, "runs/long")
        self.assertEqual(table.read_text(), before)
        process.send_signal(signal.SIGTERM)
        process.wait()
        self.assertEqual(table.read_text(), before)
        with table.open() as old:  # open, so that no new file can take its number
            self.xgrad("check", "modest.toml", "--table", "results.md")
            self.assertNotEqual(table.stat().st_ino, os.fstat(old.fileno()).st_ino, "a reader sees one table or the other, whole")
        self.assertRegex(table.read_text().splitlines()[-1], r"^\| modest \|.*\| hold \|$")

    def test_a_claim_about_a_ceiling_that_is_not_known(self):
        self.write("odd.toml", (self.folder / "small.toml").read_text() + "\n[expect]\nbelow_ceiling = 0.1\n")
        done = self.xgrad("check", "odd.toml", exit_code=2)
        self.assertIn("expect.below_ceiling: xgrad does not compute the best possible result of this task", done.stderr)
        self.assertFalse((self.folder / "runs").exists())


if __name__ == "__main__":
    unittest.main()
