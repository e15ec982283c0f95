"""The command `xgrad` of the package, which starts without importing the package and NumPy."""

import os
import pathlib
import sys


def main():
    """Becomes the command, with the same arguments."""
    program = pathlib.Path(__file__).parent.parent / "xgrad/bin/xgrad"
    os.execv(program, ["xgrad", *sys.argv[1:]])
