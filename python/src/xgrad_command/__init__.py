"""The command `xgrad` of the package. It starts without importing NumPy and the rest of the package, so it starts fast."""

import os
import pathlib
import sys


def main():
    """Replaces this process by the command, with the same arguments."""
    program = pathlib.Path(__file__).parent.parent / "xgrad/bin/xgrad"
    os.execv(program, ["xgrad", *sys.argv[1:]])
