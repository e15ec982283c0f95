"""Commands that look into an encoder_decoder: maps and heads of its decoder, and the outputs that it reads."""

import json
import re

import h5py
import numpy
from command import CommandTest, unittest

MODULES = ["encoder.layers.0.self_attn", "decoder.layers.0.self_attn", "decoder.layers.0.multihead_attn"]
FORCED = "the decoder reads the targets (teacher forcing)"


class Decoder(CommandTest):
    def setUp(self):
        super().setUp()
        self.xgrad("train", "small.toml", "model.kind=encoder_decoder", "task.min_length=3", "optim.lr=1e-2", "run.dir=run", "-q")

    def maps(self, out):
        """[(module, head, columns, [name of a row])] of drawn maps"""
        found = []
        for block in re.split(r"\n(?=[a-z]+\.layers)", out)[1:]:
            title, header, *rows = block.rstrip("\n").split("\n")
            module, head = re.fullmatch(r"(\S+), head (\d)", title).groups()
            found.append((module, int(head), header[8:].split(), [row.split()[0] for row in rows]))
        return found

    def test_studies_every_head(self):
        out = self.xgrad("attention", "run", "--examples", 40, "--out", "maps.h5", "--maps", 5).stdout
        self.assertRegex(out, rf"\A40 examples: loss [\d.]+, accuracy [\d.]+; {re.escape(FORCED)}\n")
        self.assertEqual(re.findall(r"(?m)^\w+\.layers\S+$", out), MODULES)
        heads = re.findall(r"(?m)^ +(\d) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) ([+-][\d.]+) ", out)
        self.assertEqual([row[0] for row in heads], ["0", "1"] * 3)
        self.assertEqual({row[3] for row in heads[4:]}, {"0.000"}, "the asymmetry of maps of two sequences")
        with h5py.File(self.folder / "maps.h5") as file:
            inputs, outputs = (file[name][()].decode().splitlines() for name in ("inputs", "outputs"))
            maps = [file[module]["maps"][()] for module in MODULES]
            without = file[MODULES[2]]["loss_without"][()]
        self.assertEqual(outputs, [" ".join([*reversed(line.split()), "end"]) for line in inputs])
        n, m = (max(len(line.split()) for line in lines) for lines in (inputs, outputs))
        self.assertEqual([p.shape for p in maps], [(5, 2, n, n), (5, 2, m, m), (5, 2, m, n)])
        for example, (read, written) in enumerate(zip(inputs, outputs)):
            rows, columns = len(written.split()), len(read.split())
            cross = maps[2][example]
            numpy.testing.assert_allclose(cross[:, :rows].sum(2), 1, atol=1e-6)
            self.assertEqual(cross[:, :, columns:].max(initial=0), 0, "padding of the input")
            numpy.testing.assert_allclose(numpy.triu(maps[1][example], 1), 0)

        # The same heads by their numbers, in the order in which their attention runs.
        said = self.xgrad("attention", "run", "--examples", 40, "--silence", "2.1").stdout
        self.assertTrue(said.startswith(f"40 examples; {FORCED}\n"), said)
        self.assertAlmostEqual(float(re.search(r"(?m)^loss +[\d.]+ +([\d.]+)", said)[1]), without[1], delta=6e-5)
        self.assertIn("3 attention layers", self.xgrad("attention", "run", "--silence", "3.0", exit_code=2).stderr)

    def test_draws_the_outputs_that_it_decodes_or_is_given(self):
        line = "1 2 3 4"
        decoded = self.xgrad("predict", "run", stdin=line + "\n").stdout.split()
        for words, outputs, said in (((), decoded, "decoded greedily"),
                                     (("--outputs", "7 7"), ["7", "7", "end"], "of --outputs (teacher forcing)"),
                                     (("--outputs", ""), ["end"], "of --outputs (teacher forcing)")):
            out = self.xgrad("attention", "run", "--text", line, *words).stdout
            shown = re.match(rf"outputs {re.escape(said)}: (.*)\n\n", out)[1].split()
            self.assertEqual(shown[:len(outputs)], outputs)
            self.assertIn(shown[len(outputs):], ([], ["end"]))
            maps = self.maps(out)
            self.assertEqual([(module, head) for module, head, _, _ in maps], [(module, head) for module in MODULES for head in (0, 1)])
            for module, _, columns, rows in maps:
                read = ["[b", *(name[:2] for name in shown[:-1])] if module == MODULES[1] else line.split()
                self.assertEqual(columns, read)
                self.assertEqual(rows, line.split() if module == MODULES[0] else shown)

    def test_works_on_files_whose_targets_it_does_not_know(self):
        for name in ("train", "test"):
            rows = [{"text": " ".join("ab"[(i + n) % 2] for n in range(1 + i % 4))} for i in range(60)]
            self.write(f"{name}.jsonl", "".join(json.dumps(row | {"label": row["text"].upper()}) + "\n" for row in rows))
        self.write("own.toml", '[task]\nname = "files"\ntrain = "train.jsonl"\nvalidation = "test.jsonl"\ntest = "test.jsonl"\nlabels = "tokens"\n'
                   '[model]\nkind = "encoder_decoder"\nwidth = 8\nheads = 2\nlayers = 1\n[train]\nsteps = 5\n')
        self.xgrad("train", "own.toml", "run.dir=own", "-q")
        out = self.xgrad("attention", "own", "--text", "a b a").stdout
        self.assertTrue(out.startswith("outputs decoded greedily: "), out)
        self.assertEqual({module for module, _, _, _ in self.maps(out)}, set(MODULES))
        out = self.xgrad("attention", "own", "--text", "a b a", "--outputs", "A B A").stdout
        self.assertEqual(self.maps(out)[4][2:], (["a", "b", "a"], ["A", "B", "A", "end"]))
        said = self.xgrad("attention", "own", "--text", "a b", "--outputs", "A c", exit_code=3).stderr
        self.assertIn('outputs: token 2 is "c", must be one of:', said)
        said = self.xgrad("attention", "own", "--text", "a b", "--outputs", "A " * 9, exit_code=3).stderr
        self.assertIn("outputs: the line has 9 tokens, must have at most 4", said)

    def test_the_report_shows_the_decoder(self):
        page = self.report("run")
        self.assertEqual(re.findall('aria-label="attention map of (.*?)"', page), [f"{module}, head {head}" for module in MODULES for head in (0, 1)])
        self.assertIn(FORCED, page)

    def test_the_penalty_counts_the_heads_of_the_decoder(self):
        self.xgrad("train", "small.toml", "model.kind=encoder_decoder", "task.min_length=3", "optim.lr=1e-2", "train.head_diversity=1", "run.dir=apart", "-q")
        cosines = {run: [float(row) for row in re.findall(r"(?m)^ +0 .* 1\.00 ([\d.]+)$", self.xgrad("attention", run).stdout)]
                   for run in ("run", "apart")}
        self.assertEqual(len(cosines["apart"]), 3)
        for plain, apart in zip(cosines["run"], cosines["apart"]):
            self.assertLess(apart, plain)

    def test_outputs_without_a_decoder_are_refused(self):
        self.xgrad("train", "small.toml", "run.dir=plain", "-q")
        said = self.xgrad("attention", "plain", "--text", "1 2", "--outputs", "2 1", exit_code=2).stderr
        self.assertIn('outputs: need a model that reads its outputs, with model.kind = "encoder_decoder"', said)
        self.assertIn("--text", self.xgrad("attention", "run", "--outputs", "2 1", exit_code=2).stderr)


if __name__ == "__main__":
    unittest.main()
