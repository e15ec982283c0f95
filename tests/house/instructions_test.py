"""No function of one instruction set takes the place of another's: instructions_test.py BUILD_DIRECTORY.

Sources of autograd/packed_gemm are compiled for AVX, AVX2, AVX-512, AVX512_BF16 and AMX. Of two functions of one name the linker keeps either, and a
processor without AVX-512 would stop in the wrong one. So whatever such a source defines names its instruction set.
"""

import json
import pathlib
import shlex
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop())


def commands():
    """{avx, avx2, avx512, avx512_bf16 or amx: the command that compiles its source, without the output}."""
    found = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"])
        if source.parent.name == "packed_gemm" and source.stem.startswith(("avx", "amx")):
            words = shlex.split(entry["command"])
            found[source.stem] = [*words[:words.index("-o")], "-c", str(source)]
    return found


def defined(command):
    """The functions that a source defines where nothing is inlined: which ones are is the compiler's choice."""
    with tempfile.NamedTemporaryFile(suffix=".o") as out:
        subprocess.run([*command, "-O0", "-o", out.name], check=True, cwd=BUILD)
        listed = subprocess.run(["nm", "--defined-only", "--extern-only", "--format=just-symbols", "--demangle", out.name],
                                check=True, capture_output=True, text=True)
    return listed.stdout.splitlines()


class Instructions(unittest.TestCase):
    def test_every_function_names_them(self):
        found = commands()
        self.assertEqual(set(found), {"avx", "avx2", "avx512", "avx512_bf16", "amx"})
        for name, command in found.items():
            functions = defined(command)
            self.assertTrue(any("multiply_tile" in function for function in functions))
            self.assertEqual([function for function in functions if name.replace("_", "") not in function.lower().replace("_", "")], [])


if __name__ == "__main__":
    unittest.main()
