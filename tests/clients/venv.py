"""Goes on in an environment of Python where ./run puts what a list of tests/ names."""

import importlib.util
import os
import pathlib
import sys

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build"
LISTS = {"venv": "requirements.txt", "venv-libraries": "libraries.txt"}


def need(*modules, environment="venv"):
    """Ends the program as one that cannot run when a module is missing."""
    home = BUILD / environment
    if (home / "bin/python").exists() and pathlib.Path(sys.prefix) != home:
        os.execv(home / "bin/python", [str(home / "bin/python"), "-B", *sys.argv])
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        print(f"{', '.join(missing)} not installed: ./run install test puts what tests/{LISTS[environment]} lists into build/{environment}")
        sys.exit(77)
