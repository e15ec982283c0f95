"""Plants an include in every wrong direction and shows that it does not compile: layering_test.py BUILD_DIRECTORY."""

import json
import pathlib
import shlex
import subprocess
import sys
import unittest

import rules
import sources

BUILD = pathlib.Path(sys.argv.pop())


def compile_commands():
    """The command that compiles one source of each folder, without the source itself and its output."""
    found = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        folder = pathlib.Path(entry["file"]).relative_to(sources.ROOT).parts[0]
        words = shlex.split(entry["command"])
        if folder in sources.PRODUCT:
            end = words.index("-o")
            found.setdefault(folder, words[:end])
    return found


def finds(command, header):
    """Whether a source that is compiled like this can include a header."""
    text = f"#if !__has_include(<{header}>)\n#error absent\n#endif\n"
    run = subprocess.run([*command, "-E", "-x", "c++", "-o", "/dev/null", "-"], input=text, text=True,
                         capture_output=True, cwd=BUILD)
    assert run.returncode == 0 or "error absent" in run.stderr, run.stderr
    return run.returncode == 0


class Layering(unittest.TestCase):
    def test_only_the_allowed_directions_compile(self):
        commands = compile_commands()
        self.assertEqual(set(commands), {f for f in sources.PRODUCT if (sources.ROOT / f / "CMakeLists.txt").exists()})
        for folder, command in commands.items():
            for target in commands:
                header = next(name for name in sources.code((target,)) if name.endswith(".hpp"))
                with self.subTest(f"{folder} includes {target}"):
                    self.assertEqual(finds(command, f"xgrad/{header}"), target in rules.USES[folder])
                    # Nor by way of the folder beside it.
                    self.assertFalse(finds(command, header))


if __name__ == "__main__":
    unittest.main()
