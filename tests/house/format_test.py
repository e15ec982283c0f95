"""Every C++ file is as clang-format 14 writes it, the one of tests/requirements.txt whatever Debian has."""

import re
import subprocess
import sys
import unittest

import sources

PROGRAM = sources.ROOT / "build/venv/bin/clang-format"


def misformatted(program, names):
    run = subprocess.run([program, "--dry-run", "--Werror", *names], cwd=sources.ROOT, capture_output=True, text=True)
    return sorted(set(re.findall(r"(?m)^([^:\n]+):\d+:\d+: error", run.stderr)))


class Format(unittest.TestCase):
    def test_tree(self):
        files = sources.code(sources.PRODUCT + ("examples", "tests", "bench"))
        self.assertGreater(len(files), 50)
        self.assertEqual(misformatted(PROGRAM, files), [], "run clang-format -i on these")

    def test_finds_a_planted_file(self):
        run = subprocess.run([PROGRAM, "--dry-run", "--Werror", f"--assume-filename={sources.ROOT}/autograd/a.cpp"],
                             input="int  f( ) ;\n", capture_output=True, text=True)
        self.assertNotEqual(run.returncode, 0)


if __name__ == "__main__":
    if not PROGRAM.exists():
        print(f"{PROGRAM} is not there: ./run install test puts it there")
        sys.exit(77)
    unittest.main()
