"""The commands of docs/looking-inside.md about lengths draw what the page says: attention fails beyond the lengths of training, and
log n repairs it."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET

ROOT = pathlib.Path(__file__).resolve().parents[2]
XGRAD = pathlib.Path(sys.argv.pop())


class Lengths(unittest.TestCase):
    def test_the_commands_run_as_they_stand(self):
        [block] = re.findall(r"(?ms)^```sh\n(xgrad train configs/first_unscaled.*?)^```$", (ROOT / "docs/looking-inside.md").read_text())
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "configs").mkdir()
            for name in ("first_unscaled", "first_log_scale"):
                shutil.copy(ROOT / "configs" / f"{name}.toml", folder / "configs")
            environment = {**os.environ, "PATH": f"{XGRAD.parent}:{os.environ['PATH']}"}

            def run(command):
                return subprocess.run(["sh", "-e", "-c", command], cwd=folder, env=environment, text=True, capture_output=True, check=True).stdout

            run(block)
            ET.fromstring((folder / "first-lengths.svg").read_text())
            unscaled, scaled = ([row["accuracy"] for row in json.loads(line)["lengths"]]
                                for line in run(block.splitlines()[-1].split(" --out")[0] + " --json").splitlines())
        self.assertGreater(min(unscaled[:2]), 0.98, "the lengths of training")
        self.assertLess(max(unscaled[-3:]), 0.2, "from 128 digits on")
        self.assertGreater(min(scaled), 0.98)


if __name__ == "__main__":
    unittest.main()
