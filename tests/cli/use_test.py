"""Commands on a trained model, and wrong input."""

import json
import os
import re

from command import XGRAD, CommandTest, signal, subprocess, unittest


class Use(CommandTest):
    def setUp(self):
        super().setUp()
        self.xgrad("train", "small.toml", "run.dir=run")

    def test_eval(self):
        test = [row for row in self.rows("run") if row["split"] == "test"][0]
        found = json.loads(self.xgrad("eval", "run", "--json").stdout)  # with more of each class
        self.assertEqual({key: found[key] for key in test}, test)
        self.assertIn("validation", self.xgrad("eval", self.checkpoints("run")[0], "--split", "validation").stdout)

    def test_predict(self):
        lines = self.xgrad("predict", "run", stdin="1 2 3\n4 5 6 7\n").stdout.splitlines()
        self.assertEqual([len(line.split()) for line in lines], [3, 4])
        logits = self.xgrad("predict", "run", "--logits", stdin="1 2 3\n").stdout.split()
        self.assertEqual(len(logits), 3 * 8)

    def test_predict_names_the_bad_line(self):
        for bad, said in (("1 2 9", "9"), ("1 x 3", "x"), ("1 2 3 4 5 6 7", "7")):
            done = self.xgrad("predict", "run", stdin=f"1 2 3\n{bad}\n", exit_code=3)
            self.assertIn("line 2", done.stderr)
            self.assertIn(said, done.stderr)

    def test_inspect(self):
        out = self.xgrad("inspect", "run").stdout
        self.assertIn("encoder.layers.0.self_attn.in_proj_weight", out)
        self.assertIn("step 60", out)
        self.assertRegex(out, r"(?m)^step 25 +0?\.?\d")
        self.assertIn('name = "reverse"', self.xgrad("inspect", "run", "--config").stdout)

    def test_inspect_fourier(self):
        rows = [line.split() for line in self.xgrad("inspect", "run", "--fourier", "embedding.token.weight", "--rows", 7).stdout.splitlines()]
        self.assertEqual(rows[0], ["frequency", "share", "sum"])
        self.assertEqual(sorted(int(row[0]) for row in rows[1:]), [1, 2, 3])
        shares = [float(row[1]) for row in rows[1:]]
        self.assertEqual(shares, sorted(shares, reverse=True))
        self.assertEqual(rows[-1][2], "1.0000")
        said = self.xgrad("inspect", "run", "--fourier", "embedding.tokn.weight", exit_code=2).stderr
        self.assertEqual(said, "xgrad: no parameter embedding.tokn.weight; did you mean embedding.token.weight?\n")
        said = self.xgrad("inspect", "run", "--fourier", "embedding.token.weight", "--rows", 70, exit_code=2).stderr
        self.assertRegex(said, r"^xgrad: embedding\.token\.weight is \(\d+, 16\), not a matrix of at least 70 rows\n$")
        self.assertIn("--fourier", self.xgrad("inspect", "run", "--rows", 7, exit_code=2).stderr)

    def test_any_flipped_byte_is_refused(self):
        good = self.checkpoints("run")[-1].read_bytes()
        for at in range(0, len(good), len(good) // 40):
            bad = bytearray(good)
            bad[at] ^= 0x10
            self.write("bad.h5", bytes(bad))
            for command in ("eval", "inspect", "verify"):
                done = self.xgrad(command, "bad.h5", exit_code=4)
                self.assertIn("bad.h5", done.stdout + done.stderr)

    def test_things_that_are_no_runs(self):
        self.assertIn("nowhere", self.xgrad("eval", "nowhere", exit_code=6).stderr)
        (self.folder / "empty").mkdir()
        self.assertIn("config.toml", self.xgrad("resume", "empty", exit_code=6).stderr)
        self.assertIn("small.toml", self.xgrad("inspect", "small.toml", exit_code=4).stderr)

    def test_verify_tells_files_that_cannot_be_read_from_bad_ones(self):
        good = self.checkpoints("run")[-1]
        os.mkfifo(self.folder / "fifo")
        (self.folder / "folder").mkdir()
        unreadable = {"nowhere": "cannot open", "fifo": "not a regular file", "folder": "not a run directory"}
        if os.geteuid() != 0:  # whom no permission stops
            self.write("locked.h5", good.read_bytes()).chmod(0)
            unreadable["locked.h5"] = "cannot open"
        for name, why in unreadable.items():
            self.assertRegex(self.xgrad("verify", name, exit_code=6).stdout, f"^{name}:? .*{why}")
        # Each is told of; the first bad one decides.
        self.assertEqual(self.xgrad("verify", good, "nowhere", "small.toml", exit_code=6).stdout.count("\n"), 3)
        self.assertIn(f"{good}: ok\n", self.xgrad("verify", "small.toml", "nowhere", good, exit_code=4).stdout)

    def test_results_that_cannot_be_written(self):
        with open("/dev/full", "w") as full:
            for words in (["inspect", "run"], ["--help"], ["train", "--help"], ["--version"]):
                done = subprocess.run([XGRAD, *words], cwd=self.folder, stdout=full, stderr=subprocess.PIPE, text=True)
                self.assertEqual(done.returncode, 6, done.stderr)
                self.assertIn("No space left", done.stderr)

    def test_nobody_reads_the_results(self):
        """As after `| head -1`: ends as quietly as what the signal ends."""
        reader, pipe = os.pipe()
        os.close(reader)
        self.addCleanup(os.close, pipe)
        before = self.final("run")
        for words in (["inspect", "run"], ["summary", "small.toml"], ["tasks"], ["config"], ["--help"], ["check", "--help"], ["man"],
                      ["predict", "run"], ["eval", "run"], ["check", "small.toml", "-q"]):
            done = subprocess.run([XGRAD, *words], cwd=self.folder, stdout=pipe, stderr=subprocess.PIPE, text=True, input="1 2 3\n")
            self.assertEqual((done.returncode, done.stderr), (128 + signal.SIGPIPE, ""), words)
        self.assertEqual(self.final("run"), before)
        self.assertIn("ok", self.xgrad("verify", "runs/small").stdout)
        done = subprocess.run([XGRAD, "inspect", "nowhere"], cwd=self.folder, stdout=pipe, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 6)  # another error is still told
        self.assertIn("nowhere", done.stderr)

    def test_weights_without_a_config(self):
        self.xgrad("export", "run", "--to", "safetensors", "--out", "w.safetensors")
        for command in ("predict", "eval"):
            done = self.xgrad(command, "w.safetensors", exit_code=4)
            self.assertIn("`xgrad import` makes one from a config and the weights of another program", done.stderr)

    def test_gradcheck(self):
        out = self.xgrad("gradcheck", "small.toml").stdout
        for name in ("embedding.token.weight", "encoder.layers.0.self_attn.in_proj_weight", "head.bias"):
            self.assertIn(name, out)

    def test_catalogue(self):
        self.assertIn("reverse", self.xgrad("tasks").stdout)
        self.assertRegex(self.xgrad("tasks", "reverse").stdout, r"(?m)^  symbols +10 +from 1 to 16777216 +Number of")
        self.assertRegex(self.xgrad("tasks", "files").stdout, r'(?m)^  longer +"error" +error, cut +Rows of more than')
        copy = self.xgrad("tasks", "copy").stdout
        self.assertNotIn("from each token alone", copy)
        self.assertRegex(self.xgrad("tasks", "copy", "--baselines").stdout, r"from each token alone +1\.000\n")
        self.assertIn("--baselines requires task", self.xgrad("tasks", "--baselines", exit_code=2).stderr)
        self.assertRegex(copy, r"(?m)^best possible: accuracy 1, since the input determines the answer$")
        parity = self.xgrad("tasks", "parity").stdout
        self.assertRegex(parity, r"(?m)^theory: not learnable: .*Chiang and Cholak 2022")
        self.assertRegex(parity, r"(?m)^source: Hahn 2020, arXiv:1906\.06755")
        hmm = self.xgrad("tasks", "hmm").stdout
        self.assertRegex(hmm, r"(?m)^  best possible +0\.\d+, loss 0\.\d+$")
        self.assertNotIn("determines", hmm)
        self.assertRegex(self.xgrad("tasks", "files").stdout, r"(?m)^best possible: unknown, because nobody knows")
        examples = re.findall(r"^  (.*) -> (.*)$", copy, re.MULTILINE)
        self.assertEqual(len(examples), 3)
        for given, wanted in examples:
            self.assertEqual(len(given.split()), 16)
            self.assertEqual(given, wanted)
        self.assertIn("reverse", self.xgrad("tasks", "revers", exit_code=2).stderr)
        self.assertIn("weight_decay", self.xgrad("config", "optim").stdout)
        info = self.xgrad("info", env=os.environ | {"XGRAD_CPU": "baseline"}).stdout
        self.assertRegex(info, r"(?m)^processor +baseline$")
        compiled, = re.findall(r"(?m)^compiled +(baseline|avx2|avx512)$", info)
        self.assertIn(compiled, self.xgrad("info").stdout)
        self.assertRegex(self.xgrad("--version").stdout, r"^\d+\.\d+\.\d+$")

    def test_a_class_of_processors_that_is_none_is_refused(self):
        for words in (("info",), ("train", "small.toml", "run.dir=new")):
            refused = self.xgrad(*words, env=os.environ | {"XGRAD_CPU": "sse9"}, exit_code=2)
            self.assertEqual(refused.stdout, "")
            self.assertRegex(refused.stderr, r"^xgrad: XGRAD_CPU is 'sse9'; it must be one of baseline(, avx2(, avx512(, avx512_bf16(, amx)?)?)?)?\n$")
        self.assertFalse((self.folder / "new").exists())

    def test_words_that_are_no_commands(self):
        self.assertIn("trian", self.xgrad("trian", "small.toml", exit_code=2).stderr)
        self.assertIn("--colour", self.xgrad("train", "small.toml", "--colour", exit_code=2).stderr)
        self.xgrad(exit_code=2)
        self.assertIn("resume", self.xgrad("--help").stdout)

    def test_a_bad_config_leaves_nothing_behind(self):
        cases = {
            "unknown.toml": ('[optim]\nlearning_rate = 1e-3\n', "unknown.toml:2:1"),
            "heads.toml": ('[task]\nname = "copy"\n[model]\nheads = 5\n[train]\nsteps = 1\n', "heads.toml:4:"),
            "empty.toml": ("", "empty.toml"),
            "junk.toml": (bytes(range(256)), "junk.toml"),
        }
        before = sorted(path.name for path in self.folder.iterdir())
        for name, (text, place) in cases.items():
            path = self.write(name, text)
            self.assertIn(place, self.xgrad("train", name, exit_code=2).stderr)
            path.unlink()
        self.assertIn("absent.toml", self.xgrad("train", "absent.toml", exit_code=2).stderr)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), before)


if __name__ == "__main__":
    unittest.main()
