"""The plane of token embeddings in report.html, against numpy.linalg.svd."""

import re

import numpy

from command import CommandTest, unittest


class Embeddings(CommandTest):
    def section(self, run):
        return self.report(run).split("<h2>Embeddings</h2>")[1].split("<h2>")[0]

    def drawn(self, section):
        """token -> (colour, coordinates, place on the page)"""
        return {name: (int(colour), numpy.array([float(x), float(y)]), numpy.array([float(cx), float(cy)]))
                for colour, name, x, y, cx, cy in re.findall(
                    r'<g class="c(\d)"><title>(.*?): (\S+), (\S+)</title><circle cx="(\S+)" cy="(\S+)"', section)}

    def test_the_plane_is_that_of_the_singular_vectors(self):
        self.xgrad("train", "small.toml", "train.steps=500", "run.dir=run", "-q")
        self.xgrad("export", "run", "--to", "npz", "--out", "w.npz")
        weights = numpy.load(self.folder / "w.npz")["embedding.token.weight"].astype(float)
        centred = weights - weights.mean(0)
        _, values, vectors = numpy.linalg.svd(centred)
        section = self.section("run")
        drawn = self.drawn(section)
        self.assertEqual(list(drawn), [str(token) for token in range(8)])
        for axis in range(2):
            v = vectors[axis] * numpy.sign(vectors[axis][abs(vectors[axis]).argmax()])
            for token, (_, at, _) in drawn.items():
                self.assertAlmostEqual(at[axis], centred[int(token)] @ v, delta=1e-4)
        shares = [float(share) for share in re.findall(r"([\d.]+) %", section)]
        numpy.testing.assert_allclose(shares, 100 * values[:2] ** 2 / (values ** 2).sum(), atol=0.051)

        at, place = (numpy.array([entry[i] for entry in drawn.values()]) for i in (1, 2))
        scale = (place[:, 0].max() - place[:, 0].min()) / (at[:, 0].max() - at[:, 0].min())
        numpy.testing.assert_allclose(place - place[0], (at - at[0]) * [scale, -scale], atol=0.15)
        self.assertTrue((place > 0).all() and (place < [800, 500]).all())

    def test_colours_are_classes(self):
        """Each word has the class of most of the rows that hold it; a word of its own is in every row."""
        rows = [("and " + word, label) for word, label in (("cat", "animal"), ("dog", "animal"), ("oak", "tree"), ("elm", "tree"))] * 8
        rows += [("cat oak", "animal"), ("and <b>", "tree")]
        self.write("words.csv", "text,label\n" + "".join(f"{text},{label}\n" for text, label in rows))
        self.write("words.toml", '[task]\nname = "files"\ntrain = "words.csv"\nvalidation = "words.csv"\ntest = "words.csv"\n'
                   "[model]\nwidth = 8\nheads = 1\nlayers = 1\n[train]\nsteps = 9\n")
        self.xgrad("train", "words.toml", "run.dir=run", "-q")
        section = self.section("run")
        names = re.findall(r"</i>&nbsp;(\w+)</span>", section)
        self.assertEqual(sorted(names), ["animal", "tree"])
        colours = {word: names[colour] for word, (colour, _, _) in self.drawn(section).items() if colour < 2}
        self.assertEqual({word: colours[word] for word in ("cat", "dog", "oak", "elm", "&lt;b&gt;")},
                         {"cat": "animal", "dog": "animal", "oak": "tree", "elm": "tree", "&lt;b&gt;": "tree"})

    def test_what_has_no_embeddings_has_no_section(self):
        self.write("vectors.csv", "a,b,label\n" + "".join(f"{i % 7},{i % 3},{i % 2}\n" for i in range(60)))
        self.write("vectors.toml", '[task]\nname = "files"\ntrain = "vectors.csv"\nvalidation = "vectors.csv"\ntest = "vectors.csv"\n'
                   'tokens = "numbers"\ninput = "a,b"\n[model]\nwidth = 8\nheads = 1\nlayers = 1\n[train]\nsteps = 9\n')
        self.xgrad("train", "vectors.toml", "run.dir=run", "-q")
        self.assertNotIn("<h2>Embeddings", self.report("run"))


if __name__ == "__main__":
    unittest.main()
