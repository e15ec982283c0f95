"""What `xgrad construct` writes is a checkpoint that other commands take."""

import json

from command import CommandTest, unittest


class Construct(CommandTest):
    def test_the_list(self):
        names = [line.split()[0] for line in self.xgrad("construct").stdout.splitlines()]
        self.assertEqual(names, ["copy", "first", "histogram", "parity", "reverse"])
        self.assertIn("there are copy, first", self.xgrad("construct", "sort", exit_code=2).stderr)

    def test_eval_predict_and_attention_take_it(self):
        for name, size in (("parity", "task.length=100"), ("reverse", "task.length=6"), ("histogram", "task.length=7")):
            self.assertRegex(self.xgrad("construct", name, size).stdout, rf"^{name}\.h5: [\d,]+ numbers in \d+ tensors\n$")
            found = json.loads(self.xgrad("eval", f"{name}.h5", "--json").stdout)
            self.assertEqual(found["accuracy"], 1, name)
        self.assertEqual(self.xgrad("predict", "parity.h5", stdin="1 0 1 1\n1 0 1 0\n").stdout, "yes\nno\n")
        self.assertIn("0.0", self.xgrad("attention", "reverse.h5").stdout)
        self.xgrad("construct", "parity", exit_code=6)  # never overwrites a file

    def test_noise_is_added(self):
        self.xgrad("construct", "reverse", "task.length=6", "--noise", "2", "--out", "noisy.h5")
        self.assertLess(json.loads(self.xgrad("eval", "noisy.h5", "--json").stdout)["accuracy"], 0.9)
        self.assertIn("--noise", self.xgrad("construct", "reverse", "--noise", "-1", exit_code=2).stderr)

    def test_training_starts_from_it(self):
        self.xgrad("construct", "reverse", "task.length=6", "--out", "known.h5")
        self.write("near.toml", "[task]\nname = 'reverse'\nlength = 6\n[model]\nwidth = 26\nheads = 1\nlayers = 1\nfeedforward = 1\n"
                   "dropout = 0.0\nattention_dropout = 0.0\nnorm = 'none'\nfinal_norm = false\nactivation = 'relu'\nscale = 1\n"
                   "init_from = 'known.h5'\n[train]\nsteps = 1\ndead_gradients_every = 0\n[expect]\naccuracy = 0.99\n")  # fmt: skip
        for source in ("known.h5", "constructed:reverse"):
            self.assertRegex(self.xgrad("train", "near.toml", f"model.init_from={source}").stdout, r"(?m)^expect .* ok$")
        self.assertNotRegex(self.xgrad("train", "near.toml", "model.init_from=''").stdout, r"(?m)^expect .* ok$")


if __name__ == "__main__":
    unittest.main()
