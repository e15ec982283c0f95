"""Goes on in build/venv where .ci/run or somebody has made it, else with the Python that is there."""

import importlib.util
import os
import pathlib
import sys

PYTHON = pathlib.Path(__file__).resolve().parents[2] / "build/venv/bin/python"


def need(*modules):
    """Ends the program as skipped when a module is missing."""
    if PYTHON.exists() and pathlib.Path(sys.prefix) != PYTHON.parent.parent:
        os.execv(PYTHON, [str(PYTHON), "-B", *sys.argv])
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        print(f"Skipped: {', '.join(missing)} not installed "
              "(python3 -m venv build/venv; build/venv/bin/pip install -r tests/clients/requirements.txt)")
        sys.exit(0)
