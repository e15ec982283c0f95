"""Goes on in build/venv, where ./run puts what tests/requirements.txt lists."""

import importlib.util
import os
import pathlib
import sys

BIN = pathlib.Path(__file__).resolve().parents[2] / "build/venv/bin"


def need(*modules):
    """Ends the program as one that cannot run when a module is missing."""
    if (BIN / "python").exists() and pathlib.Path(sys.prefix) != BIN.parent:
        os.execv(BIN / "python", [str(BIN / "python"), "-B", *sys.argv])
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        print(f"{', '.join(missing)} not installed: ./run install test puts what tests/requirements.txt lists into build/venv")
        sys.exit(77)
