"""The programs for onnxruntime in docs/export.md and docs/your-data.md, run as they stand there beside an export."""

import venv

venv.need("numpy", "onnxruntime")

import os  # noqa: E402
import pathlib  # noqa: E402

from command import CommandTest, unittest  # noqa: E402

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


def block(page, language, holds):
    """The one block of a page that holds a text."""
    blocks = (text.split("```")[0] for text in (DOCS / page).read_text(encoding="utf-8").split(f"```{language}\n")[1:])
    found, = (text for text in blocks if holds in text)
    return found


class Guide(CommandTest):
    def test_the_program_of_the_page(self):
        self.xgrad("train", "small.toml", "task.length=16", "task.symbols=10", "train.steps=5", "run.dir=run", "-q")
        self.xgrad("export", "run", "--to", "onnx", "--out", "reverse.onnx")
        os.chdir(self.folder)
        names = {}
        exec(compile(block("export.md", "python", '"reverse.onnx"'), "export.md", "exec"), names)
        logits = names["logits"]
        self.assertEqual(logits.shape, (2, 5, 10))
        lines = self.xgrad("predict", "run", "--logits", stdin="3 1 4 1 5\n9 2 6\n").stdout.splitlines()
        for row, line in zip(logits, lines, strict=True):
            wanted = [float(x) for x in line.split()]
            for found, expected in zip(row.flatten(), wanted):
                self.assertAlmostEqual(float(found), expected, delta=1e-5)

    def test_text_becomes_the_same_ids_in_python(self):
        words = {"german": ["straße", "haus", "bahn", "über"], "english": ["though", "tough", "full", "wood"]}
        rows = [f"{word}{other}\t{language}\n" for language, own in words.items() for word in own for other in own + ["s", "t"]]
        self.write("languages.tsv", "word\tlanguage\n" + "".join(rows))
        self.write("languages.toml", block("your-data.md", "toml", '"languages.tsv"'))
        self.xgrad("train", "languages.toml", "train.steps=40", "train.batch=8", "-q")
        self.xgrad("export", "runs/languages", "--to", "onnx", "--out", "languages.onnx")
        os.chdir(self.folder)
        names = {}
        exec(compile(block("your-data.md", "python", '"languages.onnx"'), "your-data.md", "exec"), names)
        self.assertEqual(names["rows"][2], [0] * 6)  # not a letter of it is known
        lines = "\n".join(names["texts"]) + "\n"
        self.assertEqual(names["answers"], self.xgrad("predict", "runs/languages", stdin=lines).stdout.split())
        for row, line in zip(names["logits"], self.xgrad("predict", "runs/languages", "--logits", stdin=lines).stdout.splitlines(), strict=True):
            for found, expected in zip(row, line.split(), strict=True):
                self.assertAlmostEqual(float(found), float(expected), delta=1e-5)


if __name__ == "__main__":
    unittest.main()
