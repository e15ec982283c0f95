"""`xgrad summary` counts the parameters that PyTorch counts, module by module: summary_test.py XGRAD."""

import itertools
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from model import Model

CONFIG = """
[task]
name = "{task}"
length = {length}
symbols = {symbols}
[model]
width = {width}
heads = {heads}
layers = {layers}
feedforward = {feedforward}
norm = "{norm}"
final_norm = {final_norm}
pool = "mean"
[train]
steps = 2
batch = 2
"""


def summarized(folder, **keys):
    """{path of a module: (output, parameters, FLOPs)} of the table, the root's path being empty."""
    (folder / "config.toml").write_text(CONFIG.format(**keys))
    run = subprocess.run([XGRAD, "summary", "config.toml"], capture_output=True, text=True, cwd=folder)
    assert run.returncode == 0, run.stderr
    table, place = {}, []
    for line in run.stdout.split("\n\n")[1].splitlines()[1:]:
        indent, name, rest = re.fullmatch(r"( *)(\S+)(.*)", line).groups()
        place[len(indent) // 2:] = [name]
        output, parameters, flops = re.match(r" +(\([^)]*\)|) +([\d,]+) +([\d,]+)", rest).groups()
        table[".".join(place[1:])] = output, int(parameters.replace(",", "")), int(flops.replace(",", ""))
    return table


class Summary(unittest.TestCase):
    def test_parameters(self):
        cases = itertools.product(("reverse", "first"), ("pre", "post"), ("true", "false"), (0, 3))
        for task, norm, final_norm, layers in cases:
            keys = dict(task=task, norm=norm, final_norm=final_norm, layers=layers, length=9, symbols=7, width=24, heads=3,
                        feedforward=40)
            with self.subTest(**keys), tempfile.TemporaryDirectory() as folder:
                table = summarized(pathlib.Path(folder), **keys)
                model = Model(width=24, heads=3, layers=layers, feedforward=40, classes=7, norm=norm,
                              final_norm=final_norm == "true", pool="none" if task == "reverse" else "mean", vocabulary=7,
                              length=9)
                expected = {name: sum(p.numel() for p in module.parameters()) for name, module in model.named_modules()}
                for name, (_, parameters, _) in table.items():
                    self.assertEqual(parameters, expected[name], name)
                self.assertEqual(table[""][1], sum(p.numel() for p in model.parameters()))
                self.assertEqual(sum("self_attn" in name and "out" not in name for name in table), layers)


if __name__ == "__main__":
    XGRAD = str(pathlib.Path(sys.argv.pop()).resolve())
    unittest.main()
