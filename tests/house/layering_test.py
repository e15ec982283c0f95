"""Plants an include in every wrong direction and shows that it does not compile: layering_test.py BUILD_DIRECTORY."""

import json
import pathlib
import shlex
import subprocess
import sys
import unittest

import sources

BUILD = pathlib.Path(sys.argv.pop())
COMPONENTS = sources.components()


def compile_commands():
    """The command that compiles one source of each component, without the source itself and its output."""
    found = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        if path.is_relative_to(sources.ROOT) and path.relative_to(sources.ROOT).parts[0] in set(sources.PRODUCT) - {"python"}:
            words = shlex.split(sources.without_precompiled_headers(entry["command"]))
            found.setdefault(sources.component(str(path.relative_to(sources.ROOT)), COMPONENTS), words[:words.index("-o")])
    return found


def finds(command, headers):
    """Which of some headers a source that is compiled like this can include."""
    text = "".join(f"#if __has_include(<{header}>)\n{header}\n#endif\n" for header in headers)
    run = subprocess.run([*command, "-E", "-P", "-x", "c++", "-o", "-", "-"], input=text, text=True, check=True,
                         capture_output=True, cwd=BUILD)
    return set(run.stdout.split())


class Layering(unittest.TestCase):
    def test_only_the_allowed_directions_compile(self):
        commands = compile_commands()
        self.assertEqual(set(commands), set(COMPONENTS) | {"cli"})
        headers = {}
        for name in sources.code():
            if name.endswith(".hpp"):
                headers.setdefault(sources.component(name, COMPONENTS), []).append(name)
        for folder, command in commands.items():
            allowed = set(commands) if folder == "cli" else {folder} | COMPONENTS[folder][1] - {"version"}
            for target in commands:
                with self.subTest(f"{folder} includes {target}"):
                    found = finds(command, [f"xgrad/{name}" for name in headers[target]])
                    self.assertEqual(found, {f"xgrad/{name}" for name in headers[target]} if target in allowed else set())
                    # Nor by way of the folder beside it.
                    self.assertEqual(finds(command, headers[target]), set())


if __name__ == "__main__":
    unittest.main()
