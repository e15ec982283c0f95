"""Commands that look into a model or a run."""

import re
import subprocess

from command import CommandTest, unittest


class Summary(CommandTest):
    def test_counts_what_the_config_says(self):
        out = self.xgrad("summary", "small.toml", "model.layers=2", "train.batch=5").stdout
        n = re.search(r"one forward pass over \(5, (\d)\) token ids", out).group(1)
        for layer in range(2):
            self.assertIn(f"\nencoder.layers.{layer}.self_attn (5, 2, {n}, 8) (5, 2, 8, {n}) (5, 2, {n}, {n}) (5, 2, {n}, 8) "
                          f"(5, {n}, 16)\n", re.sub(" +", " ", out))
        self.assertEqual(len(re.findall(r"(?m)^ +self_attn ", out)), 2)
        self.assertEqual(re.findall(r"(?m)^encoder.layers.1.self_attn.scores +(.*)$", out), [f"(5, 2, {n}, {n})"])
        self.assertEqual(re.findall(r"(?m)^encoder.layers.0.mlp_hidden +(.*)$", out), [f"(5, {n}, 64)"])
        # 8 symbols and 6 places of 16 features, two blocks of 12 * 16^2 and 13 * 16 - 3 * 16, norm, head
        block = 12 * 16 ** 2 + 10 * 16
        self.assertIn(f"parameters  {(8 + 6) * 16 + 2 * block + 2 * 16 + 8 * 17:,}\n", out)

    def test_leaves_nothing_behind(self):
        self.xgrad("summary", "small.toml")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["small.toml"])


class Attention(CommandTest):
    def setUp(self):
        super().setUp()
        self.xgrad("train", "small.toml", "run.dir=run", "-q")

    def test_tells_of_every_head(self):
        out = self.xgrad("attention", "run", "--examples", 40, "--out", "maps.h5", "--maps", 5).stdout
        loss = float(re.match(r"40 examples: loss ([\d.]+)", out).group(1))
        heads = re.findall(r"(?m)^ +(\d) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) ([+-][\d.]+) ", out)
        self.assertEqual([row[0] for row in heads], ["0", "1"])
        for _, entropy, distance, asymmetry, without, change in heads:
            self.assertTrue(0 < float(entropy) < 1.8 and 0 < float(distance) < 6 and 0 < float(asymmetry) < 1)
            self.assertAlmostEqual(float(without) - loss, float(change), delta=0.002)
        listed = subprocess.run(["h5dump", "-H", self.folder / "maps.h5"], capture_output=True, text=True).stdout
        self.assertIn("( 5, 2, 6, 6 )", listed)
        self.assertIn("exists", self.xgrad("attention", "run", "--out", "maps.h5", exit_code=6).stderr)

    def test_the_penalty_drives_heads_apart(self):
        self.xgrad("train", "small.toml", "train.head_diversity=1", "run.dir=apart", "-q")
        cosine = {run: float(re.search(r"(?m)^ +0 .* 1\.00 ([\d.]+)$", self.xgrad("attention", run).stdout).group(1))
                  for run in ("run", "apart")}
        self.assertLess(cosine["apart"], 0.7 * cosine["run"])
        penalties = [row["head_diversity"] for row in self.rows("apart") if row["split"] == "train"]
        self.assertEqual(len(penalties), 6)
        self.assertLess(penalties[-1], 0.7 * penalties[0])
        for row in self.rows("run") + [row for row in self.rows("apart") if row["split"] != "train"]:
            self.assertNotIn("head_diversity", row)

    def test_draws_one_input(self):
        out = self.xgrad("attention", "run", "--text", "1 2 3").stdout
        self.assertEqual(len(re.findall("encoder.layers.0.self_attn, head", out)), 2)
        self.assertEqual(len(re.findall("(?m)^3 ", out)), 2)
        self.assertIn("9", self.xgrad("attention", "run", "--text", "1 9", exit_code=3).stderr)
        self.assertIn("no tokens", self.xgrad("attention", "run", "--text", "", exit_code=3).stderr)

    def test_names_the_nodes_of_a_graph(self):
        self.write("graph.csv", "text,edges,label\n" + "".join(f"a b c{i % 3},0-1 1-2,{i % 2}\n" for i in range(60)))
        self.write("graph.toml", '[task]\nname = "files"\ntrain = "graph.csv"\nvalidation = "graph.csv"\ntest = "graph.csv"\n'
                   'edges = "edges"\n[model]\nwidth = 8\nheads = 1\nlayers = 1\nmask = "adjacency"\n[train]\nsteps = 2\n')
        for pool, first in (("cls", ["[class]"]), ("mean", [])):
            self.xgrad("train", "graph.toml", f"model.pool={pool}", f"run.dir={pool}", "-q")
            for edges in ("", "0-1", "0-1 1-2"):
                out = self.xgrad("attention", pool, "--text", f"a b c1\t{edges}").stdout
                self.assertEqual(re.findall(r"(?m)^(\S+) ", out)[1:], [*first, "a", "b", "c1"])

    def test_silences_several_heads_together(self):
        out = self.xgrad("attention", "run", "--silence", "0.1", "--examples", 40).stdout
        self.assertTrue(out.startswith("40 examples\n"), out)
        table = {row[0]: [float(cell) for cell in row[1:]]
                 for row in re.findall(r"(?m)^(\w+) +([\d.]+) +([\d.]+) +([+-][\d.]+)$", out)}
        study = self.xgrad("attention", "run", "--examples", 40).stdout
        self.assertEqual(table["loss"][0], float(re.match(r"40 examples: loss ([\d.]+)", study).group(1)))
        alone = float(re.findall(r"(?m)^ +1(?: +[\d.]+){3} +([\d.]+) ", study)[0])
        self.assertAlmostEqual(table["loss"][1], alone, delta=0.0006)
        for name in ("accuracy", "exact_match", "perplexity"):
            self.assertAlmostEqual(table[name][1] - table[name][0], table[name][2], delta=0.0002)
        for heads, named in (("0.0,0.2", "head 0.2"), ("1.0", "head 1.0"), ("0.0,1", '"1"'), ("0.0x", '"0.0x"'), ("", "LAYER.HEAD")):
            self.assertIn(named, self.xgrad("attention", "run", "--silence", heads, exit_code=2).stderr)

    def test_what_would_be_left_undone_is_refused(self):
        for words in (["--text", "1 2", "--out", "maps.h5"], ["--text", "1 2", "--examples", 5], ["--maps", 5],
                      ["--text", "1 2", "--silence", "0.1"]):
            self.assertIn(words[-2], self.xgrad("attention", "run", *words, exit_code=2).stderr)


if __name__ == "__main__":
    unittest.main()
