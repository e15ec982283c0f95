"""The program for onnxruntime in docs/export.md, run as it stands there beside an export."""

import venv

venv.need("numpy", "onnxruntime")

import os  # noqa: E402
import pathlib  # noqa: E402

from command import CommandTest, unittest  # noqa: E402

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "export.md"


class Guide(CommandTest):
    def test_the_program_of_the_page(self):
        self.xgrad("train", "small.toml", "task.length=16", "task.symbols=10", "train.steps=5", "run.dir=run", "-q")
        self.xgrad("export", "run", "--to", "onnx", "--out", "reverse.onnx")
        blocks = (text.split("```")[0] for text in PAGE.read_text().split("```python\n")[1:])
        block, = (text for text in blocks if '"reverse.onnx"' in text)
        os.chdir(self.folder)
        names = {}
        exec(compile(block, str(PAGE), "exec"), names)
        logits = names["logits"]
        self.assertEqual(logits.shape, (2, 5, 10))
        lines = self.xgrad("predict", "run", "--logits", stdin="3 1 4 1 5\n9 2 6\n").stdout.splitlines()
        for row, line in zip(logits, lines, strict=True):
            wanted = [float(x) for x in line.split()]
            for found, expected in zip(row.flatten(), wanted):
                self.assertAlmostEqual(float(found), expected, delta=1e-5)


if __name__ == "__main__":
    unittest.main()
