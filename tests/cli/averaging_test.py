"""A mean of the weights, patience and a limit of time, as a user meets them."""

import re

from command import CommandTest, unittest


class Averaging(CommandTest):
    def test_export_gives_the_mean_and_raw_the_last_weights(self):
        self.check_exports("train.ema=0.9")

    def test_export_gives_the_equal_mean_too(self):
        self.check_exports("train.swa_start=30", "train.swa_every=3")

    def check_exports(self, *keys):
        self.xgrad("train", "small.toml", *keys, "run.dir=mean")
        self.xgrad("train", "small.toml", "run.dir=plain")
        for run, words in (("mean", ()), ("mean", ("--raw",)), ("plain", ())):
            self.xgrad("export", run, "--to", "hdf5", "--out", f"{run}{''.join(words)}.h5", *words)
        tensors = {name: self.xgrad("inspect", name).stdout.split("tensor")[-1] for name in ("mean.h5", "mean--raw.h5", "plain.h5")}
        self.assertEqual(tensors["mean--raw.h5"], tensors["plain.h5"])
        self.assertNotEqual(tensors["mean.h5"], tensors["plain.h5"])
        loss = {run: self.xgrad("eval", run, "--split", "validation", "--json").stdout for run in ("mean", "mean.h5", "mean--raw.h5")}
        self.assertEqual(loss["mean"], loss["mean.h5"])
        self.assertNotEqual(loss["mean"], loss["mean--raw.h5"])
        logged = [row["loss"] for row in self.rows("mean") if row["split"] == "validation"]
        self.assertIn(f'"loss":{logged[-1]!r},', loss["mean"])

    def pictures(self, run):
        """The PNG files in a run's event file, in their order."""
        [path] = (self.folder / run).glob("events.out.tfevents.*")
        return re.findall(rb"\x89PNG\r\n\x1a\n.*?IEND....", path.read_bytes(), re.DOTALL)

    def test_pictures_are_of_the_weights_that_are_scored(self):
        words = ("small.toml", "log.tensorboard=true")
        self.xgrad("train", *words, "train.ema=0.9", "optim.lr=1e-2", "run.dir=run")
        for name, raw in (("mean", ()), ("last", ("--raw",))):
            self.xgrad("export", "run", "--to", "hdf5", "--out", f"{name}.h5", *raw)
            # A step this small changes no weight.
            still = (f"model.init_from={name}.h5", "train.steps=1", "optim.lr=1e-300")
            self.xgrad("train", *words, *still, f"run.dir={name}")
        drawn = self.pictures("run")[-1]
        self.assertEqual(drawn, self.pictures("mean")[-1])
        self.assertNotEqual(drawn, self.pictures("last")[-1])

    def test_patience_ends_the_run_as_its_last_step_does(self):
        words = ("optim.lr=1", "train.evaluate_every=5", "train.patience=2", "run.dir=run", "train.steps=400")
        done = self.xgrad("train", "small.toml", *words)
        self.assertIn("no better validation loss in 2 evaluations: stopped at step", done.stderr)
        self.assertEqual(self.rows("run")[-1]["split"], "test")
        before = self.final("run")
        self.xgrad("resume", "run")
        self.assertEqual(self.final("run"), before)

    def test_a_limit_of_time_saves_and_stops_like_a_signal(self):
        words = ("small.toml", "train.steps=400", "train.save_every=11")
        self.xgrad("train", *words, "run.dir=whole")
        done = self.xgrad("train", *words, "run.dir=short", "train.max_seconds=0.05", exit_code=142)
        self.assertIn("stopped and saved at step", done.stderr)
        self.xgrad("resume", "short", "train.max_seconds=0")
        self.assertEqual(self.final("short"), self.final("whole"))


if __name__ == "__main__":
    unittest.main()
