"""Finds or installs a Python with the peers, in the versions of bench/requirements.txt."""

import pathlib
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "bench" / "requirements.txt"


def lacks(python):
    """The lines of the requirements that this Python does not meet."""
    listed = subprocess.run([python, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check"], capture_output=True, text=True,
                            check=True).stdout.splitlines()
    return set(REQUIREMENTS.read_text().split()) - set(listed)


def python_with_peers():
    """Installs missing packages into build/bench-venv, one by one. If a package cannot be installed, says so; its peer fails later."""
    folder = ROOT / "build" / "bench-venv"
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    for package in sorted(lacks(python)):
        print(f"installing {package} into {folder}", file=sys.stderr)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package])
    return str(python)
