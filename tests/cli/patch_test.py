"""xgrad patch, against the same forward pass in NumPy."""

import math
import re
import xml.etree.ElementTree

import numpy

from command import CommandTest, unittest

FROM, TO = [1, 2, 3, 4], [1, 5, 3, 4]
ERF = numpy.vectorize(math.erf)


def norm(w, name, x):
    z = (x - x.mean(-1, keepdims=True)) / numpy.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return z * w[f"{name}.weight"] + w[f"{name}.bias"]


def forward(w, ids, put):
    """The activations and the logits (N, classes) of small.toml's model; `put` replaces some activations by name."""
    seen = {}

    def site(name, value):
        seen[name] = put.get(name, value)
        return seen[name]

    at = "encoder.layers.0."
    x = site("residual_before", w["embedding.token.weight"][ids] + w["embedding.position.weight"][: len(ids)])
    z = norm(w, f"{at}norm1", x)
    parts = numpy.split(w[f"{at}self_attn.in_proj_weight"], 3)
    q, k, v = (site(name, z @ part.T) for name, part in zip(("queries", "keys", "values"), parts))
    heads = []
    for h in (slice(0, 8), slice(8, 16)):
        e = numpy.exp(q[:, h] @ k[:, h].T / math.sqrt(8))
        heads.append(e / e.sum(-1, keepdims=True) @ v[:, h])
    joined = site("head_outputs", numpy.concatenate(heads, -1))
    x = site("residual_middle", x + joined @ w[f"{at}self_attn.out_proj.weight"].T + w[f"{at}self_attn.out_proj.bias"])
    hidden = norm(w, f"{at}norm2", x) @ w[f"{at}linear1.weight"].T + w[f"{at}linear1.bias"]
    hidden = site("mlp_hidden", hidden * (1 + ERF(hidden / math.sqrt(2))) / 2)
    x = site("residual_after", x + hidden @ w[f"{at}linear2.weight"].T + w[f"{at}linear2.bias"])
    return seen, norm(w, "encoder.norm", x) @ w["head.weight"].T + w["head.bias"]


class Patch(CommandTest):
    def setUp(self):
        super().setUp()
        self.xgrad("train", "small.toml", "run.dir=run", "-q")

    def patch(self, *words, start=FROM, to=TO, exit_code=0):
        return self.xgrad("patch", "run", "--from", " ".join(map(str, start)), "--to", " ".join(map(str, to)), *words,
                          exit_code=exit_code)

    def test_every_cell_is_that_of_numpy(self):
        self.xgrad("export", "run", "--to", "npz", "--out", "w.npz")
        w = {name: values.astype(float) for name, values in numpy.load(self.folder / "w.npz").items()}
        seen, before = forward(w, FROM, {})
        other, after = forward(w, TO, {})
        output = max(n for n in range(4) if before[n].argmax() != after[n].argmax())
        a, b = before[output].argmax(), after[output].argmax()
        out = self.patch("--site", "encoder.layers.0.*", "--out", "patch.svg").stdout
        self.assertTrue(out.startswith(f"output {output}: {a} for --from, {b} for --to\nlogit of {b} - logit of {a}: "
                                       f"{before[output, b] - before[output, a]:.4f} for --from, "), out)
        rows = dict(re.findall(r"(?m)^encoder\.layers\.0\.(?:self_attn\.)?(\w+) +(.*)$", out))
        self.assertEqual(set(rows), {*seen, "scores", "weights"})
        lost = (before[output, b] - before[output, a]) - (after[output, b] - after[output, a])
        for name, row in rows.items():
            cells = [float(cell) for cell in row.split()]
            self.assertEqual(len(cells), 4)
            for position, cell in enumerate(cells if name in seen else []):
                value = seen[name].copy()
                value[position] = other[name][position]
                _, logits = forward(w, FROM, {name: value})
                back = (before[output, b] - before[output, a]) - (logits[output, b] - logits[output, a])
                self.assertAlmostEqual(cell, back / lost, delta=0.0052, msg=f"{name} {position}")
        self.assertIn("2>5", out)

        svg = xml.etree.ElementTree.parse(self.folder / "patch.svg").getroot()
        drawn = {}
        for cell, number in zip(svg.findall(".//{*}rect[{*}title]"), svg.findall(".//{*}text[@text-anchor='middle']")[4:]):
            drawn.setdefault(cell.find("{*}title").text.split(",")[0].split(".")[-1], []).append(number.text)
        self.assertEqual(drawn, {name: row.split() for name, row in rows.items()})

    def test_shows_the_residual_stream_unless_told_otherwise(self):
        rows = re.findall(r"(?m)^encoder\.layers\.0\.(\w+)", self.patch().stdout)
        self.assertEqual(rows, ["residual_before", "residual_middle", "residual_after"])
        self.xgrad("train", "small.toml", "model.layers=2", "run.dir=two", "-q")
        out = self.xgrad("patch", "two", "--from", "1 2 3 4", "--to", "5 6 7 0").stdout
        self.assertEqual(re.findall(r"(?m)^encoder\.layers\.(\d\.\w+)", out),
                         ["0.residual_before", "0.residual_middle", "0.residual_after", "1.residual_middle", "1.residual_after"])

    def test_compares_numbers(self):
        self.write("numbers.csv", "text,label\n" + "".join(f"{'abc'[i % 3]} {'abc'[i // 3 % 3]},{i % 3 + i // 3 % 3}\n" for i in range(90)))
        self.write("numbers.toml", '[task]\nname = "files"\ntrain = "numbers.csv"\nvalidation = "numbers.csv"\ntest = "numbers.csv"\n'
                   'labels = "numbers"\n[model]\nwidth = 8\nheads = 1\nlayers = 1\npool = "mean"\n'
                   "[train]\nsteps = 9\n")
        self.xgrad("train", "numbers.toml", "run.dir=numbers", "-q")
        out = self.xgrad("patch", "numbers", "--from", "a b", "--to", "a c").stdout
        logits = [float(line) for line in self.xgrad("predict", "numbers", "--logits", stdin="a b\na c\n").stdout.split()]
        self.assertIn("number 0: {:.4f} for --from, {:.4f} for --to\n".format(*logits), out)
        self.assertRegex(out, r"(?m)^encoder.layers.0.residual_before +0.00 +1.00$")

    def test_what_cannot_be_patched_is_refused(self):
        for words, arguments, code, named in (((), {"to": [1, 2, 3]}, 3, "got 4 and 3 tokens"),
                                              ((), {"to": FROM}, 3, "answers to both inputs are the same"),
                                              ((), {"to": [1, 9, 3, 4]}, 3, "9"),
                                              (("--site", "residual"), {}, 2, '"residual"'),
                                              (("--out", "small.toml"), {}, 6, "exists")):
            self.assertIn(named, self.patch(*words, **arguments, exit_code=code).stderr)
        self.xgrad("train", "small.toml", "task.name=distinct", "model.kind=encoder_decoder", "run.dir=writes", "-q")
        said = self.xgrad("patch", "writes", "--from", "1 2", "--to", "2 3", exit_code=2).stderr
        self.assertIn("generates sequences cannot be patched", said)


if __name__ == "__main__":
    unittest.main()
