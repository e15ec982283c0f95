"""What `xgrad train` leaves and shows."""

import json
import re
import resource

from command import SANITIZED, CommandTest, signal, unittest


class Train(CommandTest):
    def test_a_run_directory(self):
        self.xgrad("train", "small.toml")
        run = self.folder / "runs" / "small"
        names = {path.name for path in run.iterdir()}
        self.assertLessEqual({"config.toml", "checkpoints", "metrics.jsonl", "timing.jsonl", "log.txt"}, names)
        self.assertEqual(self.checkpoints("runs/small")[-1].name, "step-0000000060.h5")
        self.assertEqual([p for p in run.rglob("*") if p.name.endswith(".tmp")], [])

    def test_the_next_run_gets_a_directory_of_its_own(self):
        for name in ("small", "small-2", "small-3"):
            self.xgrad("train", "small.toml", "train.steps=2", "train.evaluate_every=1")
            self.assertTrue((self.folder / "runs" / name).is_dir())

    def test_a_name_with_control_characters_names_no_directory(self):
        self.write("a\x1bb.toml", (self.folder / "small.toml").read_text())
        for words, made in ((["train", "a\x1bb.toml"], "a"), (["sweep", "a\x1bb.toml", "--over", "optim.lr=[1]"], "sweep-a")):
            said = self.xgrad(*words, exit_code=2).stderr
            self.assertEqual(said, f'xgrad: "a\\u001Bb.toml": the directory named after it is "runs/{made}\\u001Bb", '
                                   "must have no control characters; give the file another name\n")  # fmt: skip
        self.xgrad("train", "a\x1bb.toml", "run.dir=run", "train.steps=14", "-q")
        (self.folder / "run").rename(self.folder / "a\x1bb")
        said = self.xgrad("resume", self.checkpoints("a\x1bb")[0], exit_code=2).stderr
        self.assertIn("the directory named after it", said)
        self.assertFalse((self.folder / "runs").exists())

    def test_a_name_that_begins_like_an_option_or_a_home(self):
        for stem in ("~x", "-x"):
            self.write(f"{stem}.toml", (self.folder / "small.toml").read_text())
            self.xgrad("train", f"./{stem}.toml", "train.steps=2", "-q")
            self.xgrad("resume", f"runs/{stem}")

    def test_equal_runs_leave_equal_files(self):
        self.xgrad("train", "small.toml", "run.dir=a", "train.threads=1")
        self.xgrad("train", "small.toml", "run.dir=b", "train.threads=3", "log.every=10")
        self.assertEqual(self.final("a"), self.final("b"))

    def test_evaluating_more_often_does_not_change_training(self):
        """No number of the weights, the optimizer or their mean differs, nor where the data are; of another seed they do."""
        for run, key in (("a", "train.evaluate_every=25"), ("b", "train.evaluate_every=1"), ("c", "train.seed=2")):
            self.xgrad("train", "small.toml", "train.ema=0.9", f"run.dir={run}", key)
        b, c = ([line.partition(":")[0] for line in self.xgrad("diff", "a", run, exit_code=1).stdout.splitlines()[2:]]
                for run in ("b", "c"))  # fmt: skip
        self.assertIn("config train.evaluate_every", b)
        self.assertLessEqual(set(b), {"config train.evaluate_every", "state best_loss", "state best_step"})
        for tensor in ("parameter head.weight", "optimizer exp_avg.head.weight", "optimizer ema.head.weight"):
            self.assertIn(tensor, c)

    def test_the_best_is_kept_whatever_the_interval(self):
        """It is not among the newest, and at no multiple of train.save_every; the rate grows until nothing is left of what was learned."""
        self.xgrad("train", "small.toml", "run.dir=a", "optim.lr=3", "schedule.warmup=60", "train.evaluate_every=9", "train.save_every=7",
                   "train.keep=2")  # fmt: skip
        losses = {row["step"]: row["loss"] for row in self.rows("a") if row["split"] == "validation"}
        best = min(losses, key=losses.get)
        self.assertLess(best, 56)
        self.assertNotEqual(best % 7, 0)
        self.assertEqual([path.name for path in self.checkpoints("a")], [f"step-{step:010}.h5" for step in (best, 56, 60)])

    def test_accumulation_equals_the_large_batch(self):
        self.xgrad("train", "small.toml", "run.dir=a", "train.precision=double", "train.steps=15", "train.evaluate_every=15")
        self.xgrad("train", "small.toml", "run.dir=b", "train.precision=double", "train.steps=15", "train.evaluate_every=15",
                   "train.batch=12", "train.accumulate=4")  # fmt: skip
        test = [row for run in ("a", "b") for row in self.rows(run) if row["split"] == "test"]
        self.assertAlmostEqual(test[0]["loss"], test[1]["loss"], delta=1e-10)

    def test_the_resolved_config_trains_the_same(self):
        self.xgrad("train", "small.toml", "optim.lr=2e-3", "run.dir=a")
        self.xgrad("train", "a/config.toml", "run.dir=b")
        self.assertEqual(self.final("a"), self.final("b"))

    def test_metrics(self):
        self.xgrad("train", "small.toml", "run.dir=a")
        rows = self.rows("a")
        self.assertEqual([row["step"] for row in rows if row["split"] == "train"], [10, 20, 30, 40, 50, 60])
        self.assertEqual([row["step"] for row in rows if row["split"] == "validation"], [25, 50, 60])
        self.assertEqual([row["step"] for row in rows if row["split"] == "test"], [60])
        self.assertLessEqual({"loss", "loss_se", "accuracy", "accuracy_se", "lr", "grad_norm"}, rows[0].keys())

    def test_expectations_are_the_last_lines(self):
        claims = "accuracy = 1.0\nwithin_steps = 60\nseconds = 0.000001\n"
        self.write("claim.toml", (self.folder / "small.toml").read_text() + "\n[expect]\n" + claims)
        lines = self.xgrad("train", "claim.toml").stdout.splitlines()
        self.assertRegex(lines[-2], r"^expect +accuracy >= 1: 0\.\d+ ± 0\.\d+ +FAILED$")
        self.assertRegex(lines[-1], r"^expect +reached within 60 steps: in no validation +FAILED$")
        self.xgrad("check", "claim.toml", exit_code=1)
        self.xgrad("check", "small.toml")

    def test_the_first_validation_that_reaches_a_claim(self):
        """It counts in a resumed run too, and none reaches it again: the rate grows until nothing is left of what was learned."""
        self.write("claim.toml", (self.folder / "small.toml").read_text() + "\n[expect]\nloss = 2.25\nwithin_steps = 30\n")
        whole = self.xgrad("train", "claim.toml", "run.dir=a", "optim.lr=3", "schedule.warmup=60", "train.evaluate_every=9").stdout
        for path in self.checkpoints("a"):
            if path.name > "step-0000000040.h5":
                path.unlink()
        resumed = self.xgrad("resume", "a").stdout
        first, *others = [row["step"] for row in self.rows("a") if row["split"] == "validation" and row["loss"] <= 2.25]
        self.assertEqual(others, [])
        for said in (whole, resumed):
            self.assertEqual(said.splitlines()[-1], f"expect  reached within 30 steps: first at step {first}  ok")

    def test_a_branch_counts_its_own_validations(self):
        self.write("claim.toml", (self.folder / "small.toml").read_text() + "\n[expect]\naccuracy = 0.01\nwithin_steps = 60\n")
        self.xgrad("train", "claim.toml", "run.dir=a")
        last = self.xgrad("resume", self.checkpoints("a")[4]).stdout.splitlines()[-1]
        self.assertEqual(self.checkpoints("a")[4].name, "step-0000000028.h5")
        self.assertEqual(last, "expect  reached within 60 steps: first at step 50  ok")

    def test_no_terminal_no_control_characters(self):
        done = self.xgrad("train", "small.toml")
        for text in (done.stdout, done.stderr):
            self.assertEqual([c for c in text if ord(c) < 32 and c != "\n"], [])

    def test_quiet_and_json(self):
        done = self.xgrad("train", "small.toml", "--quiet", "--json")
        self.assertEqual(done.stderr, "")
        self.assertEqual(json.loads(done.stdout)["split"], "test")

    def test_a_loss_that_is_not_finite(self):
        done = self.xgrad("train", "small.toml", "optim.lr=1e38", "optim.name=sgd", "train.clip=0", "schedule.name=constant",
                          "run.dir=a", exit_code=5)  # fmt: skip
        self.assertRegex(done.stderr, r"step \d+: the (loss|gradient norm) is")

    def test_a_parameter_that_no_gradient_reaches(self):
        """Without a layer, the class token sees no other token."""
        self.write("blind.toml", "task = {name = 'majority', length = 16, validation = 50, test = 50}\nmodel.layers = 0\ntrain.steps = 4\n")
        said = self.xgrad("train", "blind.toml", "run.dir=a", exit_code=5).stderr.splitlines()
        self.assertEqual(said[-4:], [
            "xgrad: step 1: no gradient reaches embedding.token.weight; nothing was updated",
            "  embedding.token.weight: op 3 concat in embedding has a gradient, but passes on only zeros",
            "  freeze such parameters in optim.groups, or set train.dead_gradients_every = 0",
            "  kept as a/fault-0000000001.h5; `xgrad replay` runs it op by op"])  # fmt: skip
        replayed = self.xgrad("replay", "a/fault-0000000001.h5").stdout
        self.assertRegex(replayed, r"\n +3  concat +embedding +gradient of input 1 +\(64, 16, 64\) +0 ")
        self.xgrad("resume", "a", "train.dead_gradients_every=0")
        self.assertEqual(self.rows("a")[-2]["step"], 4)

    def test_a_directory_that_holds_something(self):
        self.xgrad("train", "small.toml", "run.dir=a")
        before = self.final("a")
        self.assertIn("a already holds a run", self.xgrad("train", "small.toml", "run.dir=a", exit_code=6).stderr)
        self.assertEqual(self.final("a"), before)

    def test_a_full_disk(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))

        done = self.xgrad("train", "small.toml", "run.dir=a", exit_code=6, preexec_fn=limit)
        self.assertIn("a/checkpoints", done.stderr)
        self.assertEqual(self.checkpoints("a"), [])

    if not SANITIZED:  # AddressSanitizer takes more addresses than the limit
        def test_too_little_memory(self):
            def limit():
                resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

            words = ("train", "small.toml", "model.width=4096", "train.threads=1", "run.dir=a")
            said = self.xgrad(*words, exit_code=8, preexec_fn=limit).stderr
            self.assertEqual(int(re.fullmatch(r"xgrad: out of memory: cannot allocate (\d+) bytes for a tensor\n", said)[1]) % (4096 * 4), 0)
            self.assertFalse((self.folder / "a").exists())

        def test_a_model_without_room_is_refused_before_its_weights_are_drawn(self):
            def limit():
                resource.setrlimit(resource.RLIMIT_AS, (1 << 32, 1 << 32))

            words = ("train", "small.toml", "model.width=4096", "model.layers=1024", "train.threads=1", "run.dir=a")
            said = self.xgrad(*words, exit_code=8, preexec_fn=limit).stderr
            every_layer = 4096 * (3 * 4096 + 2 * 16384) * 4  # projections and MLP, in float
            self.assertEqual(said, f"xgrad: out of memory: cannot allocate {1024 * every_layer} bytes for the weights of the model\n")

    def test_a_save_on_request(self):
        process = self.start("train", "small.toml", "train.steps=100000", "train.save_every=100000", "run.dir=a")
        rows = self.folder / "a/metrics.jsonl"
        while not rows.exists() or not rows.read_bytes():
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGUSR1)
        self.wait_for_checkpoint(process, "a")
        self.assertIsNone(process.poll())

    def test_a_reader_that_goes_away(self):
        process = self.start("train", "small.toml", "train.steps=200", "run.dir=a")
        process.stderr.close()
        process.stdout.close()
        process.wait()  # the results have no reader, but the run is whole
        self.assertEqual(self.checkpoints("a")[-1].name, "step-0000000200.h5")
        self.assertEqual(self.rows("a")[-1]["split"], "test")


if __name__ == "__main__":
    unittest.main()
